# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool as the leg of a pool; legs by long names
# timeout: 150
# turn: stacked */target/*.c
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 160
long=/dev/$(printf 'l%.0s' {1..120})
ln -s /dev/a "$long"; at_exit "rm -f $long"
dmsetup create p --table "0 $(sectors_of 128) kvpool - 3 format name=p log_size=8M single 1 $long"
expect_stat p leg.0.path "$long"
mksim b 96
ln -s /dev/b /dev/lb; at_exit "rm -f /dev/lb"
dmsetup create r --table "0 $(sectors_of 64) kvpool - 3 format name=r log_size=8M single 1 /dev/$(printf './%.0s' {1..150})lb"
expect_eq "$(stat_of r leg.0.path)" "$(lsblk -dno MAJ:MIN /dev/b | tr -d ' ')" "a name too long to keep"
dmsetup remove --retry r

echo "--- a pool on a pool"
dmsetup create q --table "0 $(sectors_of 96) kvpool - 4 format name=q log_size=8M write_buffer=4M single 1 /dev/mapper/p"
# both must write much home at the same time, and flush
for g in 1 2 3; do
	oracle write /dev/mapper/q 0 $((96 * 256)) $g bs=16 fsync & one=$!
	dmsetup message q 0 checkpoint; dmsetup message p 0 checkpoint
	wait $one
	expect_eq "$(oracle show /dev/mapper/q 0 $((96 * 256)))" "0 $((96 * 256)) v$g"
done
scrub q; scrub p
table=$(dmsetup table q)
dmsetup remove --retry q
dmsetup create q --table "$table"
expect_eq "$(oracle show /dev/mapper/q 0 $((96 * 256)))" "0 $((96 * 256)) v3"
dmsetup remove --retry q
dmsetup remove --retry p
