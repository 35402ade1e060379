#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# suite.sh NAME=SECONDS...: run these tests in the guest, each with the module
# loaded afresh and the kernel looked over afterwards.  The host reads the TAP
# between the begin and end lines:
#
#	# begin NAME SECONDS
#	# end NAME STATUS TENTHS		STATUS: the test's own, or "leak"
#
# FAIL_FAST=1 ends it, and lib.sh's tests, at the first failure.
# Ends early, with status 99, when the module cannot be unloaded any more.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/leaks.sh"

# Neither kernel threads nor zombies, nor this script's own session.
processes()
{
	ps -eo pid=,ppid=,sess=,stat= |
		awk -v me="$SESSION" '$1 != 2 && $2 != 2 && $3 != me && $4 !~ /^Z/ { print $1 }'
}

# strays_gone: kill what the test left running, and say so
strays_gone()
{
	local try pid pids

	# What is just about to exit may.
	for try in 1 2 3; do
		pids=
		for pid in $(processes); do
			[[ $BASELINE == *" $pid "* ]] || pids+=" $pid"
		done
		[ -n "$pids" ] || return 0
		sleep 0.$((try * 2))
	done
	for pid in $pids; do
		echo "process left: $(tr '\0' ' ' < "/proc/$pid/cmdline")"
	done
	# shellcheck disable=SC2086	# a list
	kill -KILL $pids
	sleep 0.5
	return 1
}

# run_test NAME SECONDS
run_test()
{
	local path=$here/../$1.sh rc test timer ended

	[ -e "$path" ] || path=/distsnap/bin/$1
	if [ -e "$DISTSNAP_KO" ] && ! insmod "$DISTSNAP_KO"; then
		dmesg | tail -n 5 | sed 's/^/# /'
		echo "not ok 1 - the module loads"
		return 1
	fi
	sleep "$2" &
	timer=$!
	setsid "$path" &
	test=$!
	wait -n -p ended $test $timer
	rc=$?
	if [ "$ended" = $timer ]; then
		echo "# no end after $2 s; what is there:"
		hang_report
		# All of its session, so that its own trap runs soon.
		pkill -TERM -s $test
		timeout 10 tail --pid=$test -f /dev/null
		kill -KILL $test 2>/dev/null
		rc=124
	fi
	kill $timer 2>/dev/null
	wait 2>/dev/null
	return $rc
}

SESSION=$(ps -o sess= -p $$ | xargs)
BASELINE=" $(processes | xargs) "
for arg; do
	name=${arg%%=*}
	limit=${arg#*=}
	echo "# begin $name $limit"
	start=${EPOCHREALTIME/./}
	dmesg_mark "$name"
	run_test "$name" "$limit"
	rc=$?
	leaks=$(strays_gone; leak_check)
	[ -z "$(ls -A /run/netns)" ] || ip -all netns delete
	if [ -n "$leaks" ]; then
		sed 's/^/# leak: /' <<< "$leaks"
		rc=leak
	fi
	echo "# end $name $rc $(((${EPOCHREALTIME/./} - start) / 100000))"
	[ ! -d /sys/module/distsnap ] || exit 99
	[ -z "${FAIL_FAST:-}" ] || [ "$rc" = 0 ] || exit 0
done
exit 0
