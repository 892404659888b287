# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: never reaches its end
. "$KVPOOL_TOP/tests/vm/lib.sh"

return 0
