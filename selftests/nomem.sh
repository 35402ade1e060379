#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs out at every allocation of the module, one kind after the other:
# a snapshot is complete and exact, or it is incomplete and says why; nothing is
# stuck, and with memory again the next one is complete.  On debug kernels.
#
# timeout: 150
# debug: yes
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"

# Much will not be complete, and nobody wants to wait for that.
BANK_LIMITS=(--pause-max 2000 --record-max 3000 --snap-max 4000)
FAIL=/sys/kernel/debug/failslab
BUDGET=100000
COUNT=${COUNT:-4}
snaps=$TEST_TMP/snaps
mkdir "$snaps"

# failures: how many allocations have failed since fail_on
failures()
{
	echo $((BUDGET - $(cat $FAIL/times)))
}

# fail_on PERCENT cache-filter|task-filter: also where the allocation may wait
fail_on()
{
	echo 0 > $FAIL/probability
	echo N > $FAIL/cache-filter
	echo N > $FAIL/task-filter
	echo N > $FAIL/ignore-gfp-wait
	echo 0 > $FAIL/verbose
	echo 1 > $FAIL/interval
	echo $BUDGET > $FAIL/times
	echo Y > "$FAIL/$2"
	echo "$1" > $FAIL/probability
}

fail_off()
{
	echo 0 > $FAIL/probability
}

# taken NAME ARGS...: a few snapshots, of which some are not complete
taken()
{
	local name=$1 rc
	shift

	banks_take a "$snaps/$name" --count "$COUNT" --every 20 --timeout 6000 "$@"
	rc=$?
	[ "$rc" -eq 0 ] || [ "$rc" -eq 3 ]
}

# says_why NAME: each of them; a complete one is exact
says_why()
{
	local snap

	for snap in "$snaps/$1"/*; do
		distsnap check consistency "$snap" > "$TEST_TMP/verdict"
		case $? in
		0) bank-audit --light --seed "$SEED" "$snap" || return 1 ;;
		3) grep -qi incomplete "$TEST_TMP/verdict" || return 1 ;;
		*) cat "$TEST_TMP/verdict"; return 1 ;;
		esac
	done
}

# again: whoever had left for lack of memory joins again
again()
{
	epochs_end && banks_take a "$snaps/again.$1" --light &&
		audited 1 --light "$snaps/again.$1"
}

# of_objects: a tenth of all that the module creates; the command line of a debug
# kernel has told failslab their names
of_objects()
{
	local failed

	fail_on 10 cache-filter
	check "objects: snapshots end" taken objects --light
	check "objects: full ones, too" taken full
	failed=$(failures)
	fail_off
	check "objects: $failed failed" [ "$failed" -gt 0 ]
	check "objects: exact, or it says why" says_why objects
	check "objects: complete afterwards" again objects
}

# in_workers: whatever the recording threads ask for
in_workers()
{
	local pid failed

	for pid in $(pgrep '^distsnap/'); do
		echo 1 > "/proc/$pid/make-it-fail"
	done
	fail_on 5 task-filter
	check "in the workers: snapshots end" taken workers
	failed=$(failures)
	fail_off
	check "in the workers: $failed failed" [ "$failed" -gt 0 ]
	check "in the workers: exact, or it says why" says_why workers
	check "in the workers: complete afterwards" again workers
}

# refused COMMAND...: without memory at all, the tool says so
refused()
{
	fail_on 100 cache-filter
	check_fails "$1 $2 says why" 4 'memory' in_host a "$@"
	fail_off
}

# join_at_last: half of all allocations fail, and after each failure nothing is left
join_at_last()
{
	local rc=0

	fail_on 50 cache-filter
	for _ in $(seq 100); do
		in_host a distsnap join bank --pid "${BANK_PIDS[0]}" 2> "$TEST_TMP/join" && break
		grep -q memory "$TEST_TMP/join" || rc=1
	done
	fail_off
	in_host a distsnap leave bank --pid "${BANK_PIDS[0]}" && return "$rc"
}

[ -w $FAIL/cache-filter ] || skip_all "a debug kernel's: no failslab"
topology 3
netem_all delay 5ms 1ms loss 1%
check "banks start" banks_start --rate 60
refused distsnap group bank --id 7 --peers 10.0.0.0/24
in_host a distsnap group bank --id 7 --peers 10.0.0.0/24
refused distsnap join bank --pid "${BANK_PIDS[0]}"
check "join succeeds at last" join_at_last
check "banks join" banks_join
of_objects
in_workers
check "the banks have noticed nothing" banks_stop

done_testing
