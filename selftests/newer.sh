#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A newer snapshot begins while a member still records the older one, because its
# agent is slow.  What waits there for the older one may be red for the newer one
# as well: it has to wait again, and the newer snapshot is exact.
#
# timeout: 150
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

ROUNDS=${ROUNDS:-${DEBUG_KERNEL:+1}}
ROUNDS=${ROUNDS:-3}
MAX_LEN=400
BANK_LIMITS=(--pause-max 20000 --record-max 25000 --snap-max 30000)
snaps=$TEST_TMP/snaps
mkdir "$snaps"

# older N: c begins; b takes its time, and a soon gives up, which leaves it free
# to begin the next one.
older()
{
	local triggered aborted

	triggered=$(counter b triggered)
	aborted=$(counter a aborted)
	kill -STOP "${AGENT_PIDS[0]}" "${AGENT_PIDS[1]}"
	banks_take c "$snaps/older.$1" --timeout 3000 &
	older=$!
	wait_for "[ \$(counter a aborted) -gt $aborted ]" 20 &&
		wait_for "[ \$(counter b triggered) -gt $triggered ]" 20
}

# newer N: a begins, and b goes on when it holds bytes that a has sent after its
# own recording
newer()
{
	local rc=0 recorded held take

	kill -CONT "${AGENT_PIDS[0]}"
	recorded=$(counter a recorded)
	banks_take a "$snaps/newer.$1" --light &
	take=$!
	wait_for "[ \$(counter a recorded) -gt $recorded ]" 10 || rc=1
	held=$(counter b held)
	wait_for "[ \$(counter b held) -gt $((held + 6)) ]" 10 || rc=1
	kill -CONT "${AGENT_PIDS[1]}"
	wait "$take" && return "$rc"
}

older_ends()
{
	wait "$older"
	[ $? -eq 3 ]
}

audit()
{
	bank-audit --light --seed "$SEED" --max-len "$MAX_LEN" "$snaps"/newer.*
}

topology 3
netem_all delay 5ms 1ms
# Little, so that no window closes while b does not read.
check "banks start" banks_start --rate 100 --max-len "$MAX_LEN"
check "banks join" banks_join
check "a has less patience" in_host a distsnap group bank --id 7 --pause-max 1000
for i in $(seq "$ROUNDS"); do
	check "$i: one host gives up, one takes its time" older "$i"
	check "$i: the next one is complete" newer "$i"
	check "$i: the first one is not" older_ends
done
check "all newer ones have the right bytes" audit
check "the banks have noticed nothing" banks_stop

done_testing
