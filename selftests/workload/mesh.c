// SPDX-License-Identifier: GPL-2.0
/* One connection for each pair of banks: the higher one connects to the lower. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bank.h"

#define RETRY_MS	100
#define RETRIES		1200

static socklen_t addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

static int same_host(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (void *)a, *b4 = (void *)b;
	const struct sockaddr_in6 *a6 = (void *)a, *b6 = (void *)b;

	if (a->ss_family != b->ss_family)
		return 0;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

static int new_socket(const struct sockaddr_storage *addr)
{
	int one = 1;
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		bank_die("socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		bank_die("SO_REUSEADDR: %s", strerror(errno));
	/* An accepted socket has the sizes of its listener. */
	if (opt.sockbuf &&
	    (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.sockbuf, sizeof(int)) ||
	     setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.sockbuf, sizeof(int))))
		bank_die("SO_SNDBUF, SO_RCVBUF: %s", strerror(errno));
	return fd;
}

static int start_listening(void)
{
	const struct sockaddr_storage *addr = &opt.addr[bank.id];
	int fd = new_socket(addr);

	if (bind(fd, (const struct sockaddr *)addr, addr_len(addr)))
		bank_die("bind: %s", strerror(errno));
	if (listen(fd, BANK_MAX))
		bank_die("listen: %s", strerror(errno));
	return fd;
}

/* From the own address, by which the other end knows who calls. */
static int try_connect(unsigned int peer)
{
	struct sockaddr_storage own = opt.addr[bank.id];
	const struct sockaddr_storage *to = &opt.addr[peer];
	int fd = new_socket(to), err;

	((struct sockaddr_in *)&own)->sin_port = 0;
	if (bind(fd, (struct sockaddr *)&own, addr_len(&own)))
		bank_die("bind: %s", strerror(errno));
	if (!connect(fd, (const struct sockaddr *)to, addr_len(to)))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static int connect_to(unsigned int peer)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	int i, fd;

	for (i = 0; i < RETRIES; i++) {
		fd = try_connect(peer);
		if (fd >= 0)
			return fd;
		if (errno != ECONNREFUSED && errno != EHOSTUNREACH &&
		    errno != ENETUNREACH && errno != ETIMEDOUT)
			break;
		nanosleep(&pause, NULL);
	}
	bank_die("connect to bank %u: %s", peer, strerror(errno));
}

static void set_conn(unsigned int peer, int fd)
{
	struct bank_conn *conn = &bank.conn[peer];
	socklen_t local = sizeof(conn->local), remote = sizeof(conn->remote);

	if (getsockname(fd, (struct sockaddr *)&conn->local, &local) ||
	    getpeername(fd, (struct sockaddr *)&conn->remote, &remote))
		bank_die("bank %u is gone: %s", peer, strerror(errno));
	conn->fd = fd;
}

static void accept_one(int listener)
{
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	unsigned int peer;
	int fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);

	if (fd < 0)
		bank_die("accept: %s", strerror(errno));
	for (peer = bank.id + 1; peer < bank.n; peer++)
		if (bank.conn[peer].fd < 0 && same_host(&from, &opt.addr[peer]))
			break;
	if (peer == bank.n)
		bank_die("a connection from a stranger");
	set_conn(peer, fd);
}

void bank_mesh(void)
{
	int listener = start_listening();
	unsigned int peer;

	for (peer = 0; peer < BANK_MAX; peer++)
		bank.conn[peer].fd = -1;
	for (peer = 0; peer < bank.id; peer++)
		set_conn(peer, connect_to(peer));
	for (peer = bank.id + 1; peer < bank.n; peer++)
		accept_one(listener);
}
