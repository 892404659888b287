# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: BUG in the kernel log
. "$KVPOOL_TOP/tests/vm/lib.sh"

echo "<0>BUG: sleeping function called" > /dev/kmsg
