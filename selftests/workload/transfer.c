// SPDX-License-Identifier: GPL-2.0
/*
 * The senders and receivers of a bank.  The order of the stores here is a
 * promise that bank.h explains; nothing is printed while transfers go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "bank.h"

#define STACK_SIZE	(128 << 10)	/* cores stay small */
#define EOF_SECONDS	60		/* from a peer's SIGTERM to ours */

struct worker {
	pthread_t thread;
	unsigned int peer;
	struct bank_stream stream;
	uint64_t dice;			/* for choices that no one else needs */
	uint64_t sum;
};

static struct worker senders[BANK_MAX], receivers[BANK_MAX];
static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_cond = PTHREAD_COND_INITIALIZER;
static _Atomic int stopping;

static uint64_t roll(struct worker *w, uint64_t sides)
{
	w->dice += 0x9e3779b97f4a7c15ULL;
	return bank_mix(w->dice) % sides;
}

static struct bank_ledger *begin_entry(void)
{
	uint32_t cur;

	pthread_mutex_lock(&ledger_lock);
	cur = atomic_load_explicit(&bank.cur, memory_order_relaxed);
	bank.ledger[!cur] = bank.ledger[cur];
	return &bank.ledger[!cur];
}

static void commit_entry(struct bank_ledger *entry)
{
	atomic_store_explicit(&bank.cur, entry - bank.ledger,
			      memory_order_release);
	pthread_mutex_unlock(&ledger_lock);
}

/*
 * One call that sends, of a kind that the dice choose.  The vectors live on
 * this stack, where the oracle looks them up when the call is still open.
 */
static long send_some(struct worker *w, void *buf, size_t n)
{
	struct bank_conn *conn = &bank.conn[w->peer];
	size_t cut = roll(w, n + 1);
	struct iovec iov[2] = { { buf, cut },
				{ (char *)buf + cut, n - cut } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	switch (roll(w, 4)) {
	case 0:
		return bank_move(SYS_write, conn->fd, buf, n, 0, &conn->tx_pos);
	case 1:
		return bank_move(SYS_writev, conn->fd, iov, 2, 0, &conn->tx_pos);
	case 2:
		return bank_move(SYS_sendmsg, conn->fd, &msg, MSG_NOSIGNAL, 0,
				 &conn->tx_pos);
	default:
		return bank_move(SYS_sendto, conn->fd, buf, n, MSG_NOSIGNAL,
				 &conn->tx_pos);
	}
}

/* The same for receiving; @whole when the call has to fill the buffer. */
static long recv_some(struct worker *w, void *buf, size_t n, int *whole)
{
	struct bank_conn *conn = &bank.conn[w->peer];
	size_t cut = roll(w, n + 1);
	struct iovec iov[2] = { { buf, cut },
				{ (char *)buf + cut, n - cut } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	*whole = 0;
	switch (roll(w, 6)) {
	case 0:
		return bank_move(SYS_read, conn->fd, buf, n, 0, &conn->rx_pos);
	case 1:
		return bank_move(SYS_readv, conn->fd, iov, 2, 0, &conn->rx_pos);
	case 2:
		return bank_move(SYS_recvmsg, conn->fd, &msg, 0, 0,
				 &conn->rx_pos);
	case 3:
		*whole = 1;
		return bank_move(SYS_recvfrom, conn->fd, buf, n, MSG_WAITALL,
				 &conn->rx_pos);
	default:
		return bank_move(SYS_recvfrom, conn->fd, buf, n, 0,
				 &conn->rx_pos);
	}
}

static void send_message(struct worker *w, unsigned char *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		/* mostly all at once, sometimes in pieces */
		size_t n = roll(w, 4) ? len - done : 1 + roll(w, len - done);
		long ret = send_some(w, buf + done, n);

		if (ret < 0)
			bank_die("send to bank %u: %s", w->peer, strerror(-ret));
		if (!ret || (size_t)ret > n ||
		    ((size_t)ret < n && !opt.allow_short))
			bank_die("send to bank %u: %ld of %zu bytes", w->peer,
				 ret, n);
		done += ret;
	}
}

/* Wait until the next message is due; give up at once when stopping. */
static int wait_turn(struct timespec *due)
{
	if (atomic_load(&stopping))
		return 0;
	if (!opt.rate)
		return 1;
	due->tv_nsec += 1000000000L / opt.rate;
	if (due->tv_nsec >= 1000000000L) {
		due->tv_nsec -= 1000000000L;
		due->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL))
		;
	return !atomic_load(&stopping);
}

