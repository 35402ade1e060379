#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections that have more owners than one, or another one than before, or none
# that anybody can see: who they are is said, and no such snapshot passes for good.
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

# told_value HOST: what its last command gave
told_value()
{
	tail -n 1 "$TEST_TMP/peer-$1.log" | cut -d' ' -f3
}

# bytes N NAME FROM TO: on their way, by the members' full names
bytes()
{
	local n

	n=$(awk -v from="$3" -v to="$4" \
		'$1 == from && $3 == to { n += $NF } END { print n + 0 }' "$TEST_TMP/$2.channels")
	echo "$n bytes from $3 to $4, want $1"
	[ "$n" -eq "$1" ]
}

# take NAME: a snapshot that need not be complete
take()
{
	in_host a distsnap take peers -o "$TEST_TMP/$1" --store "$PEER_STORE" \
		--timeout 15000 --light
}

# A second descriptor is no second owner.
dup_is_harmless()
{
	local before

	before=$(counter a outsiders_sought)
	tell a dup one && tell a send one 700 && snapshot dup --light &&
		bytes 700 dup a/a b/b && counted a outsiders_sought "$before"
}

# child HOST CONN: a child of a member has it as well
child()
{
	tell "$1" fork "$2" && CHILD=$(told_value "$1") && [ "$CHILD" -gt 1 ]
}

gone()
{
	tell "$1" reap "$2" && snapshot "reaped-$1" --light && bytes 700 "reaped-$1" a/a b/b
}

given()
{
	local seq

	tell_on d "&" get two "$TEST_TMP/way"
	seq=$PEER_SEQ
	wait_for '[ -S "$TEST_TMP/way" ]' 10 && tell a give two "$TEST_TMP/way" && told d "$seq"
}

# The new owner's from the first snapshot on that both have seen.
moved()
{
	local i

	tell d send two 900 || return 1
	for i in 1 2 3; do
		! snapshot "moved.$i" --light || break
	done
	bytes 900 "moved.$i" a/d b/b && tell b recv two 900
}

topology 2
check "peers start" peers_start
check "a second one starts" peer_start a d
check "peers join" peers_join
check "and the second one" peer_join a d
check "b listens" tell b listen l "$(addr b)" 5000
check "a connection" connected one "$(addr b)"
check "and another" connected two "$(addr b)"
check "and one more" connected three "$(addr b)"
check "they know each other" peers_known 3

check "two descriptors, one owner" dup_is_harmless
check "a child of the one that connected" child a one
check_fails "it is named" 3 "member a/a: 3 .*shared with process $CHILD \(peer\), which is no member" take child-a
check "without it the snapshot is complete" gone a one
check "a child of the one that accepted" child b one
check_fails "it is named as well" 3 "member b/b: 3 .*shared with process $CHILD \(peer\), which is no member" take child-b
check "and then the snapshot is complete" gone b one

check "a connection on its way" tell a away three
check_fails "nobody is seen to have it" 3 "in no file table" take away
check "it arrives" tell a back three
check "and the snapshot is complete" snapshot back --light
check "a connection goes to another member" given
check "it is that one's" moved
check "a connection that only a ring has" tell a ring three
check_fails "nobody is seen to have that" 3 "in no file table" take ring

done_testing
