# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: swap on a pool with a cache smaller than the swapped memory, with almost no memory free: programs go on, and find their data
# timeout: 240
# long: takes the memory of the whole machine, and minutes where that is emulated
# needs: gcc mkswap swapon
. "$KVPOOL_TOP/tests/vm/swap.sh"
# These disks are memory too: all of it is taken before memory gets scarce. The pool writes all of
# its homes first, but streams pass the SSDs. Where labels go, the SSDs stay empty.
mksim a 400 cache=0; mksim b 400 cache=0; mksim c 96 cache=0; mksim d 96 cache=0
for ssd in c d; do dd if=/dev/urandom of=/dev/$ssd bs=1M seek=2 count=92 oflag=direct status=none; done
dmsetup create p --table "0 $(sectors_of 352) kvpool - 7 format name=p log_size=32M write_buffer=8M table_cache=4M ram_cache=4M cache_mode=writeback mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
before=$(stat_of p ssd.written_data)
swap_on_it
logged=$((($(stat_of p ssd.written_data) - before) >> 20))
echo "$logged MiB through the log of each SSD"
# Twice the pages of the buffer: versions had to be spilled, and reloaded to be written
# home.
[ $logged -gt 16 ] || fail "hardly anything went through the cache"
expect_stat p log.on cache
