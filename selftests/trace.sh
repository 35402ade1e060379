#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Trace points (kmod/trace.h): they tell the story of snapshots in the right order,
# both ends of a channel tell the same one, and it agrees with the counters.
#
# timeout: 120
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/chaos.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"

T=/sys/kernel/tracing/instances/distsnap

trace_on()
{
	[ -d /sys/kernel/tracing/instances ] || mount -t tracefs none /sys/kernel/tracing ||
		return 1
	mkdir "$T" && echo mono > "$T/trace_clock" && echo 8192 > "$T/buffer_size_kb" &&
		echo 1 > "$T/events/distsnap/enable"
}

trace_off()
{
	echo 0 > "$T/events/distsnap/enable" && cat "$T/trace" > "$TEST_TMP/trace" && rmdir "$T"
}

# quiet: no snapshot is open any more
quiet()
{
	local h

	for h in "${HOSTS[@]}"; do
		wait_for "! in_host $h distsnap status peers | grep -q 'is open'" 20 || return 1
	done
}

# story AWK: one line of the trace at a time, its words in f[] (text, unless 0 is added), the
# event in f["event"], its time in f["us"]; fails after a bad()
story()
{
	awk '
	function bad(why) { if (++complaints < 10) print why (f["line"] ? ": " f["line"] : "") }
	/^#/ { next }
	{
		split("", f)
		f["line"] = $0
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^ds_[a-z_]*:$/) {
				f["event"] = substr($i, 1, length($i) - 1)
				split($(i - 1), at, /[.:]/)
				f["us"] = at[1] * 1000000 + at[2]
			} else if (f["event"] != "" && (eq = index($i, "="))) {
				f[substr($i, 1, eq - 1)] = substr($i, eq + 1)
			}
		}
		me = f["member"] " " f["epoch"]
		way = f["isn"] " " f["peer_isn"] " " f["epoch"]
		back = f["peer_isn"] " " f["isn"] " " f["epoch"]
	}
	'"$1"'
	END { exit complaints > 0 }' "$TEST_TMP/trace" > "$TEST_TMP/story" || {
		cat "$TEST_TMP/story"
		return 1
	}
	# What it has found to look at.
	cat "$TEST_TMP/story"
	[ -s "$TEST_TMP/story" ]
}

nothing_lost()
{
	awk '/entries-in-buffer/ { split($3, n, "/"); ok = n[1] > 0 && n[1] == n[2] }
	     END { exit !ok }' "$TEST_TMP/trace"
}

same_fields()
{
	awk '
	/^name:/ { event = $2; events++ }
	/field:(u16 group|u32 member|u32 epoch|char name\[32\]);/ { has[event]++ }
	END {
		for (e in has)
			n += has[e] == 4
		print n + 0 " of " events + 0
		exit !events || n != events
	}' "$T"/events/distsnap/ds_*/format
}

# in_order: each member is parked, captured, recorded and released, or given up
# shellcheck disable=SC2016	# awk's
in_order()
{
	story '
	BEGIN {
		before["ds_parked"] = "ds_trigger"; before["ds_captured"] = "ds_parked"
		before["ds_recorded"] = "ds_captured"; before["ds_released"] = "ds_recorded"
	}
	f["event"] == "ds_trigger" {
		if (me in step)
			bad("twice")
		step[me] = f["event"]; t0[me] = f["us"]; last[me] = 0; sum[me] = 0
	}
	f["event"] == "ds_aborted" {
		step[me] = "ds_recorded"
	}
	f["event"] in before {
		if (step[me] != before[f["event"]])
			bad("not after " before[f["event"]])
		step[me] = f["event"]
		ns = f["ns"] + 0
		took = f["took"] + 0
		if (ns < last[me] || f["us"] < t0[me] || ns > (f["us"] - t0[me]) * 1000 + 1e9 ||
		    took <= 0 || took > ns)
			bad("its times")
		last[me] = ns
		if (f["event"] == "ds_released" && took < sum[me])
			bad("shorter than its parts")
		sum[me] += took
		if (f["threads"] + 0 < 1)
			bad("no threads")
	}
	END {
		split("", f)
		for (me in step) {
			n++
			if (step[me] != "ds_released")
				bad(me " has come to " step[me])
		}
		if (!complaints)
			print n " recordings"
	}'
}

