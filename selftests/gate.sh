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

# gated N: a is parked until it has sent something nevertheless
gated()
{
	local rc=0 before take

	before=$(counter a gated)
	kill -STOP "${AGENT_PIDS[0]}"
	banks_take a "$snaps/$1" &
	take=$!
	wait_for "[ \$(counter a gated) -gt $before ]" 10 || rc=1
	kill -CONT "${AGENT_PIDS[0]}"
	wait "$take" && return "$rc"
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
	check "$i: what is sent while parked waits; the snapshot is complete" gated "$i"
done
check "all are consistent" audit
say "$(tail -n 1 "$TEST_TMP/check.out")"
check "the banks have noticed nothing" banks_stop

done_testing
