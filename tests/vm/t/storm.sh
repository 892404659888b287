# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: four times what a cache holds is written at random while the disks are slow; all of it is read back, after a power cut, too; ext4 on it
# timeout: 420
# needs: fio,mkfs.ext4
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
for d in a b; do mksim $d 256; done
for d in c d; do mksim $d 32; done
dmsetup create p --table "0 $(sectors_of 192) kvpool - 6 format name=p log_size=8M ram_cache=4M write_buffer=8M cache_mode=writeback mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
table=$(dmsetup table p)
dev=/dev/mapper/p
storm=(--name=storm --filename="$dev" --ioengine=libaio --direct=1 --rw=randwrite --bs=4k --iodepth=32 --size=128m
	--verify=crc32c --verify_state_save=0 --randseed=5)
slow() { for d in a b; do simset $d delay_us "$1"; done; }

echo "--- a storm"
slow 300
fio "${storm[@]}" --do_verify=0 --end_fsync=1 > /tmp/storm.txt || fail "$(cat /tmp/storm.txt)"
[ "$(stat_of p destage.rate)" -gt 0 ] || fail "nothing goes home"
[ "$(stat_of p ssd.written_data)" -ge $((128 << 20)) ] || fail "only $(stat_of p ssd.written_data) bytes went through the cache"
fio "${storm[@]}" --verify_only > /tmp/read.txt || fail "$(cat /tmp/read.txt)"

echo "--- what a FLUSH has seen stays, when the power goes right after it"
fio "${storm[@]}" --do_verify=0 --randseed=6 --end_fsync=1 > /tmp/storm.txt || fail "$(cat /tmp/storm.txt)"
simset all cut_mode random
simset all power_cut now
dmsetup remove --retry p
simset all power_cut none
simset all power_restore 1
dmsetup create p --table "$table"
fio "${storm[@]}" --randseed=6 --verify_only > /tmp/read.txt || fail "$(cat /tmp/read.txt)"

echo "--- a file system, with streams beside small writes"
mkfs.ext4 -q -F -E nodiscard $dev
mkdir -p /tmp/mnt
mount $dev /tmp/mnt
fio --directory=/tmp/mnt --ioengine=libaio --direct=1 --iodepth=8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --group_reporting \
	--name=small --rw=randrw --bs=4k --size=48m --fdatasync=64 \
	--name=stream --rw=write --bs=1m --size=64m --loops=2 > /tmp/fs.txt || fail "$(cat /tmp/fs.txt)"
umount /tmp/mnt
fsck.ext4 -fn $dev > /tmp/fsck.txt 2>&1 || fail "$(cat /tmp/fsck.txt)"

echo "--- quiet: all of it comes home"
slow 0
dmsetup message p 0 set destage_idle_ms 200
wait_stat p log.used 0
expect_stat p poisoned_blocks 0
expect_stat p ssd.parked 0
expect_stat p destage.drain_ms 0
scrub p
