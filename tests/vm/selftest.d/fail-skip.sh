# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: a skip needs a reason
. "$KVPOOL_TOP/tests/vm/lib.sh"

skip
