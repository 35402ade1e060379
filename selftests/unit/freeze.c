// SPDX-License-Identifier: GPL-2.0
/*
 * freeze SNAP PORT PID...: a snapshot of banks on this host without distsnap, by
 * stopping all of them at once: a control for the bank and for its oracle.  The
 * cores are gdb's, positions come from the kernel's own statistics, the bytes
 * from the sockets' queues (TCP_REPAIR, for which it needs CAP_NET_ADMIN).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ENDS	64
#define MAX_QUEUE	(64 << 20)

struct end {
	int member;
	char local[64], remote[64];
	uint64_t read, next, una, sent;
	unsigned char *recvq, *sendq;
};

static struct end ends[MAX_ENDS];
static int nr_ends, listen_port;
static char **stop_list;

static void send_all(int sig)
{
	char **pid;

	for (pid = stop_list; pid && *pid; pid++)
		kill(atoi(*pid), sig);
}

static void die(const char *what)
{
	fprintf(stderr, "freeze: %s: %s\n", what, strerror(errno));
	send_all(SIGCONT);
	exit(1);
}

static void print_to(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(buf, size, fmt, ap) >= (int)size) {
		errno = ENAMETOOLONG;
		die(fmt);
	}
	va_end(ap);
}

static int stopped(pid_t pid)
{
	char path[300], line[256], *state;
	struct dirent *d;
	int all = 1;
	FILE *f;
	DIR *dir;

	print_to(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die(path);
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		print_to(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
			 d->d_name);
		f = fopen(path, "re");
		if (!f || !fgets(line, sizeof(line), f))
			die(path);
		fclose(f);
		state = strrchr(line, ')');
		all &= state && state[2] == 'T';
	}
	closedir(dir);
	return all;
}

static void to_text(const struct sockaddr_in *a, char *buf, size_t size)
{
	print_to(buf, size, "%s:%d", inet_ntoa(a->sin_addr), ntohs(a->sin_port));
}

static unsigned char *peek(int fd, size_t n)
{
	unsigned char *buf = malloc(n + 1);

	if (n && recv(fd, buf, n, MSG_PEEK | MSG_DONTWAIT) != (ssize_t)n)
		die("MSG_PEEK");
	return buf;
}

static unsigned char *peek_sendq(int fd, size_t n)
{
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP, reuse = 1;
	int queue = TCP_SEND_QUEUE;
	unsigned char *buf;

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)))
		die("TCP_REPAIR");
	buf = peek(fd, n);
	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)) ||
	    /* which repairing took away */
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)))
		die("TCP_REPAIR");
	return buf;
}

static void read_end(int member, int fd)
{
	struct end *e = &ends[nr_ends];
	struct sockaddr_in local = { 0 }, remote = { 0 };
	socklen_t len = sizeof(local);
	struct tcp_info info;
	int in, out;

	if (getsockname(fd, (struct sockaddr *)&local, &len) ||
	    local.sin_family != AF_INET)
		return;
	len = sizeof(remote);
	if (getpeername(fd, (struct sockaddr *)&remote, &len))
		return;			/* the listener */
	len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	    ioctl(fd, SIOCINQ, &in) || ioctl(fd, SIOCOUTQ, &out))
		die("TCP_INFO");
	if (nr_ends == MAX_ENDS || in > MAX_QUEUE || out > MAX_QUEUE)
		die("too much");
	e->member = member;
	to_text(&local, e->local, sizeof(e->local));
	to_text(&remote, e->remote, sizeof(e->remote));
	e->next = info.tcpi_bytes_received;
	e->read = e->next - in;
	/* bytes_acked has counted the SYN of the side that connected */
	e->una = info.tcpi_bytes_acked - (ntohs(local.sin_port) != listen_port);
	e->sent = e->una + out;
	e->recvq = peek(fd, in);
	e->sendq = peek_sendq(fd, out);
	nr_ends++;
}

static void read_sockets(int member, pid_t pid)
{
	int pidfd = pidfd_open(pid, 0), fd, theirs;
	char path[64];
	struct dirent *d;
	DIR *dir;

	print_to(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (pidfd < 0 || !dir)
		die(path);
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		theirs = atoi(d->d_name);
		fd = pidfd_getfd(pidfd, theirs, 0);
		if (fd < 0)
			die("pidfd_getfd");
		read_end(member, fd);
		close(fd);
	}
	closedir(dir);
	close(pidfd);
}

