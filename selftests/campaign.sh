#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Snapshots of connections of all kinds (workload/talk.c) on a network that changes
# all the time: its faults, its offloads, its MTU.  Every byte of every channel is
# checked, and each situation must have come up.  SNAPS: how many, and up to as many
# again until the rarest has.
#
# timeout: 400
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/swarm.sh"

SNAPS=${SNAPS:-${DEBUG_KERNEL:+20}}
SNAPS=${SNAPS:-100}
CHUNK=20
RANDOM=$((SEED & 32767))

talks_start()
{
	local h addrs=()

	for h in "${HOSTS[@]}"; do
		addrs+=("$(addr "$h")")
	done
	for h in "${HOSTS[@]}"; do
		addrs+=("$(addr6 "$h")")
	done
	swarm_start talk 7200 "${#HOSTS[@]}" "${addrs[@]}"
}

# one_of WORDS...
one_of()
{
	echo "${@:RANDOM % $# + 1:1}"
}

# The MTU of all at once, or nearly: a larger packet under way is lost.
set_mtu()
{
	local h

	for h in "${HOSTS[@]}"; do
		ip -n net link set "to-$h" mtu "$1" && ip -n "$h" link set eth0 mtu "$1" ||
			return 1
	done
}

# shake_once: another network, of a kind that is left in KIND
shake_once()
{
	local h mtu

	h=$(one_of "${HOSTS[@]}")
	case $((RANDOM % 5)) in
	0|1)
		KIND=faults
		netem "$h" delay "$(one_of 0ms 2ms 10ms)" "$(one_of 0ms 2ms)" \
			loss "$(one_of 0 1 3)%" duplicate "$(one_of 0 1)%"
		;;
	2)
		KIND=reordering
		netem "$h" delay 5ms 2ms reorder "$(one_of 2 10)%"
		;;
	3)
		KIND=offloads
		in_host "$h" ethtool -K eth0 tso "$(one_of on off)" gso "$(one_of on off)" \
			gro "$(one_of on off)"
		;;
	4)
		mtu=$(one_of 1280 1500 9000 65535)
		KIND=mtu
		[ "$mtu" -le 1500 ] || KIND=mtu_jumbo
		set_mtu "$mtu"
		;;
	esac
}

# shake: so every half second or so, until the campaign is over
shake()
{
	printf 'count %s 0\n' faults reordering offloads mtu mtu_jumbo \
		> "$TEST_TMP/talk-network.log"
	while [ ! -e "$TEST_TMP/enough" ]; do
		shake_once && echo "count $KIND 1" >> "$TEST_TMP/talk-network.log"
		nap "0.$((RANDOM % 8 + 1))"
	done > "$TEST_TMP/shake.log" 2>&1
}

# explain: what was wrong with a snapshot, and what both ends recorded of the first
# channel that is named
explain()
{
	local line port snap

	while read -r line; do
		echo "$line"
		snap=${line%%:*}
		distsnap show "$snap" | head -n 12
		port=$(grep -oE ':[0-9]+ -> ' <<< "$line" | grep -oE '[0-9]+')
		grep -H -B 3 -A 40 ":$port\"" "$snap"/nodes/*/fragment.json | cut -c 1-200
	done | head -n 400 >&3
}

# audit: adds up what is in that directory, and deletes it
taken=0 inexact=0 incomplete=0 bytes=0
audit()
{
	local sum

	peer-audit "$SEED" --sum "$TEST_TMP"/snaps/* > "$TEST_TMP/audit.out"
	sum=$(awk '/: exact, / { exact++; n += $(NF - 1) }
		/: INEXACT, / { inexact++ }
		/: incomplete: / { incomplete++ }
		END { print exact + inexact + incomplete, inexact + 0, incomplete + 0, n + 0 }' \
		"$TEST_TMP/audit.out")
	grep -v ': exact, ' "$TEST_TMP/audit.out" | head -n 2 | explain
	# shellcheck disable=SC2086	# four numbers
	set -- $sum
	taken=$((taken + $1))
	inexact=$((inexact + $2))
	incomplete=$((incomplete + $3))
	bytes=$((bytes + $4))
	rm -rf "$TEST_TMP/snaps"
	find "$SWARM_STORE/talk" -mindepth 1 -maxdepth 1 -name '[0-9]*' -exec rm -rf {} +
}

# more_wanted: what is rarest has not come up yet, and there may be some more
more_wanted()
{
	[ "$taken" -lt $((SNAPS * 2)) ] || return 1
	[ "$(sum_of levelled)" -eq 0 ] || [ "$(sum_of born_in_cut)" -eq 0 ]
}

campaign()
{
	local before left

	shake &
	SHAKER=$!
	SPAWNED+=("$SHAKER")
	while [ $((inexact + incomplete)) -lt 10 ]; do
		before=$taken
		left=$((SNAPS - taken))
		if [ "$left" -le 0 ]; then
			more_wanted || break
			left=$CHUNK
		fi
		swarm_take "$(one_of "${HOSTS[@]}")" "$TEST_TMP/snaps" --light --every 20 \
			--count $((left < CHUNK ? left : CHUNK)) > "$TEST_TMP/take.out" 2>&1
		audit
		# "check" hears all else; the machine is given up when nothing is heard.
		say "$taken of $SNAPS" >&3
		[ "$taken" -gt "$before" ] || { tail -n 5 "$TEST_TMP/take.out"; break; }
	done
	: > "$TEST_TMP/enough"
	[ "$taken" -ge "$SNAPS" ] && [ $((inexact + incomplete)) -eq 0 ]
}

connections()
{
	local h

	for h in "${HOSTS[@]}"; do
		echo "$h:"
		in_host "$h" ss -tnoiH
	done
}

talks_stop()
{
	wait_for '! kill -0 "$SHAKER"' 10
	netem_off
	set_mtu 1500
	swarm_quiet 60 || { connections; return 1; }
	swarm_end
}

# situations: what there was, NAME=N, and what never was
situations()
{
	local name n

	SITUATIONS='' NEVER=''
	while read -r name n; do
		SITUATIONS+=" $name=$n"
		[ "$n" -gt 0 ] || NEVER+=" $name"
	done < <(cat "$TEST_TMP"/talk-*.log | awk '$1 == "count" { n[$2] += $3 }
		END { for (i in n) print i, n[i] }' | sort
		for name in held logged born_in_cut levelled buried markers_repeated \
			sack_trimmed; do
			echo "$name $(sum_of $name)"
		done)
}

exec 3>&1
topology 3
netem_all delay 4ms 2ms loss 1%
# No SYN cookies: a server that speaks first, and whose client's ACK is lost, never
# knows of the connection (see handshake.sh).
in_host c sysctl -qw net.ipv4.tcp_sack=0 net.ipv4.tcp_timestamps=0
check "talkers start" talks_start
check "talkers join" swarm_join 6 20000
check "they ask" swarm_ask
check "$SNAPS snapshots are exact" campaign
check "the talkers have noticed nothing" talks_stop
situations
check_equal "every situation has come up" "$NEVER" ""
check_equal "every birth was seen" "$(sum_of births_unseen) $(sum_of births_missed)" "0 0"
say "situations:$SITUATIONS"
say "campaign: kernel $(uname -r | cut -d. -f1-2) seed $SEED: $taken snapshots, $inexact inexact, $incomplete incomplete, bytes=$bytes"

done_testing
