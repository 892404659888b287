# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# kmsg-allow: vmalloc error
. "$KVPOOL_TOP/tests/vm/lib.sh"

echo "<4>dmsetup: vmalloc error: size 65536, vm_struct allocation failed" > /dev/kmsg
echo "<4>Call Trace:" > /dev/kmsg
echo "<4>Call Trace:" > /dev/kmsg
