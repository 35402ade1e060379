#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Snapshots in the middle of handshakes whose segments are lost, and handshakes of
# hosts of which only one has recorded: a connection joins one colour.
#
# timeout: 240
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

# syn_lost NAME: the snapshot ends while a waits for an answer to its SYN
syn_lost()
{
	lose b "$SYN" && tell_on a connect "$1" "$(addr b)" 5000 || return 1
	local seq=$PEER_SEQ
	wait_for "state a SYN-SENT" 10 && snapshot "$1" --light && going_on a "$seq"
	goes_on $? "$seq" "$1"
}

synack_lost()
{
	lose a "$SYNACK" && tell_on a connect "$1" "$(addr b)" 5000 || return 1
	local seq=$PEER_SEQ
	wait_for "state b SYN-RECV" 10 && snapshot "$1" --light && going_on a "$seq"
	goes_on $? "$seq" "$1"
}

# goes_on STATUS SEQ NAME: the handshake does, whatever happened before
goes_on()
{
	lose_nothing && told a "$2" && tell b accept "$3" l && works "$3" && return "$1"
}

# ack_lost NAME HOST: a has sent 3000 bytes, and b has not even the connection; the
# snapshot that HOST begins makes up for what was lost
ack_lost()
{
	lose b "$NOSYN" && tell a connect "$1" "$(addr b)" 5000 &&
		tell a send "$1" 3000 && state b SYN-RECV || return 1
	if [ "$2" = a ]; then
		after a triggered
	else
		after b recorded
	fi
	snapshot_from "$2" "$1" --light || return 1
	[ "$(flying "$1" a b)" -eq 3000 ] || { flying "$1" a b; return 1; }
	tell b accept "$1" l && tell b recv "$1" 3000 && works "$1"
}

# late: b has recorded, and its record is closed, before it gets the connection that
# a has had all the time; what b says then is news to a
late()
{
	local late behind rc=0

	late=$(counter b births_late)
	behind=$(counter b born_behind)
	lose b "$NOSYN" && tell a connect late "$(addr b)" 5000 && state b SYN-RECV &&
		ahead b && counted b births_late "$late" || rc=1
	lose_nothing && tell a send late 100 && tell b accept late l &&
		tell b recv late 100 && works late || rc=1
	counted b born_behind "$behind" && [ "$(epoch a)" -eq "$(epoch b)" ] && return "$rc"
}

# greeted: a has recorded, and says so until b has heard it, however long it takes
greeted()
{
	local before rc=0

	before=$(counter b levelled)
	ahead a && lose b "$NOSYN counter" && tell a connect greeted "$(addr b)" 5000 &&
		tell a send greeted 3000 && wait_for "[ \$(lost b) -ge 7 ]" 20 || rc=1
	lose_nothing && tell b accept greeted l && tell b recv greeted 3000 &&
		works greeted || rc=1
	counted b levelled "$before" && [ "$(epoch a)" -eq "$(epoch b)" ] && return "$rc"
}

# lost HOST: how many segments, if lose had a counter
lost()
{
	in_host "$1" nft list chain ip f in |
		awk '{ for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) }
		     END { print n + 0 }'
}

# levels NAME BEHIND COUNTER: a connects to b, one of them behind; then it is not
levels()
{
	local before want

	want=$(($(epoch a) > $(epoch b) ? $(epoch a) : $(epoch b)))
	before=$(counter "$2" "$3")
	connected "$1" "$(addr b)" && works "$1" && counted "$2" "$3" "$before" || return 1
	[ "$3" != levelled ] || [ "$(epoch "$2")" -eq "$want" ]
}

# disturbed NAME ARGS...: what reaches the hosts passes such a netem: handshakes with
# either side ahead, and the snapshot after them
disturbed()
{
	local name=$1 rc=0
	shift

	netem_all "$@"
	ahead a && levels "$name-b" b levelled && alone && ahead b &&
		levels "$name-a" a levelled && alone && connected "$name" "$(addr b)" && tell a send "$name" 3000 &&
		tell b send "$name" 2000 && snapshot "$name" --light || rc=1
	netem_off
	[ "$rc" -eq 0 ] && [ "$(flying "$name" a b)" -eq 3000 ] &&
		[ "$(flying "$name" b a)" -eq 2000 ] && tell b recv "$name" 3000 &&
		tell a recv "$name" 2000 && works "$name"
}

