# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: swap on a pool, with almost no memory free: programs go on, and find their data
# timeout: 200
# long: takes the memory of the whole machine, and minutes where that is emulated
# needs: gcc mkswap swapon
. "$KVPOOL_TOP/tests/vm/swap.sh"
# these disks are memory too: all of it is taken before memory gets scarce
mksim a 400 cache=0; mksim b 400 cache=0
dmsetup create p --table "0 $(sectors_of 352) kvpool - 5 format name=p log_size=32M write_buffer=8M table_cache=4M mirror 2 /dev/a /dev/b"
swap_on_it
