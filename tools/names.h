/* SPDX-License-Identifier: GPL-2.0 */
/* The words of fragments and listings for the numbers of the interface. */
#ifndef DISTSNAP_NAMES_H
#define DISTSNAP_NAMES_H

#include <stddef.h>
#include <stdint.h>

const char *state_name(uint32_t state);
const char *peer_name(uint32_t peer);
const char *origin_name(uint32_t origin);
const char *tcp_state_name(uint32_t state);
/* The name of cut flag bit @bit, NULL beyond the last. */
const char *cut_flag_name(unsigned int bit);

#define ENDPOINT_SIZE	64
/* "10.0.0.1:80" or "[::1]:80"; @port in network order. */
void endpoint_name(uint16_t family, const uint8_t *addr, uint16_t port,
		   char out[ENDPOINT_SIZE]);

#endif
