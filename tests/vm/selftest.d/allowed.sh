# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: passes: the I/O error in the kernel log was announced
# kmsg-allow: I/O error, dev x,
. "$KVPOOL_TOP/tests/vm/lib.sh"
expect_eq "$(find /tmp -maxdepth 1 -name kvpool-left)" "" "files of another test"

echo "<3>I/O error, dev x, sector 0" > /dev/kmsg
