#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Options that say something else when they arrive, or come from where no member is:
# each is noticed and counted, what can be repeated is, and no byte gets lost.
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

# Our option comes first, behind 20 bytes of header; without it two NOPs and the time
# stamp do.
OURS='@th,160,32 0xfd10d15a'
PLAIN='@th,160,16 0x0101'
SAYS='@th,192,16'		# flags, version, open
GROUP='@th,208,16'
EPOCH='@th,224,32'
ANCHOR='@th,256,32'
ACKSEQ='@th,64,32'
# Payload set does not mend the check sum, which nothing between the hosts has made yet.
BYTES='meta length > 200'
NOBYTES='meta length < 200'

# lie PORT RULE: about what comes to b
lie()
{
	in_host b nft "add rule ip f in tcp dport $1 $2"
}

# risen COUNTER: at b, since noted
risen()
{
	counted b "$1" "${before[$1]}"
}

# noted: the counters of b
noted()
{
	local name n

	while read -r name n; do
		before[$name]=$n
	done < <(in_host b distsnap status --counters)
}

# mended COUNTER RULE: b does not know what to make of a's markers for a while
mended()
{
	local snap rc=0

	noted
	lie 5000 "$2" || return 1
	snapshot "$1" --light &
	snap=$!
	wait_for "risen $1" 10 || rc=1
	lose_nothing
	wait "$snap" && return "$rc"
}

# contradicted: the marker that a repeats, as it hears no answer, names another place
contradicted()
{
	local take rc=0

	noted
	in_host a nft add rule ip f in tcp sport 5000 drop || return 1
	in_host a distsnap take peers -o "$TEST_TMP/contradicted" --store "$PEER_STORE" \
		--timeout 15000 --expect a/a,b/b --light > "$TEST_TMP/take.out" 2>&1 &
	take=$!
	wait_for "risen recorded" 10 && lie 5000 "$OURS $ANCHOR set 0x1" &&
		wait_for "risen opt_contradicted" 10 || rc=1
	lose_nothing
	wait "$take"
	[ $? -eq 3 ] && grep 'markers of this epoch contradict each other' "$TEST_TMP/take.out" &&
		return "$rc"
}

# red: a has recorded and sends; b has not heard, and cannot believe this segment
red()
{
	local snap rc=0

	noted
	lie 5000 "$OURS $NOBYTES drop" && lie 5000 "$OURS $ACKSEQ set 0x12345678" || return 1
	snapshot red --light &
	snap=$!
	wait_for "[ \$(epoch a) -gt \$(epoch b) ]" 10 && tell a send c 1000 &&
		wait_for "risen red_implausible && risen opt_implausible" 10 || rc=1
	! risen recorded || rc=1
	lose_nothing
	wait "$snap" && [ "$(flying red a b)" -eq 0 ] && tell b recv c 1000 && return "$rc"
}

# white: b has recorded, a has not heard, and sends what TCP will not take
white()
{
	local snap rc=0

	noted
	in_host a nft "add rule ip f in tcp sport 5000 $OURS drop" &&
		lie 5000 "$PLAIN $BYTES $ACKSEQ set 0x12345678" || return 1
	snapshot_from b white --light &
	snap=$!
	wait_for "risen recorded" 10 && tell a send c 1000 &&
		wait_for "risen log_implausible" 10 || rc=1
	! risen logged || rc=1
	in_host b nft flush chain ip f in
	wait_for "risen logged" 10 || rc=1
	lose_nothing
	wait "$snap" && [ "$(flying white a b)" -eq 1000 ] && tell b recv c 1000 && return "$rc"
}

# unsaid: what a sends has no room for an option that it could be sent with
unsaid()
{
	local failed snap rc=0

	failed=$(counter a tag_failed)
	in_host b nft "add rule ip f in tcp dport 5000 $OURS drop" || return 1
	snapshot unsaid --light &
	snap=$!
	# An option of length 0, where the first NOPs are.
	wait_for "[ \$(epoch a) -gt \$(epoch b) ]" 10 &&
		in_host a nft "add rule ip f out tcp dport 5000 $PLAIN $BYTES @th,160,16 set 0x0300" &&
		tell a send c 1000 && wait_for "counted a tag_failed $failed" 10 || rc=1
	in_host a nft flush chain ip f out
	lose_nothing
	wait "$snap" && [ "$(flying unsaid a b)" -eq 0 ] && tell b recv c 1000 && return "$rc"
}

# missed: b seems to have recorded a later epoch than the one that a marks
missed()
{
	local missed take rc=0

	missed=$(counter a missed)
	# What is not forged yet must not come before: the first word, and the first rule.
	in_host a nft "add rule ip f in tcp sport 5000 $OURS $SAYS set 0x0210" &&
		in_host a nft "add rule ip f in tcp sport 5000 $OURS $EPOCH set $(($(epoch a) + 2))" ||
		return 1
	in_host a distsnap take peers -o "$TEST_TMP/missed" --store "$PEER_STORE" \
		--timeout 15000 --expect a/a,b/b --light > "$TEST_TMP/take.out" 2>&1 &
	take=$!
	wait_for "counted a missed $missed" 10 || rc=1
	lose_nothing
	wait "$take"
	[ $? -eq 3 ] && return "$rc"
}

