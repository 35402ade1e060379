#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bench.sh [FIGURE...]: what snapshots cost, and what readiness for them.  Each
# figure is a ratio of medians of one run in which both kinds of rounds alternate:
#
#	bench: NAME VALUE (goal OP GOAL) PASS|MISS
#
# A MISS is a result.  The status is not 0 when a figure could not be obtained.
# ROUNDS: how many of each kind.
#
# "make bench" runs it on one emulated CPU whose clock counts instructions (run.sh
# --icount 0: one a nanosecond, and none while it sleeps), so that another machine,
# or a busy one, comes to the same.  The CPU has to do what both hosts, their agents
# and the tool do, one after the other.  What caches, locks and several CPUs make of
# it does not show.
#
# idle-bulk, idle-pingpong: a connection between two members while nothing is being
# recorded, against the same one without the module.  No other netfilter hooks are
# there: a host with a firewall goes through them anyway, and would see less of ours.
# What a firewall without a rule costs in our place is said as well.
#
# busy-bulk: the same with a light snapshot every second, against none.
#
# markers-per-idle-channel: each segment with a marker counts, a repeated one, too.
#
# full-over-empty: from the trigger until the last channel is closed on the last host
# (times of the fragments); every window closed, every buffer full, whoever sends
# asleep in send(), against no byte.  The network has no delay, which would be in both
# and make them look alike; what a delay makes of it is said as well.
#
# members-100-over-10: the same time, for each channel; a ring with chords on five
# hosts, all asleep in epoll_wait().  For those in poll(), whose files have users, all
# processes are looked through (kmod/outsider.c): that is said as well.
#
# needs: tcpdump
#
# shellcheck disable=SC2317	# functions that are called by name

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/qemu/leaks.sh"
TAP_PLAN=0			# the lines are the result

ROUNDS=${ROUNDS:-5}
WINDOW=${WINDOW:-1000}		# of a measurement, ms
WARM_UP=300
MARKED=20			# snapshots of idle channels
RING_SNAPS=9			# in each round with many members
STORE=$TEST_TMP/store
AGENTS=()

# figure NAME VALUE OP GOAL
figure()
{
	awk -v name="$1" -v value="$2" -v op="$3" -v goal="$4" 'BEGIN {
		met = op == ">=" ? value >= goal : op == "<=" ? value <= goal : value == goal
		printf "bench: %s %.4f (goal %s %s) %s\n", name, value, op, goal,
			met ? "PASS" : "MISS"
	}'
}

# result NAME KIND VALUE: of one round
result()
{
	[ -n "$3" ] || return 1
	say "$1: $2: $3"
	echo "$3" >> "$TEST_TMP/$1.$2"
}

