# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache of kind parity1 on three SSDs: a filesystem, power cuts, one SSD that dies or is missing, a second one; SSDs are replaced, and brought online; it is removed and added; beside a parity1
# timeout: 400
# turn: ssds-come-and-go */log/rows.c */logstripe.c */recovery/stripes.c
# needs: gcc python3 mkfs.ext4 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
for d in f g h; do mksim $d 64; done
ssds=(/dev/c /dev/d /dev/e)
blank_ssds() { for d; do dd if=/dev/zero of="/dev/$d" bs=1M count=32 oflag=direct conv=fsync status=none; done; }
is_degraded() { ! kvpoolctl status -j tank > /tmp/degraded && grep -q faulted /tmp/degraded; }
# is_whole SSD SSD SSD: these SSDs carry the log, and any one may be lost.
is_whole() {
	mode_is writeback cache
	expect_eq "$(json pools.0.cache.legs.0.path) $(json pools.0.cache.legs.1.path) $(json pools.0.cache.legs.2.path)" "$*"
	expect_eq "$(json pools.0.cache.state) $(json pools.0.losses_survivable)" "online 1"
}

echo "--- layouts that are refused"
refused 2 usage 'has 3 to 16 legs, not 2' create -f "${log[@]}" tank mirror /dev/a /dev/b cache parity1 /dev/c /dev/d
expect_fail dmsetup create tank --table "0 $(sectors_of 64) kvpool - 2 format name=tank single 1 /dev/a cache-parity1 2 /dev/c /dev/d"

echo "--- made, and a filesystem on it"
run 0 create -f -n "${log[@]}" tank mirror /dev/a /dev/b cache parity1 "${ssds[@]}"
has out 'and cache-parity1 of 3'; has out '^cache +[0-9.]+ MiB'; has out '^survives +loss of 1 leg'
run 0 create -f -n -j "${log[@]}" tank mirror /dev/a /dev/b cache parity1 "${ssds[@]}"
size=$(json plan.cache_size) dirty=$(json plan.cache_dirty_max)
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache parity1 "${ssds[@]}"; hasnt err note
[[ $(dmsetup table tank) = *" mirror 2 "*" cache-parity1 3 "* ]] || fail "table line: $(dmsetup table tank)"
run 0 status tank; has out 'on the cache'; has out '^ +cache-parity1 +online'; has out '/dev/e +online'
run 0 status -j tank
expect_eq "$(json pools.0.cache.kind) $(json pools.0.cache.mode) $(json pools.0.cache.state)" "cache-parity1 writeback online"
expect_eq "$(json pools.0.losses_survivable) $(json pools.0.cache.size)" "1 $size" "what the plan said"
expect_eq "$(kvpoolctl get -p tank cache_dirty_max) $((dirty <= size))" "$dirty 1"
run 0 inspect -j /dev/d; expect_eq "$(json inspect.superblock.incompat)" $((2 + 4 + 64 + 4096))
mkfs.ext4 -q -E nodiscard /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
dd if=/dev/urandom of=/tmp/m/kept bs=1M count=4 conv=fsync status=none
sum=$(sha256sum < /tmp/m/kept)
begin_load

echo "--- all modes, under load"
for mode in writethrough writearound writeback writearound writethrough writeback; do
	run 0 set tank cache_mode=$mode
	if [ $mode = writeback ]; then mode_is writeback cache; else mode_is $mode legs; fi
	echo 3 > /proc/sys/vm/drop_caches
	expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
done

echo "--- an SSD is replaced, one dies and is replaced, one is out and comes back, under load; then another is lost"
run 0 replace -n tank /dev/c /dev/f; has out 'would replace /dev/c by /dev/f'; has out '^survives  loss of 1 leg.*now 1'
run 0 replace -j tank /dev/c /dev/f
is_whole /dev/f /dev/d /dev/e
run 1 inspect /dev/c
simset d dead 1
retry 60 is_degraded
run 4 status tank; has out 'advice: SSD /dev/d .*kvpoolctl replace tank /dev/d NEW.*kvpoolctl online tank /dev/d'
run 0 replace tank /dev/d /dev/c
simset d dead 0
is_whole /dev/f /dev/c /dev/e
run 0 offline tank /dev/e
run 4 status -j tank; expect_eq "$(json pools.0.losses_survivable)" 0
run 0 online -n tank /dev/e; has out 'would bring /dev/e online'; has out '^survives  loss of 1 leg.*now 0'
run 0 online -j tank /dev/e
is_whole /dev/f /dev/c /dev/e
expect_eq "$(event_count tank cache_exchanged)" 3 "events cache_exchanged"
simset f dead 1
retry 60 is_degraded
end_load
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
umount /tmp/m
cut_power
simset f dead 0
run 0 import tank
blank_ssds d
run 4 status -j tank; uuid=$(json pools.0.cache.legs.0.uuid)
run 0 replace tank "$uuid" /dev/d
is_whole /dev/d /dev/c /dev/e
mount /dev/mapper/tank /tmp/m
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
umount /tmp/m
e2fsck -fn /dev/mapper/tank > /tmp/fsck.txt 2>&1 || fail "$(cat /tmp/fsck.txt)"