static void dump_core(const char *snap, int member, pid_t pid)
{
	char prefix[4096], cmd[9000], from[4200], to[4200];

	print_to(prefix, sizeof(prefix), "%s/nodes/host/bank-%d", snap, member);
	if (mkdir(prefix, 0700))
		die(prefix);
	print_to(from, sizeof(from), "%s/core.%d", prefix, pid);
	print_to(to, sizeof(to), "%s/core", prefix);
	print_to(cmd, sizeof(cmd), "gcore -o '%s' %d >/dev/null 2>&1", to, pid);
	if (system(cmd) || rename(from, to))
		die("gcore");
}

static json_t *channel(const char *snap, const struct end *s, const struct end *r)
{
	char path[4200], src[32], dst[32];
	const char *file = path + strlen(snap) + 1;
	uint64_t at;
	FILE *f;

	if (s->una > r->next || r->read > s->sent) {
		fprintf(stderr, "freeze: %s -> %s: read %" PRIu64 " next %" PRIu64
			" una %" PRIu64 " sent %" PRIu64 "\n", s->local, r->local,
			r->read, r->next, s->una, s->sent);
		errno = EAGAIN;
		die("not settled");
	}
	print_to(path, sizeof(path), "%s/channels/%s-%s.bin", snap, s->local,
		 r->local);
	print_to(src, sizeof(src), "host/bank-%d", s->member);
	print_to(dst, sizeof(dst), "host/bank-%d", r->member);
	f = fopen(path, "we");
	if (!f)
		die(path);
	for (at = r->read; at < s->sent; at++)
		putc(at < r->next ? r->recvq[at - r->read] :
				    s->sendq[at - s->una], f);
	if (fclose(f))
		die(path);
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s}",
			 "src", src, "dst", dst, "src_addr", s->local,
			 "dst_addr", r->local, "read", (json_int_t)r->read,
			 "sent", (json_int_t)s->sent, "bytes",
			 (json_int_t)(s->sent - r->read), "fin", 0, "file", file);
}

static void write_manifest(const char *snap, int members)
{
	json_t *m = json_array(), *c = json_array(), *all;
	char name[32], core[64], path[4200];
	int i, j;

	for (i = 0; i < members; i++) {
		print_to(name, sizeof(name), "bank-%d", i);
		print_to(core, sizeof(core), "nodes/host/bank-%d/core", i);
		json_array_append_new(m, json_pack("{s:s, s:s, s:s}", "name", name,
						   "node", "host", "core", core));
	}
	for (i = 0; i < nr_ends; i++)
		for (j = 0; j < nr_ends; j++)
			if (!strcmp(ends[i].local, ends[j].remote) &&
			    !strcmp(ends[i].remote, ends[j].local))
				json_array_append_new(c, channel(snap, &ends[i],
								 &ends[j]));
	all = json_pack("{s:s, s:i, s:i, s:s, s:o, s:o}",
			"format", "distsnap-snapshot", "version", 1, "epoch", 1,
			"verdict", "complete", "members", m, "channels", c);
	print_to(path, sizeof(path), "%s/manifest.json", snap);
	if (json_dump_file(all, path, JSON_INDENT(2)))
		die(path);
	json_decref(all);
}

static void make_dirs(const char *snap)
{
	static const char * const dirs[] = { "", "/channels", "/nodes", "/nodes/host" };
	char path[4200];
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		print_to(path, sizeof(path), "%s%s", snap, dirs[i]);
		if (mkdir(path, 0700))
			die(path);
	}
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 4) {
		fprintf(stderr, "usage: freeze SNAP PORT PID...\n");
		return 2;
	}
	listen_port = atoi(argv[2]);
	make_dirs(argv[1]);
	stop_list = argv + 3;
	send_all(SIGSTOP);
	for (i = 3; i < argc; i++)
		while (!stopped(atoi(argv[i])))
			usleep(1000);
	usleep(50000);			/* what is on its way arrives */
	for (i = 3; i < argc; i++)
		read_sockets(i - 3, atoi(argv[i]));
	for (i = 3; i < argc; i++)
		dump_core(argv[1], i - 3, atoi(argv[i]));
	write_manifest(argv[1], argc - 3);
	send_all(SIGCONT);
	return 0;
}
