#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Members on one host that talk IPv6 over loopback.
#
# timeout: 180

BANK_FAMILY=6
# shellcheck source=loopback.sh
. "$(dirname "$0")/loopback.sh"
