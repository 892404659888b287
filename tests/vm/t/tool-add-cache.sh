# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool of several vdevs with a cache is made; vdevs are added beside a cache, under a mounted filesystem; with power cuts at many steps
# turn: ssds-come-and-go */add.c */cachemode.c
# timeout: 500
# needs: gcc python3 mkfs.ext4 resize2fs fio
# kmsg-allow: I/O error|EXT4-fs|JBD2|Buffer I/O
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
for d in f g h; do mksim $d 64; done
size() { blockdev --getsize64 /dev/mapper/tank; }
# Clears the labels durably: labels of the pool before must not return after a power cut.
blank_new() {
	for d in f g h; do
		dd if=/dev/zero of=/dev/$d bs=1M count=1 oflag=direct status=none
		dd if=/dev/zero of=/dev/$d bs=1M seek=63 count=1 oflag=direct conv=fsync status=none
	done
}

echo "--- made at once: a mirror, a parity1 and a mirrored cache"
refused 2 usage 'name the cache last' create "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c mirror /dev/f /dev/g
expect_fail dmsetup create tank --table "0 $(sectors_of 64) kvpool - 2 format name=tank single 1 /dev/a cache 1 /dev/c single 1 /dev/f"
[[ $(last_refusal) = *'follow the cache'* ]] || fail "refused, but: $(last_refusal)"
run 0 create -n "${log[@]}" tank mirror /dev/a /dev/b single /dev/f; has err 'note: .* so the pool survives that of 0'
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b parity1 /dev/f /dev/g /dev/h cache mirror /dev/c /dev/d
hasnt err 'note: some vdevs'
run 0 status tank; has out '^    mirror-0 +online'; has out '^    parity1-1 +online'; has out '^ +cache +online'
mode_is writeback cache
oracle write /dev/mapper/tank 0 4096 1 fsync bs=8
cut_power
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 4096 bs=1)" "0 4096 v1"
run 0 status -v tank; has out '^ +cache .* has the log$'
run 0 set tank cache_mode=writethrough
run 0 status -v tank; hasnt out '^ +cache .* has the log$'; has out '^ +(mirror-0|parity1-1) .* has the log$'
run 0 add -n -f tank single /dev/e; has out '^survives +loss of 0 leg'
run 0 remove tank cache
expect_eq "$(oracle show /dev/mapper/tank 0 4096 bs=1)" "0 4096 v1"
run 0 destroy tank

echo "--- a cache that survives fewer losses than the legs"
blank; blank_new
run 0 create "${log[@]}" tank mirror /dev/a /dev/b /dev/f
run 0 add -n -f -j tank cache mirror /dev/c /dev/d
expect_eq "$(json plan.redundancy.before) $(json plan.redundancy.after)" "2 1"
run 0 add -f tank cache mirror /dev/c /dev/d; has err 'note: .* survives the loss of 1 .* not of 2'; has out 'a cache of'
run 0 offline -n tank /dev/a; has out 'loss of 1 leg.* now 1'
run 0 offline -n tank /dev/c; has out 'loss of 0 leg.* now 1'
run 0 status -j tank; expect_eq "$(json pools.0.losses_survivable)" 1
run 0 remove -n -j tank cache
expect_eq "$(json plan.redundancy.before) $(json plan.redundancy.after)" "1 2"
run 0 destroy tank

echo "--- added under a filesystem in use, beside a cache with the log"
blank; blank_new
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
small=$(size)
mkfs.ext4 -q -E nodiscard,resize=1G /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
dd if=/dev/urandom of=/tmp/m/kept bs=1M count=8 conv=fsync status=none
sum=$(sha256sum < /tmp/m/kept)
begin_load
# a mode that was set once is kept when the cache comes
run 0 set tank cache_mode=writeback
run 0 add -n -j tank parity1 /dev/f /dev/g /dev/h; large=$(json plan.size)
expect_eq "$(json plan.size_before)" "$small"
run 0 add tank parity1 /dev/f /dev/g /dev/h
expect_eq "$(size)" "$large" "the plan's size, and the device's"
[[ $(dmsetup table tank) = *" mirror 2 "*" parity1 3 "*" cache 2 "* ]] || fail "table line: $(dmsetup table tank)"
mode_is writeback cache
resize2fs /dev/mapper/tank > /tmp/resize.log 2>&1 || fail "resize2fs: $(cat /tmp/resize.log)"
dd if=/dev/urandom of=/tmp/m/large bs=1M count=70 conv=fsync status=none
large_sum=$(md5sum < /tmp/m/large)
end_load
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
expect_eq "$(md5sum < /tmp/m/large)" "$large_sum"

echo "--- the power goes; an SSD goes; the cache leaves"
simset c dead 1
truncate -s 1M /tmp/m/file
oracle write /tmp/m/file 0 256 7 fsync bs=4
sync
simset all cut_mode random; simset all power_cut now
umount -l /tmp/m
udevadm settle
dmsetup remove --retry --force tank
simset all power_cut none; simset all power_restore 1
simset c dead 0
run 0 import tank
mount /dev/mapper/tank /tmp/m
expect_eq "$(oracle show /tmp/m/file 0 256 bs=1)" "0 256 v7"
expect_eq "$(md5sum < /tmp/m/large)" "$large_sum"
run 0 remove tank cache
[[ $(dmsetup table tank) != *cache* ]] || fail "table line: $(dmsetup table tank)"
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
umount /tmp/m
scrub tank
run 0 destroy tank

echo "--- the power goes at a step of the add: the old pool, or the new one, with its cache"
old=0 new=0
for k in 1 7 16 22 25; do
	blank; blank_new
	run 0 create -f "${log[@]}" -o destage_idle_ms=86400000 tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
	run 0 add -n -j tank mirror /dev/f /dev/g
	grown=$(json plan.size)
	json plan.table > /tmp/table
	dmsetup message tank 0 checkpoint
	# Less data than is written home by itself, so that the add alone decides which
	# step is the Kth.
	oracle write /dev/mapper/tank 0 100 $k fsync bs=2
	quiet
	dmsetup load tank < /tmp/table
	simset all seed $k; simset all cut_mode random; simset all power_cut in $((k + k * (k > 12)))
	dmsetup resume tank 2> /dev/null || true
	simset all power_cut now 2> /dev/null || true
	udevadm settle
	dmsetup remove --retry --force tank
	simset all power_cut none
	simset all power_restore 1
	run 0 import tank
	run 0 status tank; has out "^ +state: online"
	expect_eq "$(oracle show /dev/mapper/tank 0 100 bs=1)" "0 100 v$k"
	case $(size) in
	"$small") old=$((old + 1)) ;;
	"$grown") new=$((new + 1)) ;;
	*) fail "cut $k: $(size) bytes" ;;
	esac
	oracle write /dev/mapper/tank 0 100 $((k + 1)) fsync bs=2
	expect_eq "$(kvpoolctl get tank cache_mode)" writeback
	expect_stat tank log.on cache
	run 0 destroy tank
done
echo "the old pool $old times, the grown one $new times"
[ $((old * new)) -gt 0 ] || fail "there was no cut of some kind"
check_json
