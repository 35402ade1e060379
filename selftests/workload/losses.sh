# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after chaos.sh and peers.sh: segments of the peers that get lost on purpose.

# shellcheck disable=SC2034	# whoever sources it uses it
NOSYN='tcp flags & syn == 0'
# shellcheck disable=SC2034
SYN='tcp flags & (syn|ack) == syn'
# shellcheck disable=SC2034
SYNACK='tcp flags & (syn|ack) == syn|ack'
# shellcheck disable=SC2034
ACK='tcp flags & ack == ack'

# filters: on all hosts, that let everything in
filters()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" nft 'table ip f { chain in { type filter hook input priority 0; }; }' || return 1
	done
}

# lose HOST EXPR: what comes in there on the peers' port
lose()
{
	in_host "$1" nft "add rule ip f in tcp sport 5000 $2 drop" &&
		in_host "$1" nft "add rule ip f in tcp dport 5000 $2 drop"
}

lose_nothing()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" nft flush chain ip f in || return 1
	done
}

# after HOST COUNTER: lose nothing any more as soon as it has risen
after()
{
	local before

	before=$(counter "$1" "$2")
	{ wait_for "counted $1 $2 $before" 20 && lose_nothing; } &
}

# state HOST STATE: a connection is in that state there
state()
{
	in_host "$1" ss -Htan "( sport = 5000 or dport = 5000 )" | grep -q "^$2"
}