# alone: nothing connects the hosts any more
alone()
{
	local h

	for h in "${HOSTS[@]}"; do
		wait_for "! state $h '\(ESTAB\|FIN-WAIT\|CLOS\|LAST-ACK\)'" 30 || return 1
	done
}

# repeated HOST: how many segments TCP has sent again there
repeated()
{
	in_host "$1" nstat -asz TcpRetransSegs | awk '/Retrans/ { print $2 }'
}

# late_too: so late that each segment is repeated before it has come
late_too()
{
	local before

	before=$(($(repeated a) + $(repeated b)))
	disturbed late-too delay 700ms && [ $(($(repeated a) + $(repeated b))) -ge $((before + 4)) ]
}

# fast NAME BYTES: a connects to b with data, if it may
fast()
{
	tell a fastopen "$1" "$(addr b)" 5000 "$2" && tell b accept "$1" l &&
		tell b recv "$1" "$2" && works "$1"
}

# requests PORT: how many wait at b
requests()
{
	in_host b ss -Htan state syn-recv "( sport = $1 )" | wc -l
}

# again: a, which is ahead, connects a socket anew that was connected to somebody else
again()
{
	local levelled

	levelled=$(counter b levelled)
	peer_start b other && tell other listen other-l "$(addr b)" 5005 &&
		tell a connect again "$(addr b)" 5005 && tell other accept again other-l &&
		ahead a && tell a reconnect again "$(addr b)" 5000 &&
		tell b accept again l && works again && counted b levelled "$levelled" &&
		[ "$(epoch a)" -eq "$(epoch b)" ]
}

# deferred: b does not get the connection before it has data (TCP_DEFER_ACCEPT), so
# that a has one and b has none: nothing is lost, but who could tell
deferred()
{
	tell b listen defer "$(addr b)" 5004 && tell b set defer defer 60 &&
		tell a connect deferred "$(addr b)" 5004 && [ "$(requests 5004)" -eq 1 ]
}

# overflow: b has no room for another request, and remembers nothing of a's
overflow()
{
	local i cookies levelled rc=0 seqs=()

	cookies=$(counter b cookies)
	levelled=$(counter b levelled)
	tell b listen short "$(addr b)" 5003 1 && ahead a &&
		in_host a nft add rule ip f in tcp sport 5003 tcp dport 40001-40002 drop || return 1
	for i in 1 2; do
		tell_on a "&" connect "half-$i" "$(addr b)" 5003 "4000$i"
		seqs[i]=$PEER_SEQ
		wait_for "[ \$(requests 5003) -eq $i ]" 10 || rc=1
	done
	tell a connect over "$(addr b)" 5003 && tell b accept over short && works over || rc=1
	# One after the other, so that it is known which is accepted.
	in_host a nft 'flush chain ip f in;
		add rule ip f in tcp sport 5003 tcp dport 40002 drop' || rc=1
	for i in 1 2; do
		told a "${seqs[i]}" && tell b accept "half-$i" short && works "half-$i" || rc=1
		lose_nothing
	done
	counted b cookies "$cookies" && counted b levelled "$levelled" && return "$rc"
}

# flapped: the link of b goes down when a has recorded, in the middle of a snapshot;
# a connection that a asks for meanwhile is there when the link is up again
flapped()
{
	local recorded seq pid snap rc

	connected flap "$(addr b)" && tell a send flap 3000 || return 1
	recorded=$(counter a recorded)
	netem b delay 500ms
	{
		wait_for "counted a recorded $recorded" 10 && ip -n b link set eth0 down
		echo $? > "$TEST_TMP/down"
	} &
	pid=$!
	snapshot flapped --light &
	snap=$!
	wait "$pid" && [ "$(cat "$TEST_TMP/down")" -eq 0 ] &&
		tell_on a "&" connect after "$(addr b)" 5000 || return 1
	seq=$PEER_SEQ
	wait_for "state a SYN-SENT" 10
	rc=$?
	ip -n b link set eth0 up
	netem_off
	told a "$seq" && tell b accept after l && works after || rc=1
	wait "$snap" || rc=1
	tell b recv flap 3000 && works flap && [ "$(epoch a)" -eq "$(epoch b)" ] && return "$rc"
}

