#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each way to send and to receive, caught in the middle: the bytes in flight are
# those that were sent and not yet received, to the byte.
#
# timeout: 150
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"

connections()
{
	tell b listen l "$(addr b)" 5000 || return 1
	for c in split peek ahead lowat all urgent inline splice file zero map tiny crumbs; do
		connected "$c" "$(addr b)" || return 1
	done
}

# caught NAME BYTES: a snapshot of each kind holds just that much on its way to b
caught()
{
	local n

	snapshot "$1" --light || return 1
	n=$(flying "$1" a b)
	echo "$1: $n bytes in flight, want $2"
	[ "$n" -eq "$2" ]
}

# unread: in all receive queues of b
unread()
{
	in_host b ss -Htn state established | awk '{ n += $1 } END { print n + 0 }'
}

# A segment read in part.
split()
{
	tell a send split 1000 && tell b recv split 300 && caught split 700
}

# Looked at is not received.  SO_PEEK_OFF looks on; TCP has it since Linux 6.9.
AHEAD=0
peek()
{
	tell b recv split 700 && tell a send peek 500 && tell b peek peek 200 || return 1
	if tell b set ahead peekoff 100; then
		AHEAD=400
		tell a send ahead "$AHEAD" || return 1
	fi
	caught peek $((500 + AHEAD))
}

# Too few to be woken for; and a call that has taken what there is, and waits for
# more: these it has received.
waiting()
{
	local lowat all

	tell b recv peek 500 && tell b recv ahead "$AHEAD" &&
		tell b set lowat rcvlowat 5000 && tell a send lowat 4000 || return 1
	tell_on b "&" waitall all 9000
	all=$PEER_SEQ
	tell a send all 6000 && wait_for '[ "$(unread)" -eq 4000 ]' 10 &&
		caught waiting 4000 && going_on b "$all" || return 1
	tell_on b "&" some lowat 9000
	lowat=$PEER_SEQ
	wait_for '[ "$(unread)" -eq 0 ]' 10 && caught lowat 0 && going_on b "$lowat" ||
		return 1
	tell a send lowat 5000 && tell a send all 3000 &&
		told b "$lowat" && told b "$all"
}

# Out of band and in: the byte is in the stream, and it is not read as the others.
urgent()
{
	tell b set inline oobinline 1 && tell a urgent urgent 100 &&
		tell a urgent inline 50 && caught urgent 150 &&
		tell b recv urgent 99 && tell b oob urgent && tell b recv inline 50 &&
		caught oob 0 && tell a send urgent 1 && tell b recv urgent 1
}

# Pages that are not TCP's own.
pages()
{
	tell a splice splice 50000 && tell a sendfile file 70000 &&
		tell a zerocopy zero 60000 && caught pages 180000 &&
		tell b recv splice 50000 && tell b recv file 70000 &&
		tell b recv zero 60000
}

# Whole pages, some of which are mapped (can_map_frag()): those that TCP has in one
# segment, which are few where the path is slow.
mapped()
{
	local mapped

	netem_off
	tell a pipe map 57344 && wait_for '[ "$(unread)" -eq 57344 ]' 10 || return 1
	netem_all delay 3ms 1ms
	mapped=$(tell b map map 49152 | awk '$2 == "ok" { print $3 }')
	echo "mapped: $mapped of 49152 bytes"
	[ "$mapped" -gt 0 ] && caught map 8192 && tell b map map 8192
}

# nstat_of HOST NAME
nstat_of()
{
	in_host "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

# Byte by byte, until TCP packs them into fewer buffers (tcp_collapse()).
crumbs()
{
	tell b set crumbs rcvbuf 3000 && tell a crumbs crumbs 900 &&
		wait_for '[ "$(unread)" -eq 900 ]' 10 || return 1
	nstat_of b TcpExtTCPRcvCollapsed
	[ "$(nstat_of b TcpExtTCPRcvCollapsed)" -gt 0 ] &&
		tell b recv crumbs 100 && caught crumbs 800 && tell b recv crumbs 800
}

# As small as they get: what does not fit b's buffer is still in a's.
tiny()
{
	local n

	tell b set tiny rcvbuf 1 && tell a set tiny sndbuf 1 || return 1
	n=$(tell a fill tiny | awk '$2 == "ok" { print $3 }')
	caught tiny "$n" && tell b recv tiny "$n"
}

topology 2
netem_all delay 3ms 1ms
check "peers start" peers_start
check "connections" connections
check "peers join" peers_join
check "they know each other" peers_known 13
check "segments read in part" split
check "bytes looked at" peek
check "receivers that wait for more" waiting
check "urgent bytes" urgent
check "spliced, from files, without copying" pages
check "mapped" mapped
check "packed" crumbs
check "tiny buffers" tiny
check "all has been received" caught end 0

done_testing
