# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: legs whose size is no multiple of 4096 bytes, with sectors of 512
# turn: stacked */format/layout.c
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
modprobe loop
for i in 0 1; do
	truncate -s $((48 * 1024 * 1024 + 512 * (3 + 2 * i))) /tmp/odd$i
	loop[i]=$(losetup -f --show /tmp/odd$i)
	expect_eq "$(blockdev --getss "${loop[i]}")" 512
done
dmsetup create p --table "0 $(sectors_of 24) kvpool - 2 format log_size=4M mirror 2 ${loop[*]}"
table=$(dmsetup table p)
oracle write /dev/mapper/p 0 4096 1 fsync bs=64
dmsetup remove --retry p
dmsetup create p --table "$table"
expect_eq "$(oracle show /dev/mapper/p 0 4096)" "0 4096 v1"
dmsetup suspend p
dmsetup reload p --table "$table"
dmsetup resume p
expect_eq "$(oracle show /dev/mapper/p 0 4096)" "0 4096 v1"
