// SPDX-License-Identifier: GPL-2.0
/*
 * talk ID SEED THREADS PORT HOSTS ADDR...: connections of all kinds to all others.
 * The addresses are those of hosts 0, 1, ... HOSTS - 1, 0, ... again.  A swarm
 * (swarm.h); in the end it says what there was, "count NAME N".
 *
 * What is said on a connection follows from the seed and its two ports, so both
 * sides know it: each step's direction, size and way, and how it ends.  An error of
 * any call, or a byte that is not as sent (peergen.h), ends it with status 1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "isn.h"
#include "peergen.h"
#include "swarm.h"
#include "ways.h"

#define ADDRS_MAX	32
#define ANSWERING	16
#define LONGEST		100000
#define ZEROCOPIES	64
#define REST_MAX	1000000	/* us, between the connections of a thread */

enum reading { READ_PLAIN, READ_WAITALL, READ_PEEK, READ_LOWAT, READ_BITS, READ_MAP,
	       READINGS };

enum end {
	END_HALF_CLIENT,	/* shuts down, and the other one goes on sending */
	END_HALF_SERVER,
	END_CLIENT,		/* closes, and the other one reads the end */
	END_SERVER,
	END_BOTH,		/* close at once */
	END_RESET,		/* with nothing under way */
	END_RESET_UNREAD,	/* with bytes that nobody will read */
	END_ORPHAN,		/* bytes and the end, and nobody waits for them to go */
	ENDS
};

static const char * const names[] = {
	"plain", "waitall", "peek", "lowat", "bits", "map",
	"half_client", "half_server", "close_client", "close_server", "close_both",
	"reset", "reset_unread", "orphan",
	"duplex", "small_sndbuf", "small_rcvbuf", "long", "one_step", "wraps", "mapped",
};

enum { C_READ, C_END = C_READ + READINGS, C_DUPLEX = C_END + ENDS, C_SNDBUF, C_RCVBUF,
       C_LONG, C_SHORT, C_WRAPS, C_MAPPED, COUNTS };

/* One side of a connection. */
struct side {
	int fd;
	bool client;
	uint64_t rng;			/* the same on both sides, step by step */
	uint64_t tx_key, rx_key, tx, rx;
	void *zerocopied[ZEROCOPIES];
	unsigned int n_zerocopied, done;
};

static struct sockaddr_in6 addrs[ADDRS_MAX];
static unsigned int n_addrs, n_hosts, id;
static uint64_t seed;
static atomic_ulong counts[COUNTS], ways[WAYS];

static uint32_t next(struct side *s)
{
	s->rng = bank_mix(s->rng);
	return s->rng >> 33;
}

static uint32_t size(struct side *s)
{
	switch (next(s) % 8) {
	case 0:
		return 1 + next(s) % LONGEST;
	case 1:
	case 2:
		return 1 + next(s) % 5000;
	case 3:
		return 1;
	default:
		return 1 + next(s) % 300;
	}
}

