# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: what it used cannot be released
. "$KVPOOL_TOP/tests/vm/lib.sh"

at_exit false
