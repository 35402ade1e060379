// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "nl.h"
#include "util.h"

static const char help[] =
"Usage: distsnap group GROUP --id N --peers PREFIX[,PREFIX...] [LIMITS]\n"
"       distsnap group GROUP [LIMITS]\n"
"       distsnap group GROUP --delete\n\n"
"  --id N            number of the group on the wire, the same on every host (1-65535)\n"
"  --peers PREFIXES  networks that may hold members, such as 10.0.0.0/24,fd00::/8\n"
"  --pause-max MS    how long a member may stay paused\n"
"  --record-max MS   from trigger to recorded\n"
"  --snap-max MS     from trigger to the end of a snapshot\n"
"  --bytes-max N     captured bytes kept on this node at most (K, M, G)\n";

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

static int parse_prefix(char *text, struct distsnap_prefix *p)
{
	uint32_t max, plen;
	char *slash;

	memset(p, 0, sizeof(*p));
	p->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	max = p->family == AF_INET6 ? 128 : 32;
	slash = strchr(text, '/');
	if (slash)
		*slash = 0;
	plen = max;
	if (slash && parse_u32(slash + 1, max, &plen))
		return -1;
	p->plen = plen;
	return inet_pton(p->family, text, p->addr) == 1 ? 0 : -1;
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
		else if (parse_prefix(s, &g->peers[g->n_peers++]))
			err = fail(EXIT_USAGE, "group: --peers: '%s' is no prefix such as 10.0.0.0/24",
				   s);
	}
	free(copy);
	return err;
}

static int parse_option(int opt, struct ds_group *g, bool *delete)
{
	uint32_t id;
	int err = 0;

	switch (opt) {
	case OPT_ID:
		err = parse_u32(optarg, UINT16_MAX, &id) || !id;
		g->id = err ? 0 : id;
		break;
	case OPT_PEERS:
		return parse_peers(optarg, g);
	case OPT_PAUSE:
		err = parse_ms(optarg, &g->pause_max) || !g->pause_max;
		break;
	case OPT_RECORD:
		err = parse_ms(optarg, &g->record_max) || !g->record_max;
		break;
	case OPT_SNAP:
		err = parse_ms(optarg, &g->snap_max) || !g->snap_max;
		break;
	case OPT_BYTES:
		err = parse_bytes(optarg, &g->bytes_max) || !g->bytes_max;
		break;
	case OPT_DELETE:
		*delete = true;
		break;
	default:
		return -1;
	}
	if (err)
		return fail(EXIT_USAGE, "group: '%s' is not a valid value", optarg);
	return 0;
}

int cmd_group(int argc, char **argv)
{
	struct ds_group g = { 0 };
	bool delete = false;
	struct ds_conn *c;
	int opt, err;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		err = parse_option(opt, &g, &delete);
		if (err < 0)
			return fail(EXIT_USAGE, "group: %s: no such option, or its value is missing; 'distsnap group --help' tells the options",
				    argv[optind - 1]);
		if (err)
			return err;
	}
	if (optind != argc - 1)
		return fail(EXIT_USAGE, "group: name one group; 'distsnap group --help' tells more");
	if (!valid_name(argv[optind]))
		return fail(EXIT_USAGE, "group: '%s' is no valid name: up to %d of [A-Za-z0-9._-], no '.' first",
			    argv[optind], DISTSNAP_NAME_MAX);
	strcpy(g.name, argv[optind]);
	c = ds_open();
	if (!c)
		return EXIT_REFUSED;
	err = delete ? ds_group_del(c, g.name) : ds_group_set(c, &g);
	if (err)
		err = fail(EXIT_REFUSED, "group %s: %s", g.name, ds_error(c));
	ds_close(c);
	return err;
}
