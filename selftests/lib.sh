# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the test scripts, in the guest (or as root on a machine that has
# distsnap.ko loaded).  A test looks like this:
#
#	#!/bin/bash
#	# needs: tcpdump			host programs besides the usual ones
#	# timeout: 60				seconds; also the time budget
#	# debug: yes				"make check" runs it on a debug kernel, too
#	# seldom: yes				"make check ALL=1" runs it, and T=NAME
#	. "$(dirname "$0")/lib.sh"
#
#	topology 3
#	netem_all delay 5ms 2ms loss 1%
#	spawn a server agent...; wait_for 'logged server ready' 5
#	check "it pings" in_host a ping -c 1 "$(addr b)"
#	done_testing
#
# Topology: hosts a b c ... are network and UTS namespaces on one bridge, in a
# namespace of its own.
#
#	  host a            host b            host c
#	+---------+       +---------+       +---------+
#	|  eth0   |       |  eth0   |       |  eth0   |   10.0.0.1, .2, .3 ...
#	+----+----+       +----+----+       +----+----+   fd00::1, ::2, ::3 ...
#	     | veth            | veth            | veth
#	+----+----+-------+----+----+-------+----+----+
#	|   to-a            to-b     br0        to-c  |   namespace "net"
#	+---------------------------------------------+
#
# netem sits on to-a, to-b, ...: outside the hosts, so their own stacks work as
# on real hardware, and every packet passes exactly one netem, its receiver's.

TEST_NAME=$(basename "$0" .sh)
TEST_TMP=$(mktemp -d "${TMPDIR:-/tmp}/$TEST_NAME.XXXXXX")
SEED=${SEED:-$((RANDOM * 32768 + RANDOM))}
export SEED TEST_TMP
# Nobody ever writes there.
mkfifo "$TEST_TMP/nap"
exec {NAP}<> "$TEST_TMP/nap"

HOSTS=()
TAP_RUN=0
TAP_FAILED=0
TAP_PLAN=
TAP_REPORTED=
SPAWNED=()
LAST_PID=

## TAP

# say TEXT: a line for people
say()
{
	echo "# $*"
}

# plan N: how many results there will be; or call done_testing at the end
plan()
{
	TAP_PLAN=$1
	echo "TAP version 13"
	echo "1..$1"
	say "seed $SEED"
}

ok()
{
	TAP_RUN=$((TAP_RUN + 1))
	echo "ok $TAP_RUN - $*"
}

