#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Snapshots of the bank over a bad network: with memory, judged by balances,
# positions and bytes, and light ones, by bytes alone.  Afterwards the banks
# must have noticed nothing.
#
# timeout: 300
# debug: yes
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

FULL=${FULL:-${DEBUG_KERNEL:+3}}
FULL=${FULL:-12}
LIGHT=${LIGHT:-${DEBUG_KERNEL:+10}}
LIGHT=${LIGHT:-40}
bank=$(command -v bank)
snaps=$TEST_TMP/snaps
mkdir "$snaps"

# take_full N: each host starts one after the other
take_full()
{
	local i rc=0

	for i in $(seq "$1"); do
		banks_take "${HOSTS[$((i % 3))]}" "$snaps/full.$i" || rc=1
	done
	return "$rc"
}

take_light()
{
	banks_take a "$snaps/light" --light --count "$1" --every 100
}

# audit_full, audit_light: fail unless all are consistent and most had bytes
# in flight
audit_full()
{
	enough "$FULL" bank-audit --exe "$bank" --seed "$SEED" --total 3000000 \
		"$snaps"/full.*
}

audit_light()
{
	enough "$LIGHT" bank-audit --light --seed "$SEED" "$snaps"/light/*
}

enough()
{
	local n=$1 last busy
	shift

	"$@" > "$TEST_TMP/audit.log" || { cat "$TEST_TMP/audit.log"; return 1; }
	last=$(tail -n 1 "$TEST_TMP/audit.log")
	echo "$last"
	busy=$(sed -n "s|^$n/$n snapshots consistent, \([0-9]*\) with bytes in flight|\1|p" <<< "$last")
	[ -n "$busy" ] && [ "$busy" -ge $((n * 3 / 4)) ]
}

topology 3
netem_all delay 10ms 3ms loss 1% duplicate 1% reorder 5%
check "banks start" banks_start --rate 60
check "banks join" banks_join
check "$FULL snapshots are complete" take_full "$FULL"
check "all are consistent, most with bytes in flight" audit_full
say "$(tail -n 1 "$TEST_TMP/audit.log")"
check "$LIGHT light snapshots are complete" take_light "$LIGHT"
check "all have the right bytes, most some" audit_light
say "$(tail -n 1 "$TEST_TMP/audit.log")"
for h in "${HOSTS[@]}"; do
	check "host $h is idle afterwards" in_host "$h" distsnap status bank
done
check "the banks have noticed nothing" banks_stop

done_testing
