/* SPDX-License-Identifier: GPL-2.0 */
/* What a storm has in its memory, and the oracle in its cores. */
#ifndef WORKLOAD_STORM_H
#define WORKLOAD_STORM_H

#include <stdint.h>

#define STORM_MAX	16

/*
 * Short connections, a request and an answer on each.  Whoever asks counts before
 * it connects and after it has the answer; whoever answers counts when it has the
 * request and before it sends the answer.  So at any consistent cut, whatever the
 * connections do:
 *
 *	heard[by me][from you] <= asked[by you][of me]
 *	learned[by me][from you] <= told[by you][to me]
 */
struct storm {
	uint64_t id;
	uint64_t asked[STORM_MAX];
	uint64_t heard[STORM_MAX];
	uint64_t told[STORM_MAX];
	uint64_t learned[STORM_MAX];
};

#endif
