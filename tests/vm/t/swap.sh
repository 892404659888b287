# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: swap on a pool, with next to no memory free: programs go on, and find what they left
# timeout: 200
# long: takes the memory of the whole machine, and minutes where that is emulated
# needs: gcc mkswap swapon
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
# These disks are memory, too: all of it is taken before it gets scarce.
mksim a 400 cache=0; mksim b 400 cache=0
dmsetup create p --table "0 $(sectors_of 352) kvpool - 5 format name=p log_size=32M write_buffer=8M table_cache=4M mirror 2 /dev/a /dev/b"
oracle write /dev/mapper/p 0 $((352 * 256)) 1 bs=256 fsync
dmsetup message p 0 checkpoint
mkswap /dev/mapper/p
swapon /dev/mapper/p
# Huge pages cannot be swapped: they leave about 150 MiB to everyone else.
at_exit "echo 0 > /proc/sys/vm/nr_hugepages"
sync; echo 3 > /proc/sys/vm/drop_caches
free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
echo $(((free_mib - 150) / 2)) > /proc/sys/vm/nr_hugepages
grep -E 'Mem(Free|Available)|HugePages_Total' /proc/meminfo
before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
# Two at once, a third more than there is free, each with less than swap has room for beside the other.
free_mib=$(awk '/^MemFree/ { print int($2 / 1024) }' /proc/meminfo)
[ "$free_mib" -le 320 ] || free_mib=320
oracle hog $((free_mib * 2 / 3)) 3 & one=$!
oracle hog $((free_mib * 2 / 3)) 3 & two=$!
wait $one || fail "the first program: $?"
wait $two || fail "the second program: $?"
after=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
echo "$((after - before)) pages swapped out"
[ $((after - before)) -gt 10000 ] || fail "hardly anything was swapped"
echo 0 > /proc/sys/vm/nr_hugepages
swapoff /dev/mapper/p
for l in 0 1; do
	expect_stat p leg.$l.state online
	expect_stat p leg.$l.err_checksum 0
	expect_stat p leg.$l.err_write 0
done
scrub p
