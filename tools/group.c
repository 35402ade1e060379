// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "nl.h"
#include "opts.h"
#include "util.h"

#define LIMIT_MAX_MS	60000		/* the module takes no more */

static const char help[] =
"Usage: distsnap group GROUP --id N --peers PREFIX[,PREFIX...] [LIMITS]\n"
"       distsnap group GROUP [LIMITS]\n"
"       distsnap group GROUP --delete\n\n"
"Creates the group on this host, changes it, or deletes it when it has no\n"
"members here.  Every host needs it, with the same id.\n\n"
"  --id N            number of the group on the wire, the same on every host (1-65535)\n"
"  --peers PREFIXES  networks that may hold members: 10.0.0.0/24,fd00::/64\n"
"  --pause-max MS    how long a member may stay paused (default 200)\n"
"  --record-max MS   from trigger to recorded (default 1000)\n"
"  --snap-max MS     from trigger to the end of a snapshot (default 5000)\n"
"  --bytes-max N     captured bytes kept on this node at most (default 256M)\n"
"  --delete          delete it; an agent that runs for it ends\n\n"
OPTS_TIMES "The limits are at most a minute.  " OPTS_SIZES HELP_EXIT;

enum {
	OPT_ID = 256, OPT_PEERS, OPT_PAUSE, OPT_RECORD, OPT_SNAP, OPT_BYTES,
	OPT_DELETE,
};

static const struct option options[] = {
	{ "id", required_argument, NULL, OPT_ID },
	{ "peers", required_argument, NULL, OPT_PEERS },
	{ "pause-max", required_argument, NULL, OPT_PAUSE },
	{ "record-max", required_argument, NULL, OPT_RECORD },
	{ "snap-max", required_argument, NULL, OPT_SNAP },
	{ "bytes-max", required_argument, NULL, OPT_BYTES },
	{ "delete", no_argument, NULL, OPT_DELETE },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int bad_prefix(const char *text, const char *why)
{
	return fail(EXIT_USAGE, "group --peers %s: %s", text, why);
}

static int check_host_bits(const char *text, const struct distsnap_prefix *p)
{
	unsigned char bits = 0, net[sizeof(p->addr)];
	char name[INET6_ADDRSTRLEN];
	unsigned int i;

	for (i = 0; i < sizeof(net); i++) {
		unsigned int in = p->plen <= i * 8 ? 0 : p->plen - i * 8;
		unsigned char mask = in >= 8 ? 0xff : 0xff << (8 - in);

		net[i] = p->addr[i] & mask;
		bits |= p->addr[i] & ~mask;
	}
	if (!bits)
		return 0;
	inet_ntop(p->family, net, name, sizeof(name));
	return fail(EXIT_USAGE, "group --peers %s: bits beyond the prefix are set: %s/%u is the network",
		    text, name, p->plen);
}

static int parse_prefix(const char *text, struct distsnap_prefix *p)
{
	static const char not_one[] = "not a prefix such as 10.0.0.0/24 or fd00::/64";
	bool v6 = strchr(text, ':');
	size_t len = strcspn(text, "/");
	char addr[INET6_ADDRSTRLEN];
	uint64_t max = v6 ? 128 : 32, plen = max;

	memset(p, 0, sizeof(*p));
	p->family = v6 ? AF_INET6 : AF_INET;
	if (len >= sizeof(addr))
		return bad_prefix(text, not_one);
	memcpy(addr, text, len);
	addr[len] = 0;
	if (inet_pton(p->family, addr, p->addr) != 1)
		return bad_prefix(text, not_one);
	if (v6 && IN6_IS_ADDR_V4MAPPED((struct in6_addr *)p->addr))
		return bad_prefix(text, "an IPv4 network in IPv6's clothes: give it as 10.0.0.0/24");
	if (text[len] && parse_u64(text + len + 1, &plen))
		return bad_prefix(text, "the prefix length is not a number");
	if (plen > max)
		return bad_prefix(text, v6 ? "prefix length above 128" : "prefix length above 32");
	p->plen = plen;
	return check_host_bits(text, p);
}

static int parse_peers(const char *arg, struct ds_group *g)
{
	char *copy = xstrdup(arg), *save, *s;
	int err = 0;

	g->n_peers = 0;
	for (s = strtok_r(copy, ",", &save); s && !err;
	     s = strtok_r(NULL, ",", &save)) {
		if (g->n_peers == DISTSNAP_PREFIXES_MAX)
			err = fail(EXIT_USAGE, "group: --peers: at most %d prefixes",
				   DISTSNAP_PREFIXES_MAX);
		else
			err = parse_prefix(s, &g->peers[g->n_peers++]);
	}
	free(copy);
	if (!err && !g->n_peers)
		err = fail(EXIT_USAGE, "group: --peers: needs at least one prefix");
	return err;
}

static uint64_t memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

static int parse_limit(const char *opt, uint32_t *ms)
{
	return opt_ms("group", opt, optarg, 1, LIMIT_MAX_MS, ms);
}

/* -1: go on; otherwise the exit code. */
static int parse_option(int opt, char **argv, struct ds_group *g, bool *delete)
{
	uint32_t id;
	int err;

	switch (opt) {
	case OPT_ID:
		err = opt_number("group", "--id", optarg, 1, UINT16_MAX, &id);
		g->id = err ? 0 : id;
		break;
	case OPT_PEERS:
		err = parse_peers(optarg, g);
		break;
	case OPT_PAUSE:
		err = parse_limit("--pause-max", &g->pause_max);
		break;
	case OPT_RECORD:
		err = parse_limit("--record-max", &g->record_max);
		break;
	case OPT_SNAP:
		err = parse_limit("--snap-max", &g->snap_max);
		break;
	case OPT_BYTES:
		err = opt_bytes("group", "--bytes-max", optarg, 1,
				memory(), &g->bytes_max);
		break;
	case OPT_DELETE:
		*delete = true;
		return -1;
	case 'h':
		fputs(help, stdout);
		return EXIT_OK;
	default:
		return opt_refuse("group", argv, opt);
	}
	return err ? err : -1;
}

static int apply(const struct ds_group *g, bool delete)
{
	struct ds_conn *c = ds_open();
	int err;

	if (!c)
		return EXIT_REFUSED;
	err = delete ? ds_group_del(c, g->name) : ds_group_set(c, g);
	if (err)
		err = fail(EXIT_REFUSED, "group %s: %s", g->name,
			   delete ? ds_error_plain(c) : ds_error(c));
	ds_close(c);
	return err;
}

static bool sets_anything(const struct ds_group *g)
{
	return g->id || g->n_peers || g->pause_max || g->record_max ||
	       g->snap_max || g->bytes_max;
}

int cmd_group(int argc, char **argv)
{
	struct ds_group g = { 0 };
	bool delete = false;
	int opt, ret;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		ret = parse_option(opt, argv, &g, &delete);
		if (ret >= 0)
			return ret;
	}
	ret = opt_group("group", argc, argv);
	if (ret)
		return ret;
	if (delete && sets_anything(&g))
		return fail(EXIT_USAGE, "group: --delete goes with no other option");
	strcpy(g.name, argv[optind]);
	return apply(&g, delete);
}
