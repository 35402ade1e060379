# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced after lib.sh: banks on the hosts of a topology, a snapshot group of
# them, and the summaries that they print when they end.

BANK_PIDS=()
AGENT_PIDS=()
BANK_STORE=$TEST_TMP/store

# An emulated processor takes its time, and may have to share it.
BANK_LIMITS=(--pause-max 10000 --record-max 12000 --snap-max 15000)

# 4, 6, or mapped: IPv4 by sockets of the other family
BANK_FAMILY=${BANK_FAMILY:-4}
BANK_PEERS=10.0.0.0/24
[ "$BANK_FAMILY" != 6 ] || BANK_PEERS=fd00::/64

# bank_addr HOST
bank_addr()
{
	case $BANK_FAMILY in
	6) addr6 "$1" ;;
	mapped) echo "::ffff:$(addr "$1")" ;;
	*) addr "$1" ;;
	esac
}

# banks_start ARGS...: one bank on each host, all connected
banks_start()
{
	local i h addrs=

	for h in "${HOSTS[@]}"; do
		addrs+=${addrs:+,}$(bank_addr "$h")
	done
	for i in "${!HOSTS[@]}"; do
		spawn "${HOSTS[$i]}" "bank-$i" bank --id "$i" --addrs "$addrs" \
			--port 7000 --seed "$SEED" "$@"
		BANK_PIDS+=("$LAST_PID")
	done
	for i in "${!HOSTS[@]}"; do
		wait_for "logged bank-$i ready" 30 || return 1
	done
}

# banks_join: make them members, on all hosts, with an agent on each
banks_join()
{
	local i h

	mkdir -p "$BANK_STORE"
	AGENT_PIDS=()
	for i in "${!HOSTS[@]}"; do
		h=${HOSTS[$i]}
		in_host "$h" distsnap group bank --id 7 --peers "$BANK_PEERS" \
			"${BANK_LIMITS[@]}" || return 1
		in_host "$h" distsnap join bank --pid "${BANK_PIDS[$i]}" \
			--name "bank-$i" || return 1
		spawn "$h" "agent-$h" distsnap agent bank --store "$BANK_STORE"
		AGENT_PIDS+=("$LAST_PID")
	done
	for h in "${HOSTS[@]}"; do
		wait_for "logged agent-$h 'agent: ready'" 20 || return 1
	done
	for h in "${HOSTS[@]}"; do
		wait_for "banks_known $h" 20 || return 1
	done
}

# banks_known HOST: its probes were answered: all its peers are members
banks_known()
{
	[ "$(in_host "$1" distsnap channels bank --json |
		grep -Eo '"peer": *"member"' | wc -l)" -eq $((${#HOSTS[@]} - 1)) ]
}

# NODE/MEMBER of each, for take --expect
banks_expected()
{
	local i list=

	for i in "${!HOSTS[@]}"; do
		list+=${list:+,}${HOSTS[$i]}/bank-$i
	done
	echo "$list"
}

# banks_take HOST SNAP ARGS...
banks_take()
{
	local h=$1 snap=$2
	shift 2

	in_host "$h" distsnap take bank -o "$snap" --store "$BANK_STORE" \
		--timeout 20000 --expect "$(banks_expected)" "$@"
}

# banks_stop: SIGTERM; all must end well and agree on what they did
banks_stop()
{
	local i rc=0

	kill -TERM "${BANK_PIDS[@]}"
	for i in "${!BANK_PIDS[@]}"; do
		if ! wait "${BANK_PIDS[$i]}"; then
			echo "bank-$i: $(tail -n 1 "$TEST_TMP/bank-$i.log")"
			rc=1
		fi
	done
	BANK_PIDS=()
	streams_match "$TEST_TMP"/bank-?.log && return $rc
}

# streams_match LOG...: what one bank sent is what the other received, and no
# money was lost
streams_match()
{
	awk -F', ' '
	/^bank-[0-9]+: balance / {
		split($1, w, " ")
		me = substr(w[1], 6) + 0; money += w[3]; total += w[5]; banks++
		for (i = 2; i <= NF; i++) {
			split($i, f, /[: ]+/)
			if (f[1] == "to")
				sent[me "->" f[2]] = f[3] " " f[5] " " f[7]
			else
				got[f[2] "->" me] = f[3] " " f[5] " " f[7]
		}
	}
	END {
		for (s in sent) {
			streams++
			if (sent[s] != got[s]) {
				print "stream " s ": sent " sent[s] ", received " got[s]
				bad = 1
			}
		}
		if (banks < 2 || streams != banks * (banks - 1)) {
			print banks + 0 " summaries of " streams + 0 " streams"
			bad = 1
		}
		if (money != total) {
			print "balances make " money ", not " total
			bad = 1
		}
		exit bad
	}' "$@"
}
