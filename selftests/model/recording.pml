/* SPDX-License-Identifier: GPL-2.0 */
/* Connections that are there from the beginning; see rules.pml. */
#include "rules.pml"

init {
	atomic {
		do
		:: x < D -> dir[x].there = 1; x++
		:: else -> break
		od;
		x = 0;
		run Member(0);
		run Member(1);
#if N > 2
		run Member(2);
#endif
		run Direction(0, 1, 0, 1);
		run Direction(1, 0, 1, 0);
#if N > 2
		run Direction(2, 3, 1, 2);
		run Direction(3, 2, 2, 1);
#endif
	}
}
