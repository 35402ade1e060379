#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the tool says to those who call it wrongly, before it asks the kernel: one
# line, exit status 2, and nothing is done.
#
# timeout: 60
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${BUILD:-$top/build}/tools:$PATH
cd "$TEST_TMP" || exit 1

# usage PATTERN ARGS...
usage()
{
	local pattern=$1
	shift

	check_fails "$*" 2 "^distsnap: $pattern" distsnap "$@"
	check_equal "$*: one line" "$(wc -l < check.out)" 1
}

g=(group g --id 1 --peers 10.0.0.0/24)
usage 'group --id 70000: not in 1..65535$' group g --id 70000
usage 'group --id 99999999999999999999: not in 1..65535$' group g --id 99999999999999999999
usage 'group --id x: not a number$' group g --id x
usage 'group: --id: needs a value$' group g --id
usage 'group --peers 10.0.0.0/33: prefix length above 32$' group g --peers 10.0.0.0/33
usage 'group --peers 10.0.0.1/24: .* 10.0.0.0/24 is the network$' group g --peers 10.0.0.1/24
usage 'group --peers fd00::/129: prefix length above 128$' group g --peers fd00::/129
usage 'group --peers fd00::1/64: .* fd00::/64 is the network$' group g --peers fd00::1/64
usage 'group --peers fd80::/8: .* fd00::/8 is the network$' group g --peers fd80::/8
usage 'group --peers ::ffff:10.0.0.0/120: an IPv4 network' group g --peers ::ffff:10.0.0.0/120
usage 'group --peers fd00:/8: not a prefix' group g --peers fd00:/8
usage 'group --peers x: not a prefix' group g --peers x
usage 'group: --peers: needs' group g --peers ,
usage 'group --pause-max 2m: not in 1..60000 ms$' "${g[@]}" --pause-max 2m
usage 'group --snap-max 0: not in 1..60000 ms$' "${g[@]}" --snap-max 0
usage 'group --bytes-max 900000T: not in 1..[0-9]+K$' "${g[@]}" --bytes-max 900000T
usage 'group --bytes-max 0: not in 1..' "${g[@]}" --bytes-max 0
usage 'group --bytes-max 1X: not a size' "${g[@]}" --bytes-max 1X
usage 'group: --delete goes with no other option$' "${g[@]}" --delete
usage 'group: --nosuch: no such option' group g --nosuch=1
usage 'group: --delete: takes no value$' group g --delete=yes
usage "group: one group only: 'h' is too much\$" group g h --delete
usage 'group: name a group' group
usage "join: one process at a time: '124' is too much\$" join g --pid 123 124
usage "join: one process at a time: '124' is too much\$" join g --pid 123 --pid 124
usage 'join --pid 0: not in 1..' join g --pid 0
usage 'join --name a/b: no valid name' join g --pid 1 --name a/b
usage 'leave: --name: no such option' leave g --pid 1 --name x
usage 'leave: name the process with --pid$' leave g
usage 'members: --counters: no such option' members --counters
usage "channels: one group only: 'h' is too much\$" channels g h
usage 'agent --keep x: not a number$' agent g --keep x
usage 'take: --every: needs a value$' take g --every
usage 'take: -o: needs a value$' take g -o
usage 'take: -o: needs a value$' take g -o ''
usage 'take: --store: needs a value$' take g --store ''
usage 'agent: --store: needs a value$' agent g --store ''
usage 'take: -x: no such option' take g -x
usage 'take --every abc: not a time \(milliseconds, or 5s, 1m\)$' take g --every abc
usage 'take --timeout 0: not in 1..' take g --timeout 0
usage 'take --count 0: not in 1..' take g --count 0
usage 'take: --light: takes no value$' take g --light=yes
usage "take: one group only: 'extra' is too much\$" take g --light extra
usage 'take --expect x: not NODE/MEMBER$' take g --expect x
usage 'take --expect : not NODE/MEMBER$' take g --expect a/b,
usage 'merge --expect x: not NODE/MEMBER$' merge f -o s --expect x

mkdir full ro
touch full/x file
usage 'take: full exists and is not empty' take g -o full
usage 'take: full exists and is not empty' take g -o full/
usage 'take: file exists and is not a directory' take g -o file
usage 'take: file exists and is not a directory' take g -o file --count 2
usage 'take: no/such: its directory no: No such file or directory$' take g -o no/such
usage 'take: no/such: its directory no: No such file or directory$' take g -o no/such --count 2
usage 'take: file/x: file is not a directory' take g -o file/x
usage 'take: \"..\" cannot be the name' take g -o ..
check_equal "nothing was left behind" "$(find . -newer file ! -name check.out ! -name . | wc -l)" 0

usage 'nosuch: no such command' nosuch
usage 'nosuch: no such command' help nosuch
usage "help: one command only: 'x' is too much" help take x
check_fails "what could not be printed is no success" 4 'standard output: No space left' \
	eval 'distsnap help > /dev/full'
check "version" eval 'distsnap --version | grep -E "^distsnap [0-9.]+$"'
for cmd in group join leave agent status members channels take merge show check; do
	check "help $cmd" eval "diff <(distsnap help $cmd) <(distsnap $cmd --help)"
	check "help $cmd tells the exit codes" eval "distsnap help $cmd | grep -q '^Exit codes: '"
done

done_testing