not_ok()
{
	TAP_RUN=$((TAP_RUN + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	echo "not ok $TAP_RUN - $*"
	report_state
	[ -z "${FAIL_FAST:-}" ] || done_testing
}

# skip DESC WHY
skip()
{
	TAP_RUN=$((TAP_RUN + 1))
	echo "ok $TAP_RUN - $1 # SKIP ${2:-}"
}

# skip_all WHY: the whole script
skip_all()
{
	echo "1..0 # SKIP $*"
	TAP_PLAN=0
	exit 0
}

# check DESC COMMAND...: ok if the command succeeds; shows its output if not
check()
{
	local desc=$1 rc
	shift

	"$@" > "$TEST_TMP/check.out" 2>&1
	rc=$?
	if [ $rc -eq 0 ]; then
		ok "$desc"
		return 0
	fi
	say "$* => $rc"
	head -n 40 "$TEST_TMP/check.out" | sed 's/^/#   /'
	not_ok "$desc"
	return $rc
}

# check_fails DESC STATUS PATTERN COMMAND...: ok if the command exits with just
# that status and what it prints, on either stream, matches the pattern
check_fails()
{
	local desc=$1 status=$2 pattern=$3 rc
	shift 3

	"$@" > "$TEST_TMP/check.out" 2>&1
	rc=$?
	if [ $rc -eq "$status" ] && grep -qE -- "$pattern" "$TEST_TMP/check.out"; then
		ok "$desc"
		return 0
	fi
	say "$* => $rc, not $status with /$pattern/"
	head -n 40 "$TEST_TMP/check.out" | sed 's/^/#   /'
	not_ok "$desc"
	return 1
}

# check_equal DESC GOT WANT
check_equal()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		say "got '$2', want '$3'"
		not_ok "$1"
	fi
}

done_testing()
{
	if [ -z "$TAP_PLAN" ]; then
		TAP_PLAN=$TAP_RUN
		echo "1..$TAP_RUN"
	fi
	exit $((TAP_FAILED > 0))
}

# counter HOST NAME, sum_of NAME: of the module, on one host or on all of them; 0
# when there is no module, and no number when it has no such counter
counter()
{
	local name value found=0

	while read -r name value; do
		[ "$name" != "$2" ] || { echo "$value"; return; }
		found="no_such_counter:$2"
	done < <(in_host "$1" distsnap status --counters 2>/dev/null)
	echo "$found"
}

sum_of()
{
	local h sum=0

	for h in "${HOSTS[@]}"; do
		sum=$((sum + $(counter "$h" "$1")))
	done
	echo $sum
}

# report_state: once per script, as soon as something failed
report_state()
{
	local h log

	[ -z "$TAP_REPORTED" ] || return 0
	TAP_REPORTED=1
	say "seed $SEED"
	if command -v distsnap >/dev/null; then
		for h in ${HOSTS[@]+"${HOSTS[@]}"}; do
			say "counters on $h:"
			in_host "$h" timeout 10 distsnap status --counters 2>&1 | sed 's/^/#   /'
		done
	fi
	for log in "$TEST_TMP"/*.log; do
		[ -s "$log" ] || continue
		say "the last of $(basename "$log"):"
		tail -n 10 "$log" | sed 's/^/#   /'
	done
	say "kernel log:"
	dmesg | tail -n 30 | sed 's/^/#   /'
}

## Waiting

# wait_for CONDITION SECONDS: until the shell code CONDITION holds
wait_for()
{
	local end=$((${EPOCHREALTIME/./} + $2 * 1000000))

	until eval "$1" >/dev/null 2>&1; do
		if [ "${EPOCHREALTIME/./}" -ge $end ]; then
			say "after $2 s still not: $1"
			return 1
		fi
		nap 0.03
	done
}

# nap SECONDS: without a program of its own, which an emulated processor would have
# to start each time
nap()
{
	read -rt "$1" -u "$NAP" || :
}

## Hosts

# topology N: the first N of a b c ...
topology()
{
	local i=0 h
	local names=(a b c d e f g h i j k l m n o p)

	mkdir -p /run/utsns
	ip netns add net
	ip -n net link set lo up
	ip -n net link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
	ip -n net link set br0 up
	for h in "${names[@]:0:$1}"; do
		i=$((i + 1))
		HOSTS+=("$h")
		add_host "$h" $i
	done
}

# add_host NAME NUMBER
add_host()
{
	local h=$1 n=$2

	ip netns add "$h"
	touch "/run/utsns/$h"
	unshare --uts="/run/utsns/$h" hostname "$h"
	# No duplicate address detection: it would delay the first packets.
	nsenter --net="/run/netns/$h" sysctl -qw net.ipv6.conf.all.accept_dad=0 \
		net.ipv6.conf.default.accept_dad=0
	ip -n net link add "to-$h" type veth peer name eth0 netns "$h"
	ip -n net link set "to-$h" master br0 up
	ip -n "$h" -batch - <<-EOF
	link set lo up
	addr add 10.0.0.$n/24 dev eth0
	addr add fd00::$n/64 dev eth0 nodad
	link set eth0 up
	EOF
}

# addr HOST, addr6 HOST
addr()
{
	echo "10.0.0.$(host_number "$1")"
}

addr6()
{
	echo "fd00::$(host_number "$1")"
}

host_number()
{
	local i

	for i in "${!HOSTS[@]}"; do
		[ "${HOSTS[$i]}" != "$1" ] || echo $((i + 1))
	done
}

# in_host HOST COMMAND...
in_host()
{
	local h=$1
	shift

	nsenter --net="/run/netns/$h" --uts="/run/utsns/$h" -- "$@"
}

# spawn HOST NAME COMMAND...: in the background, its output in NAME.log; its
# pid is the program's own and is left in LAST_PID
spawn()
{
	local h=$1 name=$2
	shift 2

	nsenter --net="/run/netns/$h" --uts="/run/utsns/$h" -- "$@" \
		> "$TEST_TMP/$name.log" 2>&1 < /dev/null {NAP}>&- &
	LAST_PID=$!
	SPAWNED+=("$LAST_PID")
}

# logged NAME PATTERN: the spawned NAME has printed it
logged()
{
	local lines i

	mapfile -t lines < "$TEST_TMP/$1.log"
	for ((i = ${#lines[@]} - 1; i >= 0; i--)); do
		[[ ! ${lines[i]} =~ $2 ]] || return 0
	done
	return 1
}

# stop PID [SIGNAL]: and wait until it is gone
stop()
{
	kill "-${2:-TERM}" "$1" 2>/dev/null
	wait_for "! kill -0 $1" 10 || kill -KILL "$1"
	wait "$1" 2>/dev/null
}

# netem HOST ARGS...: what reaches HOST passes this, such as
# "delay 5ms 2ms", "loss 1%", "reorder 5% delay 3ms", "duplicate 1%"
netem()
{
	local h=$1
	shift

	ip netns exec net tc qdisc replace dev "to-$h" root netem limit 10000 "$@"
}

netem_all()
{
	local h

	for h in "${HOSTS[@]}"; do
		netem "$h" "$@"
	done
}

netem_off()
{
	local h

	for h in "${HOSTS[@]}"; do
		ip netns exec net tc qdisc del dev "to-$h" root 2>/dev/null
	done
}

## Cleaning up

lib_cleanup()
{
	local rc=$? pid h

	trap - EXIT INT TERM
	if [ -z "$TAP_PLAN" ]; then
		say "$TEST_NAME: ended early with status $rc"
		report_state
		echo "Bail out! no plan"
		[ $rc -ne 0 ] || rc=1
	fi
	for pid in ${SPAWNED[@]+"${SPAWNED[@]}"}; do
		kill -TERM "$pid" 2>/dev/null
	done
	for pid in ${SPAWNED[@]+"${SPAWNED[@]}"}; do
		wait_for "! kill -0 $pid" 5 || kill -KILL "$pid"
	done
	wait
	for h in ${HOSTS[@]+"${HOSTS[@]}"}; do
		ip netns del "$h"
		umount "/run/utsns/$h" 2>/dev/null
		rm -f "/run/utsns/$h"
	done
	[ ${#HOSTS[@]} -eq 0 ] || ip netns del net
	rm -rf "$TEST_TMP"
	exit $rc
}

trap lib_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
