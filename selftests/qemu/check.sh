#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [-t NAME] KERNEL...: build all, run the host's tests, then the
# guest's tests in one machine per kernel.  The last line is the verdict:
# N passed, N failed[, N skipped].
#
# A debug-SERIES kernel is built by debug-kernel.sh and tested on while the others
# are: a machine seldom keeps more than one processor busy.  Its tests get more time
# and smaller counts (DEBUG_KERNEL=1), and only those run there that say
# "# debug: yes", unless ALL=1.  Nor does one that says "# seldom: yes" run anywhere,
# unless ALL=1 or by its name: what it tests others test as well.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$top" || exit 1
build=${BUILD:-$top/build}
only=
if [ "${1:-}" = -t ]; then
	only=$2
	shift 2
fi
[ $# -gt 0 ] || set -- 6.1

dir=$build/check
results=$dir/results		# WHERE NAME PASSED FAILED SKIPPED TENTHS BUDGET
mkdir -p "$build"
exec 9> "$build/.check-lock"
flock -n 9 || {
	echo "# waiting for another check in $build (BUILD=DIR makes its own)"
	flock 9
}
rm -rf "$dir"
mkdir -p "$dir"
: > "$results"
export SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}
export PATH=$build/tools:$build/selftests:$PATH
started=$EPOCHSECONDS

## What there is

# seconds FILE: its "timeout: N"; TIMEOUT_SCALE: a debug kernel takes longer
seconds()
{
	local s

	s=$(sed -n '1,30s/^[# *]*timeout: \([0-9]*\).*/\1/p' "$1" | head -n 1)
	echo $((${s:-120} * ${TIMEOUT_SCALE:-1}))
}

wanted()
{
	[ -z "$only" ] || [ "$only" = "$1" ]
}

# tests DIR: NAME=SECONDS of each test in it
tests()
{
	local path name

	for path in "$1"/*.sh "$1"/*.c; do
		name=$(basename "${path%.*}")
		case $path in
		*/lib.sh|*/deps.sh|*/lint.sh|*/demo.sh|*/soak.sh|*/bench.sh) continue ;;
		*.sh) [ -x "$path" ] || continue ;;
		*.c) grep -qs 'kselftest_harness\.h' "$path" || continue ;;
		esac
		wanted "$name" || continue
		[ -n "${ALL:-}$only" ] || ! grep -qs '^# seldom: yes' "$path" || continue
		echo "$name=$(seconds "$path")"
	done
}

# debug_tests NAME=SECONDS...: those of them that run on a debug kernel
debug_tests()
{
	local arg

	for arg; do
		[ -z "${ALL:-}$only" ] && ! grep -qs '^# debug: yes' \
			"selftests/${arg%%=*}.sh" || echo "$arg"
	done
}

programs_needed()
{
	sed -n 's/^# needs: //p' selftests/*.sh | xargs -n1 2>/dev/null | sed 's/=.*//' | sort -u
}

## Results

# A test passes by its own word only: every result it planned, and status 0.
# tap_results WHERE FILE: one line per begin/end pair of FILE
tap_results()
{
	awk -v where="$1" '
	function finish(status, tenths) {
		if (name == "")
			return
		note = ""
		if (plan == "")
			note = "no plan"
		else if (seen != plan)
			note = seen " of " plan " results"
		if (status == "leak")
			note = "left something behind"
		else if (status == "dead")
			note = "the machine died or hung"
		else if (status != 0 && failed == 0)
			note = "status " status
		if (note != "") {
			failed++
			print "# " where ": " name ": " note > "/dev/stderr"
		}
		print where, name, passed + 0, failed + 0, skipped + 0, tenths, budget
		name = ""
	}
	$1 == "#" && $2 == "begin" {
		finish("dead", 0)
		name = $3; budget = $4; plan = ""
		seen = passed = failed = skipped = 0
	}
	$1 == "#" && $2 == "end" && $3 == name { finish($4, $5) }
	name == "" { next }
	/^1\.\.[0-9]+/ {
		plan = substr($1, 4) + 0
		if (plan == 0 && /# SKIP/)
			skipped++
	}
	/^ok [0-9]/ { seen++; if (/# SKIP/) skipped++; else passed++ }
	/^not ok [0-9]/ { seen++; failed++ }
	END { finish("dead", 0) }' "$2" >> "$results"
}

# The build is the first test: it must not warn.
build_all()
{
	local log=$dir/build.log kernel goal plan=0 jobs=() also=()

	[[ ${MAKEFLAGS:-} == *jobserver* ]] || jobs=("-j$(nproc)")

	echo "# begin build 600"
	! wanted faults || also=("${@/%/+faults}")
	for kernel in tools "$@" ${also[@]+"${also[@]}"}; do
		case $kernel in
		tools) goal=(tools selftests) ;;
		*+faults) goal=(module FAULTS=1 "KERNEL=${kernel%+faults}") ;;
		*) goal=("KERNEL=$kernel") ;;
		esac
		plan=$((plan + 1))
		make ${jobs[@]+"${jobs[@]}"} --no-print-directory "${goal[@]}" > "$log" 2>&1
		if [ $? -eq 0 ] && ! grep -qE 'warning:|WARNING:' "$log"; then
			echo "ok $plan - builds: $kernel, without a warning"
		else
			tail -n 60 "$log" | sed 's/^/#   /'
			echo "not ok $plan - builds: $kernel, without a warning"
		fi
	done
	echo "1..$plan"
	echo "# end build 0 $(((EPOCHSECONDS - started) * 10))"
}

