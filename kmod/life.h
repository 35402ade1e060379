/* SPDX-License-Identifier: GPL-2.0 */
/* Births and deaths of sockets. */
#ifndef _DISTSNAP_LIFE_H
#define _DISTSNAP_LIFE_H

int ds_life_init(void);
void ds_life_exit(void);

#endif /* _DISTSNAP_LIFE_H */
