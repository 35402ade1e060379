// SPDX-License-Identifier: GPL-2.0
/*
 * ring poll|epoll HOST PORT N ADDR...: those of N processes, in a ring with chords,
 * that belong to host number HOST: HOST, HOST + number of hosts, and so on.  Each is
 * connected with the two beside it and two a third of the way around, then says
 *
 *	member NUMBER PID
 *
 * and waits for what never comes, in poll() or in epoll_wait().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define DEGREE		4
#define BACKLOG		4
#define TRIES		1000
#define RETRY_NS	20000000L

static unsigned int members, hosts, port;
static char **addresses;

static void die(unsigned int me, const char *what)
{
	fprintf(stderr, "ring: member %u: %s: %s\n", me, what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address(unsigned int member)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port + member) };

	inet_pton(AF_INET, addresses[member % hosts], &addr.sin_addr);
	return addr;
}

static int listener(unsigned int me)
{
	struct sockaddr_in addr = address(me);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, BACKLOG))
		die(me, "listen");
	return fd;
}

/* It may not be listening yet. */
static int connected(unsigned int me, unsigned int to)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	struct sockaddr_in addr = address(to);
	int i, fd;

	for (i = 0; i < TRIES; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			return fd;
		if (fd < 0 || errno != ECONNREFUSED)
			break;
		close(fd);
		nanosleep(&pause, NULL);
	}
	die(me, "connect");
	return -1;
}

static void wait_forever(unsigned int me, const struct pollfd *p, int with_poll)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = with_poll ? -1 : epoll_create1(0), i;

	for (i = 0; !with_poll && i < DEGREE; i++)
		if (epoll_ctl(fd, EPOLL_CTL_ADD, p[i].fd, &ev))
			die(me, "epoll");
	/* Nothing is ever sent: only an end can come. */
	if ((with_poll ? poll((struct pollfd *)p, DEGREE, -1) :
			 epoll_wait(fd, &ev, 1, -1)) < 0)
		die(me, "wait");
}

static void member(unsigned int me, int with_poll)
{
	struct pollfd p[DEGREE];
	int fd = listener(me), i;

	p[0].fd = connected(me, (me + 1) % members);
	p[1].fd = connected(me, (me + members / 3) % members);
	for (i = 2; i < DEGREE; i++) {
		p[i].fd = accept(fd, NULL, NULL);
		if (p[i].fd < 0)
			die(me, "accept");
	}
	for (i = 0; i < DEGREE; i++)
		p[i].events = POLLIN;
	printf("member %u %d\n", me, getpid());
	fflush(stdout);
	wait_forever(me, p, with_poll);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 6) {
		fprintf(stderr, "usage: ring poll|epoll HOST PORT N ADDR...\n");
		return 2;
	}
	port = atoi(argv[3]);
	members = atoi(argv[4]);
	addresses = argv + 5;
	hosts = argc - 5;
	for (i = atoi(argv[2]); i < members; i += hosts) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		member(i, !strcmp(argv[1], "poll"));
		return 0;
	}
	for (;;)
		pause();
}
