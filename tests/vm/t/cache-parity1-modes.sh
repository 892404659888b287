# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache of kind parity1 without the log: it has blocks that were written and read, also without one of its SSDs; after a power cut in writearound nothing older; the log comes and leaves
# timeout: 150
# turn: ssds-come-and-go */cachemode.c
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
ssds=(/dev/c /dev/d /dev/e)
is_in() { expect_eq "$(kvpoolctl get tank cache_mode)" "$1"; expect_stat tank log.on "$2"; }
# read_there BLOCKS: that many blocks are read from the SSDs. All others are admitted.
read_there() {
	local before
	dmsetup message tank 0 drop_caches
	before=$(stat_of tank ssd.hits)
	all_is v1
	[ $(($(stat_of tank ssd.hits) - before)) -ge "$1" ]
}

echo "--- made without the log: written and read blocks are on the SSDs"
run 0 create -f "${log[@]}" -o cache_mode=writethrough tank mirror /dev/a /dev/b cache parity1 "${ssds[@]}"
has err 'the cache is write-through: the log stays on the legs'
mode_is writethrough legs
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
dmsetup message tank 0 checkpoint
retry 30 read_there 150
expect_stat tank ssd.mistrusted 0

echo "--- without one of its SSDs, too"
run 0 offline tank /dev/d
retry 30 read_there 150
expect_stat tank ssd.mistrusted 0

echo "--- written past it; the power goes"
run 0 set tank cache_mode=writearound
oracle write /dev/mapper/tank 100 64 2 fsync bs=4
cut_power
run 0 import tank
is_in writearound legs
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 100 v1,100 64 v2,164 348 v1,"
expect_stat tank ssd.mistrusted 0

echo "--- the SSD is back, the log comes, and leaves"
run 0 online tank /dev/d
run 0 set tank cache_mode=writeback
mode_is writeback cache
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
run 0 set tank cache_mode=writethrough
mode_is writethrough legs
all_is v1
run 0 destroy tank