/* TCP tells there that it is done with what was sent without copying. */
static void read_notices(struct side *s)
{
	char control[256];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct sock_extended_err *e;
	struct cmsghdr *c;

	while (recvmsg(s->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
		c = CMSG_FIRSTHDR(&msg);
		e = c ? (void *)CMSG_DATA(c) : NULL;
		if (e && e->ee_origin == SO_EE_ORIGIN_ZEROCOPY)
			s->done += e->ee_data - e->ee_info + 1;
		msg.msg_controllen = sizeof(control);
	}
}

/* Before that, the bytes must stay as they are. */
static void free_zerocopied(struct side *s)
{
	struct pollfd p = { .fd = s->fd };

	while (s->done < s->n_zerocopied) {
		poll(&p, 1, 100);
		read_notices(s);
	}
	while (s->n_zerocopied)
		free(s->zerocopied[--s->n_zerocopied]);
	s->done = 0;
}

static int send_bytes(struct side *s, uint32_t n, enum way way)
{
	unsigned char *buf;
	uint32_t done = 0;
	ssize_t ret;

	ways[way]++;
	while (done < n) {
		if (s->n_zerocopied == ZEROCOPIES)
			free_zerocopied(s);
		buf = malloc(n - done);
		peer_fill(s->tx_key, s->tx, buf, n - done);
		ret = way_send(way, s->fd, buf, n - done);
		if (way == WAY_ZEROCOPY)
			s->zerocopied[s->n_zerocopied++] = buf;
		if (ret <= 0)
			return swarm_complain("%s: %s", way_names[way], strerror(errno));
		done += ret;
		s->tx += ret;
	}
	return 0;
}

static int received(struct side *s, const void *buf, ssize_t ret, int flags)
{
	if (ret <= 0)
		return swarm_complain("recv: %s", ret ? strerror(errno) : "end of stream");
	if (peer_differ(s->rx_key, s->rx, buf, ret) != (size_t)ret)
		return swarm_complain("recv: bytes from %lu on are not as sent", s->rx);
	if (!(flags & MSG_PEEK))
		s->rx += ret;
	return ret;
}

static int receive(struct side *s, void *buf, uint32_t n, int flags)
{
	return received(s, buf, recv(s->fd, buf, n, flags), flags);
}

static int receive_mapped(struct side *s, void *buf, uint32_t n)
{
	size_t mapped;
	ssize_t ret = way_map(s->fd, buf, n, &mapped);

	counts[C_MAPPED] += !!mapped;
	return received(s, buf, ret, 0);
}

static int wait_readable(struct side *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	for (;;) {
		if (poll(&p, 1, -1) != 1)
			return swarm_complain("poll: %s", strerror(errno));
		if (p.revents & POLLIN)
			return 0;
		read_notices(s);
	}
}

static int recv_bytes(struct side *s, uint32_t n, enum reading how)
{
	int ret, one = 1, some, flags = how == READ_WAITALL ? MSG_WAITALL : 0;
	unsigned char buf[LONGEST];
	uint32_t done = 0;

	counts[C_READ + how]++;
	while (done < n) {
		uint32_t want = n - done;

		if (how == READ_LOWAT) {
			some = want < 2000 ? want : 2000;
			if (setsockopt(s->fd, SOL_SOCKET, SO_RCVLOWAT, &some, sizeof(some)))
				return swarm_complain("rcvlowat: %s", strerror(errno));
			if (wait_readable(s))
				return -1;
			/*
			 * A small window makes it readable earlier, and a recv()
			 * that has taken part of the mark and waits is woken only
			 * for a whole one (tcp_data_ready()).
			 */
			flags |= MSG_DONTWAIT;
		}
		if (how == READ_PEEK && receive(s, buf, want, MSG_PEEK) < 0)
			return -1;
		if (how == READ_BITS && want > 1 + n / 20)
			want = 1 + n / 20;
		ret = how == READ_MAP ? receive_mapped(s, buf, want) :
					receive(s, buf, want, flags);
		if (ret < 0)
			return -1;
		done += ret;
	}
	if (how == READ_LOWAT)
		setsockopt(s->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	return 0;
}

/* Both at once. */
static int exchange(struct side *s, uint32_t out, uint32_t in)
{
	unsigned char buf[LONGEST];
	ssize_t ret;

	counts[C_DUPLEX]++;
	while (out || in) {
		struct pollfd p = {
			.fd = s->fd, .events = (out ? POLLOUT : 0) | (in ? POLLIN : 0),
		};

		if (poll(&p, 1, -1) != 1)
			return swarm_complain("poll: %s", strerror(errno));
		if (p.revents & POLLIN && in) {
			ret = receive(s, buf, in, 0);
			if (ret < 0)
				return -1;
			in -= ret;
		} else if (p.revents & POLLOUT && out) {
			peer_fill(s->tx_key, s->tx, buf, out);
			ret = send(s->fd, buf, out, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (ret < 0 && errno != EAGAIN)
				return swarm_complain("send: %s", strerror(errno));
			if (ret > 0) {
				out -= ret;
				s->tx += ret;
			}
		} else if (p.revents == POLLERR) {
			read_notices(s);
		} else {
			return swarm_complain("poll: %x", p.revents);
		}
	}
	return 0;
}

static int step(struct side *s)
{
	uint32_t n = size(s), m = size(s);
	enum way way = next(s) % WAYS;
	enum reading how = next(s) % READINGS;
	bool client = next(s) & 1;

	if (next(s) % 8 == 0)
		usleep(next(s) % 20000);
	if (next(s) % 8 == 0)
		return s->client ? exchange(s, n, m) : exchange(s, m, n);
	return client == s->client ? send_bytes(s, n, way) : recv_bytes(s, n, how);
}

/* The other one has closed. */
static int read_end(struct side *s)
{
	char c;
	ssize_t ret = recv(s->fd, &c, 1, 0);

	return ret ? swarm_complain("recv: %s instead of the end", ret < 0 ? strerror(errno) :
			      "a byte") : 0;
}

static int half_close(struct side *s, bool first, uint32_t n)
{
	if (first)
		return shutdown(s->fd, SHUT_WR) || recv_bytes(s, n, READ_PLAIN) ? -1 :
		       read_end(s);
	return read_end(s) || send_bytes(s, n, WAY_SEND) ? -1 : 0;
}

static void reset(struct side *s)
{
	const struct linger hard = { .l_onoff = 1 };

	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

/* Whoever is reset hears of it, or asks again: a RST that is lost is not repeated. */
static int is_reset(struct side *s)
{
	const struct timeval second = { .tv_sec = 1 };
	char c;

	setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	while (recv(s->fd, &c, 1, 0) < 0) {
		if (errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN)
			break;
		c = peer_byte(s->tx_key, s->tx);
		if (send(s->fd, &c, 1, MSG_NOSIGNAL) != 1)
			return errno == ECONNRESET || errno == EPIPE ? 0 :
			       swarm_complain("send: %s", strerror(errno));
		s->tx++;
	}
	return swarm_complain("no reset: %s", strerror(errno));
}

/* @first: who acts.  The socket is closed by the caller. */
static int finish(struct side *s)
{
	enum end end = next(s) % ENDS;
	bool first = (next(s) & 1) == s->client;
	uint32_t n = 1 + next(s) % 5000;

	counts[C_END + end]++;
	switch (end) {
	case END_HALF_CLIENT:
		return half_close(s, s->client, n);
	case END_HALF_SERVER:
		return half_close(s, !s->client, n);
	case END_CLIENT:
		return s->client ? 0 : read_end(s);
	case END_SERVER:
		return s->client ? read_end(s) : 0;
	case END_RESET:
	case END_RESET_UNREAD:
		/* One byte more says that all others have been received. */
		if (!first)
			return send_bytes(s, 1, WAY_SEND) ? -1 : is_reset(s);
		if (end == END_RESET) {
			reset(s);
			return recv_bytes(s, 1, READ_PLAIN);
		}
		return wait_readable(s);
	case END_ORPHAN:
		if (first)
			return send_bytes(s, n, WAY_SEND);
		return recv_bytes(s, n, READ_PLAIN) ? -1 : read_end(s);
	default:
		return 0;
	}
}

static void small(struct side *s, int which, int bytes, int client)
{
	if (client != s->client)
		return;
	setsockopt(s->fd, SOL_SOCKET, which, &bytes, sizeof(bytes));
	counts[which == SO_SNDBUF ? C_SNDBUF : C_RCVBUF]++;
}

static void talk(int fd, bool client)
{
	struct side s = { .fd = fd, .client = client };
	struct sockaddr_in6 own, peer;
	socklen_t len = sizeof(own), plen = sizeof(peer);
	unsigned int here, there, n;
	int err = 0, one = 1;

	if (getsockname(fd, (struct sockaddr *)&own, &len) ||
	    getpeername(fd, (struct sockaddr *)&peer, &plen)) {
		swarm_complain("name: %s", strerror(errno));
		return;
	}
	here = ntohs(own.sin6_port);
	there = ntohs(peer.sin6_port);
	s.tx_key = peer_key(seed, here, there);
	s.rx_key = peer_key(seed, there, here);
	s.rng = client ? s.tx_key : s.rx_key;

	if (next(&s) % 4 == 0)
		small(&s, SO_SNDBUF, 4000, next(&s) & 1);
	if (next(&s) % 4 == 0)
		small(&s, SO_RCVBUF, 3000, next(&s) & 1);
	if (next(&s) & 1)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	n = next(&s) % 4 ? 1 + next(&s) % 4 : 10 + next(&s) % 40;
	counts[C_LONG] += n >= 10;
	counts[C_SHORT] += n == 1;
	while (n-- && !err)
		err = step(&s);
	if (!err)
		err = finish(&s);
	if (!err)
		free_zerocopied(&s);
}

static void keep_asking(unsigned int nr)
{
	struct side mine = { .rng = seed ^ (id * 977 + nr + 1) };
	unsigned int whom;
	int fd, one = 1;

	while (swarm_asks()) {
		whom = next(&mine) % n_addrs;
		if (whom % n_hosts == id)
			continue;
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
		/* A sequence number that soon comes round to 0. */
		if (next(&mine) % 4 == 0)
			counts[C_WRAPS] += !isn_set(fd, -1 - next(&mine) % 20000);
		if (fd < 0 || connect(fd, (struct sockaddr *)&addrs[whom], sizeof(addrs[whom])))
			swarm_complain("connect: %s", strerror(errno));
		else
			talk(fd, true);
		close(fd);
		/* Else it is the processors that are tested. */
		usleep(next(&mine) % REST_MAX);
	}
}

static void answer(int fd)
{
	talk(fd, false);
}

static int listen_on(unsigned int port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int one = 1, fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 1024)) {
		perror("listen");
		exit(1);
	}
	return fd;
}

static void read_addresses(char **text, unsigned int port)
{
	char mapped[64];

	for (; *text && n_addrs < ADDRS_MAX; text++, n_addrs++) {
		struct sockaddr_in6 *a = &addrs[n_addrs];

		snprintf(mapped, sizeof(mapped), "%s%s", strchr(*text, ':') ? "" : "::ffff:",
			 *text);
		a->sin6_family = AF_INET6;
		a->sin6_port = htons(port);
		if (inet_pton(AF_INET6, mapped, &a->sin6_addr) != 1) {
			fprintf(stderr, "%s is no address\n", *text);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct swarm swarm = {
		.answering = ANSWERING, .ask = keep_asking, .answer = answer,
	};
	unsigned int i, errors;

	if (argc < 7 || atoi(argv[3]) > SWARM_MAX || !atoi(argv[5])) {
		fprintf(stderr, "usage: talk ID SEED THREADS PORT HOSTS ADDR...\n");
		return 2;
	}
	id = atoi(argv[1]);
	seed = strtoull(argv[2], NULL, 10);
	swarm.threads = atoi(argv[3]);
	n_hosts = atoi(argv[5]);
	read_addresses(argv + 6, atoi(argv[4]));
	swarm.listener = listen_on(atoi(argv[4]));
	errors = swarm_run(&swarm);
	for (i = 0; i < WAYS; i++)
		printf("count %s %lu\n", way_names[i], ways[i]);
	for (i = 0; i < COUNTS; i++)
		printf("count %s %lu\n", names[i], counts[i]);
	printf("over, errors %u\n", errors);
	return errors ? 1 : 0;
}