# foreign: from an address that is not the group's
foreign()
{
	noted
	ip -n a addr add 10.9.0.1/24 dev eth0 && ip -n b route add 10.9.0.0/24 dev eth0 &&
		ip -n a route add 10.0.0.2/32 dev eth0 src 10.9.0.1 || return 1
	tell late connect foreign "$(addr b)" 5005 && tell other accept foreign other-l &&
		ip -n a route del 10.0.0.2/32
}

# stranger: a's second member, that asks a process of b whether it is one
stranger()
{
	noted
	tell late connect plain "$(addr b)" 5005 && tell other accept plain other-l &&
		peer_join a late && wait_for "risen opt_untracked && risen opt_foreign" 10
}

# red_stranger: a marks and sends before that is known, and all that b hears of it first
# is red; a look into the tables tells that it is nobody's
red_stranger()
{
	local take rc=0

	peer_start a later && tell later connect stranger "$(addr b)" 5005 &&
		tell other accept stranger other-l || return 1
	noted
	in_host a distsnap group peers --id 9 --snap-max 2000 &&
		lie 5005 "$OURS $NOBYTES drop" && peer_join a later || return 1
	in_host a distsnap take peers -o "$TEST_TMP/stranger" --store "$PEER_STORE" \
		--timeout 15000 --expect a/a,a/later,b/b --light > "$TEST_TMP/take.out" 2>&1 &
	take=$!
	wait_for "member_recorded later" 10 && tell later send stranger 1000 &&
		tell other recv stranger 1000 && risen red_untracked || rc=1
	lose_nothing
	wait "$take"
	in_host a distsnap group peers --id 9 --snap-max "$PEER_SNAP_MAX" && return "$rc"
}

# member_recorded NAME: of host a, in the epoch that a itself has recorded
member_recorded()
{
	in_host a distsnap members peers | awk -v name="$1" '
		NR > 1 { epoch[$2] = $5 }
		END { exit !(epoch[name] > 0 && epoch[name] == epoch["a"]) }'
}

# jump: an epoch from far ahead, for which b will not record; and a learns from b's refusal
# how far they are
jump()
{
	noted
	before[a]=$(counter a opt_jump)
	lie 5000 "$OURS $EPOCH set 0x01000000" || return 1
	light jump 3 && wait_for "risen opt_jump && counted a opt_jump ${before[a]}" 10 || return 1
	lose_nothing
}

# light NAME STATUS: a snapshot that a takes, strangers or not
light()
{
	in_host a distsnap take peers -o "$TEST_TMP/$1" --store "$PEER_STORE" \
		--timeout 5000 --expect a/a,b/b --light > "$TEST_TMP/take.out" 2>&1
	[ $? -eq "$2" ] || { cat "$TEST_TMP/take.out"; return 1; }
}

# open_at HOST: an epoch is
open_at()
{
	in_host "$1" distsnap status peers | grep 'is open'
}

# left_behind: both go on from there
left_behind()
{
	wait_for "! open_at a && ! open_at b" 20 && light last 0 &&
		[ "$(epoch b | sort -n | tail -n 1)" -gt 16777216 ]
}

declare -A before=()
topology 2
check "peers start" peers_start
check "two more, which are no members" peer_start a late
check "... one at each host" peer_start b other
check "... which listens" tell other listen other-l "$(addr b)" 5005
check "peers join" peers_join
check "filters" filters
check "... of what leaves, too" \
	in_host a nft 'add chain ip f out { type filter hook output priority 0; }'
check "b listens" tell b listen l "$(addr b)" 5000
check "a connects" connected c "$(addr b)"
check "they know each other" peers_known 1
check "a snapshot" snapshot first --light
check "another" snapshot second --light

check "another version" mended opt_version "$OURS $SAYS set 0x0120"
check "nothing that anybody says" mended opt_malformed "$OURS $SAYS set 0x1f10"
check "another group" mended opt_group "$OURS $GROUP set 77"
check "an old marker" mended opt_stale "$OURS $EPOCH set 0x1"
check "two markers contradict each other" contradicted
check "a red segment that TCP would not take" red
check "a white one" white
check "a red segment that cannot be tagged" unsaid
check "an answer of a later epoch" missed
check "a connection from a foreign address" foreign
check "a connection to a stranger, and from a foreign address" stranger
check "a red segment to a stranger" red_stranger
check "... all is well" works c
check "a connection" connected d "$(addr b)"
check "an epoch from far ahead" jump
check "... both have left it behind" left_behind
check "... it works" works d

done_testing
