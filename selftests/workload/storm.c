// SPDX-License-Identifier: GPL-2.0
/*
 * storm ID SEED THREADS PORT ADDR...: short connections to all others, as fast as
 * they go.  ADDR are the storms in the order of their ids.  A swarm (swarm.h); in the
 * end it says how many there were.
 *
 * An error of any call, or a byte that is not as sent, ends it with status 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storm.h"
#include "swarm.h"

#define ANSWERING	8
#define LONGEST		20000

/* What a request begins with; all that follows it is a pattern of @key. */
struct head {
	uint32_t from;
	uint32_t key;
	uint32_t request;	/* bytes behind the head */
	uint32_t answer;	/* bytes */
	uint32_t last;		/* who closes first: 0 who answers, 1 who asks */
};

struct storm storm;

static struct sockaddr_in addrs[STORM_MAX];
static unsigned int n_addrs;
static uint64_t seed;

static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static unsigned char pattern(uint32_t key, uint32_t i)
{
	return (key >> (i & 15)) + i * 7;
}

static int send_all(int fd, const void *buf, size_t n, const char *what)
{
	const char *p = buf;
	ssize_t ret;

	while (n) {
		ret = send(fd, p, n, MSG_NOSIGNAL);
		if (ret <= 0) {
			swarm_complain("%s: %s", what, strerror(errno));
			return -1;
		}
		p += ret;
		n -= ret;
	}
	return 0;
}

static int recv_all(int fd, void *buf, size_t n, const char *what)
{
	char *p = buf;
	ssize_t ret;

	while (n) {
		ret = recv(fd, p, n, 0);
		if (ret <= 0) {
			swarm_complain("%s: %s", what, ret ? strerror(errno) : "end of stream");
			return -1;
		}
		p += ret;
		n -= ret;
	}
	return 0;
}

static int send_pattern(int fd, uint32_t key, uint32_t n, const char *what)
{
	unsigned char buf[LONGEST];
	uint32_t i;

	for (i = 0; i < n; i++)
		buf[i] = pattern(key, i);
	return send_all(fd, buf, n, what);
}

static int recv_pattern(int fd, uint32_t key, uint32_t n, const char *what)
{
	unsigned char buf[LONGEST];
	uint32_t i;

	if (recv_all(fd, buf, n, what))
		return -1;
	for (i = 0; i < n; i++) {
		if (buf[i] != pattern(key, i)) {
			swarm_complain("%s: byte %u of %u is not as sent", what, i, n);
			return -1;
		}
	}
	return 0;
}

/* The other one closes. */
static int recv_end(int fd, const char *what)
{
	char c;
	ssize_t ret = recv(fd, &c, 1, 0);

	if (!ret)
		return 0;
	swarm_complain("%s: %s instead of the end", what, ret < 0 ? strerror(errno) : "a byte");
	return -1;
}

static void ask(unsigned int whom, uint64_t *rng)
{
	struct head h = {
		.from = storm.id,
		.key = next(rng),
		.request = next(rng) % (next(rng) % 4 ? 200 : LONGEST),
		/* Of an answer without bytes nothing could be learned. */
		.answer = 1 + next(rng) % (next(rng) % 4 ? 200 : LONGEST),
		.last = next(rng) & 1,
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		swarm_complain("socket: %s", strerror(errno));
		return;
	}
	__atomic_add_fetch(&storm.asked[whom], 1, __ATOMIC_SEQ_CST);
	if (connect(fd, (struct sockaddr *)&addrs[whom], sizeof(addrs[whom])))
		swarm_complain("connect: %s", strerror(errno));
	else if (!send_all(fd, &h, sizeof(h), "request") &&
		 !send_pattern(fd, h.key, h.request, "request") &&
		 !recv_pattern(fd, ~h.key, h.answer, "answer") &&
		 (h.last || !recv_end(fd, "answer")))
		__atomic_add_fetch(&storm.learned[whom], 1, __ATOMIC_SEQ_CST);
	close(fd);
}

static void answer(int fd)
{
	struct head h;

	if (recv_all(fd, &h, sizeof(h), "head"))
		return;
	if (h.from >= n_addrs || h.request > LONGEST || h.answer > LONGEST) {
		swarm_complain("head: not as sent");
		return;
	}
	if (recv_pattern(fd, h.key, h.request, "request"))
		return;
	__atomic_add_fetch(&storm.heard[h.from], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&storm.told[h.from], 1, __ATOMIC_SEQ_CST);
	if (!send_pattern(fd, ~h.key, h.answer, "answer") && h.last)
		recv_end(fd, "request");
}

static void keep_asking(unsigned int nr)
{
	uint64_t rng = seed ^ (storm.id * 977 + nr) * 0x9e3779b97f4a7c15ULL;
	unsigned int whom;

	while (swarm_asks()) {
		whom = next(&rng) % n_addrs;
		if (whom != storm.id)
			ask(whom, &rng);
	}
}

static int listen_on(const struct sockaddr_in *addr)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 1024)) {
		perror("listen");
		exit(1);
	}
	return fd;
}

static uint64_t sum(const uint64_t *v)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < STORM_MAX; i++)
		n += v[i];
	return n;
}

int main(int argc, char **argv)
{
	struct swarm swarm = {
		.answering = ANSWERING, .ask = keep_asking, .answer = answer,
	};
	unsigned int errors;

	if (argc < 6 || argc - 5 > STORM_MAX || atoi(argv[3]) > SWARM_MAX) {
		fprintf(stderr, "usage: storm ID SEED THREADS PORT ADDR...\n");
		return 2;
	}
	storm.id = atoi(argv[1]);
	seed = strtoull(argv[2], NULL, 10);
	swarm.threads = atoi(argv[3]);
	for (n_addrs = 0; argv[5 + n_addrs]; n_addrs++) {
		addrs[n_addrs].sin_family = AF_INET;
		addrs[n_addrs].sin_port = htons(atoi(argv[4]));
		inet_pton(AF_INET, argv[5 + n_addrs], &addrs[n_addrs].sin_addr);
	}
	swarm.listener = listen_on(&addrs[storm.id]);
	errors = swarm_run(&swarm);
	printf("asked %lu heard %lu told %lu learned %lu errors %u\n",
	       sum(storm.asked), sum(storm.heard), sum(storm.told), sum(storm.learned),
	       errors);
	return errors ? 1 : 0;
}
