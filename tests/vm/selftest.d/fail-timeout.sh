# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: takes too long
# timeout: 5
. "$KVPOOL_TOP/tests/vm/lib.sh"

sleep 1000
