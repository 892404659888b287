# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: features of other caches, by docs/coming-from.md, under a file system in use
# timeout: 400
# turn: cache-in-use */cache/admission.c
# needs: gcc python3 mkfs.ext4 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"

ram() { run 0 status -j tank; json "pools.0.ram.$1"; }

kept() {
	echo 3 > /proc/sys/vm/drop_caches
	expect_eq "$(sha256sum < /tmp/m/kept)" "$sum" "$1"
}
mkdir -p /tmp/m
# file_system MIB: make and mount it, with a file of that size.
file_system() {
	mkfs.ext4 -q -E nodiscard,lazy_itable_init=0 /dev/mapper/tank
	mount /dev/mapper/tank /tmp/m
	dd if=/dev/urandom of=/tmp/m/kept bs=1M count="$1" conv=fsync status=none
	sum=$(sha256sum < /tmp/m/kept)
}

echo "--- FlashCache, flashcache_create -p: made in a given mode"
for mode in thru:writethrough around:writearound; do
	run 0 create -f "${log[@]}" -o cache_mode=${mode#*:} tank mirror /dev/a /dev/b cache /dev/c
	mode_is ${mode#*:} legs
	file_system 2
	kept "${mode%:*}"
	umount /tmp/m
	run 0 destroy tank
	blank
done

echo "--- bcache: one SSD for several disks"
run 0 create -f "${log[@]}" tank single /dev/a single /dev/b cache /dev/c
mode_is writeback cache
file_system 8

echo "--- bcache, FlashCache: sequential I/O bypasses the cache; the rate of writing home"
for setting in seq_cutoff_read=512K seq_cutoff_write=512K destage_min_rate=1M fill_dwpd=0.25; do
	run 0 set tank $setting
done
expect_eq "$(kvpoolctl get -p tank seq_cutoff_write) $(kvpoolctl get -p tank destage_min_rate)" "524288 1048576"
expect_eq "$(kvpoolctl get tank fill_dwpd)" 0.25
run 2 set tank fill_dwpd=0.125; has err 'two digits'
dmsetup message tank 0 checkpoint
before=$(stat_of tank log.intent_blocks)
dd if=/dev/urandom of=/tmp/m/stream bs=1M count=8 oflag=direct conv=fsync status=none
after=$(stat_of tank log.intent_blocks)
[ "$after" -gt "$before" ] || fail "a stream of 8 MiB went through the cache"
begin_load

echo "--- dm-cache, FlashCache, EnhanceIO: write-through, write-around, write-back"
for mode in writethrough:legs writearound:legs writeback:cache; do
	run 0 set tank cache_mode=${mode%:*}
	mode_is ${mode%:*} ${mode#*:}
done

echo "--- dm-writecache: write everything home now"
dmsetup message tank 0 checkpoint

echo "--- dm-cache, lvconvert --uncache: cancelled"
# A drain must be there to cancel, however slow the tools are. So no data is written home
# in idle time. The disks become slow only once much is dirty: a round that was sent
# before would end in the middle of this part.
idle=$(kvpoolctl get -p tank destage_idle_ms)
run 0 set tank destage_idle_ms=86400000
for _ in {1..10}; do
	for d in a b; do simset $d delay_us 0; done
	fio --name=dirty --directory=/tmp/m --rw=randwrite --bs=4k --size=8m --ioengine=libaio --iodepth=32 --direct=1 \
		--output=/tmp/dirty.log || fail "fio: $(cat /tmp/dirty.log)"
	for d in a b; do simset $d delay_us 30000000; done
	sleep 1
	[ $(($(stat_of tank log.used) * 3)) -lt "$(stat_of tank log.size)" ] || break
done
kvpoolctl remove tank cache > /tmp/removed 2>&1 &
remover=$!
wait_stat tank drain.state running
run 0 metrics
has out '^kvpool_drain_state\{pool="tank",state="running"\} 1$'; has out '^kvpool_drain_left_bytes\{pool="tank"\} [1-9]'
run 0 cancel tank drain
for d in a b; do simset $d delay_us 0; done
expect_fail wait $remover
grep -q cancelled /tmp/removed || fail "remove: $(cat /tmp/removed)"
expect_stat tank drain.state cancelled
mode_is writeback cache
run 0 set tank destage_idle_ms="$idle"
kept "the drain was cancelled"

echo "--- EnhanceIO, lvconvert --uncache: off, and on again"
run 0 remove tank cache
run 0 status -j tank; expect_eq "$(json pools.0.cache)" null
run 0 add -f tank cache /dev/c
mode_is writeback cache

echo "--- dm-cache, lvconvert --type cache --cachepool: two SSDs that are one cache"
run 0 remove tank cache
run 0 add -f tank cache mirror /dev/d /dev/e
mode_is writeback cache
run 0 status -j tank
expect_eq "$(json pools.0.cache.legs.0.state) $(json pools.0.cache.legs.1.state)" "online online"
kept "two SSDs"

echo "--- RapidDisk: RAM as a write-through cache: on, another size, off"
run 0 set tank ram_cache=16M
echo 3 > /proc/sys/vm/drop_caches
for i in 1 2; do dd if=/tmp/m/kept of=/dev/null bs=64K iflag=direct status=none; done
[ "$(ram hits)" -gt 0 ] || fail "nothing was read from RAM"
expect_eq "$(ram read_cache)" $((16 << 20))
for size in 4 24; do
	run 0 set tank ram_cache=${size}M
	expect_eq "$(ram read_cache)" $((size << 20))
	[ "$(stat_of tank ram.read_cache_used)" -le $((size << 20)) ] || fail "more than $size MiB are used"
	hits=$(ram hits)
	for i in 1 2; do
		expect_eq "$(dd if=/tmp/m/kept bs=64K iflag=direct status=none | sha256sum)" "$sum" "a RAM cache of $size MiB"
	done
	[ "$(ram hits)" -gt "$hits" ] || fail "nothing was read from RAM when it was $size MiB"
done
dmsetup message tank 0 drop_caches
run 0 set tank ram_cache=0
expect_eq "$(stat_of tank ram.read_cache_used)" 0

echo "--- statistics"
run 0 status -j tank
for key in hits misses fills dirty clean amplification destage_rate ram_bytes; do
	[ "$(json pools.0.cache.$key)" -ge 0 ] || fail "no cache.$key"
done
run 0 iostat -j tank
run 0 metrics; has out kvpool_

echo "--- all written data is there"
end_load
kept "in the end"
umount /tmp/m
fsck.ext4 -fn /dev/mapper/tank > /tmp/fsck.log 2>&1 || fail "fsck: $(cat /tmp/fsck.log)"
scrub tank
run 0 export tank
