# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
. "$KVPOOL_TOP/tests/vm/lib.sh"

echo "<3>I/O error, dev x, sector 0" > /dev/kmsg
