# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a mirror is made with dmsetup alone, keeps data over a restart, unwritten blocks read as zeros
# timeout: 120
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
mknull a 256; mknull b 256
dmsetup create p --table "0 262144 kvpool - 2 format name=p mirror 2 /dev/a /dev/b"
dmsetup status p
dmsetup table p
cmp -n $((4 << 20)) /dev/mapper/p /dev/zero
dd if=/dev/urandom of=/tmp/data bs=1M count=24 status=none
dd if=/tmp/data of=/dev/mapper/p bs=1M oflag=direct conv=fsync status=none
cmp -n $((24 << 20)) /tmp/data /dev/mapper/p
head -80 <<< "$(dmsetup message p 0 stats)"
dmsetup message p 0 checkpoint
dmsetup status p
echo 3 > /proc/sys/vm/drop_caches
cmp -n $((24 << 20)) /tmp/data /dev/mapper/p
table=$(dmsetup table p)
udevadm settle # it probes devices that were written to
dmsetup remove --retry p
dmsetup create p --table "$table"
dmsetup status p
cmp -n $((24 << 20)) /tmp/data /dev/mapper/p
cmp -i $((24 << 20)):0 -n $((4 << 20)) /dev/mapper/p /dev/zero
