# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests swap*, which make a pool p of 352 MiB and call swap_on_it. Two programs
# with more memory than the machine has run, and find their data unchanged. The pool
# reports no error.
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev

swap_on_it() {
	local free_mib before after one two l
	oracle write /dev/mapper/p 0 $((352 * 256)) 1 bs=256 fsync
	dmsetup message p 0 checkpoint
	mkswap /dev/mapper/p
	swapon /dev/mapper/p
	# Huge pages cannot be swapped: they leave about 150 MiB for everything else.
	at_exit "echo 0 > /proc/sys/vm/nr_hugepages"
	sync; echo 3 > /proc/sys/vm/drop_caches
	free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
	echo $(((free_mib - 150) / 2)) > /proc/sys/vm/nr_hugepages
	grep -E 'Mem(Free|Available)|HugePages_Total' /proc/meminfo
	before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
	# Two at once, together a third more than the free memory. Each takes less than
	# swap can hold beside the other.
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
	for l in $(dmsetup message p 0 stats | sed -n 's/^leg\.\([0-9]*\)\.state=.*/\1/p'); do
		expect_stat p "leg.$l.state" online
		expect_stat p "leg.$l.err_checksum" 0
		expect_stat p "leg.$l.err_write" 0
	done
	expect_stat p poisoned_blocks 0
	scrub p
}
