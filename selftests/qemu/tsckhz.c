// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time stamp counter in kHz.  The guest
 * has the same counter, and when the machine is busy it measures nonsense: its
 * clock was seen to run four times too fast.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* The counter at a known time; the closest of a few tries. */
static void sample(int64_t *ns, uint64_t *tsc)
{
	int64_t best = INT64_MAX, before, after;
	uint64_t count;
	int i;

	for (i = 0; i < 20; i++) {
		before = now();
		count = __rdtsc();
		after = now();
		if (after - before < best) {
			best = after - before;
			*ns = before + best / 2;
			*tsc = count;
		}
	}
}

int main(void)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	int64_t ns, ns2;
	uint64_t tsc, tsc2;

	sample(&ns, &tsc);
	nanosleep(&tenth, NULL);
	sample(&ns2, &tsc2);
	printf("%.0f\n", (double)(tsc2 - tsc) * 1e6 / (ns2 - ns));
	return 0;
}
