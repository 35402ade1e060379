#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One end of a connection is gone, or is nobody's any more, and the other is there:
# closed with bytes on the way, closed with bytes that do not fit the window, reset.
# And connections that ended long ago.
#
# timeout: 150
# debug: yes
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

connections()
{
	tell b listen l "$(addr b)" 5000 || return 1
	for c in "$@"; do
		connected "$c" "$(addr b)" || return 1
	done
}

# orphan BYTES: that b does not get before its filter lets it
orphan()
{
	lose b "$NOSYN" && tell a send orphan "$1" && tell a close orphan
}

# A process that ends with 5000 bytes that have not left: its connection sends them.
exits()
{
	local recorded

	peer_start a gone && tell gone connect exit "$(addr b)" 5000 && tell b accept exit l &&
		peer_join a gone && peers_known 3 || return 1
	lose b "$NOSYN" && tell gone send exit 5000 || return 1
	kill -KILL "${PEER_PID[gone]}" && wait_for '! kill -0 "${PEER_PID[gone]}"' 10 &&
		wait_for "[[ \$(states a) == *FIN-WAIT-1* ]]" 10 || return 1
	recorded=$(counter a recorded)
	{ wait_for "[ \$(counter a recorded) -ge $((recorded + 2)) ]" 20 && lose_nothing; } &
	snapshot exit && grep '^a/gone .* b/b .* 5000$' "$TEST_TMP/exit.channels" &&
		tell b drain exit && tell b close exit
}

# A connection that b has not accepted yet, and bytes for it.
waits()
{
	tell a connect waits "$(addr b)" 5000 && tell a send waits 3000 &&
		wait_for "in_host b ss -Htn state established | grep -q '^3000 '" 10 &&
		snapshot waits --light && [ "$(flying waits a b)" -eq 3000 ] &&
		tell b accept waits l && tell b recv waits 3000 && works waits
}

# states HOST: how many connections are in which state, there
states()
{
	in_host "$1" ss -Htan "( sport = 5000 or dport = 5000 )" |
		awk '$1 != "LISTEN" { n[$1]++ } END { for (s in n) print s, n[s] }' |
		sort | xargs
}

topology 2
netem_all delay 5ms 1ms loss 1%
check "peers start" peers_start
check "connections" connections read orphan quiet old
check "peers join" peers_join
check "they know each other" peers_known 4
check "a connection between members" connected other "$(addr b)"
check "... know each other at once" peers_known 5
check "filters" filters

check "a closes, with 5000 bytes that b has not read" \
	tell a send read 5000
check "... and it is closed" tell a close read
check "b knows" wait_for "[[ \$(states b) == *CLOSE-WAIT* ]]" 10
check "a snapshot of what is left at b" snapshot read --light
check_equal "5000 bytes in flight" "$(flying read a b)" 5000
check "b reads them" tell b drain read
check "b closes" tell b close read

check "a closes, with 5000 bytes that have not left" orphan 5000
check "nobody has a file of them" wait_for "[[ \$(states a) == *FIN-WAIT-1* ]]" 10
after a recorded
check "a snapshot that has them" snapshot orphan --light
check_equal "5000 bytes in flight" "$(flying orphan a b)" 5000
check "b reads them" tell b drain orphan
check "b closes" tell b close orphan

check "a process ends, with 5000 bytes that have not left" exits

check "bytes before anybody accepts" waits

check "b sends something" tell b send quiet 700
check "a has not read it" tell a send quiet 300
check "a resets" tell a reset quiet
check "b is told" wait_for "[[ \$(states b) == 'ESTAB 2' ]]" 10
say "a: $(states a); b: $(states b)"
check "a snapshot of what is left at b" snapshot reset --light
check_equal "300 bytes in flight to b" "$(flying reset a b)" 300
check_equal "and none to a, which is gone" "$(flying reset b a)" 0

check "b closes it" tell b close quiet

check "the last connection goes on" tell a send other 100
check "a snapshot of it" snapshot other --light
check_equal "100 bytes in flight" "$(flying other a b)" 100
check "it ends" tell b recv other 100
check "a closes it" tell a close other
check "and b" tell b close other
check "an old one, too" tell a close old
check "... from both ends" tell b close old
check "tombstones were set" wait_for '[ "$(sum_of buried)" -ge 9 ]' 10

done_testing
