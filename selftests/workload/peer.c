// SPDX-License-Identifier: GPL-2.0
/*
 * A TCP program that does what it is told, one command a line, for tests of what
 * can be going on with a connection when it is photographed.  It knows nothing of
 * snapshots, and checks every byte that it receives (peergen.h).
 *
 *	N COMMAND NAME ARGS...		answered by "N ok VALUE" or "N failed WHY"
 *	N & COMMAND ...			the same in a thread: the answer comes when it
 *					ends, and other commands go on
 *
 * What there is:
 *	socket C [mptcp]		that listens or connects later
 *	listen L ADDR PORT [BACKLOG]	a listener
 *	accept C L			a connection, C for short, from its queue
 *	connect C ADDR PORT [LOCAL [ISN]]
 *					from a port, with an initial sequence number
 *	reconnect C ADDR PORT		the same socket, once more
 *	send C N			N bytes in one call; splice, sendfile and pipe
 *	splice C N			the same in other ways; urgent with the last of
 *	sendfile C N			them out of band, zerocopy without copying
 *	pipe C N
 *	urgent C N
 *	zerocopy C N
 *	more C N			and more is to come
 *	crumbs C N			N segments of one byte
 *	fill C				as much as goes without waiting
 *	recv C N			just N bytes; peek and waitall as recv()'s flags
 *	peek C N
 *	waitall C N
 *	some C N			what one recv() gives, at most N
 *	oob C				the next byte, out of band
 *	map C N				N bytes, mapped where they can be; how many were
 *	drain C				until the end of the stream
 *	set C OPTION N			rcvlowat, sndbuf, rcvbuf, nodelay, oobinline, peekoff,
 *					fastopen (queue of a listener), defer (accept)
 *	md5 C ADDR			signed, to and from there
 *	ulp C NAME			an upper layer protocol, as tls
 *	sockmap C			in a BPF map
 *	shut C, close C, reset C	the end
 *	dup C				one more file descriptor, which stays
 *	fork C				a child that has all that there is; its pid
 *	reap C				ends it
 *	away C				sent to itself, and not yet received
 *	back C				received
 *	give C PATH			given to who gets it, another peer
 *	get C PATH
 *	ring C				to an io_uring instance only
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isn.h"
#include "pass.h"
#include "peergen.h"
#include "ways.h"

#define CONNS		64
#define CHUNK		(256 << 10)
#define WORDS		8

struct conn {
	char name[32];
	int fd;
	int way[2];			/* on which it is away */
	pid_t child;
	uint64_t tx_key, rx_key;
	uint64_t tx, rx;		/* offsets of the next byte */
};

static struct conn conns[CONNS];
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed;

/* A command that is being done. */
struct job {
	char line[256];
	char *word[WORDS];
	unsigned int n;
	char why[128];
	long long value;
};

static int failed(struct job *j, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(j->why, sizeof(j->why), fmt, args);
	va_end(args);
	return -1;
}

static int failed_call(struct job *j, const char *what)
{
	return failed(j, "%s: %s", what, strerror(errno));
}

static struct conn *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < CONNS; i++)
		if (!strcmp(conns[i].name, name))
			return &conns[i];
	return NULL;
}

static struct conn *add(struct job *j, int fd)
{
	struct conn *c = find("");

	if (!c || strlen(j->word[1]) >= sizeof(c->name)) {
		failed(j, "no place for it");
		close(fd);
		return NULL;
	}
	*c = (struct conn){ .fd = fd };
	strcpy(c->name, j->word[1]);
	return c;
}

static int parse_address(struct job *j, struct sockaddr_storage *to, socklen_t *len)
{
	struct sockaddr_in *v4 = (void *)to;
	struct sockaddr_in6 *v6 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (j->n < 4)
		return failed(j, "address and port are missing");
	if (inet_pton(AF_INET, j->word[2], &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(atoi(j->word[3]));
		*len = sizeof(*v4);
		return 0;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(atoi(j->word[3]));
	*len = sizeof(*v6);
	return inet_pton(AF_INET6, j->word[2], &v6->sin6_addr) == 1 ? 0 :
	       failed(j, "%s is no address", j->word[2]);
}

static unsigned int port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET ? ((struct sockaddr_in *)a)->sin_port :
					       ((struct sockaddr_in6 *)a)->sin6_port);
}