static void *sender(void *arg)
{
	struct worker *w = arg;
	unsigned char *buf = bank.tx_buf[w->peer];
	struct bank_ledger *entry;
	struct timespec due;

	clock_gettime(CLOCK_MONOTONIC, &due);
	while (wait_turn(&due)) {
		size_t len = bank_len(&w->stream);

		bank_bytes(&w->stream, 0, buf, len);
		entry = begin_entry();
		entry->balance -= bank_amount(&w->stream);
		entry->created[w->peer]++;
		commit_entry(entry);
		send_message(w, buf, len);
		w->sum = bank_sum(w->sum, buf, len);
		bank_next(&w->stream);
	}
	if (shutdown(bank.conn[w->peer].fd, SHUT_WR))
		bank_die("shutdown: %s", strerror(errno));
	return NULL;
}

/* A peer that was told to stop may close its end before we are told. */
static void expect_stop(unsigned int peer)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EOF_SECONDS;
	pthread_mutex_lock(&stop_lock);
	while (!atomic_load(&stopping))
		if (pthread_cond_timedwait(&stop_cond, &stop_lock, &until))
			bank_die("bank %u closed, though no one asked for it",
				 peer);
	pthread_mutex_unlock(&stop_lock);
}

/* Returns 0 when the stream ended before the message began. */
static int recv_message(struct worker *w, unsigned char *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t n = done < BANK_HEADER ? BANK_HEADER - done : len - done;
		int whole;
		long ret;
		size_t bad;

		if (roll(w, 8) == 0)
			n = 1 + roll(w, n);
		ret = recv_some(w, buf + done, n, &whole);
		if (ret < 0)
			bank_die("recv from bank %u: %s", w->peer,
				 strerror(-ret));
		if (!ret && !done)
			return 0;
		if (!ret)
			bank_die("bank %u closed inside message %" PRIu64,
				 w->peer, w->stream.index);
		if ((size_t)ret > n ||
		    ((size_t)ret < n && whole && !opt.allow_short))
			bank_die("recv from bank %u: %ld of %zu bytes", w->peer,
				 ret, n);
		bad = bank_differ(&w->stream, done, buf + done, ret);
		if (bad < (size_t)ret)
			bank_die("from bank %u: byte %" PRIu64 " is not as sent",
				 w->peer, w->stream.start + done + bad);
		done += ret;
	}
	return 1;
}

static void *receiver(void *arg)
{
	struct worker *w = arg;
	unsigned char *buf = bank.rx_buf[w->peer];
	struct bank_ledger *entry;
	size_t len;

	for (;;) {
		len = bank_len(&w->stream);
		if (!recv_message(w, buf, len))
			break;
		w->sum = bank_sum(w->sum, buf, len);
		entry = begin_entry();
		entry->balance += bank_amount(&w->stream);
		entry->credited[w->peer]++;
		commit_entry(entry);
		bank_next(&w->stream);
	}
	expect_stop(w->peer);
	return NULL;
}

static void start_worker(struct worker *w, uint32_t from, uint32_t to,
			 void *(*run)(void *))
{
	pthread_attr_t attr;
	int err;

	w->peer = from == bank.id ? to : from;
	w->dice = bank.seed ^ ((uint64_t)bank.id << 48 | from << 8 | to);
	bank_stream_init(&w->stream, bank.seed, from, to, bank.max_len);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_create(&w->thread, &attr, run, w);
	if (err)
		bank_die("no thread: %s", strerror(err));
	pthread_attr_destroy(&attr);
}

void bank_start(void)
{
	unsigned int peer;

	for (peer = 0; peer < bank.n; peer++) {
		if (peer == bank.id)
			continue;
		start_worker(&receivers[peer], peer, bank.id, receiver);
		start_worker(&senders[peer], bank.id, peer, sender);
	}
}

void bank_stop(void)
{
	unsigned int peer;

	pthread_mutex_lock(&stop_lock);
	atomic_store(&stopping, 1);
	pthread_cond_broadcast(&stop_cond);
	pthread_mutex_unlock(&stop_lock);
	for (peer = 0; peer < bank.n; peer++) {
		if (peer == bank.id)
			continue;
		pthread_join(senders[peer].thread, NULL);
		pthread_join(receivers[peer].thread, NULL);
	}
}

static void print_stream(const char *word, const struct worker *w, uint64_t pos)
{
	printf(", %s %u: %" PRIu64 " messages %" PRIu64 " bytes %016" PRIx64,
	       word, w->peer, w->stream.index, pos, w->sum);
}

void bank_summary(void)
{
	const struct bank_ledger *end = &bank.ledger[bank.cur];
	unsigned int peer;

	printf("bank-%u: balance %" PRId64 " of %" PRId64, bank.id,
	       end->balance, bank.initial);
	for (peer = 0; peer < bank.n; peer++) {
		if (peer == bank.id)
			continue;
		print_stream("to", &senders[peer], bank.conn[peer].tx_pos);
		print_stream("from", &receivers[peer], bank.conn[peer].rx_pos);
	}
	putchar('\n');
}
