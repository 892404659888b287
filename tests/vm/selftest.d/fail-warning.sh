# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: WARNING in the kernel log
# kmsg-allow: WARNING
. "$KVPOOL_TOP/tests/vm/lib.sh"

echo "<4>WARNING: CPU: 0 PID: 1 at x.c:1 f+0x1/0x2" > /dev/kmsg
