#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The bank over IPv4 by IPv6 sockets (mapped addresses).
#
# timeout: 300
# seldom: yes

# The same code as in bank.sh: fewer will do.
FULL=${FULL:-4}
LIGHT=${LIGHT:-16}
BANK_FAMILY=mapped
# shellcheck source=bank.sh
. "$(dirname "$0")/bank.sh"