# both_ends: a marker that was sent is received with its anchor, and answered
# shellcheck disable=SC2016
both_ends()
{
	story '
	f["event"] == "ds_marker_sent" {
		if ((f["how"] == "first") == (way in sent))
			bad("first?")
		sent[way] = f["seq"]
		name[way] = f["name"] " sport=" f["sport"] " dport=" f["dport"]
		dual[way] = f["dport"] " " f["sport"] " " f["daddr"] " " f["saddr"]
	}
	f["event"] == "ds_marker_received" && f["how"] == "accepted" {
		if (way in got)
			bad("twice")
		if (!(back in sent))
			bad("nobody has sent it")
		else if (sent[back] != f["seq"])
			bad("sent with " sent[back])
		else if (dual[back] != f["sport"] " " f["dport"] " " f["saddr"] " " f["daddr"])
			bad("sent by " dual[back])
		got[way] = 1
	}
	f["event"] == "ds_answer_sent" { said[way] = f["how"] }
	f["event"] == "ds_answer_received" {
		if (way in heard)
			bad("twice")
		if (said[back] != f["how"])
			bad("it was " said[back])
		heard[way] = f["how"]
	}
	END {
		split("", f)
		for (way in sent) {
			split(way, w, " ")
			back = w[2] " " w[1] " " w[3]
			n++
			if (!(back in got))
				bad("of " name[way] ", epoch " w[3] ": not received")
			if (!(way in heard))
				bad("of " name[way] ", epoch " w[3] ": not answered")
		}
		if (!complaints)
			print n " markers"
	}'
}

# released: what waits goes on or is dropped, once
# shellcheck disable=SC2016
released()
{
	story '
	f["event"] == "ds_held" || f["event"] == "ds_gated" {
		n++
		if (waits[f["skbaddr"]]++)
			bad("waits already")
	}
	f["event"] == "ds_let_in" || f["event"] == "ds_let_out" || f["how"] == "flushed" {
		if (!waits[f["skbaddr"]]--)
			bad("has not waited")
	}
	END {
		split("", f)
		for (s in waits)
			if (waits[s])
				bad(s " still waits")
		if (!complaints)
			print n " segments have waited"
	}'
}

# whole_lives: what is tracked is untracked in the end, once
# shellcheck disable=SC2016
whole_lives()
{
	story '
	f["event"] == "ds_tracked" && tracked[f["channel"]]++ { bad("twice") }
	f["event"] == "ds_untracked" && --tracked[f["channel"]] { bad("is not tracked") }
	f["event"] == "ds_born" { born++ }
	f["channel"] + 0 && f["event"] != "ds_tracked" && f["event"] != "ds_untracked" &&
	f["event"] != "ds_settled" && tracked[f["channel"]] != 1 { bad("not tracked") }
	END {
		split("", f)
		for (c in tracked) {
			n++
			if (tracked[c])
				bad("channel " c " is left")
		}
		if (!complaints && born)
			print n " channels, " born " born"
	}'
}

# events WORDS...: lines that have all of these words
events()
{
	awk -v want="$*" '
	BEGIN { n = split(want, w, " ") }
	/^#/ { next }
	{
		for (i = 1; i <= n && index($0 " ", " " w[i] " "); i++)
			;
		found += i > n
	}
	END { print found + 0 }' "$TEST_TMP/trace"
}

# same COUNTER EVENTS: of all hosts together
same()
{
	echo "# $1: ${COUNTED[$1]} counted, $2 traced"
	[ "${COUNTED[$1]}" -eq "$2" ]
}

# busy: while b waits for its agent, a sends to it and makes room for what b is sending
busy()
{
	local recorded held gated recv rc=0

	recorded=$(counter a recorded)
	held=$(counter b held)
	gated=$(counter b gated)
	kill -STOP "$AGENT_B"
	snapshot busy &
	local snap=$!
	wait_for "counted a recorded $recorded && is_captured b" 30 && tell a send ab 2000 || rc=1
	tell_on a "&" recv ab 300000
	recv=$PEER_SEQ
	wait_for "counted b held $held && counted b gated $gated" 30 || rc=1
	kill -CONT "$AGENT_B"
	wait "$snap" && told a "$recv" && told b "$SEND" && tell b recv ab 5000 && return "$rc"
}

is_captured()
{
	in_host "$1" distsnap members peers --json | grep -q captured
}

# refused: b does not record in time, and says so; c, which is waited for, does not learn
refused()
{
	local aborted rc=0 take

	aborted=$(counter b aborted)
	in_host b distsnap group peers --id 9 --record-max 300 || return 1
	kill -STOP "$AGENT_B"
	in_host a distsnap take peers -o "$TEST_TMP/refused" --store "$PEER_STORE" \
		--timeout 5000 --expect a/a,b/b > "$TEST_TMP/refused.out" 2>&1 &
	take=$!
	wait_for "counted b aborted $aborted" 30 || rc=1
	kill -CONT "$AGENT_B"
	wait "$take"
	[ $? -eq 3 ] && grep -q 'b: the agent did not record its memory in time' \
		"$TEST_TMP/refused.out" || rc=1
	in_host b distsnap group peers --id 9 --record-max 25000 && return "$rc"
}

