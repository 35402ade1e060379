#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whatever is asked wrongly is refused in one clear sentence, with the right exit
# status, and changes nothing.
#
# timeout: 150
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

store=$TEST_TMP/store
mkdir "$store"

ds()
{
	in_host a distsnap "$@"
}

# refused DESC STATUS PATTERN ARGS...: and in exactly one line on stderr
refused()
{
	local desc=$1 status=$2 pattern=$3
	shift 3

	check_fails "$desc" "$status" "$pattern" in_host a distsnap "$@"
	check_equal "$desc: one line" "$(wc -l < "$TEST_TMP/check.out")" 1
}

nobody()
{
	in_host a setpriv --reuid 65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all distsnap "$@"
}

# Root of namespaces that anybody can make.
of_its_own()
{
	in_host a unshare -Urn distsnap "$@"
}

topology 2
check "group" ds group g --id 3 --peers 10.0.0.0/24
refused "id missing" 4 "id" group x --peers 10.0.0.0/24
refused "id taken" 4 "id" group x --id 3 --peers 10.0.0.0/24
refused "other id for the same group" 4 "another id" group g --id 4
refused "bad prefix" 2 "10.0.0" group x --id 4 --peers 10.0.0.0/40
refused "bad group name" 2 "name" group ../x --id 4 --peers 10.0.0.0/24
refused "limit too large" 2 "1..60000 ms" group g --pause-max 70000
refused "host bits" 2 "10.0.0.0/24 is the network" group g --peers 10.0.0.7/24
refused "unknown group" 4 "no such group" join nope --pid 1
refused "nothing to photograph" 4 "nothing to photograph" take g --store "$store"
refused "delete an unknown group" 4 "group nope: no such group on this node$" group nope --delete
refused "leave an unknown group" 4 "process 1: no such group on this node$" leave nope --pid 1
refused "members of an unknown group" 4 "no such group on this node$" members nope
check_equal "a header, even without members" "$(ds members | tr -s ' ')" \
	"GROUP MEMBER PID CHANNELS EPOCH STATE"
check_equal "a header, even without channels" "$(ds channels g | tr -s ' ')" \
	"GROUP MEMBER LOCAL REMOTE TCP PEER"

check_fails "in a user namespace: no group" 4 'not permitted' \
	of_its_own group h --id 4 --peers 10.0.0.0/24
check_fails "in a user namespace: no counters" 4 'not permitted' \
	of_its_own status --counters

spawn a sleeper sleep 1000
sleeper=$LAST_PID
spawn b other sleep 1000
other=$LAST_PID
refused "no such pid" 4 "no such process" join g --pid 99999999
refused "another namespace" 4 "another network namespace" join g --pid "$other"
refused "a kernel thread" 4 "kernel thread" join g --pid 2
check "join" ds join g --pid "$sleeper"
refused "already a member" 4 "member already" join g --pid "$sleeper"
refused "not a member" 4 "no member" leave g --pid "$other"
refused "group with members" 4 "members" group g --delete
refused "unknown command" 2 "photograph|no such|unknown" photograph g

refused "no agent" 4 "no agent on this node" take g --store "$store"

epoch()
{
	ds status g --json | grep '"epoch"' | tr -dc 0-9
}

# An emulated machine is slow, and this one is busy starting the agent.
check "wide limits" ds group g --pause-max 2s --record-max 5000ms --snap-max 10s

# take waits for an agent that was started just now.
spawn a agent distsnap agent g --store "$store" --keep 2
agent=$LAST_PID
check "take right after its agent" ds take g --store "$store" -o "$TEST_TMP/first"
check "agent" wait_for "logged agent 'agent: ready'" 10

before=$(epoch)
mkdir "$TEST_TMP/full"
touch "$TEST_TMP/full/x"
refused "in the way" 2 "take: .*full exists and is not empty" \
	take g --store "$store" -o "$TEST_TMP/full"
refused "no parent" 2 "take: .*No such file" take g --store "$store" -o "$TEST_TMP/no/snap"
refused "expect nonsense" 2 "--expect x: not NODE/MEMBER" take g --store "$store" --expect x
refused "store in a file" 2 "--store .*: Not a directory" \
	take g --store "$TEST_TMP/full/x" -o "$TEST_TMP/no"
touch "$TEST_TMP/g.$((before + 1))"
cd "$TEST_TMP" || exit 1
refused "in the way of the default" 2 "g.$((before + 1)) exists" take g --store "$store"
rm "$TEST_TMP/g.$((before + 1))"
check_equal "none of these took an epoch" "$(epoch)" "$before"
refused "second agent" 4 "agent on this node already" agent g --store "$store"
check "a member without channels is a snapshot" \
	ds take g --store "$store" -o "$TEST_TMP/snap"
check "show" ds show "$TEST_TMP/snap"
check "it is consistent" ds check consistency "$TEST_TMP/snap"

check "a series" ds take g --store "$store" -o "$TEST_TMP/series" --count 3 --light
check "two epochs are kept" wait_for '[ "$(find "$store/g" -name a | wc -l)" -eq 2 ]' 5
check "take keeps one" ds take g --store "$store" -o "$TEST_TMP/last" --light --keep 1
check_equal "it does" "$(find "$store/g" -name a)" "$store/g/$(epoch)/a"

check_fails "not root: group" 4 "root|CAP_NET_ADMIN|permi" nobody group y --id 9 --peers 10.0.0.0/24
check_fails "not root: take" 4 "root|CAP_NET_ADMIN|permi" nobody take g --store "$store"
check_fails "not root: members" 4 "root|CAP_NET_ADMIN|permi" nobody members
check_fails "not root: counters" 4 "root|CAP_NET_ADMIN|permi" nobody status --counters

check "leave" ds leave g --pid "$sleeper"
refused "nobody left to photograph" 4 "nothing to photograph" take g --store "$store"
check "the process lives" kill -0 "$sleeper"

check "delete the group" ds group g --delete
check "its agent ends" wait_for "! kill -0 $agent" 3
wait "$agent"
check_equal "with exit status 4" $? 4
check_equal "and says so in one line" "$(grep '^distsnap: ' "$TEST_TMP/agent.log")" \
	"distsnap: agent: group g: it was deleted on this node"

done_testing
