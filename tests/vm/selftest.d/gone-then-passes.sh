# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: passes, after the crash
. "$KVPOOL_TOP/tests/vm/lib.sh"

true
