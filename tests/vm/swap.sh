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
	local free_mib before after one two l try
	oracle write /dev/mapper/p 0 $((352 * 256)) 1 bs=256 fsync
	dmsetup message p 0 checkpoint
	mkswap /dev/mapper/p
	swapon /dev/mapper/p
	# Huge pages cannot be swapped: they leave about 150 MiB for everything else.
	at_exit "echo 0 > /proc/sys/vm/nr_hugepages"
	sync; echo 3 > /proc/sys/vm/drop_caches
	free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
	# Memory may be in pieces that are too small for one: then what is free is moved together.
	for try in 1 2 3 4 5; do
		echo $(((free_mib - 150) / 2)) > /proc/sys/vm/nr_hugepages
		[ "$(awk '/^MemFree/ { print int($2 / 1024) }' /proc/meminfo)" -gt 320 ] || break
		echo "try $try: too much memory is free"
		echo 1 > /proc/sys/vm/compact_memory
	done
	grep -E 'Mem(Free|Available)|HugePages_Total' /proc/meminfo
	before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
	# Two, together a third more than the free memory, or 300 MiB, and both have theirs at
	# once: one that was done before the other began would find room without swap. Swap has
	# room for both, and for the other programs.
	free_mib=$(awk '/^MemFree/ { print int($2 / 1024) }' /proc/meminfo)
	[ "$free_mib" -le 225 ] || free_mib=225
	rm -f /tmp/hogs
	oracle hog $((free_mib * 2 / 3)) 3 /tmp/hogs 2 & one=$!
	oracle hog $((free_mib * 2 / 3)) 3 /tmp/hogs 2 & two=$!
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
