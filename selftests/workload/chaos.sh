# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after banks.sh, by tests that break things in the middle of snapshots.

TAKES=()

# counted HOST NAME N: it has risen beyond N
counted()
{
	[ "$(counter "$1" "$2")" -gt "$3" ]
}

# takes_start HOST ARGS...: snapshots back to back, until takes_end
takes_start()
{
	local h=$1
	shift

	spawn "$h" "take-$h" distsnap take bank --store "$BANK_STORE" \
		-o "$TEST_TMP/takes.$h" --timeout "${DEBUG_KERNEL:+2}3000" --every 1 --keep 1 "$@"
	TAKES+=("$LAST_PID")
}

takes_end()
{
	local pid

	for pid in ${TAKES[@]+"${TAKES[@]}"}; do
		stop "$pid"
	done
	TAKES=()
	rm -rf "$TEST_TMP"/takes.*
}

# agents_end: as they do by themselves when the module or the group is gone
agents_end()
{
	local h

	for h in "${HOSTS[@]}"; do
		wait_for "logged agent-$h 'agent: group'" 10 || return 1
	done
}

# shortly: a moment that the seed chooses, up to 255 ms
shortly()
{
	local ms

	CHAOS=$(((${CHAOS:-$SEED} * 1103515245 + 12345) & 0x7fffffff))
	ms=$((CHAOS >> 16 & 255))
	sleep "0.$(printf %03d "$ms")"
}

# alive PID: it is there and no zombie
alive()
{
	grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# banks_move: every bank receives, after all that happened
banks_move()
{
	local i h before

	for i in "${!BANK_PIDS[@]}"; do
		h=${HOSTS[$i]}
		before=$(received "$h")
		wait_for "[ \$(received $h) -gt $((before + 20000)) ]" 20 || return 1
	done
}

# received HOST: bytes, on all its interfaces but lo
received()
{
	in_host "$1" awk '/eth0:/ { print $2 }' /proc/net/dev
}

# audited N SNAP...: fails unless all N are consistent; see bank-audit
audited()
{
	local n=$1
	shift

	bank-audit --exe "$(command -v bank)" --seed "$SEED" "$@" > "$TEST_TMP/audit.log" || {
		cat "$TEST_TMP/audit.log"
		return 1
	}
	cat "$TEST_TMP/audit.log"
	[ "$(grep -c ' consistent' "$TEST_TMP/audit.log")" -ge "$n" ]
}

# takes_kill: in whatever they do
takes_kill()
{
	kill -KILL "${TAKES[@]}" 2>/dev/null
	wait "${TAKES[@]}" 2>/dev/null
	takes_end
}

# epochs_end: no host has an epoch open
epochs_end()
{
	local h

	for h in "${HOSTS[@]}"; do
		wait_for "! in_host $h distsnap status bank | grep -q 'is open'" 20 || return 1
	done
}

# parked I: bank-I is parked and captured, and waits for its agent
parked()
{
	wait_for "in_host ${HOSTS[$1]} distsnap members bank --json | grep -q captured" 30
}
