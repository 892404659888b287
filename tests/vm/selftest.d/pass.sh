# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: passes, with a disk, a filesystem and a dm device that it leaves behind
. "$KVPOOL_TOP/tests/vm/lib.sh"

mknull small 64
expect_eq "$(blockdev --getsize64 /dev/small)" $((64 << 20)) size
modprobe dm-mod
dmsetup create over --table "0 $(blockdev --getsz /dev/small) linear /dev/small 0"
mkfs.ext4 -q /dev/mapper/over
mkdir -p /tmp/mnt
mount /dev/mapper/over /tmp/mnt
sleep 100 &
expect_fail test -e /nowhere
expect_status 2 ls /nowhere
[ "$(id -u)" = 0 ] && echo "root, no kernel module of ours needed"