static int set_keys(struct job *j, struct conn *c)
{
	struct sockaddr_storage own, peer;
	socklen_t n = sizeof(own), m = sizeof(peer);

	if (getsockname(c->fd, (struct sockaddr *)&own, &n) ||
	    getpeername(c->fd, (struct sockaddr *)&peer, &m))
		return failed_call(j, "name");
	c->tx_key = peer_key(seed, port_of(&own), port_of(&peer));
	c->rx_key = peer_key(seed, port_of(&peer), port_of(&own));
	return 0;
}

static int do_socket(struct job *j)
{
	int mptcp = j->n > 2 && !strcmp(j->word[2], "mptcp");
	int fd = socket(AF_INET, SOCK_STREAM, mptcp ? IPPROTO_MPTCP : 0);

	return fd < 0 ? failed_call(j, "socket") : add(j, fd) ? 0 : -1;
}

/* The one of that name, or a new one. */
static struct conn *socket_for(struct job *j, sa_family_t family)
{
	struct conn *c = find(j->word[1]);
	int fd;

	if (c)
		return c;
	fd = socket(family, SOCK_STREAM, 0);
	if (fd >= 0)
		return add(j, fd);
	failed_call(j, "socket");
	return NULL;
}

static int do_listen(struct job *j)
{
	struct sockaddr_storage addr;
	int one = 1, backlog = j->n > 4 ? atoi(j->word[4]) : 16;
	struct conn *l;
	socklen_t len;

	if (parse_address(j, &addr, &len))
		return -1;
	l = socket_for(j, addr.ss_family);
	if (!l)
		return -1;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(l->fd, (struct sockaddr *)&addr, len) || listen(l->fd, backlog) ?
	       failed_call(j, "listen") : 0;
}

static int do_accept(struct job *j)
{
	struct conn *l = j->n > 2 ? find(j->word[2]) : NULL, *c;
	int fd = l ? accept(l->fd, NULL, NULL) : -1;

	if (!l)
		return failed(j, "no such listener");
	if (fd < 0)
		return failed_call(j, "accept");
	c = add(j, fd);
	return c ? set_keys(j, c) : -1;
}

/* The port is taken whoever has had it; TCP takes the number from the last repair. */
static int set_origin(struct job *j, int fd, sa_family_t family)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	int one = 1;

	if (j->n > 5 && isn_set(fd, strtoul(j->word[5], NULL, 10)))
		return failed_call(j, "repair");
	v4.sin_port = htons(atoi(j->word[4]));
	v6.sin6_port = v4.sin_port;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return bind(fd, family == AF_INET ? (void *)&v4 : (void *)&v6,
		    family == AF_INET ? sizeof(v4) : sizeof(v6)) ?
	       failed_call(j, "bind") : 0;
}

static int do_connect(struct job *j)
{
	struct sockaddr_storage addr;
	struct conn *c;
	socklen_t len;

	if (parse_address(j, &addr, &len))
		return -1;
	c = socket_for(j, addr.ss_family);
	if (!c || (j->n > 4 && set_origin(j, c->fd, addr.ss_family)))
		return -1;
	if (connect(c->fd, (struct sockaddr *)&addr, len))
		return failed_call(j, "connect");
	return set_keys(j, c);
}