# levelled: a has recorded what c has not, and c asks for a connection
levelled()
{
	local before

	before=$(counter c levelled)
	tell c close cb && tell b drain cb && tell b close cb && ahead a &&
		tell a listen la "$(addr a)" 5001 && tell c connect ca "$(addr a)" 5001 &&
		tell a accept ca la && counted c levelled "$before" && quiet
}

COUNTERS=(triggered recorded aborted held held_dropped gated gated_dropped opt_stale
	opt_contradicted refused_peer missed levelled levelled_skip buried expired)

count_all()
{
	local h name n

	declare -gA COUNTED=()
	for name in "${COUNTERS[@]}"; do
		COUNTED[$name]=0
	done
	for h in "${HOSTS[@]}"; do
		while read -r name n; do
			[ -z "${COUNTED[$name]:-}" ] || COUNTED[$name]=$((COUNTED[$name] + n))
		done < <(in_host "$h" distsnap status --counters)
	done
}

# all_leave: and nobody runs what is traced any more
all_leave()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" distsnap leave peers --pid "${PEER_PID[$h]}" &&
			in_host "$h" distsnap group peers --delete || return 1
	done
}

# On before anything runs that is traced, and off when nothing does any more: the code is
# patched, and QEMU's emulated processors may run the breakpoint of a patch that is over.
check "events are on" trace_on
check "all have the same fields" same_fields
topology 3
netem_all delay 5ms 2ms
check "peers start" peers_start
check "peers join" peers_join
AGENT_B=${SPAWNED[4]}	# behind the peers and a's
check "b has time" in_host b distsnap group peers --id 9 --pause-max 20000 --record-max 25000
check "b listens" tell b listen l "$(addr b)" 5000
check "a connects" connected ab "$(addr b)"
check "c connects" connected cb "$(addr b)" c b
check "they know each other" peers_known 2
check "a sends" tell a send ab 3000
check "a snapshot" snapshot one
check "another, without memory" snapshot_from c two --light
check "b has little room" tell b set ab sndbuf 16000
tell_on b "&" send ab 300000
SEND=$PEER_SEQ
check "one in which segments wait" busy
check "one that b refuses" refused
check "one that c learns of by a handshake" levelled
count_all
check "all leave" all_leave
check "events are off" trace_off

check "nothing was lost" nothing_lost
check "each member's steps are in order" in_order
say "$(cat "$TEST_TMP/check.out")"
check "both ends say the same" both_ends
say "$(cat "$TEST_TMP/check.out")"
check "no segment is left" released
say "$(cat "$TEST_TMP/check.out")"
check "no channel is left" whole_lives
say "$(cat "$TEST_TMP/check.out")"
check "a trigger by request" [ "$(events ds_trigger: how=request channel=0)" -eq 5 ]
check "... by a marker on a channel of b" \
	[ "$(events ds_trigger: name=b how=marker sport=5000 saddr=10.0.0.2)" -ge 4 ]
check "... by a SYN-ACK" [ "$(events ds_trigger: name=c how=handshake dport=5001 daddr=10.0.0.1)" -eq 1 ]
check "why it was given up" [ "$(events ds_aborted: name=b error=-110)" -eq 1 ]
check "that it was refused" [ "$(events ds_answer_received: name=a how=nak dport=5000)" -eq 1 ]
check "a segment of a, that b held" \
	[ "$(events ds_held: name=b how=red len=2000 sport=5000 daddr=10.0.0.1)" -ge 1 ]
check "a segment to a, that waited at b" \
	[ "$(events ds_gated: name=b sport=5000 saddr=10.0.0.2 daddr=10.0.0.1)" -ge 1 ]
check "directions that markers closed" [ "$(events ds_settled: in=closed)" -ge 12 ]
check "... that were answered" [ "$(events ds_settled: out=acked)" -ge 12 ]
check "triggered" same triggered "$(events ds_trigger:)"
check "recorded" same recorded "$(events ds_recorded:)"
check "aborted" same aborted "$(events ds_aborted:)"
check "held" same held $(($(events ds_held: how=red) + $(events ds_held_dropped: how=full)))
check "held_dropped" same held_dropped "$(events ds_held_dropped:)"
check "gated" same gated $(($(events ds_gated:) + $(events ds_gated_dropped: how=full)))
check "gated_dropped" same gated_dropped "$(events ds_gated_dropped:)"
check "opt_stale" same opt_stale "$(events ds_marker_received: how=stale)"
check "opt_contradicted" same opt_contradicted "$(events ds_marker_received: how=contradicted)"
check "refused_peer" same refused_peer "$(events ds_answer_received: how=nak)"
check "missed" same missed "$(events ds_answer_received: how=missed)"
check "levelled" same levelled "$(events ds_levelled: how=record)"
check "levelled_skip" same levelled_skip "$(events ds_levelled: how=skip)"
check "buried" same buried "$(events ds_buried:)"
check "expired" same expired "$(events ds_done: state=expired)"

done_testing