# build_debug SERIES: wait for the kernel, then the module for it
build_debug()
{
	local log=$dir/build-debug-$1.log start=$EPOCHSECONDS

	echo "# begin build 1800"
	tail --pid="${debug_pid[$1]}" -f /dev/null
	if [ "$(cat "$dir/debug-$1.rc")" != 0 ]; then
		tail -n 20 "$dir/debug-$1.log" | sed 's/^/#   /'
		echo "not ok 1 - the debug kernel $1 builds"
	elif make --no-print-directory module KERNEL="debug-$1" > "$log" 2>&1 &&
	     { [ -z "${ALL:-}" ] || make --no-print-directory module FAULTS=1 \
					 KERNEL="debug-$1" >> "$log" 2>&1; } &&
	     ! grep -qE 'warning:|WARNING:' "$log"; then
		echo "ok 1 - builds for debug-$1 without a warning"
	else
		tail -n 60 "$log" | sed 's/^/#   /'
		echo "not ok 1 - builds for debug-$1 without a warning"
	fi
	echo "1..1"
	echo "# end build 0 $(((EPOCHSECONDS - start) * 10))"
}

host_tests()
{
	local arg name limit path start rc

	for arg in $(tests selftests/unit); do
		name=${arg%%=*}
		limit=${arg#*=}
		path=selftests/unit/$name.sh
		[ -e "$path" ] || path=$build/selftests/$name
		echo "# begin $name $limit"
		start=${EPOCHREALTIME/./}
		timeout -k 5 "$limit" "$path" < /dev/null 2>&1
		rc=$?
		[ $rc -ne 124 ] || echo "# no end after $limit s"
		echo "# end $name $rc $(((${EPOCHREALTIME/./} - start) / 100000))"
	done
}

# ended_badly TAP: the last test did not end, or left something behind
ended_badly()
{
	sed -n '/^# begin /p;/^# end /p' "$1" | tail -n 1 | grep -qE '^# begin| leak '
}

# guest_tests KERNEL NAME=SECONDS...: what a dead machine did not get to runs
# in a new one
guest_tests()
{
	local kernel=$1 try=0 arg total longest done_ left rc with=()
	local base=$dir/${kernel//\//_}
	local tap=$base.tap
	shift

	: > "$tap"
	for arg in $(programs_needed); do
		with+=(--with "$arg")
	done
	# For faults.sh, should it have been built.
	arg=$build/faults/$(eval "$("$here/kernel.sh" "$kernel")" && echo "$RELEASE")/distsnap.ko
	[ ! -e "$arg" ] || with+=(--copy "$arg")
	while [ $# -gt 0 ]; do
		try=$((try + 1))
		total=60
		longest=0
		for arg; do
			total=$((total + ${arg#*=} + 30))
			[ "${arg#*=}" -le "$longest" ] || longest=${arg#*=}
		done
		"$here/run.sh" --kernel "$kernel" --no-module --quiet --mem "${MEM:-3G}" \
			--timeout $total --idle $((longest + 60)) --env "SEED=$SEED" \
			--env "DEBUG_KERNEL=${DEBUG_KERNEL:-}" --env "ALL=${ALL:-}" \
			--log "$base.$try.console" ${with[@]+"${with[@]}"} \
			-- "$here/suite.sh" "$@" 2>&1 | tee "$base.$try.tap"
		rc=${PIPESTATUS[0]}
		cat "$base.$try.tap" >> "$tap"

		left=()
		done_=" $(sed -n 's/^# begin \([^ ]*\) .*/\1/p' "$base.$try.tap" | xargs) "
		for arg; do
			[[ $done_ == *" ${arg%%=*} "* ]] || left+=("$arg")
		done
		# A machine that ended badly though no test did.
		if [ "$rc" -ne 0 ] && [ "$rc" -ne 99 ] &&
		   ! ended_badly "$base.$try.tap"; then
			echo "# $kernel: the machine ended with status $rc"
			echo "$kernel machine 0 1 0 0 0" >> "$results"
		fi
		# No progress: all others are lost, one failure each.
		if [ ${#left[@]} -eq $# ]; then
			for arg; do
				echo "$kernel ${arg%%=*} 0 1 0 0 ${arg#*=}" >> "$results"
			done
			break
		fi
		set -- ${left[@]+"${left[@]}"}
	done
	tap_results "$kernel" "$tap"
}

# A skip counts as a failure unless README.md has it in a line that starts
# "Skipped tests:".
skips_allowed()
{
	local where name passed failed skipped tenths budget

	while read -r where name passed failed skipped tenths budget; do
		if [ "$skipped" -gt 0 ] &&
		   ! grep -s '^Skipped tests:' README.md | grep -qwF -- "$name"; then
			echo "# $where: $name: skips something that README.md does not name" >&2
			failed=$((failed + skipped))
			skipped=0
		fi
		echo "$where $name $passed $failed $skipped $tenths $budget"
	done < "$results"
}

# debug_chain: build the debug kernels, and test on them; its results are its own
debug_chain()
{
	local series tap
	results+=.debug

	for series in ${debug[@]+"${debug[@]}"}; do
		echo "# kernel debug-$series"
		tap=$dir/build-debug-$series.tap
		build_debug "$series" | tee "$tap"
		tap_results "debug-$series" "$tap"
		! grep -q '^not ok' "$tap" || continue
		# shellcheck disable=SC2046	# a list
		DEBUG_KERNEL=1 guest_tests "debug-$series" \
			$(debug_tests $(TIMEOUT_SCALE=${TIMEOUT_SCALE:-6} tests selftests))
	done
	return 0
}

stop_builds()
{
	local pid

	for pid in ${debug_pid[@]+"${debug_pid[@]}"} $chain; do
		kill -- "-$pid" 2>/dev/null
	done
}

echo "# seed $SEED"
stock=()
debug=()
chain=
declare -A debug_pid=()
trap stop_builds EXIT
# Not to go on with the next machine when this one is stopped.
trap 'exit 130' INT
trap 'exit 143' TERM
for kernel; do
	if [[ $kernel == debug-* ]]; then
		debug+=("${kernel#debug-}")
	else
		stock+=("$kernel")
	fi
done
for series in ${debug[@]+"${debug[@]}"}; do
	# In a process group of its own.  Nothing takes longer than what hangs on it.
	# shellcheck disable=SC2016	# it is another shell's
	setsid bash -c '"$1" "$2"; echo $? > "$3"' - "$here/debug-kernel.sh" \
		"$series" "$dir/debug-$series.rc" > "$dir/debug-$series.log" 2>&1 9>&- &
	debug_pid[$series]=$!
done
build_all ${stock[@]+"${stock[@]}"} | tee "$dir/build.tap"
tap_results build "$dir/build.tap"

if grep -q '^not ok' "$dir/build.tap"; then
	echo "# what does not build is not tested"
	only=
else
	host_tests | tee "$dir/host.tap"
	tap_results host "$dir/host.tap"
	guest=$(tests selftests)
	if [ -n "$guest" ] && [ ${#debug[@]} -gt 0 ]; then
		set -m		# a process group of its own
		debug_chain > "$dir/debug.out" 2>&1 9>&- &
		chain=$!
		set +m
	fi
	for kernel in ${guest:+${stock[@]+"${stock[@]}"}}; do
		echo "# kernel $kernel"
		# shellcheck disable=SC2086	# a list
		guest_tests "$kernel" $guest
	done
	if [ -n "$chain" ]; then
		tail --pid="$chain" -n +1 -f "$dir/debug.out"
		# One that was killed must not be missing unnoticed.
		wait "$chain" || echo "debug chain 0 1 0 0 0" >> "$results.debug"
		cat "$results.debug" >> "$results"
	fi
fi

skips_allowed > "$results.final"
if [ -n "$only" ] && ! grep -qE "^[^ ]+ $only " "$results.final"; then
	echo "check.sh: $only: no such test" >&2
	exit 2
fi

echo "#"
awk '{
	printf "# %-8s %-24s %4d passed %3d failed %3d skipped %7.1f s of %d s%s\n",
		$1, $2, $3, $4, $5, $6 / 10, $7, $4 ? "   <-- FAILED" : ""
}' "$results.final"
echo "# all of it: $((EPOCHSECONDS - started)) s of 2400 s; logs in $dir"
awk '{ passed += $3; failed += $4; skipped += $5 }
END {
	printf "%d passed, %d failed%s\n", passed, failed,
		skipped ? ", " skipped " skipped" : ""
	exit !(failed == 0 && passed > 0)
}' "$results.final"
