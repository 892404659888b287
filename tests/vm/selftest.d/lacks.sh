# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: is skipped: a program is missing
# needs: no-such-program
. "$KVPOOL_TOP/tests/vm/lib.sh"

false
