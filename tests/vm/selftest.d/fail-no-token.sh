# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: status 0 and no token
. "$KVPOOL_TOP/tests/vm/lib.sh"

trap - EXIT
