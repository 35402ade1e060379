// SPDX-License-Identifier: GPL-2.0
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "isn.h"

int isn_set(int sock, uint32_t isn)
{
	const int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP, queue = TCP_SEND_QUEUE;

	if (setsockopt(sock, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
	    setsockopt(sock, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)) ||
	    setsockopt(sock, IPPROTO_TCP, TCP_QUEUE_SEQ, &isn, sizeof(isn)))
		return -1;
	return setsockopt(sock, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
}