# median NAME KIND
median()
{
	sort -g "$TEST_TMP/$1.$2" | awk '{ v[NR] = $1 }
		END { printf "%.9g\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# over NAME KIND OTHER UNIT: the ratio of the medians, in OVER
over()
{
	local a b

	a=$(median "$1" "$2")
	b=$(median "$1" "$3")
	OVER=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.9g", a / b }')
	say "$1: $2 $a, $3 $b $4: $OVER"
}

# ratio NAME KIND OTHER OP GOAL UNIT: the figure, after what it comes from
ratio()
{
	over "$1" "$2" "$3" "$6"
	figure "$1" "$OVER" "$4" "$5"
}

## Groups

# group_up GROUP ENDS HOST:PID:MEMBER...: with agents, until that many ends of
# connections are known to lead to members
group_up()
{
	local group=$1 ends=$2 m h pid seen=' '
	shift 2

	[ -d /sys/module/distsnap ] || insmod "$DISTSNAP_KO" || return 1
	for m; do
		h=${m%%:*}
		pid=${m#*:}
		if [[ $seen != *" $h "* ]]; then
			seen+="$h "
			in_host "$h" distsnap group "$group" --id 3 --peers 10.0.0.0/24 \
				--pause-max 5000 --record-max 8000 --snap-max 20000 || return 1
			agent_up "$h" "$group" || return 1
		fi
		in_host "$h" distsnap join "$group" --pid "${pid%:*}" --name "${m##*:}" || return 1
	done
	GROUP=$group
	wait_for "[ \$(ends) -eq $ends ]" 30
}

agent_up()
{
	rm -f "$TEST_TMP/agent-$1.log"
	spawn "$1" "agent-$1" distsnap agent "$2" --store "$STORE"
	AGENTS+=("$LAST_PID")
	wait_for "logged agent-$1 'agent: ready'" 20
}

ends()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" distsnap channels "$GROUP" --json 2> /dev/null
	done | grep -c '"peer": *"member"'
}

# group_down: and the module with it
group_down()
{
	local pid

	for pid in ${AGENTS[@]+"${AGENTS[@]}"}; do
		stop "$pid"
	done
	AGENTS=()
	module_unload || return 1
	rm -rf "$STORE"
}

# took GROUP MEMBERS CHANNELS: a light snapshot, from host a, complete; how long it
# took until all was closed, in ns, is left in TOOK, the bytes in flight in FLYING
took()
{
	local snap=$TEST_TMP/snap

	in_host a distsnap take "$1" --light --json -o "$snap" --store "$STORE" \
		--timeout 30000 > "$TEST_TMP/take.log" 2>&1
	if ! grep -q "\"members\":$2,\"channels\":$3,.*\"verdict\":\"complete\"" \
	     "$TEST_TMP/take.log"; then
		say "not a complete snapshot of $2 members and $3 channels:"
		head -c 2000 "$TEST_TMP/take.log" | sed 's/^/# /'
		return 1
	fi
	FLYING=$(sed 's/.*"bytes_in_flight":\([0-9]*\).*/\1/' "$TEST_TMP/take.log")
	# Without the first digits: as long as that, awk would round them.
	TOOK=$(awk -F'[:, ]+' '
	$2 == "\"triggered\"" { t = substr($3, 5); if (!first || t < first) first = t }
	$2 == "\"done\"" && $3 ~ /^[0-9]+$/ { if ($3 + 0 > done) done = $3 + 0 }
	function end_of_host() { if (t + done > last) last = t + done; t = done = 0 }
	/^}/ { end_of_host() }
	END { printf "%.0f\n", last - first }' "$snap"/nodes/*/fragment.json)
	rm -rf "$snap" "$STORE/$1"/[0-9]*
}

## Bulk and ping-pong

declare -A FLOW=()

# flow_up: a connection from host a to host b
flow_up()
{
	mkfifo "$TEST_TMP/flow-in" "$TEST_TMP/flow-out"
	exec {FLOW_IN}<> "$TEST_TMP/flow-in" {FLOW_OUT}<> "$TEST_TMP/flow-out"
	spawn b flow-b flow "$(addr b)" 5001
	FLOW[b]=$LAST_PID
	wait_for "logged flow-b ready" 20 || return 1
	spawn a flow-a flow "$(addr b)" 5001 "$TEST_TMP/flow-in" "$TEST_TMP/flow-out"
	FLOW[a]=$LAST_PID
	wait_for "logged flow-a ready" 20
}

flow_down()
{
	stop "${FLOW[a]}"
	stop "${FLOW[b]}"
	exec {FLOW_IN}>&- {FLOW_OUT}>&-
	rm "$TEST_TMP"/flow-*
}

flow_join()
{
	group_up flow 2 "a:${FLOW[a]}:flow" "b:${FLOW[b]}:flow"
}

# flowed KIND MS: how much in a second, in FLOWED; nothing else runs meanwhile
flowed()
{
	local n ns

	echo "$1 $2" >&"$FLOW_IN"
	read -r -t 120 n ns <&"$FLOW_OUT" || return 1
	FLOWED=$(awk -v n="$n" -v ns="$ns" 'BEGIN { printf "%.9g\n", n * 1e9 / ns }')
}

# flow_round KIND: both, behind what has to settle
flow_round()
{
	local what

	for what in bulk ping; do
		flowed "$what" "$WARM_UP" && flowed "$what" "$WINDOW" || return 1
		result "idle-${what/ping/pingpong}" "$1" "$FLOWED" || return 1
	done
}

# firewall add|delete: one chain that accepts all where each of our hooks is
firewall()
{
	local h

	for h in a b; do
		in_host "$h" nft "$1" table ip empty || return 1
		[ "$1" = delete ] || in_host "$h" nft \
			"add chain ip empty in { type filter hook input priority 0; }
			 add chain ip empty out { type filter hook output priority 0; }" ||
			return 1
	done
}

idle()
{
	local i tagged what

	flow_up || return 1
	for i in $(seq "$ROUNDS"); do
		firewall add && flow_round firewall && firewall delete || return 1
		flow_round without && flow_join || return 1
		flowed bulk "$WARM_UP" || return 1
		tagged=$(sum_of tagged)
		flow_round with || return 1
		if [ "$(sum_of tagged)" -ne "$tagged" ]; then
			say "idle: something was going on: segments were tagged"
			return 1
		fi
		group_down || return 1
	done
	flow_down
	for what in bulk pingpong; do
		over "idle-$what" firewall without /s
	done
	ratio idle-bulk with without '>=' 0.99 bytes/s
	ratio idle-pingpong with without '>=' 0.99 trips/s
}

## Snapshots meanwhile

complete()
{
	grep -c ': complete' "$TEST_TMP/take-a.log"
}

# busy_round: while there is one snapshot a second
busy_round()
{
	local take before

	rm -rf "$TEST_TMP/take-a.log" "$TEST_TMP/snaps"
	spawn a take-a distsnap take flow --light --every 1000 --keep 2 --timeout 30000 \
		-o "$TEST_TMP/snaps" --store "$STORE"
	take=$LAST_PID
	wait_for '[ $(complete) -ge 1 ]' 20 && flowed bulk "$WARM_UP" || return 1
	before=$(complete)
	flowed bulk $((3 * WINDOW)) || return 1
	result busy-bulk with "$FLOWED" || return 1
	TAKEN+=" $(($(complete) - before))"
	stop "$take"
	! grep incomplete "$TEST_TMP/take-a.log"
}

busy()
{
	local i TAKEN=

	flow_up && flow_join || return 1
	for i in $(seq "$ROUNDS"); do
		flowed bulk "$WARM_UP" && flowed bulk $((3 * WINDOW)) || return 1
		result busy-bulk without "$FLOWED" && busy_round || return 1
	done
	flow_down
	group_down || return 1
	say "busy-bulk: snapshots in each measurement of $((3 * WINDOW)) ms:$TAKEN"
	[[ $TAKEN != *" 0"* ]] || return 1
	ratio busy-bulk with without '>=' 0.95 bytes/s
}

## A mesh of peers on three hosts

PAIRS="a:b b:c c:a"
declare -A FILLED=()		# bytes on their way, by PAIR/HOST that sent them
SENDS=()			# HOST:NUMBER of each call of send() that sleeps

mesh_up()
{
	local pair to m=()

	peers_start || return 1
	for to in "${HOSTS[@]}"; do
		tell "$to" listen l "$(addr "$to")" 5000 > /dev/null || return 1
		m+=("$to:${PEER_PID[$to]}:$to")
	done
	for pair in $PAIRS; do
		to=${pair#*:}
		connected "$pair" "$(addr "$to")" "${pair%:*}" "$to" > /dev/null || return 1
	done
	group_up peers 6 "${m[@]}"
}

mesh_down()
{
	local h fd

	for h in "${HOSTS[@]}"; do
		stop "${PEER_PID[$h]}"
		fd=${PEER_FD[$h]}
		exec {fd}>&-
		rm "$TEST_TMP/peer-$h" "$TEST_TMP/peer-$h.log"
	done
	group_down
}

queues()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" ss -Htn state established | awk '{ print $1, $2 }'
	done
}

# still: no queue has changed for a while
still()
{
	local before

	before=$(queues)
	sleep 0.5
	[ "$(queues)" = "$before" ]
}

# fill: all that goes, then one call more that does not
fill()
{
	local pair h n

	FILLED=()
	SENDS=()
	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell "$h" fill "$pair" > /dev/null || return 1
			n=$(sed -n "s/^$PEER_SEQ ok //p" "$TEST_TMP/peer-$h.log")
			FILLED[$pair/$h]=$((n + 9000000))
		done
	done
	# What has left the send buffers meanwhile makes room once more.
	wait_for still 20 || return 1
	for pair in $PAIRS; do
		for h in "${pair%:*}" "${pair#*:}"; do
			tell_on "$h" "&" send "$pair" 9000000
			SENDS+=("$h:$PEER_SEQ")
		done
	done
	# What is sent has to be made first.
	wait_for asleep 60 && wait_for still 20 && asleep
}

# asleep: no thread runs, and the calls of send() go on
asleep()
{
	local s h

	for s in "${SENDS[@]}"; do
		going_on "${s%:*}" "${s#*:}" || return 1
	done
	for h in "${HOSTS[@]}"; do
		awk '{ sub(/.*\) /, "") } $1 != "S" { exit 1 }' "/proc/${PEER_PID[$h]}/task"/*/stat ||
			return 1
	done
}

# empty: everything is received
empty()
{
	local pair from to s reads=()

	for pair in $PAIRS; do
		from=${pair%:*}
		to=${pair#*:}
		tell_on "$to" "&" recv "$pair" "${FILLED[$pair/$from]}"
		reads+=("$to:$PEER_SEQ")
		tell_on "$from" "&" recv "$pair" "${FILLED[$pair/$to]}"
		reads+=("$from:$PEER_SEQ")
	done
	for s in "${reads[@]}" "${SENDS[@]}"; do
		told "${s%:*}" "${s#*:}" > /dev/null || return 1
	done
	wait_for still 20
}

# full_round KIND: without and with a delay
full_round()
{
	took peers 3 6 && result full-over-empty "$1" "$TOOK" || return 1
	netem_all delay 2ms
	took peers 3 6 && result full-over-empty "$1-2ms" "$TOOK" || return 1
	netem_off
}

full()
{
	local HOSTS=(a b c) i

	mesh_up || return 1
	for i in $(seq "$ROUNDS"); do
		full_round empty || return 1
		[ "$FLYING" -eq 0 ] || { say "full-over-empty: not empty"; return 1; }
		fill || { say "full-over-empty: not full"; return 1; }
		full_round full || return 1
		say "full-over-empty: $FLYING bytes in flight"
		asleep && empty || return 1
	done
	mesh_down || return 1
	over full-over-empty full-2ms empty-2ms ns
	ratio full-over-empty full empty '<=' 1.5 ns
}

# value FIELD: of the capture
value()
{
	tr ' ' '\n' < "$TEST_TMP/wire" | sed -n "s/^$1=//p"
}

markers()
{
	local HOSTS=(a b c) i tcpdump repeated

	mesh_up || return 1
	rm -f "$TEST_TMP/tcpdump.log"
	spawn a tcpdump tcpdump -Z root --immediate-mode -i eth0 -s 128 -B 8192 -U \
		-w "$TEST_TMP/pcap" tcp
	tcpdump=$LAST_PID
	wait_for "logged tcpdump 'listening on'" 10 || return 1
	repeated=$(sum_of markers_repeated)
	for i in $(seq "$MARKED"); do
		took peers 3 6 || return 1
	done
	repeated=$(($(sum_of markers_repeated) - repeated))
	stop "$tcpdump"
	wire "$TEST_TMP/pcap" > "$TEST_TMP/wire" || return 1
	say "markers-per-idle-channel: $MARKED snapshots, host a has 4 channels: $(value markers) markers in $(value tagged) tagged segments of $(value segments); $repeated repeated on all hosts"
	mesh_down || return 1
	figure markers-per-idle-channel \
		"$(awk -v n="$(value markers)" -v of=$((MARKED * 4)) 'BEGIN { print n / of }')" = 1
}

## Many members

RINGS=()

# ring_up N poll|epoll: members, up to 20 on a host
ring_up()
{
	local i h addrs=() m=()

	RINGS=()
	for h in "${HOSTS[@]}"; do
		addrs+=("$(addr "$h")")
	done
	rm -f "$TEST_TMP"/ring-*.log
	for i in "${!HOSTS[@]}"; do
		spawn "${HOSTS[$i]}" "ring-${HOSTS[$i]}" ring "$2" "$i" 6000 "$1" \
			"${addrs[@]}"
		RINGS+=("$LAST_PID")
	done
	wait_for "[ \$(cat $TEST_TMP/ring-*.log | grep -c ^member) -eq $1 ]" 60 || return 1
	for h in "${HOSTS[@]}"; do
		mapfile -t -O ${#m[@]} m < <(awk -v h="$h" \
			'$1 == "member" { print h ":" $3 ":m" $2 }' "$TEST_TMP/ring-$h.log")
	done
	group_up ring $((4 * $1)) "${m[@]}"
}

ring_down()
{
	local pid

	group_down || return 1
	for pid in "${RINGS[@]}"; do
		stop "$pid"
	done
	wait_for '! pgrep -x ring' 10
}

# ring_round N poll|epoll
ring_round()
{
	local i

	ring_up "$1" "$2" || return 1
	for i in $(seq "$RING_SNAPS"); do
		took ring "$1" $((4 * $1)) || return 1
		result members-100-over-10 "$1-$2" \
			"$(awk -v n="$TOOK" -v of=$((4 * $1)) 'BEGIN { printf "%.0f", n / of }')" ||
			return 1
	done
	ring_down
}

members()
{
	local i how n

	for i in $(seq "$ROUNDS"); do
		for how in epoll poll; do
			for n in 10 100; do
				ring_round "$n" "$how" || return 1
			done
		done
	done
	over members-100-over-10 100-poll 10-poll ns/channel
	ratio members-100-over-10 100-epoll 10-epoll '<=' 1.2 ns/channel
}

## All of it

# obtain FUNCTION NAME...: the figures that it prints, if one of them is wanted
WANTED=" $* "
FAILED=0
obtain()
{
	local name wanted='' start=$EPOCHSECONDS

	for name in "${@:2}"; do
		[[ $WANTED != "  " && $WANTED != *" $name "* ]] || wanted+=" $name"
	done
	[ -n "$wanted" ] || return 0
	if "$1"; then
		say "$1: $((EPOCHSECONDS - start)) s of the guest's time"
		return 0
	fi
	say "could NOT be obtained:$wanted"
	report_state
	FAILED=1
	clear_up
}

# clear_up: what is left of one must not be in the way of the next
clear_up()
{
	local pid

	for pid in ${SPAWNED[@]+"${SPAWNED[@]}"}; do
		kill -KILL "$pid" 2> /dev/null && wait "$pid" 2> /dev/null
	done
	AGENTS=()
	group_down
	find "$TEST_TMP" -mindepth 1 -delete
}

FIGURES=" idle-bulk idle-pingpong busy-bulk markers-per-idle-channel full-over-empty
 members-100-over-10 "
for name; do
	[[ ${FIGURES//$'\n'/} == *" $name "* ]] || { echo "bench.sh: $name: no such figure" >&2; exit 2; }
done
say "kernel $(uname -r), $ROUNDS rounds, seed $SEED"
[ -z "${DISTSNAP_GUEST:-}" ] || nft delete table ip keep	# init's
topology 5
obtain idle idle-bulk idle-pingpong
obtain busy busy-bulk
obtain markers markers-per-idle-channel
obtain full full-over-empty
obtain members members-100-over-10
exit $FAILED
