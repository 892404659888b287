# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: a program crashed, though nothing waited for it
# needs: python3
. "$KVPOOL_TOP/tests/vm/lib.sh"

expect_status 139 python3 -c 'import ctypes; ctypes.string_at(0)'
