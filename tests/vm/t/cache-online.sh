# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache joins, its mode is changed, it leaves dirty, under writes to a mounted filesystem; and power cuts during these
# timeout: 500
# turn: ssds-come-and-go */pool/add.c */pool/cacheremove.c */cachemode.c
# needs: gcc python3 mkfs.ext4 fio
# kmsg-allow: I/O error|EXT4-fs|JBD2|Buffer I/O
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"

echo "--- refused in words"
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
refused 3 refused 'no cache' set tank cache_mode=writeback
run 0 destroy tank
blank
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c
mode_is writethrough legs
refused 3 refused 'on one SSD' set tank cache_mode=writeback
refused 2 usage 'only cache_mode' set -f tank strict=1

echo "--- it leaves, idle; the SSD is blank; it joins, and one SSD stays idle"
run 0 remove -n tank cache; has out 'would take the cache out'; has out '^survives +loss of 1 leg.s., now 1$'
run 0 remove tank cache
run 0 status -j tank; expect_eq "$(json pools.0.cache)" "null"
[[ $(dmsetup table tank) != *cache* ]] || fail "table line: $(dmsetup table tank)"
run 1 inspect /dev/c
refused 3 refused 'no cache' remove tank cache
refused 3 too_small '/dev/c: .* 64 MiB, .*-f' add tank cache /dev/c
run 0 add -f tank cache /dev/c; has err 'note: the cache is write-through'
mode_is writethrough legs
[[ $(dmsetup table tank) = *" 0 mirror 2 "*" cache 1 "* ]] || fail "table line: $(dmsetup table tank)"
refused 2 usage 'one cache at most' add tank cache /dev/d
table=$(dmsetup table tank)
dmsetup load tank --table "$table"; dmsetup suspend tank; dmsetup resume tank
expect_eq "$(dmsetup table tank)" "$table"

echo "--- round all modes, under a filesystem that is in use"
mkfs.ext4 -q -E nodiscard /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
dd if=/dev/urandom of=/tmp/m/kept bs=1M count=8 conv=fsync status=none
sum=$(sha256sum < /tmp/m/kept)
begin_load
run 0 set -f tank cache_mode=writeback; mode_is writeback cache
run 0 remove -n tank cache; has out '^dirty .* written home first, some [0-9]+ s$'; has out '^survives +loss of 1 leg.s., now 0$'
run 0 set tank cache_mode=writearound; mode_is writearound legs
run 0 set tank cache_mode=writethrough; mode_is writethrough legs
run 0 set -f tank cache_mode=writeback; mode_is writeback cache
expect_eq "$(event_count tank cache_mode)" 4 "events cache_mode"
expect_eq "$(event_count tank log_moved)" 3 "events log_moved"
end_load
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"

echo "--- it leaves dirty, and two SSDs join, which take the log at once"
begin_load
simset a delay_us 3000; simset b delay_us 3000
run 0 remove tank cache
simset a delay_us 0; simset b delay_us 0
run 0 status -j tank; expect_eq "$(json pools.0.cache) $(json pools.0.log.on)" "null legs"
run 1 inspect /dev/c
run 0 add -f tank cache mirror /dev/d /dev/e
mode_is writeback cache
end_load
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
expect_eq "$(event_count tank cache_removed)" 2 "events cache_removed"

echo "--- the power goes while the cache leaves: it is in the pool, or out"
begin_load
kvpoolctl remove tank cache > /dev/null 2>&1 &
remover=$!
sleep 0.$((RANDOM % 10))
cut_power_mounted $remover
run 0 import tank
mount /dev/mapper/tank /tmp/m
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
run 0 status -j tank
[ "$(json pools.0.cache)" = null ] || run 0 remove tank cache
for d in d e; do dd if=/dev/zero of=/dev/$d bs=1M count=32 oflag=direct status=none; done
run 0 add -f tank cache /dev/c
run 0 set -f tank cache_mode=writeback

echo "--- the power goes while the mode is set, off the cache and onto it"
for mode in writethrough writeback; do
	begin_load
	kvpoolctl set -f tank cache_mode=$mode > /dev/null 2>&1 &
	setter=$!
	sleep 0.0$((RANDOM % 10))
	cut_power_mounted $setter
	run 0 import tank
	mount /dev/mapper/tank /tmp/m
	expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
	run 0 set -f tank cache_mode=$mode
done
umount /tmp/m
fsck.ext4 -fn /dev/mapper/tank > /tmp/fsck.log 2>&1 || fail "fsck: $(cat /tmp/fsck.log)"
scrub tank

echo "--- without the log the cache serves blocks that were read, and those written unless in writearound"
# A block that finds no page, or is in flight, is read from the SSD the next time.
is_read_there() {
	local hits
	hits=$(stat_of tank ssd.hits)
	oracle show /dev/mapper/tank 0 256 bs=1 > /dev/null
	[ "$(stat_of tank ssd.hits)" -gt "$hits" ]
}
run 0 set tank cache_mode=writethrough
run 0 set tank ram_cache=0
oracle write /dev/mapper/tank 0 256 3 fsync bs=4
dmsetup message tank 0 checkpoint
retry 60 is_read_there
[ "$(stat_of tank ssd.fills)" -gt 0 ] || fail "nothing entered"
run 0 set tank cache_mode=writearound
oracle write /dev/mapper/tank 0 256 4 fsync bs=4
dmsetup message tank 0 checkpoint
expect_eq "$(oracle show /dev/mapper/tank 0 256 bs=1)" "0 256 v4"

echo "--- the same after export and import, and without an SSD that is not needed"
run 0 set tank cache_mode=writethrough
run 0 export tank
run 0 import tank
mode_is writethrough legs
oracle write /dev/mapper/tank 0 512 1 fsync bs=8
cut_power
run 0 import tank
all_is v1
