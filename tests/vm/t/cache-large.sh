# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache of 8 TiB, the maximum: made, read from, imported; its memory grows with the data written, not with the SSD
# timeout: 400
# long: two minutes where that is emulated
# needs: python3 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
no_udev
sync; echo 1 > /proc/sys/vm/drop_caches
# More than the index can number, with the copies of the table.
mksim a 160; mksim b 160; mksim c $((9 << 20))
dev=/dev/mapper/tank
mib=1048576
available() { awk '$1 == "MemAvailable:" { printf "%d", $2 * 1024 }' /proc/meminfo; }
# costs WHAT PASSED: at most PASSED bytes went through the log.
costs() {
	local ram most taken
	ram=$(stat_of tank ssd.ram)
	# a pointer for each 16 MiB of the SSD, the locks, and 16 bytes for each block, in
	# chunks
	most=$((8 * (1 << 19) + 128 * 1024 + (($2 >> 24) + 2) * 64 * 1024))
	echo "$1: $ram bytes of index, at most $most"
	[ "$ram" -le $most ] || fail "$1: the index takes $ram bytes, after $2 bytes of log; at most $most"
	# with the disks, which are in RAM, and the pool's buffers; the ghost has its full
	# size from the start
	taken=$((before - $(available) - $(stat_of tank memory.fills)))
	[ $taken -le $((512 * mib)) ] || fail "$1: $((taken / mib)) MiB of memory are gone"
}
passed() {
	local n=0 key
	for key in data headers parity fills reinserted; do n=$((n + $(stat_of tank ssd.written_$key))); done
	echo $n
}
# Every byte holds its place and the SEED of its write. SEED FROM MIB, the latter two in
# MiB.
random() {
	local rw=$1 seed=$2 from=$3 size=$4
	shift 4
	fio --name=f --filename=$dev --ioengine=libaio --direct=1 --rw="$rw" --bs=4k --iodepth=16 --offset="${from}m" --size="${size}m" \
		--verify=pattern --verify_pattern="%o0x0000000$seed" --verify_fatal=1 --verify_state_save=0 --randseed="$seed" \
		"$@" > /tmp/fio.txt 2>&1 || fail "$rw $seed $from $size: $(cat /tmp/fio.txt)"
}
put() { random randwrite "$@" --do_verify=0 --end_fsync=1; }
is_there() { random randread "$@"; }
# from_ssd BLOCKS SEED FROM MIB: the data is right, and at least BLOCKS blocks come from
# the SSD.
from_ssd() {
	local least=$1 hits
	shift
	hits=$(stat_of tank ssd.hits)
	is_there "$@"
	hits=$(($(stat_of tank ssd.hits) - hits))
	[ $hits -ge "$least" ] || fail "only $hits blocks were read from the SSD"
}

echo "--- made"
before=$(available)
run 0 create -f -o cache_mode=writeback -o log_size=8M -o ram_cache=0 tank mirror /dev/a /dev/b cache /dev/c
expect_stat tank log.on cache
expect_stat tank ssd.size $((8 << 40))
costs "made" 0
first=$(stat_of tank ssd.ram)
ghost=$(stat_of tank memory.fills)
[[ $ghost -ge $((1024 * mib)) && $ghost -le $((1026 * mib)) ]] || fail "fills of so large a cache take $ghost bytes, not their most, 1 GiB"

echo "--- written, written home, and read from the SSD"
put 1 0 32
dmsetup message tank 0 checkpoint
log=$(passed)
[ "$log" -ge $((32 * mib)) ] || fail "only $log bytes went through the cache"
costs "written" "$log"
[ "$(stat_of tank ssd.ram)" -gt "$first" ] || fail "an index that has not grown knows of 32 MiB"
from_ssd 6000 1 0 32

echo "--- imported, with a log that is not empty"
put 2 8 4
log=$(passed)
simset all power_cut now
dmsetup remove --retry tank
simset all power_restore 1
run 0 import tank
expect_stat tank log.on cache
expect_stat tank ssd.size $((8 << 40))
# by at most two segments, when the log goes on
costs "imported" $((log + 4 * mib))
is_there 1 0 8
is_there 2 8 4
is_there 1 12 20

echo "--- and read from the SSD again"
put 3 0 8
dmsetup message tank 0 checkpoint
costs "written again" $((log + 4 * mib + $(passed)))
from_ssd 1500 3 0 8
is_there 2 8 4
is_there 1 12 20
expect_fail grep -q no_memory <<< "$(dmsetup message tank 0 events)"
scrub tank

echo "--- taken out"
run 0 remove tank cache
is_there 3 0 8
is_there 1 12 20
