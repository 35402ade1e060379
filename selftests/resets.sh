#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A reset crosses the markers of its connection, or overtakes them; it comes from a
# socket, or from TCP itself where there is none any more.
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

# Time for what is done between snapshots, on a machine that is slow.
PEER_SNAP_MAX=60000
SLOWLY=1500ms		# long enough for a command in the middle of a recording

connections()
{
	local c

	tell b listen l "$(addr b)" 5000 && tell b listen base-l "$(addr b)" 5001 &&
		tell a connect base "$(addr b)" 5001 && tell b accept base base-l || return 1
	for c in "$@"; do
		connected "$c" "$(addr b)" || return 1
	done
}

# during COMMAND...: a snapshot from b, and the command as soon as b has recorded
during()
{
	local recorded pid rc

	recorded=$(counter b recorded)
	{
		wait_for "counted b recorded $recorded" 20 && "$@"
		echo $? > "$TEST_TMP/meanwhile"
	} &
	pid=$!
	snapshot_from b "$CASE" --light
	rc=$?
	wait "$pid"
	[ "$(cat "$TEST_TMP/meanwhile")" -eq 0 ] && return "$rc"
}

# recording HOST COMMAND...: the same, and HOST is far away until the end
recording()
{
	local far=$1 rc
	shift

	netem "$far" delay "$SLOWLY"
	during "$@"
	rc=$?
	netem_all delay 2ms
	return "$rc"
}

# in_flight FROM TO BYTES: of this case
in_flight()
{
	local n

	n=$(flying "$CASE" "$1" "$2")
	echo "$n bytes in flight from $1 to $2, want $3"
	[ "$n" -eq "$3" ]
}

# meanwhile HOST COMMAND...: tell it, without disturbing the numbers of others
meanwhile()
{
	PEER_SEQ=$((PEER_SEQ + 1000))
	tell "$@"
}

# a has not recorded, and resets: b has already.
white()
{
	CASE=white
	tell a send white 300 && tell b send white 200 && tell b recv white 100 || return 1
	recording a meanwhile a reset white && in_flight a b 200 && in_flight b a 0
}

# b has recorded, and resets: a has not yet.
red()
{
	CASE=red
	tell a send red 300 && tell b send red 200 && tell a recv red 50 || return 1
	recording a meanwhile b reset red && in_flight a b 300 && in_flight b a 150 &&
		tell_on a recv red 151 && told_failed a 'reset by peer'
}

# told_failed HOST WHY: the last command has
told_failed()
{
	wait_for "logged peer-$1 '^$PEER_SEQ (ok|failed)'" 30 &&
		logged "peer-$1" "^$PEER_SEQ failed.*$2"
}

# b has reset before, and a has not heard of it: TCP itself answers a's marker.
late()
{
	CASE=late
	lose a "$NOSYN" && tell a send late 100 && tell b recv late 100 &&
		tell b reset late && lose_nothing || return 1
	recording a true && in_flight a b 0
}

# The only connection there is, and its end is the first that the other side hears.
alone()
{
	CASE=alone
	tell a send alone 300 || return 1
	recording a meanwhile b reset alone && in_flight a b 300
}

# unheard COMMAND...: b resets this connection; nothing of all that b has said reaches
# a before the command
unheard()
{
	meanwhile b reset "$CASE" && lose_nothing && "$@"
}

# b has recorded, and its reset is lost: it comes from nobody when a sends, and is
# red all the same.
nobody()
{
	local levelled

	CASE=nobody
	levelled=$(counter a levelled)
	tell a send nobody 300 || return 1
	lose a "$NOSYN"
	during unheard meanwhile a send nobody 50 && in_flight a b 350 &&
		counted a levelled "$levelled" && tell_on a recv nobody 1 &&
		told_failed a 'reset by peer'
}

# b closes, and records while its FIN is on its way: what a sends meanwhile nobody
# receives, and the reset for it comes behind the FIN and bears the number before it
# (tcp_reset_check()).
behind_fin()
{
	local levelled rc

	CASE=fin
	levelled=$(counter a levelled)
	# All must be done before the FIN has come, or b has no socket left to record.
	netem a delay 4s
	# The FIN comes once: repeated, it bears the marker, and comes before the reset.
	lose a 'tcp flags & (fin|rst) == 0' && lose a 'tcp flags & fin == fin tcp doff > 8' &&
		tell b close fin || return 1
	during crosses_fin
	rc=$?
	netem_all delay 2ms
	[ "$rc" -eq 0 ] && in_flight a b 50
}

crosses_fin()
{
	local rc

	meanwhile a send fin 50 && wait_for "counted a levelled $levelled" 20
	rc=$?
	lose_nothing
	return "$rc"
}

# refused NAME ADDR: b is ahead, and refuses a connection: that is news of b as any other
refused()
{
	local levelled

	ahead b
	levelled=$(counter a levelled)
	tell_on a connect "$1" "$2" 5002 && told_failed a refused &&
		counted a levelled "$levelled" && [ "$(epoch a)" -eq "$(epoch b)" ]
}

# strangers are refused as ever, whatever the refusal shows
strangers()
{
	local to

	peer_start a stranger || return 1
	for to in "$(addr b)" "$(addr a)" 127.0.0.1; do
		tell_on stranger connect "$to" "$to" 5002 &&
			told_failed stranger refused || return 1
	done
}

topology 2
netem_all delay 2ms
check "peers start" peers_start
check "connections" connections white red late alone
check "peers join" peers_join
check "they know each other" peers_known 5
check "filters" filters
check "a white reset reaches one that is red" white
check "b closes it" tell b close white
check "a red reset reaches one that is white" red
check "a closes it" tell a close red
check "a reset that was lost, and comes again from nobody" late
check "a closes it" tell a close late
check "nothing else connects them" eval 'tell a close base && tell b close base'
check "a reset on the only connection" alone
check "a closes it" tell a close alone
check "another connection" connected nobody "$(addr b)"
check "they know each other" peers_known 1
check "a red reset from nobody" nobody
check "a closes it" tell a close nobody
check "another connection" connected fin "$(addr b)"
check "they know each other" peers_known 1
check "a red reset behind a FIN" behind_fin
check "a closes it" tell a close fin
check "a red refusal" refused none "$(addr b)"
check "a red refusal over IPv6" refused none6 "$(addr6 b)"

check "a stranger is refused as well" strangers

done_testing
