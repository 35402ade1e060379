#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Links go down and up, and a device and a namespace go away, in the middle of
# snapshots and while segments wait.  Nothing keeps the device; streams that
# can go on do; and the next snapshots are complete.
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
ROUNDS=${ROUNDS:-4}

# flap HOST: its own link, which loses what waits for it
flap()
{
	ip -n "$1" link set eth0 down && shortly && ip -n "$1" link set eth0 up
}

# flaps ARGS...: during snapshots from two hosts
flaps()
{
	local i

	takes_start a "$@"
	takes_start b "$@"
	for i in $(seq "$ROUNDS"); do
		shortly
		flap "${HOSTS[$((i % 3))]}" || return 1
	done
	takes_end
}

# patient HOST: however slow this machine is, its recording waits for the agent
patient()
{
	in_host "$1" distsnap group bank --id 7 --pause-max 30000 --record-max 30000
}

# flap_parked: while segments are sure to wait on host b
flap_parked()
{
	local held rc=0

	held=$(counter b held_dropped)
	# Or the first one is refused.
	patient b && epochs_end || return 1
	kill -STOP "${AGENT_PIDS[1]}"
	takes_start a
	parked 1 && some_wait && flap b &&
		wait_for "counted b held_dropped $held" 5 || rc=1
	kill -CONT "${AGENT_PIDS[1]}"
	takes_end
	in_host b distsnap group bank --id 7 "${BANK_LIMITS[@]}" || rc=1
	return "$rc"
}

# some_wait: more segments than before, incoming ones, on host b
some_wait()
{
	wait_for "counted b held $(counter b held)" 10
}

# device_goes: and comes back no more; it does not wait for host c, which would
# take half a minute
device_goes()
{
	patient c || return 1
	kill -STOP "${AGENT_PIDS[2]}"
	takes_start a
	parked 2 && wait_for 'counted c held 0' 10 || return 1
	timeout 10 ip -n net link del to-c || return 1
	kill -CONT "${AGENT_PIDS[2]}"
	takes_end
	! ip -n c link show eth0 2>/dev/null
}

# everyone_ends: killed on purpose, with their namespaces
everyone_ends()
{
	local h

	takes_start a --light
	shortly
	kill -KILL "${BANK_PIDS[@]}" "${AGENT_PIDS[@]}"
	for h in "${HOSTS[@]}"; do
		ip netns del "$h"
		umount "/run/utsns/$h"
	done
	takes_kill
	ip netns del net
	BANK_PIDS=()
	HOSTS=()
}

snapshots()
{
	epochs_end && banks_take a "$TEST_TMP/full.$1" &&
		banks_take b "$TEST_TMP/light.$1" --light
}

audit()
{
	audited 1 --total 3000000 "$TEST_TMP/full.$1" &&
		audited 1 --light "$TEST_TMP/light.$1"
}

topology 3
netem_all delay 5ms 2ms
check "banks start" banks_start --rate 60
check "banks join" banks_join
check "links flap in light snapshots" flaps --light
check "links flap in full snapshots" flaps
check "a link flaps while segments wait" flap_parked
check "the banks go on" banks_move
check "snapshots are complete again" snapshots 1
check "they are consistent" audit 1
check "the banks have noticed nothing" banks_stop
check "members leave with their processes" epochs_end

BANK_PIDS=()
for pid in "${AGENT_PIDS[@]}"; do
	stop "$pid"
done
check "new banks start" banks_start --rate 60
check "new banks join" banks_join
check "a device goes while threads are parked" device_goes
check "everyone is killed, the namespaces go" everyone_ends

topology 3
check "banks start in new namespaces" banks_start --rate 60
check "banks join there" banks_join
check "snapshots are complete there" snapshots 2
check "and consistent" audit 2
check "the banks there have noticed nothing" banks_stop

done_testing