/* fastopen NAME ADDR PORT N: connect with N bytes in the SYN */
static int do_fastopen(struct job *j)
{
	struct sockaddr_storage addr, own = { .ss_family = AF_INET };
	socklen_t len, own_len = sizeof(own);
	unsigned char buf[1000];
	unsigned int here, there;
	struct conn *c;
	ssize_t ret;
	size_t n;
	int fd;

	if (j->n < 5 || parse_address(j, &addr, &len))
		return failed(j, "address and size are missing");
	n = atoi(j->word[4]);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	/* The pattern needs the port. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(struct sockaddr_in)) ||
	    getsockname(fd, (struct sockaddr *)&own, &own_len))
		return failed_call(j, "bind");
	c = add(j, fd);
	if (!c || n > sizeof(buf))
		return failed(j, "too many bytes");
	here = ntohs(((struct sockaddr_in *)&own)->sin_port);
	there = ntohs(((struct sockaddr_in *)&addr)->sin_port);
	c->tx_key = peer_key(seed, here, there);
	c->rx_key = peer_key(seed, there, here);
	peer_fill(c->tx_key, 0, buf, n);
	ret = sendto(fd, buf, n, MSG_FASTOPEN, (struct sockaddr *)&addr, len);
	if (ret != (ssize_t)n)
		return failed_call(j, "sendto");
	c->tx = n;
	return 0;
}

static int do_send(struct job *j, struct conn *c, enum way way, size_t n)
{
	unsigned char *buf = malloc(n + 1);
	ssize_t ret;

	if (!buf)
		return failed(j, "no memory");
	peer_fill(c->tx_key, c->tx, buf, n);
	ret = way_send(way, c->fd, buf, n);
	if (ret < 0)
		return failed_call(j, j->word[0]);
	c->tx += ret;
	j->value = ret;
	return (size_t)ret == n ? 0 : failed(j, "%s: %zd of %zu bytes", j->word[0], ret, n);
}

static int do_crumbs(struct job *j, struct conn *c)
{
	size_t n = j->n > 2 ? strtoull(j->word[2], NULL, 10) : 0;
	unsigned char byte;

	while (n--) {
		byte = peer_byte(c->tx_key, c->tx);
		if (send(c->fd, &byte, 1, MSG_NOSIGNAL | MSG_EOR) != 1)
			return failed_call(j, "send");
		c->tx++;
	}
	return 0;
}

static int do_fill(struct job *j, struct conn *c)
{
	static __thread unsigned char buf[CHUNK];
	ssize_t ret;

	do {
		peer_fill(c->tx_key, c->tx, buf, sizeof(buf));
		ret = send(c->fd, buf, sizeof(buf), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (ret > 0) {
			c->tx += ret;
			j->value += ret;
		}
	} while (ret > 0);
	return ret < 0 && errno == EAGAIN ? 0 : failed_call(j, "send");
}

static int check(struct job *j, const struct conn *c, const unsigned char *buf, size_t n)
{
	size_t bad = peer_differ(c->rx_key, c->rx, buf, n);

	return bad == n ? 0 : failed(j, "byte %" PRIu64 " is not as sent", c->rx + bad);
}

/* do_recv() - @n bytes, or all up to the end of the stream */
static int do_recv(struct job *j, struct conn *c, size_t n, int to_end)
{
	static __thread unsigned char buf[CHUNK];
	const char *how = j->word[0];
	int flags = !strcmp(how, "peek") ? MSG_PEEK :
		    !strcmp(how, "waitall") ? MSG_WAITALL : 0;
	ssize_t ret = 1;

	while ((to_end || (size_t)j->value < n) && ret > 0) {
		size_t want = to_end ? sizeof(buf) : n - j->value;

		ret = recv(c->fd, buf, want < sizeof(buf) ? want : sizeof(buf), flags);
		if (ret < 0)
			return failed_call(j, how);
		if (check(j, c, buf, ret))
			return -1;
		if (!(flags & MSG_PEEK))
			c->rx += ret;
		j->value += ret;
		if (flags || !strcmp(how, "some"))
			break;
	}
	return to_end || (size_t)j->value == n || !strcmp(how, "some") ? 0 :
	       failed(j, "%s: %lld of %zu bytes", how, j->value, n);
}

static int do_oob(struct job *j, struct conn *c)
{
	unsigned char byte;

	if (recv(c->fd, &byte, 1, MSG_OOB) != 1)
		return failed_call(j, "oob");
	if (check(j, c, &byte, 1))
		return -1;
	c->rx++;
	return 0;
}

static int do_map(struct job *j, struct conn *c)
{
	static __thread unsigned char buf[CHUNK];
	size_t n = j->n > 2 ? strtoull(j->word[2], NULL, 10) : 0, done = 0;

	while (done < n) {
		size_t want = n - done < sizeof(buf) ? n - done : sizeof(buf), mapped;
		ssize_t ret = way_map(c->fd, buf, want, &mapped);

		if (ret <= 0)
			return failed_call(j, "map");
		if (check(j, c, buf, ret))
			return -1;
		c->rx += ret;
		done += ret;
		j->value += mapped;
	}
	return 0;
}

static int do_set(struct job *j, struct conn *c)
{
	static const struct {
		const char *name;
		int level, nr;
	} opts[] = {
		{ "rcvlowat", SOL_SOCKET, SO_RCVLOWAT },
		{ "sndbuf", SOL_SOCKET, SO_SNDBUF },
		{ "rcvbuf", SOL_SOCKET, SO_RCVBUF },
		{ "peekoff", SOL_SOCKET, SO_PEEK_OFF },
		{ "oobinline", SOL_SOCKET, SO_OOBINLINE },
		{ "nodelay", IPPROTO_TCP, TCP_NODELAY },
		{ "fastopen", IPPROTO_TCP, TCP_FASTOPEN },
		{ "defer", IPPROTO_TCP, TCP_DEFER_ACCEPT },
	};
	unsigned int i;
	int value;

	if (j->n < 4)
		return failed(j, "option and value are missing");
	value = atoi(j->word[3]);
	for (i = 0; i < sizeof(opts) / sizeof(*opts); i++)
		if (!strcmp(opts[i].name, j->word[2]))
			return setsockopt(c->fd, opts[i].level, opts[i].nr, &value,
					  sizeof(value)) ? failed_call(j, "set") : 0;
	return failed(j, "%s: no such option", j->word[2]);
}

static int do_close(struct job *j, struct conn *c)
{
	const struct linger hard = { .l_onoff = 1 };

	if (!strcmp(j->word[0], "reset"))
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	c->name[0] = 0;
	return close(c->fd) ? failed_call(j, "close") : 0;
}

static int do_fork(struct job *j, struct conn *c)
{
	c->child = fork();
	if (!c->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	j->value = c->child;
	return c->child < 0 ? failed_call(j, "fork") : 0;
}

static int do_reap(struct job *j, struct conn *c)
{
	return kill(c->child, SIGKILL) || waitpid(c->child, NULL, 0) != c->child ?
	       failed_call(j, "reap") : 0;
}

/* The bytes that go with it do not matter. */
static int do_away(struct job *j, struct conn *c)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->way) ||
	    pass_fd(c->way[0], c->fd, "", 1) || close(c->fd))
		return failed_call(j, "away");
	return 0;
}

