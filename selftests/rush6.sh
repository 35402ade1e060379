#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Streams that are never idle, over IPv6.
#
# needs: tcpdump
# timeout: 300
# seldom: yes

# The same code as in the test for IPv4: fewer will do.
FULL=${FULL:-2}
LIGHT=${LIGHT:-10}
BANK_FAMILY=6
# shellcheck source=rush.sh
. "$(dirname "$0")/rush.sh"
