#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets of more than 64 KiB inside a host (BIG TCP: gso_max_size), over IPv6 with a
# jumbo header: they take the option like others, and none is dropped for it.
#
# needs: tcpdump
# timeout: 120
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"

BYTES=200000000

connection()
{
	tell b listen l "$(addr6 b)" 5000 && connected big "$(addr6 b)" || return 1
	for h in a b; do
		tell "$h" set big sndbuf 4000000 && tell "$h" set big rcvbuf 4000000 || return 1
	done
}

stream()
{
	tell_on b "&" drain big
	DRAIN=$PEER_SEQ
	tell_on a "&" send big "$BYTES"
	SEND=$PEER_SEQ
	spawn a tcpdump tcpdump -Z root -n -i eth0 -s 128 -c 20 -w "$TEST_TMP/big.pcap" \
		'ip6[6] == 0 and ip6[4:2] == 0'
	wait_for '[ "$(stat -c %s "$TEST_TMP/big.pcap")" -gt 2000 ]' 20
}

# all_there: nothing that was sent is missing
all_there()
{
	told a "$SEND" && tell a shut big && told b "$DRAIN" &&
		logged peer-b "^$DRAIN ok $BYTES"
}

topology 2
for h in a b; do
	ip -n "$h" link set eth0 gso_max_size 185000 gro_max_size 185000
	ip -n net link set "to-$h" gso_max_size 185000 gro_max_size 185000
	# As large as they may be, however slow this machine is.
	in_host "$h" sysctl -qw net.ipv4.tcp_tso_rtt_log=20
done
check "peers start" peers_start
check "a connection" connection
check "peers join" peers_join
check "they know each other" peers_known 1
if stream > "$TEST_TMP/stream.log"; then
	ok "packets with jumbo headers flow"
else
	skip "packets with jumbo headers flow" "this kernel sends none here"
fi
for i in 1 2 3; do
	check "$i: a snapshot in the middle" snapshot "$i" --light
done
check "segments were tagged" [ "$(counter a tagged)" -gt 3 ]
check_equal "none was dropped for lack of room" "$(counter a tag_no_room_red)" 0
check_equal "nor for an odd header" "$(counter a tag_failed)" 0
check "everything arrives" all_there

done_testing
