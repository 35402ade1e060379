#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module can be unloaded at any time: idle, with members, in the middle of
# snapshots, while threads are parked and segments wait.  Nothing is stuck, and
# the banks notice nothing.
#
# timeout: 180
# debug: yes
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/qemu/leaks.sh"

ROUNDS=${ROUNDS:-1}

load()
{
	[ -d /sys/module/distsnap ] || insmod "$DISTSNAP_KO"
}

# The counters are new with each load.
unload()
{
	module_unload && takes_end && threads_gone
}

# while_members: nothing is going on
while_members()
{
	load && banks_join && unload && agents_end
}

# while_busy ARGS...: snapshots from two hosts at once, at a random moment
while_busy()
{
	load && banks_join || return 1
	takes_start a "$@"
	takes_start b "$@"
	wait_for 'counted c recorded 2' 40 || return 1
	shortly
	unload && agents_end
}

# while_parked: host b waits for its agent, its threads parked and bytes held
while_parked()
{
	load && banks_join || return 1
	kill -STOP "${AGENT_PIDS[1]}"
	takes_start a
	parked 1 && wait_for 'counted b held 0' 10 || return 1
	unload
	kill -CONT "${AGENT_PIDS[1]}"
	agents_end
}

snapshots()
{
	load && banks_join && banks_take a "$TEST_TMP/full" &&
		banks_take b "$TEST_TMP/light" --light
}

audit()
{
	audited 1 --total 3000000 "$TEST_TMP/full" &&
		audited 1 --light "$TEST_TMP/light"
}

[ -n "${DISTSNAP_KO:-}" ] || skip_all "no DISTSNAP_KO to load again"
topology 3
netem_all delay 5ms 2ms loss 1%
check "banks start" banks_start --rate 60
check "unload with nothing" unload
check "unload with members" while_members
for i in $(seq "$ROUNDS"); do
	# There each load and unload takes a minute.
	[ -n "${DEBUG_KERNEL:-}" ] ||
		check "unload in light snapshots, $i" while_busy --light
	check "unload in full snapshots, $i" while_busy
done
check "unload with threads parked and bytes held" while_parked
check "the banks go on" banks_move
check "snapshots are complete again" snapshots
check "they are consistent" audit
check "the banks have noticed nothing" banks_stop

done_testing
