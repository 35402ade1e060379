/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses of both families in one form: IPv4 as ::ffff:a.b.c.d (RFC 4291). */
#ifndef _DISTSNAP_ADDR_H
#define _DISTSNAP_ADDR_H

#include <linux/kernel.h>
#include <net/ipv6.h>

/* "[ADDRESS]:PORT" and its end */
#define DS_ENDPOINT_LEN	52

/**
 * ds_endpoint_text() - an address and port for people
 * @text: room for DS_ENDPOINT_LEN characters
 * @addr: the address
 * @port: network byte order
 *
 * Return: @text.
 */
static inline const char *ds_endpoint_text(char *text, const struct in6_addr *addr,
					   __be16 port)
{
	if (ipv6_addr_v4mapped(addr))
		snprintf(text, DS_ENDPOINT_LEN, "%pI4:%u", &addr->s6_addr32[3],
			 ntohs(port));
	else
		snprintf(text, DS_ENDPOINT_LEN, "[%pI6c]:%u", addr, ntohs(port));
	return text;
}

#endif /* _DISTSNAP_ADDR_H */
