// SPDX-License-Identifier: GPL-2.0
/*
 * storm-audit EXE SNAP...: has nobody heard what was not said, in these snapshots
 * of storms (workload/storm.h)?  Exit status: 0 yes, 1 no, 2 usage, 3 a snapshot is
 * incomplete.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/core.h"
#include "audit/snap.h"
#include "workload/storm.h"

static int read_storm(const struct snap *s, const struct snap_member *m,
		      const struct exe *exe, struct storm *to, struct why *w)
{
	uint64_t value, size;
	struct core core;
	char path[4096];
	int ret;

	if (!m->core)
		return why(w, "%s has no core", m->id);
	snprintf(path, sizeof(path), "%s/%s", s->path, m->core);
	if (exe_symbol(exe, "storm", &value, &size, w) || core_open(&core, path, exe, w))
		return -1;
	ret = core_read(&core, value + core.bias, to, sizeof(*to), w);
	core_close(&core);
	return ret;
}

/* Each pair, in this direction. */
static int compare(const struct snap *s, const struct storm *a, const struct storm *b,
		   uint64_t *under_way)
{
	uint64_t asked = a->asked[b->id], heard = b->heard[a->id];
	uint64_t told = b->told[a->id], learned = a->learned[b->id];

	*under_way += asked - learned;
	if (heard <= asked && learned <= told)
		return 0;
	printf("%s: %" PRIu64 " asked %" PRIu64 " times, %" PRIu64 " heard %" PRIu64
	       " and told %" PRIu64 ", %" PRIu64 " learned %" PRIu64 "\n", s->path,
	       a->id, asked, b->id, heard, told, a->id, learned);
	return 1;
}

static int audit(const struct snap *s, const struct exe *exe, struct why *w)
{
	uint64_t under_way = 0, all = 0;
	struct storm v[STORM_MAX];
	unsigned int i, j;
	int status = 0;

	for (i = 0; i < s->nr_members; i++) {
		if (i >= STORM_MAX || read_storm(s, &s->members[i], exe, &v[i], w))
			return -1;
		if (v[i].id >= STORM_MAX)
			return why(w, "%s is no storm", s->members[i].id);
	}
	for (i = 0; i < s->nr_members; i++) {
		for (j = 0; j < s->nr_members; j++) {
			if (i == j)
				continue;
			status |= compare(s, &v[i], &v[j], &under_way);
			all += v[i].asked[v[j].id];
		}
	}
	printf("%s: %s: asked %" PRIu64 ", under way %" PRIu64 "\n", s->path,
	       status ? "INCONSISTENT" : "consistent", all, under_way);
	return status;
}

int main(int argc, char **argv)
{
	struct why w = { "" };
	struct exe exe;
	int i, status = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: storm-audit EXE SNAP...\n");
		return 2;
	}
	if (exe_open(&exe, argv[1], &w)) {
		printf("%s\n", w.text);
		return 1;
	}
	for (i = 2; i < argc; i++) {
		struct snap s;
		int ret = snap_open(&s, argv[i], &w);

		if (!ret)
			ret = snap_alone(&s, &w) ?: audit(&s, &exe, &w);
		if (ret < 0)
			printf("%s: %s\n", argv[i], w.text);
		if (ret)
			status = ret == SNAP_INCOMPLETE ? 3 : 1;
		snap_close(&s);
	}
	exe_close(&exe);
	return status;
}