static int do_back(struct job *j, struct conn *c)
{
	char byte;

	c->fd = take_fd(c->way[1], &byte, 1);
	close(c->way[0]);
	close(c->way[1]);
	return c->fd < 0 ? failed_call(j, "back") : 0;
}

static int do_give(struct job *j, struct conn *c)
{
	int err, via = j->n > 2 ? pass_connect(j->word[2]) : -1;

	if (via < 0)
		return failed_call(j, "path");
	err = pass_fd(via, c->fd, c, sizeof(*c)) || close(c->fd) ? failed_call(j, "give") : 0;
	c->name[0] = 0;
	close(via);
	return err;
}

static int do_get(struct job *j)
{
	int via = j->n > 2 ? pass_listen(j->word[2]) : -1;
	struct conn got, *c;

	if (via < 0)
		return failed_call(j, "path");
	got.fd = take_fd(via, &got, sizeof(got));
	close(via);
	if (got.fd < 0)
		return failed_call(j, "get");
	c = add(j, got.fd);
	if (!c)
		return -1;
	c->tx_key = got.tx_key;
	c->rx_key = got.rx_key;
	c->tx = got.tx;
	c->rx = got.rx;
	return 0;
}

static int do_ring(struct job *j, struct conn *c)
{
	int ring = pass_to_ring(c->fd);

	return ring < 0 || close(c->fd) ? failed_call(j, "ring") : 0;
}

static int do_md5(struct job *j, struct conn *c)
{
	struct tcp_md5sig sig = { .tcpm_keylen = 6, .tcpm_key = "secret" };
	struct sockaddr_in *to = (void *)&sig.tcpm_addr;

	to->sin_family = AF_INET;
	return j->n < 3 || inet_pton(AF_INET, j->word[2], &to->sin_addr) != 1 ||
	       setsockopt(c->fd, IPPROTO_TCP, TCP_MD5SIG, &sig, sizeof(sig)) ?
	       failed_call(j, "md5") : 0;
}

static int do_ulp(struct job *j, struct conn *c)
{
	return j->n < 3 || setsockopt(c->fd, IPPROTO_TCP, TCP_ULP, j->word[2],
				      strlen(j->word[2])) ? failed_call(j, "ulp") : 0;
}

