/* SPDX-License-Identifier: GPL-2.0 */
/* The last epoch of a group on a node, which has to survive a reboot. */
#ifndef DISTSNAP_EPOCHFILE_H
#define DISTSNAP_EPOCHFILE_H

#include <stdint.h>

/* 0 and *@epoch (0: none yet), or -errno. */
int epochfile_read(const char *store, const char *group, const char *node,
		   uint32_t *epoch);
int epochfile_write(const char *store, const char *group, const char *node,
		    uint32_t epoch);

#endif
