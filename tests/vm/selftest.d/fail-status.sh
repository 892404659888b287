# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: a command failed
. "$KVPOOL_TOP/tests/vm/lib.sh"

(exit 7)
