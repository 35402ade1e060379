# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh: peers (workload/peer.c), one on each host, that do what the
# test says; a snapshot group of them; and what their snapshots must hold.

declare -A PEER_PID=() PEER_FD=()
PEER_SEQ=0
PEER_ALONE=0
PEER_STORE=$TEST_TMP/store
# How long a snapshot may be open, and tombstones are kept: see the test.
PEER_SNAP_MAX=${PEER_SNAP_MAX:-10000}

# peers_start: on every host
peers_start()
{
	local h

	for h in "${HOSTS[@]}"; do
		peer_start "$h" "$h" || return 1
	done
}

# peer_start HOST NAME
peer_start()
{
	local fd

	mkfifo "$TEST_TMP/peer-$2"
	spawn "$1" "peer-$2" peer "$SEED" "$TEST_TMP/peer-$2"
	PEER_PID[$2]=$LAST_PID
	exec {fd}> "$TEST_TMP/peer-$2"
	PEER_FD[$2]=$fd
	wait_for "logged peer-$2 ready" 10
}

# peers_join: with an agent on each host
peers_join()
{
	local h

	mkdir -p "$PEER_STORE"
	for h in "${HOSTS[@]}"; do
		in_host "$h" distsnap group peers --id 9 --peers 10.0.0.0/24,fd00::/64 \
			--pause-max 5000 --record-max 8000 --snap-max "$PEER_SNAP_MAX" || return 1
		peer_join "$h" "$h" || return 1
		spawn "$h" "agent-$h" distsnap agent peers --store "$PEER_STORE"
		wait_for "logged agent-$h 'agent: ready'" 20 || return 1
	done
}

# peer_join HOST NAME
peer_join()
{
	in_host "$1" distsnap join peers --pid "${PEER_PID[$2]}" --name "$2"
}

# peers_known N: the module knows that the other ends of N connections are members
peers_known()
{
	wait_for "[ \$(peer_channels) -ge $((2 * $1)) ]" 20
}

peer_channels()
{
	local h

	for h in "${HOSTS[@]}"; do
		in_host "$h" distsnap channels peers --json
	done | grep -Eo '"peer": *"member"' | wc -l
}

# tell HOST COMMAND...: do it, and wait until it is done
tell()
{
	tell_on "$@" && told "$1" "$PEER_SEQ"
}

# tell_on HOST COMMAND...: begin it; its number is left in PEER_SEQ
tell_on()
{
	local h=$1
	shift

	PEER_SEQ=$((PEER_SEQ + 1))
	echo "$PEER_SEQ $*" >&"${PEER_FD[$h]}"
}

# told HOST N: command N has ended, and well
told()
{
	wait_for "said $1 $2" 30 && echo "$2 $SAID" && [[ $SAID == ok* ]]
}

# said HOST N: command N has ended; what was said of it is left in SAID
said()
{
	local lines i

	mapfile -t lines < "$TEST_TMP/peer-$1.log"
	for ((i = ${#lines[@]} - 1; i >= 0; i--)); do
		[[ ${lines[i]} == "$2 "* ]] || continue
		SAID=${lines[i]#* }
		return 0
	done
	return 1
}

# going_on HOST N: command N has not ended
going_on()
{
	! said "$1" "$2"
}

# connected C ADDR [FROM TO]: from host a to host b, or others, by this name at both
connected()
{
	local from=${3:-a} to=${4:-b}

	tell "$from" connect "$1" "$2" 5000 && tell "$to" accept "$1" l
}

# snapshot NAME ARGS...: from host a, complete and with the right bytes; its channels
# are left in NAME.channels
snapshot()
{
	snapshot_from a "$@"
}

# snapshot_from HOST NAME ARGS...
snapshot_from()
{
	local from=$1 name=$2 h list=
	shift 2

	for h in "${HOSTS[@]}"; do
		list+=${list:+,}$h/$h
	done
	in_host "$from" distsnap take peers -o "$TEST_TMP/$name" --store "$PEER_STORE" \
		--timeout 15000 --expect "$list" "$@" || return 1
	if ! peer-audit "$SEED" "$TEST_TMP/$name" > "$TEST_TMP/$name.channels"; then
		cat "$TEST_TMP/$name.channels"
		return 1
	fi
	grep -v ' bytes 0$' "$TEST_TMP/$name.channels" || :
}

# flying NAME FROM TO: bytes in flight from one host to another in that snapshot
flying()
{
	awk -v from="$2/$2" -v to="$3/$3" \
		'$1 == from && $3 == to { n += $NF } END { print n + 0 }' "$TEST_TMP/$1.channels"
}

# works NAME: bytes go both ways
works()
{
	tell a send "$1" 500 && tell b recv "$1" 500 && tell b send "$1" 700 &&
		tell a recv "$1" 700 && tell a close "$1" && tell b drain "$1" &&
		tell b close "$1"
}

# ahead HOST: records alone, and tells nobody
ahead()
{
	in_host "$1" distsnap take peers --light --store "$PEER_STORE" \
		-o "$TEST_TMP/alone.$1.$((++PEER_ALONE))" --timeout 15000 --expect "$1/$1"
}

# epoch HOST: the last one there
epoch()
{
	in_host "$1" distsnap members peers --json | grep -Eo '"epoch": *[0-9]+' |
		grep -Eo '[0-9]+'
}
