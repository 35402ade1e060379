#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Three banks on three hosts send each other money all the time, over a network
# that takes 20 ms.  20 snapshots are taken while they do; in each the balances
# and the money on its way must give the total.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"
TAP_PLAN=0			# nothing for a test harness here

SNAPSHOTS=20
BUSY_AT_LEAST=15
TOTAL=3000000
out=/out
[ -d $out ] || out=$(mktemp -d /tmp/distsnap-demo.XXXXXX)

give_up()
{
	echo "demo: $*" >&2
	report_state
	exit 1
}

# photograph NUMBER HOST: adds to good and busy
photograph()
{
	local snap=$TEST_TMP/snap.$1 line

	if ! banks_take "$2" "$snap" > "$TEST_TMP/take.log" 2>&1; then
		printf '%3d  not complete: %s\n' "$1" "$(tail -n 1 "$TEST_TMP/take.log")"
	fi
	[ -d "$snap" ] || return
	if line=$(bank-audit --exe "$bank" --seed "$SEED" --total $TOTAL "$snap"); then
		good=$((good + 1))
		[[ $line == *" 0 bytes in flight"* ]] || busy=$((busy + 1))
	fi
	echo "$line"
	rm -rf "$out/snapshot"
	mv "$snap" "$out/snapshot"
}

bank=$(command -v bank) || give_up "no bank on the PATH; try: make demo"
[ -d /sys/module/distsnap ] || insmod "${DISTSNAP_KO:-distsnap.ko}" ||
	give_up "the module does not load"

echo "Three hosts a b c on one network with 20 ms of delay; a bank on each, seed $SEED."
topology 3
netem_all delay 20ms 5ms
banks_start --rate 100 || give_up "the banks do not find each other"
echo "They pay each other, about 600 messages a second.  They know nothing of distsnap."
banks_join || give_up "the banks do not become members"
echo "Each is a member of group 'bank' now.  $SNAPSHOTS snapshots follow; in each:"
echo "  balances + money in flight = total, every byte in flight compared with what was sent"
echo

good=0
busy=0
for i in $(seq $SNAPSHOTS); do
	photograph "$i" "${HOSTS[$((i % 3))]}"
	nap 0.2
done

echo
if banks_stop; then
	echo "The banks have ended: every byte arrived as sent, all money is there."
else
	echo "The banks did NOT end well."
	report_state
	good=-1
fi
if [ -z "${DISTSNAP_GUEST:-}" ]; then
	echo "The last snapshot is in $out/snapshot.  Try:"
	echo "  distsnap show $out/snapshot"
	echo "  distsnap check consistency $out/snapshot"
	echo "  gdb $bank $out/snapshot/nodes/a/bank-0/core -ex 'print bank.ledger[bank.cur]'"
fi
[ $good -ge 0 ] || good="the banks failed, 0"
echo "demo: $good/$SNAPSHOTS snapshots consistent, $busy with bytes in flight"
[ "$good" = $SNAPSHOTS ] && [ $busy -ge $BUSY_AT_LEAST ]
