// SPDX-License-Identifier: GPL-2.0
/*
 * bank-audit: says whether snapshots of the bank are consistent.  It trusts
 * neither the module nor the tool: balances and positions come from the
 * members' memory, and every byte in flight is made again from the seed of the
 * workload and compared.  The rules are in audit/check.h.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/check.h"
#include "workload/bankgen.h"

static const char usage[] =
	"usage: bank-audit --exe BANK [--seed S] [--total MONEY] SNAP...\n"
	"       bank-audit --light --seed S [--max-len BYTES] SNAP...\n"
	"  --json   one object for each snapshot instead of one line\n"
	"  --quiet  print only what is wrong, and the summary\n"
	"Exit status: 0 all consistent, 1 one is not, 2 usage, 3 one is incomplete\n";

static const struct option options[] = {
	{ "exe", required_argument, NULL, 'e' },
	{ "seed", required_argument, NULL, 's' },
	{ "total", required_argument, NULL, 't' },
	{ "max-len", required_argument, NULL, 'm' },
	{ "light", no_argument, NULL, 'l' },
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static int json, quiet;

/* 1234567 as 1,234,567; the last few results stay valid. */
static const char *money(int64_t n)
{
	static char bufs[8][32];
	static unsigned int next;
	char digits[24], *out = bufs[next++ % 8], *p = out;
	int i, len = snprintf(digits, sizeof(digits), "%" PRIu64,
			      n < 0 ? -(uint64_t)n : (uint64_t)n);

	if (n < 0)
		*p++ = '-';
	for (i = 0; i < len; i++) {
		*p++ = digits[i];
		if ((len - i) % 3 == 1 && i + 1 < len)
			*p++ = ',';
	}
	*p = 0;
	return out;
}

static const char *word_for(int ret)
{
	return !ret ? "consistent" :
	       ret == SNAP_INCOMPLETE ? "INCOMPLETE" : "NOT CONSISTENT";
}

static void print_line(const struct audit *a, const char *path,
		       const struct finding *f, int ret, const struct why *w)
{
	if (ret) {
		printf("%3" PRIu64 "  %s  %s: %s\n", f->epoch, word_for(ret),
		       path, w->text);
		return;
	}
	if (quiet)
		return;
	printf("%3" PRIu64 "  %u members  %u channels  %8s bytes in flight  ",
	       f->epoch, f->members, f->channels, money(f->bytes));
	if (!a->light)
		printf("%s + %s = %s  ", money(f->balances),
		       money(f->in_flight), money(f->total));
	printf("%s  pause %.1f ms\n", word_for(ret), f->pause_us / 1000.0);
}

static void print_json(const struct audit *a, const char *path,
		       const struct finding *f, int ret, const struct why *w)
{
	json_t *o = json_pack("{s:s, s:I, s:b, s:b, s:i, s:i, s:i, s:I, s:I}",
			      "snapshot", path, "epoch", (json_int_t)f->epoch,
			      "consistent", !ret, "complete",
			      ret != SNAP_INCOMPLETE, "members", f->members,
			      "channels", f->channels,
			      "channels_with_bytes", f->busy,
			      "bytes_in_flight", (json_int_t)f->bytes,
			      "longest_pause_us", (json_int_t)f->pause_us);

	if (ret)
		json_object_set_new(o, "why", json_string(w->text));
	else if (!a->light)
		json_object_update_new(o, json_pack("{s:i, s:I, s:I, s:I}",
			"ends_ahead_of_memory", f->ahead,
			"balances", (json_int_t)f->balances,
			"in_flight", (json_int_t)f->in_flight,
			"total", (json_int_t)f->total));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static int audit_all(const struct audit *a, char **paths)
{
	unsigned int n = 0, good = 0, busy = 0;
	struct finding f;
	int status = 0;

	for (; paths[n]; n++) {
		struct why w = { "" };
		int ret = check_snapshot(a, paths[n], &f, &w);

		(json ? print_json : print_line)(a, paths[n], &f, ret, &w);
		fflush(stdout);
		good += !ret;
		busy += !ret && f.bytes;
		if (ret == SNAP_INCOMPLETE && !status)
			status = 3;
		else if (ret && ret != SNAP_INCOMPLETE)
			status = 1;
	}
	if (n > 1 && !json)
		printf("%u/%u snapshots consistent, %u with bytes in flight\n",
		       good, n, busy);
	return status;
}

static long long number(const char *arg)
{
	char *end;
	long long n = strtoll(arg, &end, 0);

	if (!*arg || *end) {
		fprintf(stderr, "bank-audit: '%s' is no number\n", arg);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	struct audit a = { .max_len = BANK_LEN_USUAL };
	const char *path = NULL;
	struct exe exe;
	struct why w;
	int c, ret;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			path = optarg;
			break;
		case 's':
			a.seed = number(optarg);
			a.has_seed = 1;
			break;
		case 't':
			a.total = number(optarg);
			a.has_total = 1;
			break;
		case 'm':
			a.max_len = number(optarg);
			break;
		case 'l':
			a.light = 1;
			break;
		case 'j':
			json = 1;
			break;
		case 'q':
			quiet = 1;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc || (a.light ? !a.has_seed : !path) ||
	    a.max_len < 64 || a.max_len > BANK_LEN_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	if (a.light)
		return audit_all(&a, argv + optind);
	if (exe_open(&exe, path, &w)) {
		fprintf(stderr, "bank-audit: %s\n", w.text);
		return 2;
	}
	a.exe = &exe;
	ret = audit_all(&a, argv + optind);
	exe_close(&exe);
	return ret;
}
