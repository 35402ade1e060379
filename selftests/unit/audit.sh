#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bank and its oracle, without distsnap: "freeze" stops real banks and makes
# snapshots of them, which must be found consistent; falsified in any way they
# must not.
#
# needs: gdb
# timeout: 240
#
# shellcheck disable=SC2317	# functions that "check" calls

# In a network of its own: the ports are free, and TCP_REPAIR is allowed.
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" -eq 0 ] || user=(--user --map-root-user)
	exec unshare ${user[@]+"${user[@]}"} --net -- "$0" inside
fi

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../workload/banks.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${BUILD:-$top/build}/selftests:$PATH
PORT=7000
bank=$(command -v bank)
snaps=$TEST_TMP/snaps
mkdir "$snaps"
ip link set lo up

# start_banks ARGS...
start_banks()
{
	local i

	pids=()
	for i in 0 1 2; do
		bank --id $i --addrs 127.0.0.1,127.0.0.2,127.0.0.3 --port $PORT \
			--seed "$SEED" --allow-short "$@" \
			> "$TEST_TMP/bank-$i.log" 2>&1 < /dev/null &
		pids+=($!)
		SPAWNED+=($!)
	done
	for i in 0 1 2; do
		wait_for "logged bank-$i ready" 20
	done
}

# All end well, and what one sent is what the other received.
banks_end()
{
	local rc=0 pid

	kill -TERM "${pids[@]}"
	for pid in "${pids[@]}"; do
		wait "$pid" || { rc=$?; echo "status $rc of a bank"; }
	done
	cat "$TEST_TMP"/bank-?.log
	streams_match "$TEST_TMP"/bank-?.log || rc=1
	PORT=$((PORT + 1))
	return "$rc"
}

freezes()
{
	freeze "$1" $PORT "${pids[@]}"
}

audit()
{
	bank-audit --exe "$bank" --seed "$SEED" --total 3000000 "$@"
}

# falsify SNAP: every kind that was not yet possible
falsify()
{
	local kind pattern left=()

	for line in "${kinds[@]}"; do
		kind=${line%% *}
		pattern=${line#* }
		rm -rf "$snaps/bad"
		cp -r "$1" "$snaps/bad"
		if ! tamper "$kind" "$bank" "$snaps/bad" > "$TEST_TMP/tamper.log" 2>&1; then
			left+=("$line")
			continue
		fi
		[[ $pattern == NOT* ]] && status=1 || status=0
		check_fails "$kind: $pattern" "$status" "$pattern" audit "$snaps/bad"
	done
	kinds=(${left[@]+"${left[@]}"})
}

start_banks --sockbuf 16384
for i in 1 2 3 4; do
	check "snapshot $i freezes" freezes "$snaps/$i"
	sleep 0.1
done
check_fails "fast banks are consistent" 0 "^4/4 snapshots consistent, 4 with bytes" \
	audit "$snaps"/[1-4]
check "their channels match the seed" bank-audit --light --seed "$SEED" "$snaps"/[1-4]
check_fails "but not another one" 1 "NOT CONSISTENT.*is not as sent" \
	bank-audit --light --seed $((SEED + 1)) "$snaps/1"
check_fails "nor do the cores" 1 "NOT CONSISTENT.*the banks' seed is" \
	bank-audit --exe "$bank" --seed $((SEED + 1)) "$snaps/1"
check_fails "another total is noticed" 1 "NOT CONSISTENT.*began with 3000000" \
	bank-audit --exe "$bank" --total 3000001 "$snaps/1"

cp -r "$snaps/1" "$snaps/incomplete"
sed -i 's/"verdict": "complete"/"verdict": "incomplete", "reasons": ["b is missing"]/' \
	"$snaps/incomplete/manifest.json"
check_fails "an incomplete one is told apart" 3 "INCOMPLETE.*b is missing" \
	audit "$snaps/incomplete"

mapfile -t kinds < <(tamper)
for i in 1 2 3 4; do
	falsify "$snaps/$i"
	rm -rf "${snaps:?}/$i"
done
check "fast banks end well" banks_end

start_banks --rate 500 --max-len 1001
for i in $(seq 8); do
	freezes "$snaps/s$i" >> "$TEST_TMP/freeze.log" 2>&1
	sleep 0.1
done
check_fails "slow banks are consistent" 0 "^8/8 snapshots consistent" audit "$snaps"/s?
for i in $(seq 8); do
	falsify "$snaps/s$i"
done
check_equal "all falsifications were possible" "${kinds[*]%% *}" ""
check "slow banks end well" banks_end

# The bank itself does not take what was not sent.  Both are liars to each other;
# the first to notice resets the connection.
liars_meet()
{
	local i rc=0

	for i in 0 1; do
		timeout 20 bank --id "$i" --addrs 127.0.0.1,127.0.0.2 --port "$PORT" \
			--seed $((SEED + i)) > "$TEST_TMP/liar-$i.log" 2>&1 &
	done
	for i in 1 2; do
		wait -n
		[ $? -eq 1 ] || rc=1
	done
	cat "$TEST_TMP"/liar-?.log
	grep -qE "from bank [01]: byte [0-9]+ is not as sent" "$TEST_TMP"/liar-?.log || rc=1
	return "$rc"
}

check "a bank notices a wrong byte" liars_meet

done_testing
