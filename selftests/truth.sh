#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What cannot be recorded works as before, and is refused, or named in the snapshot.
#
# timeout: 150
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/peers.sh"

# joined NAME PORT [ARGS...]: a and b, by sockets that are there
joined()
{
	tell b listen "$1-l" "$(addr b)" "$2" && tell a connect "$1" "$(addr b)" "$2" &&
		tell b accept "$1" "$1-l"
}

# signed: by both sides, on sockets of their own
signed()
{
	tell b socket md5-l && tell b md5 md5-l "$(addr a)" &&
		tell a socket md5 && tell a md5 md5 "$(addr b)" && joined md5 5001
}

two_paths()
{
	tell b socket mptcp-l mptcp && tell a socket mptcp mptcp && joined mptcp 5002
}

# unsupported NAME WHERE: it makes a snapshot incomplete, which says so, and works
unsupported()
{
	check_fails "... no snapshot with it is complete" 4 \
		"incomplete.*: the end of member $2 cannot be recorded: kernel TLS" \
		one_line "$1"
	check "... it works" works "$1"
}

# snapshot() fails with 1 for all that take says.
one_line()
{
	tell a send "$1" 100 && tell b recv "$1" 100 || return 1
	snapshot "$1" --light | tr '\n' ' '
	[ "${PIPESTATUS[0]}" -eq 0 ] || return 4
}

topology 2
check "peers start" peers_start
check "peers join" peers_join
check "a connection" joined plain 5000
check "signed with MD5, there is one" signed
unsupported md5 a/a
check "a snapshot without it" snapshot plain --light
check "a connection" joined tls 5003
check "... with TLS in the kernel at one end" tell a ulp tls tls
unsupported tls a/a
check "a connection" joined sockmap 5004
check "... in a sockmap" tell b sockmap sockmap
unsupported sockmap b/b
check "with MPTCP, there is one" two_paths
check_fails "... and no complete snapshot" 4 'a/a: 1 of its sockets cannot be recorded .MPTCP' \
	one_line mptcp
check "... it works" works mptcp
check "nobody listens there any more" tell b close mptcp-l
check "the next snapshot is complete" snapshot last --light
spawn a i386 i386
wait_for '[ "$(cat "/proc/$LAST_PID/comm")" = i386 ]' 10
check_fails "32-bit processes are refused" 4 '32-bit processes are not supported' \
	in_host a distsnap join peers --pid "$LAST_PID" --name i386

done_testing
