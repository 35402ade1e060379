// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "swarm.h"

static const struct swarm *swarm;
static atomic_bool quiet, over;
static atomic_uint errors;

bool swarm_asks(void)
{
	return !quiet && !errors;
}

int swarm_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("error ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	errors++;
	return -1;
}

static void *asking(void *arg)
{
	swarm->ask((uintptr_t)arg);
	return NULL;
}

static void *answering(void *arg)
{
	struct pollfd p = { .fd = swarm->listener, .events = POLLIN };
	int fd;

	while (!over) {
		if (poll(&p, 1, 100) <= 0)
			continue;
		fd = accept4(p.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno != EAGAIN)
				swarm_complain("accept: %s", strerror(errno));
			continue;
		}
		swarm->answer(fd);
		close(fd);
	}
	return NULL;
}

static void start(pthread_t *t, unsigned int n, void *(*run)(void *))
{
	unsigned int i;

	for (i = 0; i < n; i++)
		pthread_create(&t[i], NULL, run, (void *)(uintptr_t)i);
}

static void join(pthread_t *t, unsigned int n)
{
	while (n)
		pthread_join(t[--n], NULL);
}

unsigned int swarm_run(const struct swarm *s)
{
	pthread_t asks[SWARM_MAX], answers[SWARM_MAX];
	sigset_t set;
	int sig;

	swarm = s;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);

	start(answers, s->answering, answering);
	printf("ready\n");
	/* SIGUSR2 begins: all must listen first. */
	sigwait(&set, &sig);
	start(asks, s->threads, asking);
	printf("asking\n");
	do {
		sigwait(&set, &sig);
	} while (sig == SIGUSR2);
	quiet = true;
	join(asks, s->threads);
	printf("quiet\n");
	if (sig != SIGTERM)
		sigwait(&set, &sig);
	over = true;
	join(answers, s->answering);
	return errors;
}
