# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: passes: an allocation that may fail, and its trace
# kmsg-allow: vmalloc error
. "$KVPOOL_TOP/tests/vm/lib.sh"
mkdir /tmp/kvpool-left; touch /tmp/kvpool-left/file # the next test must not find them

echo "<4>dmsetup: vmalloc error: size 65536, vm_struct allocation failed" > /dev/kmsg
echo "<4>Call Trace:" > /dev/kmsg
