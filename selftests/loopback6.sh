#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Members on one host that talk IPv6 over loopback.
#
# timeout: 180

# The same code as in the test for IPv4: fewer will do.
FULL=${FULL:-2}
LIGHT=${LIGHT:-10}
BANK_FAMILY=6
# shellcheck source=loopback.sh
. "$(dirname "$0")/loopback.sh"
