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
. "$(dirname "$0")/workload/chaos.sh"

SNAPS=${SNAPS:-6}
STORE=$TEST_TMP/store
STORM_PIDS=()

storms_start()
{
	local i h addrs=()

	for h in "${HOSTS[@]}"; do
		addrs+=("$(addr "$h")")
		# A port may be used again as soon as TCP can tell.
		in_host "$h" sysctl -qw net.ipv4.tcp_tw_reuse=1
	done
	for i in "${!HOSTS[@]}"; do
		spawn "${HOSTS[$i]}" "storm-$i" storm "$i" "$SEED" 4 7100 "${addrs[@]}"
		STORM_PIDS+=("$LAST_PID")
		wait_for "logged storm-$i ready" 10 || return 1
	done
}

storms_join()
{
	local i h

	mkdir -p "$STORE"
	for i in "${!HOSTS[@]}"; do
		h=${HOSTS[$i]}
		in_host "$h" distsnap group storm --id 8 --peers 10.0.0.0/24 \
			--pause-max 10000 --record-max 12000 --snap-max 15000 || return 1
		in_host "$h" distsnap join storm --pid "${STORM_PIDS[$i]}" \
			--name "storm-$i" || return 1
		spawn "$h" "agent-$h" distsnap agent storm --store "$STORE"
		wait_for "logged agent-$h 'agent: ready'" 20 || return 1
	done
}

storms_ask()
{
	local i

	kill -USR2 "${STORM_PIDS[@]}"
	for i in "${!STORM_PIDS[@]}"; do
		wait_for "logged storm-$i asking" 10 || return 1
	done
}

# take HOST DIR ARGS...
take()
{
	local h=$1 dir=$2 i list=
	shift 2

	for i in "${!HOSTS[@]}"; do
		list+=${list:+,}${HOSTS[$i]}/storm-$i
	done
	in_host "$h" distsnap take storm -o "$dir" --store "$STORE" --timeout 60000 \
		--expect "$list" "$@"
}

# At least SNAPS of them, and one that has levelled somebody.
snapshots()
{
	local h

	while [ "$TAKEN" -lt "$SNAPS" ] ||
	      { [ "$TAKEN" -lt 40 ] && [ "$(sum_of levelled)" -eq 0 ]; }; do
		h=${HOSTS[$((TAKEN % ${#HOSTS[@]}))]}
		take "$h" "$TEST_TMP/snap.$((++TAKEN))" > "$TEST_TMP/take.out" 2>&1 ||
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
	local i

	kill -USR1 "${STORM_PIDS[@]}"
	for i in "${!STORM_PIDS[@]}"; do
		wait_for "logged storm-$i quiet" 30 || return 1
	done
	kill -TERM "${STORM_PIDS[@]}"
	for i in "${!STORM_PIDS[@]}"; do
		wait_for "logged storm-$i 'asked [0-9]+ heard [0-9]+ told [0-9]+ learned [0-9]+ errors 0'" 10 ||
			{ tail -n 3 "$TEST_TMP/storm-$i.log"; return 1; }
		grep asked "$TEST_TMP/storm-$i.log"
	done
}

topology 3
netem_all delay 4ms 2ms loss 1% duplicate 1% reorder 5%
check "storms start" storms_start
check "storms join" storms_join
check "they ask" storms_ask
check "snapshots are complete" snapshots
check "nobody heard what was not said" audit
check "connections were under way" under_way
check "handshakes were held" [ "$(sum_of held)" -gt 0 ]
check "some waited for a newer epoch" [ "$(sum_of levelled)" -gt 0 ]
check "every birth was seen" [ "$(sum_of births_unseen)" -eq 0 ]
check "the storms have noticed nothing" storms_stop

done_testing
