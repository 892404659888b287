# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: expect_fail of a success
. "$KVPOOL_TOP/tests/vm/lib.sh"

expect_fail true
