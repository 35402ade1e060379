// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ways.h"

#define PIPE_SIZE	65536

const char * const way_names[WAYS] = {
	"send", "more", "splice", "sendfile", "pipe", "urgent", "zerocopy",
};

enum way way_find(const char *name)
{
	enum way w;

	for (w = 0; w < WAYS && strcmp(name, way_names[w]); w++)
		;
	return w;
}

/* In a file, for calls that take one. */
static int in_a_file(const unsigned char *buf, size_t n)
{
	int fd = memfd_create("bytes", 0);

	if (fd < 0 || (write(fd, buf, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET)))
		return fd;
	close(fd);
	return -1;
}

/* From @file, or without one as write() has put them there, in pages of its own. */
static ssize_t splice_it(int sock, int file, const unsigned char *buf, size_t n)
{
	int pipes[2];
	size_t done = 0;

	if (pipe(pipes))
		return -1;
	while (done < n) {
		size_t left = n - done;
		ssize_t in = file >= 0 ? splice(file, NULL, pipes[1], NULL, left, 0) :
			     write(pipes[1], buf + done, left < PIPE_SIZE ? left : PIPE_SIZE);
		ssize_t out;

		for (; in > 0; in -= out, done += out) {
			out = splice(pipes[0], NULL, sock, NULL, in, SPLICE_F_MORE);
			if (out <= 0)
				break;
		}
		if (in)
			break;
	}
	close(pipes[0]);
	close(pipes[1]);
	return done;
}

static ssize_t send_file(enum way way, int sock, const unsigned char *buf, size_t n)
{
	int file = in_a_file(buf, n);
	ssize_t ret = -1;

	if (file >= 0) {
		ret = way == WAY_SPLICE ? splice_it(sock, file, NULL, n) :
					  sendfile(sock, file, NULL, n);
		close(file);
	}
	return ret;
}

ssize_t way_send(enum way way, int sock, unsigned char *buf, size_t n)
{
	static const int flags[WAYS] = {
		[WAY_MORE] = MSG_MORE, [WAY_URGENT] = MSG_OOB, [WAY_ZEROCOPY] = MSG_ZEROCOPY,
	};
	int one = 1;
	ssize_t ret;

	if (way == WAY_ZEROCOPY)
		setsockopt(sock, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	if (way == WAY_SPLICE || way == WAY_SENDFILE)
		ret = send_file(way, sock, buf, n);
	else if (way == WAY_PIPE)
		ret = splice_it(sock, -1, buf, n);
	else
		ret = send(sock, buf, n, flags[way] | MSG_NOSIGNAL);
	if (way != WAY_ZEROCOPY)	/* else TCP has it still */
		free(buf);
	return ret;
}

ssize_t way_map(int sock, void *buf, size_t n, size_t *mapped)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct tcp_zerocopy_receive zc = { .length = n & ~4095UL };
	socklen_t len = sizeof(zc);
	void *map;

	*mapped = 0;
	if (!zc.length)
		return recv(sock, buf, n, 0);
	map = mmap(NULL, zc.length, PROT_READ, MAP_SHARED, sock, 0);
	if (map == MAP_FAILED)
		return -1;
	zc.address = (unsigned long)map;
	if (poll(&p, 1, -1) != 1 ||
	    getsockopt(sock, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len)) {
		munmap(map, n & ~4095UL);
		return -1;
	}
	memcpy(buf, map, zc.length);
	munmap(map, n & ~4095UL);
	*mapped = zc.length;
	/* What comes next cannot be mapped. */
	if (zc.length)
		return zc.length;
	return recv(sock, buf, zc.recv_skip_hint && zc.recv_skip_hint < n ?
		    zc.recv_skip_hint : n, 0);
}