closed_epochs()
{
	in_host "$1" distsnap group peers --id 9 --snap-max 200 && ahead "$1" && sleep 0.3
}

topology 2
check "peers start" peers_start
check "peers join" peers_join
check "b listens" tell b listen l "$(addr b)" 5000
check "filters" filters
check "a connection, so that snapshots reach both" connected base "$(addr b)"
check "they know each other" peers_known 1
check "the SYN is lost" syn_lost syn
check "the SYN-ACK is lost" synack_lost synack
check "the last ACK is lost, the connecting side begins" ack_lost ack-a a
check "the last ACK is lost, the accepting side begins" ack_lost ack-b b
check "connections were born after a recording" [ "$(sum_of born_in_cut)" -ge 2 ]

check "nothing connects them any more" works base
check "a is ahead" ahead a
check "b is levelled by the last ACK" levels up-b b levelled
check "b is ahead" ahead b
check "a is levelled by the SYN-ACK" levels up-a a levelled
check "a is marked, which b has kept waiting" late
check "b is levelled by what is repeated" greeted
check "every segment comes twice" disturbed twice delay 5ms duplicate 100%
check "every segment comes late" late_too
in_host b sysctl -qw net.ipv4.tcp_syncookies=2
check "a is ahead again" ahead a
check "b, with SYN cookies, is levelled by the last ACK" levels cookie-b b levelled
check "b is ahead again" ahead b
check "a is levelled by a SYN-ACK with a cookie" levels cookie-a a levelled
check "there were cookies" counted b cookies 1
in_host b sysctl -qw net.ipv4.tcp_syncookies=1

check "b is levelled by a socket that connects anew" again
check "b waits for data before it takes a connection" deferred
in_host a distsnap group peers --id 9 --snap-max 1000
check_fails "... no snapshot is complete" 3 "5004: node b did not record the receiver's end" \
	in_host a distsnap take peers -o "$TEST_TMP/deferred" --store "$PEER_STORE" \
	--timeout 15000 --expect a/a,b/b --light
in_host a distsnap group peers --id 9 --snap-max "$PEER_SNAP_MAX"
check "... b takes it, with data" tell a send deferred 3000
check "... and has it" tell b accept deferred defer
check "... a snapshot of it is complete" snapshot deferred-2 --light
check_equal "... 3000 bytes in flight" "$(flying deferred-2 a b)" 3000
check "... it works" tell b recv deferred 3000
check "... both ways" works deferred

check "b's queue is full: it is levelled by the last ACK" overflow
check "a link goes down and up again" flapped

in_host a sysctl -qw net.ipv4.tcp_fastopen=1
in_host b sysctl -qw net.ipv4.tcp_fastopen=2
check "b accepts fast openings" tell b set l fastopen 5
check "a connection that asks for a cookie" fast cookie 100
# Bytes in the SYN, even without a cookie.
in_host a sysctl -qw net.ipv4.tcp_fastopen=5
check "a is ahead once more" ahead a
check "b is levelled by a fast opening" fast up-b 300
check "... and has recorded" [ "$(epoch a)" -eq "$(epoch b)" ]
check "no data left in a SYN" counted a fastopen_refused 0

check "a is ahead, and that epoch is over" closed_epochs a
check "b skips it" levels skip-b b levelled_skip
check "b is ahead, and that epoch is over" closed_epochs b
check "a skips it" levels skip-a a levelled_skip

in_host a distsnap group peers --id 9 --snap-max "$PEER_SNAP_MAX"
in_host b distsnap group peers --id 9 --snap-max "$PEER_SNAP_MAX"
check "a connection" connected last "$(addr b)"
check "a snapshot of it" snapshot last --light
check "it works" works last
# Idle hosts do not look at what comes from strangers.
check "every birth between members was seen" [ "$(sum_of births_unseen)" -le 1 ]

done_testing
