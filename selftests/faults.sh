#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# At every step of a snapshot (kmod/fault.h) something is killed, unloaded or taken
# away: the snapshot is complete and exact, or it is incomplete and says why; nothing
# is stuck, and the next one is complete.  One thing at every third step, as the seed
# chooses; ALL=1 (make faults) does everything at each.
#
# timeout: 300
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/qemu/leaks.sh"

MODULE=/distsnap/files/distsnap.ko
PARAMS=/sys/module/distsnap/parameters
ACTS=(nothing member peer agent initiator link leave unload host)

declare -A AGENT_PID=() REACHED=()
stuck=0 wrong=0

## What there is, again

# mend: whatever has gone comes back
mend()
{
	local h

	[ -d /sys/module/distsnap ] || insmod "$MODULE" || return 1
	mkdir -p "$PEER_STORE"
	for h in a b; do
		# The new one has another hardware address.
		[ -e "/run/netns/$h" ] ||
			{ add_host "$h" "$(host_number "$h")" && netem "$h" delay 2ms &&
			  ip -n a neigh flush all; } || return 1
		in_host "$h" distsnap group peers --id 9 --peers 10.0.0.0/24 \
			--pause-max 15000 --record-max 16000 --snap-max 18000 || return 1
		alive "${PEER_PID[$h]:-0}" || { peer_gone "$h"; peer_start "$h" "$h"; } || return 1
		in_host "$h" distsnap members peers | grep -q "^peers *$h " ||
			peer_join "$h" "$h" || return 1
		alive "${AGENT_PID[$h]:-0}" && continue
		spawn "$h" "agent-$h" distsnap agent peers --store "$PEER_STORE"
		AGENT_PID[$h]=$LAST_PID
		wait_for "logged agent-$h 'agent: ready'" 20 || return 1
	done
}

# peer_gone HOST: what it left here
peer_gone()
{
	local fd=${PEER_FD[$1]:-}

	[ -z "$fd" ] || exec {fd}>&-
	rm -f "$TEST_TMP/peer-$1" "$TEST_TMP/peer-$1.log"
}

# linked: a connection between the two, with bytes in flight both ways
linked()
{
	tell b listen "l$1" "$(addr b)" $((5000 + $1)) &&
		tell a connect "$1" "$(addr b)" $((5000 + $1)) && tell b accept "$1" "l$1" &&
		peers_known 1 && tell a send "$1" 3000 && tell b send "$1" 2000
}

# unlinked: all the bytes have come
unlinked()
{
	tell b recv "$1" 3000 && tell a recv "$1" 2000 && tell a close "$1" &&
		tell b close "$1" && tell b close "l$1"
}

## What happens to it

# begin POINT: somebody will get there; who does it is left in ACTOR
begin()
{
	case $1 in
	joining)
		in_host a distsnap leave peers --pid "${PEER_PID[a]}" || return 1
		stop_at "$1" 0
		spawn a actor distsnap join peers --pid "${PEER_PID[a]}" --name a
		;;
	leaving)
		stop_at "$1" 0
		spawn a actor distsnap leave peers --pid "${PEER_PID[a]}"
		;;
	*)
		stop_at "$1" $((RANDOM % 2))
		spawn "$(any_host)" actor distsnap take peers -o "$TEST_TMP/broken" \
			--store "$PEER_STORE" --timeout 8000 --expect a/a,b/b
		;;
	esac
	ACTOR=$LAST_PID
	wait_for "grep -q '^$1 ' $PARAMS/fault_at" 20
}

any_host()
{
	[ $((RANDOM % 2)) -eq 0 ] && echo a || echo b
}

# stop_at POINT SKIP
stop_at()
{
	echo "$2" > "$PARAMS/fault_skip"
	echo "$1" > "$PARAMS/fault"
}

go_on()
{
	[ ! -w "$PARAMS/fault" ] || echo > "$PARAMS/fault"
}

# act ACT: begun, at least
act()
{
	local at

	at=$(awk '{ print $2 }' "$PARAMS/fault_at")
	case $1 in
	nothing) ;;
	member) kill -KILL "$at" ;;
	peer) kill -KILL "$([ "$at" = "${PEER_PID[a]}" ] && echo "${PEER_PID[b]}" ||
			    echo "${PEER_PID[a]}")" ;;
	agent) kill -KILL "${AGENT_PID[$(any_host)]}" ;;
	initiator) kill -KILL "$ACTOR" ;;
	link) later ip -n b link set eth0 down ;;
	leave) later in_host b distsnap leave peers --pid "${PEER_PID[b]}" ;;
	unload) later module_unload ;;
	host)
		# Its last process may have to wait for who has stopped.
		kill -KILL "${PEER_PID[b]}" "${AGENT_PID[b]}"
		umount /run/utsns/b && rm /run/utsns/b && ip netns del b
		;;
	esac
}

