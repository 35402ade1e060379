#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A sender that sleeps in a big send() goes on inside it while its member is
# recorded, whenever an acknowledgment makes room.  These bytes are beyond the
# anchor: they wait at the gate, and the peer has not received them in the snapshot.
#
# timeout: 120
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

ROUNDS=${ROUNDS:-${DEBUG_KERNEL:+2}}
ROUNDS=${ROUNDS:-5}
BANK_LIMITS=(--pause-max 20000 --record-max 25000 --snap-max 30000)
bank=$(command -v bank)
snaps=$TEST_TMP/snaps
mkdir "$snaps"

# parked N: a is parked until it has sent something nevertheless, or, as it may have
# been between two calls, for two seconds
parked()
{
	local before take

	before=$(counter a gated)
	kill -STOP "${AGENT_PIDS[0]}"
	banks_take a "$snaps/$1" &
	take=$!
	wait_for "[ \$(counter a gated) -gt $before ]" 2
	kill -CONT "${AGENT_PIDS[0]}"
	wait "$take"
}

audit()
{
	bank-audit --exe "$bank" --seed "$SEED" --total 2000000 "$snaps"/*
}

topology 2
netem_all delay 10ms
# Longer calls than buffers.
check "banks start" banks_start --rate 0 --max-len 65535 --sockbuf 16000
check "banks join" banks_join
for i in $(seq "$ROUNDS"); do
	check "$i: the snapshot of a sender in a call is complete" parked "$i"
done
gated=$(counter a gated)
check "$gated segments that it sent while parked had to wait" [ "$gated" -gt 0 ]
check "all are consistent" audit
say "$(tail -n 1 "$TEST_TMP/check.out")"
check "the banks have noticed nothing" banks_stop

done_testing
