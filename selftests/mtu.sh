#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The path between the hosts gets narrower and wider in the middle of snapshots, and
# tells by ICMP (RFC 1191): nothing is lost, and no segment with our option is too
# long for it.
#
# needs: tcpdump
# timeout: 180
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/capture.sh"

SNAPS=${SNAPS:-20}
BANK_LIMITS=(--pause-max 10000 --record-max 15000 --snap-max 30000)

# router: between the hosts, where the bridge was
router()
{
	ip -n net addr add 10.0.0.254/24 dev br0 &&
		ip netns exec net sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv4.conf.all.send_redirects=0 \
			net.ipv4.conf.br0.send_redirects=0 &&
		ip -n a route add 10.0.0.2/32 via 10.0.0.254 &&
		ip -n b route add 10.0.0.1/32 via 10.0.0.254
}

# path_mtu N: from now on; the hosts forget that it was less, or are told when it was
# more
path_mtu()
{
	ip -n net route replace 10.0.0.1/32 dev br0 mtu lock "$1" &&
		ip -n net route replace 10.0.0.2/32 dev br0 mtu lock "$1" &&
		ip -n a route flush cache && ip -n b route flush cache
}

# changing: whenever another snapshot has begun, until it is killed
changing()
{
	local n begun

	while :; do
		for n in 1500 1000 1400 600; do
			begun=$(counter a triggered)
			path_mtu "$n"
			wait_for "counted a triggered $begun" 20
		done
	done
}

# told_of HOST: how many packets were too long
told_of()
{
	in_host "$1" nstat -asz IcmpInDestUnreachs | awk '/^Icmp/ { print $2 }'
}

snapshots()
{
	local rc pid

	changing &
	pid=$!
	banks_take a "$TEST_TMP/snaps" --count "$SNAPS" --every 1 --light
	rc=$?
	kill "$pid"
	wait "$pid"
	return "$rc"
}

few_snapshots()
{
	banks_take b "$TEST_TMP/few" --light --count 4 --every 1
}

narrow()
{
	local before

	before=$(($(told_of a) + $(told_of b)))
	path_mtu 600 && wait_for "[ \$((\$(told_of a) + \$(told_of b))) -gt $((before + 1)) ]" 20
}

topology 2
offloads_off
check "a router" router
netem_all delay 5ms 1ms
check "the path is 1500 bytes wide" path_mtu 1500
check "banks start" banks_start --rate 0
check "banks join" banks_join
check "snapshots while it changes are complete" snapshots
check "... and exact" audited "$SNAPS" --light "$TEST_TMP"/snaps/*
check "somebody was told" [ $(($(told_of a) + $(told_of b))) -gt 1 ]
check "600 bytes, and both know" narrow
check "capture with snapshots" capture narrow few_snapshots
say "$(wire "$TEST_TMP/narrow.pcap")"
check "none is longer" [ "$(value narrow largest)" -le 600 ]
check "segments had the option" [ "$(value narrow tagged)" -gt 0 ]
check_equal "no red one was bare" "$(value narrow bare_red)" 0
check "the banks have noticed nothing" banks_stop

done_testing