echo "--- changes that are refused"
refused 3 refused 'number of SSDs of a parity1 cache is fixed' attach tank /dev/c /dev/f
refused 3 refused 'number of SSDs of a parity1 cache is fixed' detach tank /dev/c
refused 3 refused 'it is in use' online tank /dev/c
refused 3 refused 'it is in use' online tank /dev/a
mode_is writeback cache

echo "--- the power goes with much in the log"
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
dmsetup message tank 0 checkpoint
oracle write /dev/mapper/tank 0 512 2 fsync bs=4
cut_power
run 0 import tank
all_is v2

echo "--- an SSD is missing afterwards: the others have it all; with two missing it is refused"
oracle write /dev/mapper/tank 0 512 3 fsync bs=4
oracle write /dev/mapper/tank 7 3 4 fsync bs=1
cut_power
refused 3 no_cache 'only 1 of 3 SSDs' import -d /dev/a -d /dev/b -d /dev/e tank
run 0 import -d /dev/a -d /dev/b -d /dev/d -d /dev/e tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 7 v3,7 3 v4,10 502 v3,"
run 4 status -j tank
expect_eq "$(json pools.0.cache.state) $(json pools.0.losses_survivable)" "degraded 0"
oracle write /dev/mapper/tank 0 512 5 fsync bs=4
cut_power
run 0 import tank
all_is v5
scrub tank

echo "--- removed, and added anew"
run 0 remove tank cache
run 0 status -j tank; expect_eq "$(json pools.0.cache)" null
all_is v5
blank_ssds c d e
run 0 add -f tank cache parity1 "${ssds[@]}"; hasnt err note
mode_is writeback cache
all_is v5

echo "--- an SSD dies while the pool runs, then the power goes"
oracle write /dev/mapper/tank 0 512 6 fsync bs=4
simset c dead 1
oracle write /dev/mapper/tank 0 512 7 fsync bs=4
run 4 status -j tank
expect_eq "$(json pools.0.cache.state) $(json pools.0.cache.legs.0.state)" "degraded faulted"
expect_eq "$(json pools.0.losses_survivable)" 0
all_is v7
cut_power
simset c dead 0
run 0 import tank
all_is v7
expect_stat tank log.on cache

echo "--- a second one dies: the log moves to the legs, and no data is lost"
oracle write /dev/mapper/tank 0 512 8 fsync bs=4
moved=$(event_count tank log_moved)
simset d dead 1
oracle write /dev/mapper/tank 0 256 9 fsync bs=4
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 256 v9,256 256 v8,"
expect_eq "$(event_count tank log_moved)" $((moved + 1)) "events log_moved"
expect_stat tank log.on legs
run 4 status -j tank
expect_eq "$(json pools.0.cache.mode) $(json pools.0.cache.state) $(json pools.0.state)" "writeback faulted degraded"
cut_power
simset d dead 0
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 256 v9,256 256 v8,"
refused 3 refused 'too few SSDs' set tank cache_mode=writeback
run 0 remove tank cache
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 256 v9,256 256 v8,"
scrub tank
run 0 destroy tank

echo "--- beside a parity1: a power cut kills a disk and an SSD, while parts of rows are in flight"
blank_ssds c d e
run 0 create -f "${log[@]}" tank parity1 /dev/f /dev/g /dev/h cache parity1 "${ssds[@]}"; hasnt err note
[[ $(dmsetup table tank) = *" parity1 3 "*" cache-parity1 3 "* ]] || fail "table line: $(dmsetup table tank)"
mode_is writeback cache
expect_eq "$(json pools.0.losses_survivable)" 1
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
dmsetup message tank 0 checkpoint
oracle write /dev/mapper/tank 3 100 2 fsync bs=1
cut_power
run 0 import -d /dev/f -d /dev/h -d /dev/c -d /dev/e tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 3 v1,3 100 v2,103 409 v1,"
run 4 status -j tank
expect_eq "$(json pools.0.cache.state) $(json pools.0.losses_survivable)" "degraded 0"
oracle write /dev/mapper/tank 50 60 3 fsync bs=1
cut_power
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 3 v1,3 47 v2,50 60 v3,110 402 v1,"
scrub tank
run 0 destroy tank

echo "--- the same, added to a pool"
blank_ssds c d e
for d in a b f g h; do dd if=/dev/zero of=/dev/$d bs=1M count=64 oflag=direct conv=fsync status=none; done
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache parity1 "${ssds[@]}"; hasnt err note
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
run 0 add -f "${log[@]}" tank parity1 /dev/f /dev/g /dev/h
mode_is writeback cache
all_is v1
blocks=$(($(blockdev --getsz /dev/mapper/tank) / 8))
oracle write /dev/mapper/tank $((blocks - 500)) 500 2 fsync bs=1
cut_power
run 0 import tank
all_is v1
expect_eq "$(oracle show /dev/mapper/tank $((blocks - 500)) 500 bs=1)" "$((blocks - 500)) 500 v2"
scrub tank
run 0 destroy tank
check_json
