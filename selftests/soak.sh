#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# soak.sh KERNEL N: N snapshots of the bank over a bad network, most of them light
# and every 50th with memory, each audited to the byte.  One process takes and one
# audits a whole chunk of them, and what was audited is deleted.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
TAP_PLAN=0			# the last line is the result

kernel=${1:?usage: soak.sh KERNEL N}
wanted=${2:?usage: soak.sh KERNEL N}
CHUNK=49
# How long things take is not what is tested here.
BANK_LIMITS=(--pause-max 10000 --record-max 15000 --snap-max 30000)
bank=$(command -v bank)
snaps=$TEST_TMP/snaps

taken=0
inexact=0
incomplete=0
bytes=0

give_up()
{
	say "soak: $*"
	report_state
	exit 1
}

# audit ARGS...: adds up what is in $snaps, and deletes it
audit()
{
	local sum

	bank-audit --json --seed "$SEED" "$@" "$snaps"/* > "$TEST_TMP/audit.out"
	sum=$(awk '
	function value(key) {
		if (!match($0, "\"" key "\":[^,}]*"))
			return ""
		return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
	}
	{
		n++
		bytes += value("bytes_in_flight")
		if (value("consistent") == "true")
			next
		if (value("complete") == "false")
			incomplete++
		else
			inexact++
	}
	END { print n + 0, inexact + 0, incomplete + 0, bytes + 0 }' "$TEST_TMP/audit.out")
	grep -v '"consistent":true' "$TEST_TMP/audit.out" | head -n 5 | sed 's/^/# /'
	# shellcheck disable=SC2086	# four numbers
	set -- $sum
	taken=$((taken + $1))
	inexact=$((inexact + $2))
	incomplete=$((incomplete + $3))
	bytes=$((bytes + $4))
	rm -rf "$snaps"
	find "$BANK_STORE/bank" -mindepth 1 -maxdepth 1 -name '[0-9]*' -exec rm -rf {} +
}

# chunk HOST COUNT TAKE-ARGS -- AUDIT-ARGS
chunk()
{
	local host=$1 count=$2 take=()

	shift 2
	while [ "$1" != -- ]; do
		take+=("$1")
		shift
	done
	shift
	banks_take "$host" "$snaps" ${take[@]+"${take[@]}"} --count "$count" --every 20 \
		> "$TEST_TMP/take.log" 2>&1 || sed -n '/incomplete/,$p' "$TEST_TMP/take.log" |
			head -n 8 | sed 's/^/# /'
	audit "$@"
}

retransmitted()
{
	in_host "$1" awk '$1 == "Tcp:" && n { print $n }
		$1 == "Tcp:" && !n { for (n = NF; $n != "RetransSegs"; n--); }' /proc/net/snmp
}

topology 3
netem_all delay 10ms 3ms loss 1% duplicate 1% reorder 5%
banks_start --rate 60 || give_up "the banks do not find each other"
banks_join || give_up "the banks do not become members"

started=$EPOCHSECONDS
turn=0
while [ $taken -lt "$wanted" ]; do
	before=$taken
	host=${HOSTS[$((turn % 3))]}
	left=$((wanted - taken - 1))
	chunk "$host" 1 -- --exe "$bank" --total 3000000
	[ $left -eq 0 ] ||
		chunk "$host" $((left < CHUNK ? left : CHUNK)) --light -- --light
	turn=$((turn + 1))
	say "$taken snapshots after $((EPOCHSECONDS - started)) s, $inexact inexact, $incomplete incomplete, $bytes bytes in flight"
	[ $taken -gt "$before" ] || give_up "no snapshot: $(tail -n 1 "$TEST_TMP/take.log")"
	# Once is enough to know, and a few are to be seen.
	[ $((inexact + incomplete)) -lt 10 ] || break
done

held=$(sum_of held)
retransmits=0
for h in "${HOSTS[@]}"; do
	retransmits=$((retransmits + $(retransmitted "$h")))
done
well=1
banks_stop || well=0
[ $well -eq 1 ] || say "the banks did NOT end well"

ok=$((taken == wanted && inexact == 0 && incomplete == 0 && well == 1 &&
      bytes > 0 && held > 0 && retransmits > 0))
[ $ok -eq 1 ] || report_state
echo "soak: kernel $kernel seed $SEED: $taken snapshots, $inexact inexact, $incomplete incomplete, bytes=$bytes held=$held retransmitted=$retransmits"
[ $ok -eq 1 ]
