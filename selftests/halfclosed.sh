#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections on their way to the end: a FIN sent, received, behind bytes that
# nobody has read, behind bytes that do not fit the window, one of two lost, and from
# both ends with bytes unread, when TCP is done with the sockets.
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
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/losses.sh"

connections()
{
	tell b listen l "$(addr b)" 5000 || return 1
	for c in plain unread window both closing last; do
		connected "$c" "$(addr b)" || return 1
	done
}

# halves: a FIN with nothing before it; one behind 5000 bytes, unread; one behind
# more than the receiver has room for
halves()
{
	tell a shut plain &&
		tell a send unread 5000 && tell a shut unread &&
		tell b send unread 700 &&
		tell a fill window && tell a shut window
}

# both_ends: nothing can be sent any more, and something is still to be read
both_ends()
{
	tell a send both 300 && tell b send both 700 &&
		tell a shut both && tell b shut both
}

# states HOST: how many connections are in which state, there
states()
{
	in_host "$1" ss -Htan "( sport = 5000 or dport = 5000 )" |
		awk '$1 != "LISTEN" { n[$1]++ } END { for (s in n) print s, n[s] }' |
		sort | xargs
}

# Both have closed, and a's FIN is lost, which b's does not acknowledge.
closing()
{
	lose b 'tcp flags & fin == fin' && tell a send closing 300 && tell a shut closing &&
		tell b send closing 200 && tell b shut closing &&
		wait_for "[[ \$(states a) == *CLOSING* ]]" 10 && snapshot closing --light &&
		[[ $(states a) == *CLOSING* ]] || return 1
	lose_nothing && [ "$(flying closing a b)" -eq 300 ] &&
		[ "$(flying closing b a)" -eq 200 ] && tell b drain closing &&
		tell a drain closing && tell a close closing && tell b close closing
}

# b has closed as well, and its FIN is lost.
last_ack()
{
	tell a send last 300 && tell a shut last && tell b recv last 300 &&
		wait_for "[[ \$(states b) == *CLOSE-WAIT* ]]" 10 &&
		lose a 'tcp flags & fin == fin' && tell b send last 200 && tell b close last &&
		wait_for "[[ \$(states b) == *LAST-ACK* ]]" 10 && snapshot last --light &&
		[[ $(states b) == *LAST-ACK* ]] || return 1
	lose_nothing && [ "$(flying last a b)" -eq 0 ] && [ "$(flying last b a)" -eq 200 ] &&
		tell a drain last && tell a close last
}

# flies NAME BYTES C: that many from a to b
flies()
{
	local got

	got=$(flying "$1" a b)
	echo "$got bytes in flight, want $2 and what filled the window"
	[ "$got" -ge $(($2 + 10000)) ]
}

# the_rest: what they have not read, to the end of each stream
the_rest()
{
	tell b drain plain && tell b drain unread && tell b drain window &&
		tell a recv unread 700 && tell b send plain 100 && tell a recv plain 100
}

topology 2
netem_all delay 5ms 1ms loss 1%
check "peers start" peers_start
check "connections" connections
check "peers join" peers_join
check "they know each other" peers_known 6
check "filters" filters
check "snapshot of open ones" snapshot open --light
check_equal "nothing in flight" "$(flying open a b)" 0
check "snapshot of one in CLOSING" closing
check "snapshot of one in LAST-ACK" last_ack
check "halves are closed" halves
check "b knows of a FIN or more" wait_for "[[ \$(states b) == *CLOSE-WAIT* ]]" 10
say "a: $(states a); b: $(states b)"
check "snapshot of halves" snapshot halves --light
check "bytes in flight to b" flies halves 5000
check_equal "bytes in flight to a" "$(flying halves b a)" 700
check "another one" snapshot again
check_equal "the same bytes to b" "$(flying again a b)" "$(flying halves a b)"
check "the rest arrives" the_rest
check "snapshot of what is left" snapshot left --light
check_equal "nothing in flight to b" "$(flying left a b)" 0
check_equal "nothing in flight to a" "$(flying left b a)" 0
check "both ends close, with bytes unread" both_ends
check "TCP is done with it" wait_for "[[ \$(states b) != *LAST-ACK* ]]" 10
check "snapshot of what nobody can send any more" snapshot both --light
check_equal "what b has not read is in flight" "$(flying both a b)" 300
check_equal "and what a has not" "$(flying both b a)" 700
check "what was unread arrives" tell b drain both

done_testing
