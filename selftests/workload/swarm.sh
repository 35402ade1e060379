# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh: a swarm (workload/swarm.h), one program on each host, and a
# snapshot group of them, both by the program's name.

SWARM=
SWARM_PIDS=()
SWARM_STORE=$TEST_TMP/store

# swarm_start PROGRAM PORT ARGS...: "PROGRAM NUMBER SEED THREADS PORT ARGS..."
swarm_start()
{
	local i h

	SWARM=$1
	shift
	for h in "${HOSTS[@]}"; do
		# A port may be used again as soon as TCP can tell.
		in_host "$h" sysctl -qw net.ipv4.tcp_tw_reuse=1
	done
	for i in "${!HOSTS[@]}"; do
		spawn "${HOSTS[$i]}" "$SWARM-$i" "$SWARM" "$i" "$SEED" 4 "$@"
		SWARM_PIDS+=("$LAST_PID")
		wait_for "logged $SWARM-$i ready" 10 || return 1
	done
}

# swarm_join ID SNAP_MAX
swarm_join()
{
	local i h

	mkdir -p "$SWARM_STORE"
	for i in "${!HOSTS[@]}"; do
		h=${HOSTS[$i]}
		in_host "$h" distsnap group "$SWARM" --id "$1" --peers 10.0.0.0/24,fd00::/64 \
			--pause-max 10000 --record-max 12000 --snap-max "$2" || return 1
		in_host "$h" distsnap join "$SWARM" --pid "${SWARM_PIDS[$i]}" \
			--name "$SWARM-$i" || return 1
		spawn "$h" "agent-$h" distsnap agent "$SWARM" --store "$SWARM_STORE"
		wait_for "logged agent-$h 'agent: ready'" 20 || return 1
	done
}

swarm_ask()
{
	local i

	kill -USR2 "${SWARM_PIDS[@]}"
	for i in "${!SWARM_PIDS[@]}"; do
		wait_for "logged $SWARM-$i asking" 10 || return 1
	done
}

# swarm_take HOST DIR ARGS...
swarm_take()
{
	local h=$1 dir=$2 i list=
	shift 2

	for i in "${!HOSTS[@]}"; do
		list+=${list:+,}${HOSTS[$i]}/$SWARM-$i
	done
	in_host "$h" distsnap take "$SWARM" -o "$dir" --store "$SWARM_STORE" \
		--timeout 60000 --expect "$list" "$@"
}

# swarm_quiet SECONDS: nobody asks any more
swarm_quiet()
{
	local i

	kill -USR1 "${SWARM_PIDS[@]}"
	for i in "${!SWARM_PIDS[@]}"; do
		wait_for "logged $SWARM-$i quiet" "$1" || return 1
	done
}

# swarm_end: nor answers; all without an error
swarm_end()
{
	local i

	kill -TERM "${SWARM_PIDS[@]}"
	for i in "${!SWARM_PIDS[@]}"; do
		wait_for "logged $SWARM-$i ' errors 0'" 20 ||
			{ tail -n 3 "$TEST_TMP/$SWARM-$i.log"; return 1; }
		tail -n 1 "$TEST_TMP/$SWARM-$i.log"
	done
}
