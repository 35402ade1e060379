#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Short connections as fast as they go, between all hosts, on a network that loses
# the segments of handshakes as well.  Nobody has heard of a connection, at a
# recording, that was not begun before the other recording.
#
# timeout: 300
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/swarm.sh"

SNAPS=${SNAPS:-6}

storms_start()
{
	local h addrs=()

	for h in "${HOSTS[@]}"; do
		addrs+=("$(addr "$h")")
	done
	swarm_start storm 7100 "${addrs[@]}"
}

# At least SNAPS of them, and one that has levelled somebody.
snapshots()
{
	local h

	while [ "$TAKEN" -lt "$SNAPS" ] ||
	      { [ "$TAKEN" -lt 40 ] && [ "$(sum_of levelled)" -eq 0 ]; }; do
		h=${HOSTS[$((TAKEN % ${#HOSTS[@]}))]}
		swarm_take "$h" "$TEST_TMP/snap.$((++TAKEN))" > "$TEST_TMP/take.out" 2>&1 ||
			{ cat "$TEST_TMP/take.out"; return 1; }
	done
}
TAKEN=0

audit()
{
	storm-audit "$(command -v storm)" "$TEST_TMP"/snap.* > "$TEST_TMP/audit.log"
	local rc=$?

	grep -v ' consistent: ' "$TEST_TMP/audit.log"
	[ "$rc" -eq 0 ] && [ "$(grep -c ' consistent' "$TEST_TMP/audit.log")" -eq "$TAKEN" ]
}

# Something was under way at some recording, or nothing was tried.
under_way()
{
	grep -q 'under way [1-9]' "$TEST_TMP/audit.log"
}

storms_stop()
{
	swarm_quiet 30 && swarm_end
}

topology 3
netem_all delay 4ms 2ms loss 1% duplicate 1% reorder 5%
check "storms start" storms_start
check "storms join" swarm_join 8 15000
check "they ask" swarm_ask
check "snapshots are complete" snapshots
check "nobody heard what was not said" audit
check "connections were under way" under_way
check "handshakes were held" [ "$(sum_of held)" -gt 0 ]
check "some waited for a newer epoch" [ "$(sum_of levelled)" -gt 0 ]
check "every birth was seen" [ "$(sum_of births_unseen)" -eq 0 ]
check "the storms have noticed nothing" storms_stop

done_testing
