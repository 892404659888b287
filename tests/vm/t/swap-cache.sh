# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: swap on a pool with a cache that holds less than is swapped, with next to no memory free: programs go on, and find what they left
# timeout: 240
# long: takes the memory of the whole machine, and minutes where that is emulated
# needs: gcc mkswap swapon
. "$KVPOOL_TOP/tests/vm/swap.sh"
# These disks are memory, too: all of it is taken before it gets scarce.
mksim a 400 cache=0; mksim b 400 cache=0; mksim c 96 cache=0; mksim d 96 cache=0
dmsetup create p --table "0 $(sectors_of 352) kvpool - 7 format name=p log_size=32M write_buffer=8M table_cache=4M ram_cache=4M cache_mode=writeback mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
before=$(stat_of p ssd.written_data)
swap_on_it
logged=$((($(stat_of p ssd.written_data) - before) >> 20))
echo "$logged MiB through the log of each SSD"
# Twice what the buffer has pages for: versions had to be parked, and be read again to go home.
[ $logged -gt 16 ] || fail "hardly anything went through the cache"
expect_stat p log.on cache
