# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh: what is on the wire, judged by wire.c.

# offloads_off: what is captured is what would be on a cable
offloads_off()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" ethtool -K eth0 tso off gso off gro off > /dev/null
	done
}

# capture NAME COMMAND...: what host a and its wire exchange meanwhile
capture()
{
	local file=$TEST_TMP/$1.pcap pid
	shift

	spawn a tcpdump tcpdump -Z root --immediate-mode -i eth0 -s 128 -B 8192 -U -w "$file" tcp
	pid=$LAST_PID
	wait_for "logged tcpdump 'listening on'" 10 || return 1
	"$@" || return 1
	stop "$pid"
	return 0
}

# value NAME FIELD
value()
{
	wire "$TEST_TMP/$1.pcap" | tr ' ' '\n' | sed -n "s/^$2=//p"
}
