#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Without a snapshot no packet is touched; with one, every red segment says so
# and none exceeds the MTU.  Judged by captures on the wire.
#
# needs: tcpdump
# timeout: 240
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/capture.sh"

ENOUGH=3000		# packets of a capture

# some_traffic: until host a has sent and received enough
some_traffic()
{
	local before
	before=$(packets)
	wait_for '[ $(($(packets) - '"$before"')) -ge $ENOUGH ]' 60
}

packets()
{
	in_host a awk '/eth0:/ { print $3 + $11 }' /proc/net/dev
}

some_snapshots()
{
	banks_take b "$TEST_TMP/snaps" --light --count 4 --every 1
}

# Each as it should be, though markers, answers and what repeats them get lost.
lossy_snapshots()
{
	banks_take a "$TEST_TMP/lossy" --light --count 10 --every 1
}

topology 3
offloads_off
netem_all delay 20ms 2ms
# Stopping a process ends its calls early, by itself.
check "banks start" banks_start --rate 100 --allow-short
check "banks join" banks_join

check "capture without a snapshot" capture idle some_traffic
check "capture with a snapshot" capture busy some_snapshots
say "idle: $(wire "$TEST_TMP/idle.pcap")"
say "busy: $(wire "$TEST_TMP/busy.pcap")"
say "idle-wire: $(value idle tagged) of $(value idle segments) segments carry the option outside handshakes and probes; control: $(value busy tagged) > 0"
check_equal "no segment is tagged while nothing runs" "$(value idle tagged)" 0
check "the capture is not empty" [ "$(value idle segments)" -ge $((ENOUGH / 2)) ]
check "a snapshot tags segments" [ "$(value busy tagged)" -gt 0 ]
check "red segments were seen" [ "$(value busy red)" -gt 0 ]
check_equal "none of them was bare" "$(value busy bare_red)" 0
check "no segment exceeds the MTU" [ "$(value busy largest)" -le 1500 ]
check "full segments were seen" [ "$(value busy largest)" -gt 1400 ]

# Nothing else is on the way that would take a marker along.
kill -STOP "${BANK_PIDS[@]}"
netem_all delay 5ms loss 25%
repeated=$(sum_of markers_repeated)
check "snapshots of idle connections are complete though a quarter is lost" \
	lossy_snapshots
repeated=$(($(sum_of markers_repeated) - repeated))
check "$repeated markers were repeated" [ "$repeated" -gt 0 ]
netem_off
kill -CONT "${BANK_PIDS[@]}"
check "the banks have noticed nothing" banks_stop

done_testing