# later COMMAND...: it may have to wait for who has stopped
later()
{
	"$@" &
	LATER=$!
	# It has begun: sleeps, or is over.
	wait_for "! grep -q '^State:.R' /proc/$LATER/status" 10
}

# ended ACT: all that was begun has, and whoever is to be gone is
ended()
{
	wait_for "! alive $ACTOR" 40 || return 1
	wait "$ACTOR"
	STATUS=$?
	[ -z "$LATER" ] || { wait_for "! alive $LATER" 60 && wait "$LATER"; } || return 1
	case $1 in
	link) ip -n b link set eth0 up ;;
	host) wait_for "! ip -n net link show to-b" 20 || return 1 ;;
	esac
	case $1 in
	unload) wait_for "! alive ${AGENT_PID[a]} && ! alive ${AGENT_PID[b]}" 20 || return 1 ;;
	member|peer)
		wait_for "! alive ${PEER_PID[a]} || ! alive ${PEER_PID[b]}" 20 || return 1
		SURVIVOR=$(alive "${PEER_PID[a]}" && echo a || echo b)
		;;
	esac
}

# truthful POINT ACT: what was said of the snapshot, and of the bytes, is so
truthful()
{
	[[ $1 != joining && $1 != leaving && $2 != initiator ]] || return 0
	cat "$TEST_TMP/actor.log"
	case $STATUS in
	0) peer-audit "$SEED" "$TEST_TMP/broken" ;;
	3) [ -s "$TEST_TMP/actor.log" ] && [ "$2" != nothing ] ;;
	4) [[ $2 == unload || $2 == host || $2 == leave ]] ;;
	*) false ;;
	esac
}

# broken POINT ACT
broken()
{
	local point=$1 act=$2 key

	LATER=""
	DEAD=""
	key=$((++KEY))
	rm -rf "$TEST_TMP/broken"
	if ! linked "$key" || ! begin "$point"; then
		stuck=$((stuck + 1))
		go_on
		return 1
	fi
	REACHED[$point]=1
	act "$act"
	go_on
	ended "$act" || { stuck=$((stuck + 1)); return 1; }
	truthful "$point" "$act" || { wrong=$((wrong + 1)); return 1; }
	case $act in
	member|peer)
		DEAD=$key
		# Who is no member then does not know whose bytes those are.
		case $point in
		joining|leaving) buried && DEAD="" ;;
		esac
		;;
	host) tell a close "$key" ;;
	*) unlinked "$key" || { wrong=$((wrong + 1)); return 1; } ;;
	esac
}

# buried: the survivor of a dead connection closes it
buried()
{
	[ -z "$DEAD" ] || tell "$SURVIVOR" close "$DEAD"
}

# whole: the next one; what a survivor can still read of a dead connection harms nothing
whole()
{
	local key=$((++KEY))

	mend && linked "$key" && wait_for "! in_host a distsnap status peers | grep -q 'is open'" 30 &&
		snapshot "next-$key" && [ "$(flying "next-$key" a b)" -eq 3000 ] &&
		[ "$(flying "next-$key" b a)" -eq 2000 ] && unlinked "$key" && buried && return
	stuck=$((stuck + 1))
	return 1
}

[ -e "$MODULE" ] || skip_all "no module with fault points"
RANDOM=$((SEED & 32767))
KEY=0
topology 2
netem_all delay 2ms
check "the module goes" module_unload
check "one with fault points comes" insmod "$MODULE"
check "all is there" mend
points=$(cat "$PARAMS/fault_points")
i=$((RANDOM % 3))
for point in $points; do
	i=$((i + 1))
	[ -n "${ALL:-}" ] || [ $((i % 3)) -eq 0 ] || continue
	acts=("${ACTS[@]}")
	[ -n "${ALL:-}" ] || acts=("${ACTS[RANDOM % ${#ACTS[@]}]}")
	for act in "${acts[@]}"; do
		check "$point: $act" broken "$point" "$act"
		check "$point: $act: the next is complete" whole
	done
done
leaked=$(leak_check) || say "$leaked"
say "faults: $(wc -w <<< "$points") points, ${#REACHED[@]} reached, $stuck stuck," \
	"$(grep -c . <<< "$leaked") leaked, $wrong falsely complete"
check_equal "nothing is left" "$leaked" ""

done_testing
