#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Members on one host that talk over loopback: both ends of each connection are
# in one namespace, and what one sends is received in the same softirq.
#
# timeout: 180
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"

FULL=${FULL:-${DEBUG_KERNEL:+3}}
FULL=${FULL:-6}
LIGHT=${LIGHT:-${DEBUG_KERNEL:+10}}
LIGHT=${LIGHT:-30}

# IPv6 has but one loopback address; any other of this host's does as well.
ADDRS=127.0.0.1,127.0.0.2,127.0.0.3
PEERS=10.9.0.0/24
if [ "$BANK_FAMILY" = 6 ]; then
	ADDRS=fd01::1,fd01::2,fd01::3
	PEERS=fd01::/64
fi

start()
{
	local i

	if [ "$BANK_FAMILY" = 6 ]; then
		for i in 1 2 3; do
			ip -n a addr add "fd01::$i/128" dev lo nodad
		done
		# Packets of more than 64 KiB, with a jumbo header.
		ip -n a link set lo gso_max_size 185000
	fi
	for i in 0 1 2; do
		spawn a "bank-$i" bank --id "$i" --addrs "$ADDRS" \
			--port 7000 --seed "$SEED" --rate 60
		BANK_PIDS+=("$LAST_PID")
	done
	for i in 0 1 2; do
		wait_for "logged bank-$i ready" 30 || return 1
	done
}

join()
{
	local i

	mkdir -p "$BANK_STORE"
	in_host a distsnap group bank --id 7 --peers "$PEERS" \
		"${BANK_LIMITS[@]}" || return 1
	for i in 0 1 2; do
		in_host a distsnap join bank --pid "${BANK_PIDS[$i]}" \
			--name "bank-$i" || return 1
	done
	spawn a agent-a distsnap agent bank --store "$BANK_STORE"
	wait_for "logged agent-a 'agent: ready'" 20 || return 1
	# Six ends of three connections.
	wait_for '[ "$(in_host a distsnap channels bank --json |
		grep -Eoc "\"peer\": *\"member\"")" -eq 6 ]' 20
}

# snapshots NAME N ARGS...
snapshots()
{
	local name=$1 n=$2
	shift 2

	in_host a distsnap take bank -o "$TEST_TMP/$name" --store "$BANK_STORE" \
		--timeout 20000 --expect a/bank-0,a/bank-1,a/bank-2 \
		--count "$n" --every 1 "$@"
}

# closed NAME: nobody outside can have had an influence on these
closed()
{
	! grep -lE '"scope": *"open"' "$TEST_TMP/$1"/*/manifest.json
}

topology 1
check "banks start" start
check "banks join" join
check "$FULL snapshots are complete" snapshots full "$FULL"
check "they are consistent" audited "$FULL" --total 3000000 "$TEST_TMP"/full/*
check "and closed" closed full
check "$LIGHT light snapshots are complete" snapshots light "$LIGHT" --light
check "they have the right bytes" audited "$LIGHT" --light "$TEST_TMP"/light/*
check "the host is idle afterwards" in_host a distsnap status bank
check "the banks have noticed nothing" banks_stop

done_testing
