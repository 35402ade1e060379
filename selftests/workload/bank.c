// SPDX-License-Identifier: GPL-2.0
/*
 * A bank that pays others all the time: the workload of the demo and the tests.
 * An ordinary TCP program that knows nothing of snapshots.  It checks every
 * byte that it receives and every result of its calls, and ends with a message
 * and status 1 when one is not as it would be without snapshots.
 *
 * SIGTERM ends it: it pays no more, waits until all the others have done the
 * same, and prints one line of totals.  bank.h says how it keeps its books.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bank.h"

#define DRAIN_SECONDS	120

struct bank bank;
struct bank_options opt;

static const char usage[] =
	"usage: bank --id I --addrs IP0,IP1,... --port P --seed S\n"
	"            [--initial MONEY] [--max-len BYTES] [--sockbuf BYTES]\n"
	"            [--rate MESSAGES] [--allow-short]\n";

static const struct option options[] = {
	{ "id", required_argument, NULL, 'i' },
	{ "addrs", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'p' },
	{ "seed", required_argument, NULL, 's' },
	{ "initial", required_argument, NULL, 'm' },
	{ "max-len", required_argument, NULL, 'l' },
	{ "sockbuf", required_argument, NULL, 'b' },
	{ "rate", required_argument, NULL, 'r' },
	{ "allow-short", no_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

void bank_die(const char *fmt, ...)
{
	va_list ap;
	char why[256];

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	fprintf(stderr, "bank-%u: %s\n", bank.id, why);
	_exit(1);
}

static void die_usage(const char *why)
{
	fprintf(stderr, "bank: %s\n%s", why, usage);
	exit(2);
}

static long long number(const char *arg, long long min, long long max)
{
	char *end;
	long long n = strtoll(arg, &end, 0);

	if (!*arg || *end || n < min || n > max) {
		fprintf(stderr, "bank: '%s' is no number from %lld to %lld\n",
			arg, min, max);
		exit(2);
	}
	return n;
}

static void parse_addr(const char *arg, struct sockaddr_storage *addr)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;

	if (inet_pton(AF_INET, arg, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, arg, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	else
		die_usage("--addrs wants IP addresses, with commas between them");
}

static void parse_addrs(char *arg)
{
	char *save, *one;

	for (one = strtok_r(arg, ",", &save); one;
	     one = strtok_r(NULL, ",", &save)) {
		if (bank.n == BANK_MAX)
			die_usage("too many addresses");
		parse_addr(one, &opt.addr[bank.n++]);
	}
}

static void parse(int argc, char **argv)
{
	int c, port = 0, have_id = 0, have_seed = 0;
	unsigned int i;

	bank.initial = 1000000;
	bank.max_len = BANK_LEN_USUAL;
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			bank.id = number(optarg, 0, BANK_MAX - 1);
			have_id = 1;
			break;
		case 'a':
			parse_addrs(optarg);
			break;
		case 'p':
			port = number(optarg, 1, 65535);
			break;
		case 's':
			bank.seed = number(optarg, 0, INT64_MAX);
			have_seed = 1;
			break;
		case 'm':
			bank.initial = number(optarg, 0, 1LL << 50);
			break;
		case 'l':
			bank.max_len = number(optarg, 64, BANK_LEN_MAX);
			break;
		case 'b':
			opt.sockbuf = number(optarg, 1, 1 << 30);
			break;
		case 'r':
			opt.rate = number(optarg, 0, 1000000);
			break;
		case 'S':
			opt.allow_short = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind != argc || !have_id || !have_seed || !port)
		die_usage("--id, --addrs, --port and --seed are needed");
	if (bank.n < 2 || bank.id >= bank.n)
		die_usage("--addrs must name at least two banks, this one among them");
	/* sin6_port lies where sin_port does */
	for (i = 0; i < bank.n; i++)
		((struct sockaddr_in *)&opt.addr[i])->sin_port = htons(port);
}

int main(int argc, char **argv)
{
	sigset_t term;
	int sig;

	parse(argc, argv);
	bank.magic = BANK_MAGIC;
	bank.ledger[0].balance = bank.initial;

	/* No thread is ever to be interrupted by a signal: main waits for it. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	signal(SIGPIPE, SIG_IGN);

	bank_mesh();
	bank_start();
	printf("bank-%u: ready, %u connections\n", bank.id, bank.n - 1);
	fflush(stdout);

	sigwait(&term, &sig);
	alarm(DRAIN_SECONDS);
	bank_stop();
	bank_summary();
	return 0;
}
