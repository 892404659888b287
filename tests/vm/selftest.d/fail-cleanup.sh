# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
. "$KVPOOL_TOP/tests/vm/lib.sh"

at_exit false
