#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kill -9 in the middle of snapshots: of initiators, of agents, of a member that
# is parked.  The snapshot says why it is incomplete, nobody else is hurt, and
# the next ones are complete.
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

ROUNDS=${ROUNDS:-${DEBUG_KERNEL:+2}}
ROUNDS=${ROUNDS:-3}

# initiators_die ARGS...: of many snapshots at once, each at a random moment
initiators_die()
{
	local before

	for _ in $(seq "$ROUNDS"); do
		before=$(counter a triggered)
		takes_start a "$@"
		takes_start b "$@"
		takes_start c "$@"
		wait_for "counted a triggered $before" 10 || return 1
		shortly
		takes_kill
	done
}

# in_pause VICTIM: bank-1 waits for its agent, parked; then the victim dies
in_pause()
{
	local aborted

	aborted=$(counter b aborted)
	kill -STOP "${AGENT_PIDS[1]}"
	spawn a "take-a" distsnap take bank --store "$BANK_STORE" --timeout 20000 \
		-o "$TEST_TMP/broken.$1" --expect "$(banks_expected)"
	TAKES+=("$LAST_PID")
	parked 1 || return 1
	kill -KILL "$1"
	wait_for "! alive $1" 10 || return 1
	kill -CONT "${AGENT_PIDS[1]}"
	wait_for "counted b aborted $aborted" 10
}

# incomplete PATTERN: the snapshot that in_pause has begun, and says so
incomplete()
{
	local rc

	wait "${TAKES[0]}"
	rc=$?
	TAKES=()
	cat "$TEST_TMP/take-a.log"
	[ "$rc" -eq 3 ] && grep -qE -- "$1" "$TEST_TMP/take-a.log"
}

agent_again()
{
	spawn b agent-b distsnap agent bank --store "$BANK_STORE"
	AGENT_PIDS[1]=$LAST_PID
	wait_for "logged agent-b 'agent: ready'" 20
}

# all_end: a bank alone ends by itself; its membership with it
all_end()
{
	local i

	for i in "${!BANK_PIDS[@]}"; do
		wait_for "! alive ${BANK_PIDS[$i]}" 20 || return 1
		wait_for "in_host ${HOSTS[$i]} distsnap status bank | grep -q ' 0 members'" 10 ||
			return 1
	done
	for i in "${!AGENT_PIDS[@]}"; do
		stop "${AGENT_PIDS[$i]}"
	done
	BANK_PIDS=()
}

snapshots()
{
	banks_take a "$TEST_TMP/full.$1" && banks_take b "$TEST_TMP/light.$1" --light
}

audit()
{
	audited 1 --total 3000000 "$TEST_TMP/full.$1" &&
		audited 1 --light "$TEST_TMP/light.$1"
}

topology 3
netem_all delay 5ms 2ms loss 1%
check "banks start" banks_start --rate 60
check "banks join" banks_join
check "initiators of light snapshots die" initiators_die --light
check "initiators of full snapshots die" initiators_die
check "no epoch stays open" epochs_end
check "the agent dies in the pause" in_pause "${AGENT_PIDS[1]}"
check "another agent comes" agent_again
check "the snapshot is incomplete and says why" incomplete 'bank-1.*the agent failed: it ended'
check "snapshots are complete again" snapshots 1
check "they are consistent" audit 1
check "the member dies in the pause" in_pause "${BANK_PIDS[1]}"
check "that is incomplete, too" incomplete 'bank-1'
check "the other banks end, nothing stays" all_end
check "new banks start" banks_start --rate 60
check "new banks join" banks_join
check "their snapshots are complete" snapshots 2
check "and consistent" audit 2
check "the banks have noticed nothing" banks_stop

done_testing
