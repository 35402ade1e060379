#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recorded local state is a core that debuggers open: every thread with the
# backtrace that it has in the live process.
#
# needs: eu-stack=elfutils
# timeout: 120
#
# shellcheck disable=SC2317	# functions that "check" calls

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/workload/banks.sh"

bank=$(command -v bank)
snap=$TEST_TMP/snap
core=$snap/nodes/a/bank-0/core

# frames FUNCTION: how many threads have it on their stack
frames()
{
	grep -cE " $1( |\$)" "$TEST_TMP/stacks"
}

topology 2
check "banks start" banks_start --rate 50
check "banks join" banks_join
check "snapshot" banks_take a "$snap"
check "a core" [ -s "$core" ]
check "for the owner only" [ "$(stat -c %a "$core")" = 600 ]
eu-stack --core="$core" -e "$bank" > "$TEST_TMP/stacks" 2> "$TEST_TMP/eu-stack.log"
check_equal "all threads" "$(grep -c '^TID' "$TEST_TMP/stacks")" 3
check_equal "one is main" "$(frames main)" 1
check_equal "one sends" "$(frames sender)" 1
check_equal "one receives" "$(frames receiver)" 1
check "the banks have noticed nothing" banks_stop

done_testing
