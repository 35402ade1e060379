// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ways.h"

const char * const way_names[WAYS] = {
	"send", "more", "splice", "sendfile", "urgent", "zerocopy",
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

static ssize_t splice_it(int sock, const unsigned char *buf, size_t n)
{
	int file = in_a_file(buf, n), pipes[2];
	size_t done = 0;

	if (file < 0)
		return -1;
	if (pipe(pipes)) {
		close(file);
		return -1;
	}
	while (done < n) {
		ssize_t in = splice(file, NULL, pipes[1], NULL, n - done, 0), out;

		for (; in > 0; in -= out, done += out) {
			out = splice(pipes[0], NULL, sock, NULL, in, SPLICE_F_MORE);
			if (out <= 0)
				break;
		}
		if (in)
			break;
	}
	close(file);
	close(pipes[0]);
	close(pipes[1]);
	return done;
}

static ssize_t sendfile_it(int sock, const unsigned char *buf, size_t n)
{
	int file = in_a_file(buf, n);
	ssize_t ret = -1;

	if (file >= 0) {
		ret = sendfile(sock, file, NULL, n);
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
	if (way == WAY_SPLICE)
		ret = splice_it(sock, buf, n);
	else if (way == WAY_SENDFILE)
		ret = sendfile_it(sock, buf, n);
	else
		ret = send(sock, buf, n, flags[way] | MSG_NOSIGNAL);
	if (way != WAY_ZEROCOPY)	/* else TCP has it still */
		free(buf);
	return ret;
}
