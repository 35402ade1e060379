#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sequence numbers come round to 0 in every place where they are compared: in the
# captured queues, in what arrives later, at the anchor, in what is held.
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

# How many bytes there are before 0.
BEFORE=(0 1 2 300 1447 1448 1449 2000 2999 3000 3001 5000)

# Commands for all of them go out at once.  The side whose numbers come round is
# "own", the other one "other".

# for_all SIDE COMMAND ARGS...: with the connection's name in between
for_all()
{
	local n side=$1 what=$2 up=a down=b
	shift 2

	[ "$side" = own ] || up=b down=a
	for n in "${BEFORE[@]}"; do
		tell_on "$up" "$what" "up$n" "$@"
		tell_on "$down" "$what" "down$n" "$@"
	done
	all_told
}

# all_told: whatever was told is done, and well
all_told()
{
	tell a set l nodelay 1 && tell b set l nodelay 1 &&
		! logged peer-a ' failed' && ! logged peer-b ' failed'
}

# connections: from a to b, then to a from b, whose first byte is so far before 0
connections()
{
	local n port=6000

	tell b listen l "$(addr b)" 5000 && tell a listen l "$(addr a)" 5000 || return 1
	for n in "${BEFORE[@]}"; do
		port=$((port + 1))
		tell_on a connect "up$n" "$(addr b)" 5000 "$port" $((4294967295 - n))
		tell_on b accept "up$n" l
		tell_on b connect "down$n" "$(addr a)" 5000 "$port" $((4294967295 - n))
		tell_on a accept "down$n" l
	done
	all_told
}

# caught NAME BYTES: in flight, on each connection
caught()
{
	local n want=$((2 * ${#BEFORE[@]} * $2))

	n=$(($(flying "$1" a b) + $(flying "$1" b a)))
	echo "$n bytes in flight, want $want"
	[ "$n" -eq "$want" ]
}

# Nothing gets through: the bytes are in the send queues, then in the logs.
on_the_wire()
{
	lose a "$NOSYN" && lose b "$NOSYN" && for_all own send 3000 || return 1
	after a recorded
	snapshot wire --light && caught wire 3000 && for_all other recv 3000
}

# What is sent by one that has recorded waits for the other one, who does not hear
# of it before.
held()
{
	local recorded before n

	recorded=$(counter a recorded)
	before=$(counter b held)
	lose b 'tcp flags & (syn | psh) == 0' || return 1
	{
		PEER_SEQ=5000
		wait_for "counted a recorded $recorded" 20
		for n in "${BEFORE[@]}"; do
			tell_on a send "up$n" 2000
		done
		wait_for "counted b held $before" 20
		lose_nothing
	} &
	snapshot held --light && counted b held "$before" || return 1
	for n in "${BEFORE[@]}"; do
		tell_on b recv "up$n" 2000
	done
	all_told
}

topology 2
netem_all delay 2ms
check "peers start" peers_start
check "connections" connections
check "peers join" peers_join
check "they know each other" peers_known $((2 * ${#BEFORE[@]}))
check "filters" filters
check "a snapshot at the beginning" snapshot begin --light
check "3000 bytes on each" for_all own send 3000
check "... of which 1500 are read" for_all other recv 1500
check "a snapshot" snapshot queued --light
check "the other 1500 are in flight" caught queued 1500
check "... and are read" for_all other recv 1500
check "3000 more, in the send queues" on_the_wire
check "what is held" held

done_testing
