#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connection that sends nothing keeps its MSS over any number of snapshots.
# Room for the option is taken from it for each; if it were not given back, it
# would come to nothing: with an MTU of 1492, to 0 after 90 snapshots, and the
# next DSACK divides by it (tcp_dsack_seen()).
#
# timeout: 180
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

COUNT=${COUNT:-${DEBUG_KERNEL:+10}}
COUNT=${COUNT:-30}

# settings: MSS and MTU, as TCP knows them, of all connections of host a
settings()
{
	in_host a ss -Htni | grep -Eo ' (mss|pmtu):[-0-9]+' | xargs
}

snapshots()
{
	banks_take a "$TEST_TMP/snaps" --light --count "$COUNT" --every 1
}

topology 2
for h in "${HOSTS[@]}"; do
	ip -n net link set "to-$h" mtu 1492
	ip -n "$h" link set eth0 mtu 1492
done
# No transfer for as long as the test takes, after the first of each.
check "banks start" banks_start --rate 1 --allow-short
kill -STOP "${BANK_PIDS[@]}"
before=$(settings)
check "an MSS" grep -q ' *mss:1440' <<< "$before"
check "banks join" banks_join
check "$COUNT snapshots are complete" snapshots
for h in "${HOSTS[@]}"; do
	check "host $h is idle afterwards" wait_for \
		"! in_host $h distsnap status bank | grep -q 'is open'" 10
done
check "MSS and MTU are as before" wait_for '[ "$(settings)" = "$before" ]' 5
say "before $before, after $(settings)"
kill -CONT "${BANK_PIDS[@]}"
check "the banks have noticed nothing" banks_stop

done_testing
