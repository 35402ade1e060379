#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every window is closed and every buffer full, in both directions of every
# connection of a mesh, and whoever sends sleeps in send().  Markers overtake all
# that: a snapshot is complete without anybody reading a byte.
#
# timeout: 120
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"

PAIRS="a:b b:c c:a"
SENDS=()		# HOST:NUMBER of each that sleeps

mesh()
{
	local pair from to

	for to in "${HOSTS[@]}"; do
		tell "$to" listen l "$(addr "$to")" 5000 || return 1
	done
	for pair in $PAIRS; do
		from=${pair%:*}
		to=${pair#*:}
		connected "$pair" "$(addr "$to")" "$from" "$to" || return 1
	done
}

# stuff: all that goes, then one call more that does not
stuff()
{
	local pair h

	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell "$h" fill "$pair" || return 1
		done
	done
	# What has left the send buffers meanwhile makes room once more.
	wait_for still 20 || return 1
	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell_on "$h" "&" send "$pair" 9000000
			SENDS+=("$h:$PEER_SEQ")
		done
	done
	wait_for still 20
}

# still: no queue has changed for a while
still()
{
	local before

	before=$(queues)
	nap 0.5
	[ "$(queues)" = "$before" ]
}

queues()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" ss -Htn state established | awk '{ print $1, $2 }'
	done
}

all_going_on()
{
	local s

	for s in "${SENDS[@]}"; do
		going_on "${s%:*}" "${s#*:}" || return 1
	done
}

# holds NAME: as many bytes in flight as stand in the queues
holds()
{
	local in_queues in_snapshot

	in_queues=$(queues | awk '{ n += $1 + $2 } END { print n }')
	in_snapshot=$(awk '{ n += $NF } END { print n }' "$TEST_TMP/$1.channels")
	echo "$in_snapshot bytes in flight, $in_queues in queues"
	# A queue may hold a byte twice: received, and not acknowledged yet.
	[ "$in_snapshot" -gt 1000000 ] && [ "$in_snapshot" -le "$in_queues" ]
}

# drained: whoever reads all gets all, and every call ends
drained()
{
	local pair h s

	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell_on "$h" "&" drain "$pair"
		done
	done
	for s in "${SENDS[@]}"; do
		told "${s%:*}" "${s#*:}" || return 1
	done
	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell "$h" shut "$pair" || return 1
		done
	done
	for h in "${HOSTS[@]}"; do
		wait_for "[ \$(grep -cE '^[0-9]+ ok [0-9]{7,}' $TEST_TMP/peer-$h.log) -ge 4 ]" 60 ||
			return 1
		! grep -q failed "$TEST_TMP/peer-$h.log" || return 1
	done
}

topology 3
netem_all delay 2ms
check "peers start" peers_start
check "a mesh of connections" mesh
check "peers join" peers_join
check "they know each other" peers_known 3
check "all queues fill up" stuff
check "a light snapshot is complete" snapshot light --light
check "it holds what the queues hold" holds light
say "$(tail -n 1 "$TEST_TMP/check.out")"
check "another one, too" snapshot full
check "it holds as much" holds full
check "the same bytes" cmp "$TEST_TMP/light.channels" "$TEST_TMP/full.channels"
check "all senders still sleep" all_going_on
check "everything arrives" drained

done_testing
