#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Snapshots of streams that are never idle: senders that fill their buffers and
# sleep in them, full segments, receivers that lag behind, and a network that
# loses so much that acknowledgments are full of SACK blocks.
#
# needs: tcpdump
# timeout: 300
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

FULL=${FULL:-${DEBUG_KERNEL:+3}}
FULL=${FULL:-6}
LIGHT=${LIGHT:-${DEBUG_KERNEL:+10}}
LIGHT=${LIGHT:-30}
MAX_LEN=65535
# Everybody is busy here, the agents too.
BANK_LIMITS=(--pause-max 10000 --record-max 15000 --snap-max 30000)
bank=$(command -v bank)
snaps=$TEST_TMP/snaps
mkdir "$snaps"

# light N, full N: all of them taken by one process, each host in turn
light()
{
	banks_take a "$snaps/a" --light --count $(($1 / 2)) --every 20 &&
		banks_take b "$snaps/b" --light --count $(($1 / 2)) --every 20
}

full()
{
	banks_take c "$snaps/c" --count "$1" --every 20
}

# capture FILE COMMAND...: what passes host a meanwhile
capture()
{
	local file=$1 pid
	shift

	spawn a tcpdump tcpdump -Z root -i eth0 -s 128 -B 8192 -U -w "$file" tcp
	pid=$LAST_PID
	wait_for "logged tcpdump 'listening on'" 20 || return 1
	"$@" || return 1
	stop "$pid"
	return 0
}

audit_light()
{
	bank-audit --light --seed "$SEED" --max-len "$MAX_LEN" "$snaps"/[ab]/*
}

audit_full()
{
	bank-audit --exe "$bank" --seed "$SEED" "$snaps"/c/*
}

topology 3
netem_all delay 5ms 1ms loss 2% reorder 3% duplicate 1%
check "banks start" banks_start --rate 0 --max-len "$MAX_LEN" --sockbuf 30000
check "banks join" banks_join
check "$LIGHT light snapshots are complete" \
	capture "$TEST_TMP/light.pcap" light "$LIGHT"
check "all have the right bytes" audit_light
say "$(tail -n 1 "$TEST_TMP/check.out")"
wire=$(wire "$TEST_TMP/light.pcap")
say "$wire"
check "red segments were seen" [ "$(grep -o ' red=[0-9]*' <<< "$wire" | tr -dc 0-9)" -gt 0 ]
check_equal "none of them was bare" "$(grep -o 'bare_red=[0-9]*' <<< "$wire")" bare_red=0
check "$FULL snapshots are complete" full "$FULL"
check "all are consistent" audit_full
say "$(tail -n 1 "$TEST_TMP/check.out")"
check "the banks have noticed nothing" banks_stop
check "SACK blocks gave way to the option" [ "$(sum_of sack_trimmed)" -gt 0 ]
check_equal "there was room for the option in every red segment" \
	"$(sum_of tag_no_room_red)" 0

say "$(sum_of held) segments were held, $(sum_of gated) waited at the gate"

done_testing
