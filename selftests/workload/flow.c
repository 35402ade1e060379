// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP connection, and how fast it is.
 *
 *	flow ADDR PORT			the server: of one connection, until it ends
 *	flow ADDR PORT IN OUT		the client: reads commands from the FIFO IN and
 *					answers in the FIFO OUT
 *
 * bulk MS	so long, as much as goes: "BYTES NS"
 * ping MS	so long, one small message each way in turn: "ROUND_TRIPS NS"
 *
 * All that a measurement takes ends within it: the last bytes have been received.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHUNK		65536
#define SMALL		64

/* The first byte of a message; the others do not matter. */
enum kind {
	BULK,				/* CHUNK bytes */
	LAST,				/* CHUNK bytes, to be answered */
	PING,				/* SMALL bytes, to be answered */
};

static unsigned char buf[CHUNK];

static void die(const char *what)
{
	fprintf(stderr, "flow: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static void send_all(int fd, size_t n)
{
	size_t done = 0;
	ssize_t ret;

	while (done < n) {
		ret = send(fd, buf + done, n - done, MSG_NOSIGNAL);
		if (ret < 0)
			die("send");
		done += ret;
	}
}

static void get_answer(int fd)
{
	if (recv(fd, buf, SMALL, MSG_WAITALL) != SMALL)
		die("recv");
}

static uint64_t bulk(int fd, uint64_t until)
{
	uint64_t bytes = 0;

	do {
		buf[0] = now() < until ? BULK : LAST;
		bytes += CHUNK;
		send_all(fd, CHUNK);
	} while (buf[0] != LAST);
	get_answer(fd);
	return bytes;
}

static uint64_t ping(int fd, uint64_t until)
{
	uint64_t n = 0;

	do {
		buf[0] = PING;
		send_all(fd, SMALL);
		get_answer(fd);
		n++;
	} while (now() < until);
	return n;
}

static void set_nodelay(int fd, int on)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		die("TCP_NODELAY");
}

static void client(int fd, const char *in_name, const char *out_name)
{
	FILE *in = fopen(in_name, "re"), *out = fopen(out_name, "we");
	uint64_t start, n;
	unsigned int ms;
	char what[8];

	if (!in || !out)
		die(in ? out_name : in_name);
	printf("ready\n");
	fflush(stdout);
	while (fscanf(in, "%7s %u", what, &ms) == 2) {
		set_nodelay(fd, !strcmp(what, "ping"));
		start = now();
		n = (strcmp(what, "ping") ? bulk : ping)(fd, start + ms * UINT64_C(1000000));
		fprintf(out, "%llu %llu\n", (unsigned long long)n,
			(unsigned long long)(now() - start));
		fflush(out);
	}
}

static void serve(int fd)
{
	size_t left = 0, i, step;
	enum kind kind = BULK;
	ssize_t n;

	set_nodelay(fd, 1);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (i = 0; i < (size_t)n; i += step) {
			if (!left) {
				kind = buf[i];
				left = kind == PING ? SMALL : CHUNK;
			}
			step = left < n - i ? left : n - i;
			left -= step;
			if (!left && kind != BULK)
				send_all(fd, SMALL);
		}
	}
	if (n < 0)
		die("recv");
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd, one = 1;

	if ((argc != 3 && argc != 5) || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: flow ADDR PORT [IN OUT]\n");
		return 2;
	}
	addr.sin_port = htons(atoi(argv[2]));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("socket");
	if (argc == 5) {
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			die("connect");
		client(fd, argv[3], argv[4]);
		return 0;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		die("listen");
	printf("ready\n");
	fflush(stdout);
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		die("accept");
	serve(fd);
	return 0;
}
