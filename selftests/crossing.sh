#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections that begin as few do: both sides connect, and their SYNs cross; or the
# addresses and ports are those of one that is in TIME-WAIT.
#
# timeout: 150
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/losses.sh"

# Time for what is done between snapshots, on a machine that is slow.
PEER_SNAP_MAX=60000

# cross NAME PORT: a connects to b and b to a; nobody listens there, so unless both
# SYNs are under way at once both fail
cross()
{
	netem_all delay 400ms
	tell_on a "&" connect "$1" "$(addr b)" 5000 "$2"
	A_SEQ=$PEER_SEQ
	tell_on b "&" connect "$1" "$(addr a)" "$2" 5000
	B_SEQ=$PEER_SEQ
}

# crossed NAME: it is a connection of both
crossed()
{
	told a "$A_SEQ" && told b "$B_SEQ" && netem_all delay 2ms && works "$1"
}

# levelled HOST NAME PORT: it is behind, and then it is not
levelled()
{
	local before

	before=$(counter "$1" levelled)
	cross "$2" "$3" && crossed "$2" && counted "$1" levelled "$before" &&
		[ "$(epoch a)" -eq "$(epoch b)" ]
}

# The SYN-ACK that would complete it at b is lost, and a does not repeat it.
by_ack()
{
	local before rc=0

	before=$(counter b levelled)
	lose b "$ACK" && cross ack 6004 && told a "$A_SEQ" && state b SYN-RECV || rc=1
	lose_nothing && crossed ack && counted b levelled "$before" &&
		[ "$(epoch a)" -eq "$(epoch b)" ] && return "$rc"
}

# a records before it has the connection, which b has, and has sent something.  What
# b sends next gives it to a, before TCP would repeat anything.
recorded_before()
{
	local born recorded n

	born=$(counter a born_in_cut)
	recorded=$(counter a recorded)
	lose a "$ACK" && cross before 6005 && told b "$B_SEQ" &&
		tell b send before 3000 && state a SYN-RECV || return 1
	netem_all delay 2ms
	{
		PEER_SEQ=1000
		# It waits for births for two seconds only: no more than is needed.
		wait_for "counted a recorded $recorded" 20 &&
			in_host a nft flush chain ip f in && tell_on b send before 1
	} &
	snapshot before --light || return 1
	n=$(flying before b a)
	echo "$n bytes in flight: 3000, or one more"
	[ $((n | 1)) -eq 3001 ] && counted a born_in_cut "$born" && told a "$A_SEQ" &&
		tell a recv before 3001 && works before
}

# again NAME PORT FIRST: closed by FIRST first, whose side is in TIME-WAIT then, and
# connected again from the same port
again()
{
	local name=$1 port=$2 first=$3 then=a

	[ "$first" = b ] || then=b
	tell a connect "$name" "$(addr b)" 5001 "$port" && tell b accept "$name" l &&
		tell a send "$name" 900 && tell b recv "$name" 900 &&
		tell "$first" close "$name" && tell "$then" drain "$name" &&
		tell "$then" close "$name" &&
		wait_for "in_host $first ss -Htan state time-wait | grep -q :$port" 10 ||
		return 1
	# TIME-WAIT gives way after a second (tcp_twsk_unique()).
	wait_for "tell a connect $name $(addr b) 5001 $port" 10 && tell b accept "$name" l &&
		tell a send "$name" 700 && snapshot "$name" --light || return 1
	[ "$(flying "$name" a b)" -eq 700 ] || { flying "$name" a b; return 1; }
	tell b recv "$name" 700 && works "$name"
}

topology 2
check "peers start" peers_start
check "peers join" peers_join
check "filters" filters
check "b listens, elsewhere" tell b listen l "$(addr b)" 5001
check "SYNs cross" cross plain 6000
check "... and there is a connection" crossed plain
check "and another, that stays" cross base 6001
check "... between them" eval 'told a "$A_SEQ" && told b "$B_SEQ"'
netem_all delay 2ms
check "nobody takes anybody for external" snapshot base --light
check "nothing connects them any more" works base
check "a is ahead" ahead a
check "b is levelled" levelled b up-b 6002
check "b is ahead" ahead b
check "a is levelled" levelled a up-a 6003
check "a is ahead again" ahead a
check "b is levelled by an ACK" by_ack
check "recorded before it was established" recorded_before
in_host a sysctl -qw net.ipv4.tcp_tw_reuse=1
check "its end in TIME-WAIT is b's" again tw-b 7000 b
check "its end in TIME-WAIT is a's" again tw-a 7001 a
check "every birth was seen" [ "$(sum_of births_unseen)" -eq 0 ]

done_testing
