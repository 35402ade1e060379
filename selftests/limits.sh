#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every limit, hit on purpose: the snapshot is incomplete and names the reason,
# a counter tells, and with the limit lifted the next one is complete.
#
# timeout: 180
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"

declare -A before=()

# limit ARGS...: on host b only; remembers its counters
limit()
{
	local name n

	before=()
	while read -r name n; do
		before[$name]=$n
	done < <(in_host b distsnap status --counters)
	in_host b distsnap group bank "$@"
}

lift()
{
	in_host b distsnap group bank "${BANK_LIMITS[@]}" --bytes-max 256M
}

# risen NAME: since limit
risen()
{
	counted b "$1" "${before[$1]}"
}

# not_kept: of what came in the log, or of what a queue had
not_kept()
{
	risen log_dropped || risen capture_dropped
}

# incomplete NAME PATTERN ARGS...: from host a
incomplete()
{
	local name=$1 pattern=$2
	shift 2

	check_fails "$name: incomplete, and says why" 3 "$pattern" \
		banks_take a "$TEST_TMP/$name" "$@"
}

# complete NAME: both kinds, and consistent
complete()
{
	lift && epochs_end && banks_take a "$TEST_TMP/$1.full" &&
		banks_take b "$TEST_TMP/$1.light" --light &&
		audited 1 --total 3000000 "$TEST_TMP/$1.full" &&
		audited 1 --light "$TEST_TMP/$1.light"
}

# Longer than the shortest deadlines.
topology 3
netem_all delay 30ms 3ms
check "banks start" banks_start --rate 60
check "banks join" banks_join

check "bytes-max" limit --bytes-max 4096
incomplete bytes 'bytes are missing because memory or its limit ran out' --light
check "bytes: what was not kept is counted" not_kept
check "bytes: complete when lifted" complete bytes

# An agent that does not answer makes every pause too long.
kill -STOP "${AGENT_PIDS[1]}"
check "pause-max" limit --pause-max 1000
spawn a take-a distsnap take bank --store "$BANK_STORE" -o "$TEST_TMP/pause" \
	--timeout 10000 --expect "$(banks_expected)"
TAKES=("$LAST_PID")
check "pause: given up" wait_for "risen aborted" 10
kill -CONT "${AGENT_PIDS[1]}"
check "pause: the initiator ends" wait_for "! alive ${TAKES[0]}" 20
check "pause: says why" logged take-a 'bank-1: the agent did not record its memory in time'
check "pause: complete when lifted" complete pause

kill -STOP "${AGENT_PIDS[1]}"
check "record-max" limit --record-max 1000
spawn a take-a distsnap take bank --store "$BANK_STORE" -o "$TEST_TMP/record" \
	--timeout 10000 --expect "$(banks_expected)"
TAKES=("$LAST_PID")
check "record: given up" wait_for "risen aborted" 10
kill -CONT "${AGENT_PIDS[1]}"
check "record: the initiator ends" wait_for "! alive ${TAKES[0]}" 20
check "record: says why" logged take-a 'bank-1: (the agent did not record its memory in time|[0-9]+ threads were not parked)'
check "record: complete when lifted" complete record

check "snap-max" limit --snap-max 1
incomplete snap 'bank-1: [0-9]+ markers or answers did not come in time' --light
check "snap: counted" risen expired
check "snap: complete when lifted" complete snap

check "all at once" limit --pause-max 1 --record-max 1 --snap-max 1 --bytes-max 1
incomplete all 'bank-1' --light
check "all: complete when lifted" complete all
check "the banks have noticed nothing" banks_stop

done_testing
