#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mutants.sh KERNEL [NAME...]: build each mutant (kmod/mutant.h) and run the tests
# that should notice, until one does.  Before that they must pass without a
# mutant.  The last line is the verdict: mutants: N/N killed.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$top" || exit 1
build=${BUILD:-$top/build}
kernel=${1:?usage: mutants.sh KERNEL [NAME...]}
shift

# The mutants, and by what they are noticed: *_test is a program that runs here,
# in build/selftests, anything else a test in the guest.
#
# Only the tests of the rules can tell about ack_early and no_newer, as the wire
# covers for them: a marked segment brings its own anchor, and markers are repeated.
# no_sack_trim needs a red segment with two SACK blocks, which is rare.
table="
	no_hold			bank
	no_gate			gate
	publish_piecemeal	bank
	no_recheck		newer
	no_sendq		rush
	no_recvq		rush
	no_ofo			rush
	clone_unsent		rush
	late_log		rush
	no_grace		bank
	no_unmoved		bank
	no_repeat		idle_wire
	no_levelling		handshake
	no_born_cut		handshake
	no_late_marker		handshake
	no_greeting		handshake
	no_tombs		storm
	no_outsiders		owners
	no_crossing		crossing
	no_request		handshake
	pass_fastopen		handshake
	tag_signed		truth
	bare_reset		resets
	pass_reset		snapshot_test
	no_reset_seen		merge_test
	no_sack_trim		option_test
	no_room			rush
	no_giveback		mss
	no_flush		linkflap
	old_epoch		bank
	no_park			bank
	ack_early		snapshot_test
	no_newer		snapshot_test
	no_gap			merge_test
	no_overlap		merge_test
	leak_cut		bank
	leak_bytes		bank
"

# Fewer snapshots than "make check" takes, enough to notice.
export FULL=${FULL:-4} LIGHT=${LIGHT:-20} ROUNDS=${ROUNDS:-2} FAIL_FAST=1
export SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}

die()
{
	echo "mutants.sh: $*" >&2
	exit 1
}

# tests_of NAME
tests_of()
{
	awk -v name="$1" '$1 == name { $1 = ""; print }' <<< "$table" | xargs
}

# Every mutant of the code has its line here, and the other way round.
names=$(awk 'NF { print $1 }' <<< "$table")
found=$(grep -ohE 'ds_mutant\([a-z_]+\)' kmod/*.c tools/*.c | sed 's/.*(//; s/)//')
odd=$(printf '%s\n' "$names" "$(sort -u <<< "$found")" | sort | uniq -u | xargs)
[ -z "$odd" ] || die "in the code or in the table only: $odd"
# shellcheck disable=SC2086	# a list
[ $# -gt 0 ] || set -- $names
for name; do
	[ -n "$(tests_of "$name")" ] || die "$name: no such mutant"
done

# guest_once MODULE TEST: in a machine of its own; its TAP is in $log.  Sets $why
# if the test fails, and $unclear if that need not be the mutant's doing.
guest_once()
{
	local limit rc

	why=
	unclear=
	limit=$(sed -n 's/^# timeout: //p' "selftests/$2.sh")
	"$here/run.sh" --kernel "$kernel" --no-module --module "$1" --quiet \
		--with tcpdump --mem 3G --timeout $((limit + 120)) --idle "$limit" \
		--log "$dir/console" --env "SEED=$SEED" --env "FULL=$FULL" \
		--env "LIGHT=$LIGHT" --env "ROUNDS=$ROUNDS" --env FAIL_FAST=1 \
		-- "$here/suite.sh" "$2=$limit" > "$log" 2>&1
	rc=$?
	case $rc in
	121)
		# Only what distsnap is seen in.
		why="the kernel crashed"
		grep -q distsnap "$dir/console" || unclear=1
		;;
	122)
		why="the machine hung"
		unclear=1
		;;
	0|99|120|123) ;;
	*) die "$2: run.sh ended with status $rc: $(tail -n 1 "$log")" ;;
	esac
	[ -n "$why" ] || why=$(sed -n 's/^not ok [0-9]* - /no longer: /p' "$log" | head -n 1)
	# There is no member yet.
	[[ $why != "no longer: banks start" ]] || unclear=1
	[ -n "$why" ] || why=$(sed -n 's/^# leak: /leak: /p' "$log" | head -n 1)
	[ -n "$why" ] || grep -q "^# end $2 0 " "$log" || { why="no verdict"; unclear=1; }
	[ -z "$why" ]
}

# guest_test MODULE TEST: what may be a whim of the machine must happen twice
guest_test()
{
	guest_once "$@" && return 0
	[ -n "$unclear" ] || return 1
	echo "# $2: $why; once more"
	guest_once "$@" && return 0
	[[ -z $unclear || $why == "the machine hung" ]] || die "$2: $why, twice; see $log"
	return 1
}

# passes DIR MODULE TEST: false, with $why, when the test fails
passes()
{
	local test=$3 rc

	log=$dir/$test.log
	if [[ $test != *_test ]]; then
		guest_test "$2" "$test"
		return
	fi
	why=
	timeout 120 "$1/selftests/$test" > "$log" 2>&1
	rc=$?
	[ $rc -ne 0 ] || return 0
	why=$(sed -n 's/^not ok [0-9]* /no longer: /p' "$log" | head -n 1)
	[ -n "$why" ] || why="status $rc"
	return 1
}

# make_mutant NAME TESTS...: what these tests need of it
make_mutant()
{
	local name=$1 own=$build/mutants/$1 test targets=()
	shift

	for test; do
		if [[ $test == *_test ]]; then
			# Not to be unpacked again.
			mkdir -p "$own"
			cp -rp "$build/include" "$own/"
			targets+=("$own/selftests/$test")
		else
			targets+=(module)
		fi
	done
	make --no-print-directory MUTANT="$name" KERNEL="$kernel" "${targets[@]}" \
		> "$dir/build.log" 2>&1 ||
		{ tail -n 20 "$dir/build.log" >&2; die "$name does not build"; }
}

# shellcheck disable=SC2153	# comes from kernel.sh
release=$(eval "$("$here/kernel.sh" "$kernel")" && echo "$RELEASE")
[ -n "$release" ] || exit 1

echo "# kernel $kernel seed $SEED"
dir=$build/mutants/none
mkdir -p "$dir"
for test in $(for name; do tests_of "$name"; done | xargs -n1 | sort -u); do
	start=$EPOCHSECONDS
	passes "$build" "$build/$release/distsnap.ko" "$test" || {
		cat "$log"
		die "$test fails without a mutant: $why"
	}
	echo "# no mutant: $test passes ($((EPOCHSECONDS - start)) s)"
done

killed=0
for name; do
	dir=$build/mutants/$name
	mkdir -p "$dir"
	tests=$(tests_of "$name")
	start=$EPOCHSECONDS
	# shellcheck disable=SC2086	# a list
	make_mutant "$name" $tests
	by=
	for test in $tests; do
		passes "$dir" "$dir/$release/distsnap.ko" "$test" && continue
		by=$test
		break
	done
	if [ -n "$by" ]; then
		killed=$((killed + 1))
		echo "mutant $name: killed by $by ($why; $((EPOCHSECONDS - start)) s)"
	else
		echo "mutant $name: SURVIVED $tests"
	fi
done
echo "mutants: $killed/$# killed"
[ $killed -eq $# ]
