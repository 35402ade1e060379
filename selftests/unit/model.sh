#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The rules, as a model that SPIN looks through: every order of events of a few small
# clusters.  A model without one of its protections must be found wrong.
#
# needs: spin
# timeout: 300
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib.sh"

model=$(cd "$(dirname "$0")/../model" && pwd)
cd "$TEST_TMP" || exit 1
cp "$model"/*.pml .

# search MODEL SWITCHES...: the verifier's report, into "out"
search()
{
	local name=$1
	shift

	rm -f pan* ./*.trail
	{
		spin "$@" -a "$name.pml" &&
		gcc -O0 -w -DSAFETY -DVECTORSZ=512 -DMEMLIM=1000 -o pan pan.c &&
		timeout 60 ./pan -m10000 -w21
	} > out 2>&1
}

# Exhaustive is only what says so: no limit was met, nothing was skipped.
is_whole()
{
	grep -q '^Full statespace search for:' out && grep -q '^State-vector ' out &&
	! grep -qE 'not completed|too small|out of memory|MEMLIM|truncated' out
}

# holds DESC MODEL SWITCHES...
holds()
{
	local desc=$1
	shift

	if search "$@" && is_whole && grep -q 'errors: 0$' out; then
		ok "$desc: $(awk '/states, stored/ { print $1; exit }' out) states, no error"
		return
	fi
	say "$*"
	sed 's/^/#   /' out | head -n 40
	spin "${@:2}" -t "$1.pml" 2>&1 |
		grep -E 'member|direction|side|assert' | sed 's/^/#   /'
	not_ok "$desc"
}

# finds DESC MODEL SWITCHES...: one of our assertions is violated
finds()
{
	local desc=$1
	shift

	if search "$@" && grep -q 'assertion violated' out &&
	   ! grep -q 'invalid array index' out; then
		ok "$desc: found"
		return
	fi
	say "$*"
	sed 's/^/#   /' out | head -n 40
	not_ok "$desc"
}

two=(recording -DTAKE=3)
holds "recording, 2 members" "${two[@]}" -DLOSSES=1
holds "... two bytes" "${two[@]}" -DBYTES=2 -DDATA=1 -DLOSSES=1
holds "... recordings fail" "${two[@]}" -DABORTS=2 -DLOSSES=1
holds "... FINs" "${two[@]}" -DFINS=3 -DBYTES=0
holds "... FINs, one begins" recording -DFINS=3 -DDATA=1
holds "... a byte, a FIN, a failure" "${two[@]}" -DFINS=1 -DDATA=1 -DABORTS=1 -DLOSSES=1
holds "... killed" "${two[@]}" -DKILL=3 -DDATA=1
holds "... killed, one begins" recording -DTAKE=2 -DKILL=3 -DDATA=1
holds "... two epochs" "${two[@]}" -DEPOCHS=2 -DDATA=1 -DABORTS=1
holds "... two epochs, a deadline" "${two[@]}" -DEPOCHS=2 -DDATA=1 -DEXPIRE=1
holds "... two epochs, half closed" recording -DEPOCHS=2 -DDATA=1 -DFINS=2
holds "recording, 3 members" recording -DN=3 -DTAKE=5 -DDATA=5
holds "... a recording fails" recording -DN=3 -DDATA=4 -DABORTS=1
holds "... the second connection ends" recording -DN=3 -DTAKE=1 -DFINS=12 -DBYTES=0

connect=(connect -DTAKE=3)
holds "connecting, 2 members" "${connect[@]}"
holds "... a loss" connect -DTAKE=2 -DLOSSES=1
holds "... a recording fails" "${connect[@]}" -DABORTS=1
holds "... FINs, it begins" connect -DTAKE=1 -DFINS=3 -DBYTES=0
holds "... FINs, the other begins" connect -DTAKE=2 -DFINS=3 -DBYTES=0
holds "... a deadline" "${connect[@]}" -DEXPIRE=3 -DDATA=1
holds "... births that are too late" "${connect[@]}" -DLATE=2
holds "... handshakes without options" "${connect[@]}" -DBARE=1

# A model in which nothing can happen would hold as well.
finds "a complete snapshot" "${two[@]}" -DREACHED
finds "... of two epochs" "${two[@]}" -DEPOCHS=2 -DDATA=1 -DREACHED
finds "... of a new connection" "${connect[@]}" -DREACHED

finds "without the hold" "${two[@]}" -DNO_HOLD
finds "without the gate" "${two[@]}" -DNO_GATE
finds "without the log" "${two[@]}" -DNO_LOG
finds "an early ACK" recording -DEPOCHS=2 -DDATA=1 -DFINS=2 -DACK_EARLY
finds "an abort does not consume its epoch" "${two[@]}" -DABORTS=1 -DNO_CONSUME
finds "markers are not repeated" "${two[@]}" -DLOSSES=1 -DNO_REPEAT
finds "what was held is not looked at again" "${two[@]}" -DEPOCHS=2 -DDATA=1 -DNO_RECHECK
finds "without levelling" "${connect[@]}" -DNO_LEVELLING
finds "births during a recording" "${connect[@]}" -DNO_WAIT
finds "births behind a recording have no cut" "${connect[@]}" -DNO_BORN_CUT
finds "births are not waited for" "${connect[@]}" -DNO_LATE_BIRTHS
finds "a late birth does not mark" "${connect[@]}" -DLATE=2 -DNO_LATE_MARKER
finds "the greeting is not repeated" "${connect[@]}" -DNO_GREETING

done_testing