static int do_sockmap(struct job *j, struct conn *c)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_SOCKMAP, .key_size = 4, .value_size = 4,
		.max_entries = 1,
	};
	uint32_t key = 0, value = c->fd;
	union bpf_attr elem = {
		.map_fd = syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)),
		.key = (uintptr_t)&key, .value = (uintptr_t)&value,
	};

	return (int)elem.map_fd < 0 ||
	       syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &elem, sizeof(elem)) ?
	       failed_call(j, "sockmap") : 0;
}

static int do_reconnect(struct job *j, struct conn *c)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_storage addr;
	socklen_t len;

	if (parse_address(j, &addr, &len))
		return -1;
	if (connect(c->fd, &none, sizeof(none)) ||
	    connect(c->fd, (struct sockaddr *)&addr, len))
		return failed_call(j, "reconnect");
	c->tx = 0;
	c->rx = 0;
	return set_keys(j, c);
}

static int do_shut(struct job *j, struct conn *c)
{
	return shutdown(c->fd, SHUT_WR) ? failed_call(j, "shut") : 0;
}

static int do_dup(struct job *j, struct conn *c)
{
	return dup(c->fd) < 0 ? failed_call(j, "dup") : 0;
}

static int do_it(struct job *j)
{
	static const struct {
		const char *name;
		int (*run)(struct job *j, struct conn *c);
	} others[] = {
		{ "crumbs", do_crumbs }, { "fill", do_fill }, { "set", do_set }, { "shut", do_shut },
		{ "oob", do_oob }, { "reconnect", do_reconnect },
		{ "close", do_close }, { "reset", do_close }, { "dup", do_dup },
		{ "fork", do_fork }, { "reap", do_reap }, { "away", do_away },
		{ "back", do_back }, { "give", do_give }, { "ring", do_ring },
		{ "map", do_map }, { "md5", do_md5 }, { "ulp", do_ulp },
		{ "sockmap", do_sockmap },
	};
	const char *what = j->word[0];
	struct conn *c;
	unsigned int i;
	size_t n;

	if (j->n < 2)
		return failed(j, "what?");
	if (!strcmp(what, "socket"))
		return do_socket(j);
	if (!strcmp(what, "listen"))
		return do_listen(j);
	if (!strcmp(what, "accept"))
		return do_accept(j);
	if (!strcmp(what, "connect"))
		return do_connect(j);
	if (!strcmp(what, "fastopen"))
		return do_fastopen(j);
	if (!strcmp(what, "get"))
		return do_get(j);
	c = find(j->word[1]);
	if (!c)
		return failed(j, "%s: no such connection", j->word[1]);
	n = j->n > 2 ? strtoull(j->word[2], NULL, 10) : 0;
	if (way_find(what) < WAYS)
		return do_send(j, c, way_find(what), n);
	if (strstr(" recv peek waitall some ", what))
		return do_recv(j, c, n, 0);
	if (!strcmp(what, "drain"))
		return do_recv(j, c, 0, 1);
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(what, others[i].name))
			return others[i].run(j, c);
	return failed(j, "%s: no such command", what);
}

static void *work(void *arg)
{
	struct job *j = arg;
	char *nr, *save, *w;
	int err;

	nr = strtok_r(j->line, " &\n", &save);
	while (j->n < WORDS && (w = strtok_r(NULL, " &\n", &save)))
		j->word[j->n++] = w;
	err = do_it(j);
	pthread_mutex_lock(&print_lock);
	if (err)
		printf("%s failed %s\n", nr ? nr : "0", j->why);
	else
		printf("%s ok %lld\n", nr, j->value);
	fflush(stdout);
	pthread_mutex_unlock(&print_lock);
	free(j);
	return NULL;
}

int main(int argc, char **argv)
{
	char line[sizeof(((struct job *)0)->line)];
	pthread_t t;
	FILE *in;

	if (argc != 3) {
		fprintf(stderr, "usage: peer SEED FIFO\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10);
	in = fopen(argv[2], "re");
	if (!in) {
		perror(argv[2]);
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), in)) {
		struct job *j = calloc(1, sizeof(*j));

		strcpy(j->line, line);
		if (strchr(line, '&') && !pthread_create(&t, NULL, work, j))
			pthread_detach(t);
		else
			work(j);
	}
	return 0;
}
