# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: the contents of an SSD cache stay there over stops and power cuts: a file system on it, in several generations of the log
# timeout: 400
# turn: full-cache */cache/rebuild.c */format/summary.c */recovery/retain.c
# needs: mkfs.ext4 e2fsck gcc
# kmsg-allow: I/O error|lost (a?sync )?page write|EXT4-fs (error|warning)
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 256; done
for d in c d; do mksim $d 160; done
dev=/dev/mapper/p
dmsetup create p --table "0 $(sectors_of 200) kvpool - 7 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G write_buffer=4M destage_idle_ms=86400000 mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
table=$(dmsetup table p)
start() { dmsetup create p --table "$table"; }
cut_power() {
	simset all cut_mode random
	simset all power_cut now
	umount /tmp/m 2> /dev/null || true
	dmsetup remove --retry p
	simset all power_cut none
	simset all power_restore 1
}
# The disks answer after seconds, or at once. So destage has one round in hand, and the
# rest stays dirty.
slow() { for d in a b; do simset $d delay_us 4000000; done; }
fast() { for d in a b; do simset $d delay_us 0; done; }
# kept BLOCKS: the start has left at least that much in the log.
kept() { [ "$(stat_of p recovery.kept)" -ge "$1" ] || fail "$(stat_of p recovery.kept) blocks were kept, not $1"; }
fill() { # FILE MIB
	head -c $(($2 << 20)) /dev/urandom > "/tmp/m/$1"
	sync "/tmp/m/$1"
	sums[$1]=$(md5sum < "/tmp/m/$1")
}
check_files() {
	local f
	for f in "${!sums[@]}"; do expect_eq "$(md5sum < "/tmp/m/$f")" "${sums[$f]}" "$f"; done
}
declare -A sums
mkdir -p /tmp/m

echo "--- much is dirty: stopped, started, read back"
mkfs.ext4 -q -E nodiscard $dev
mount $dev /tmp/m
slow
fill one 24
fill two 4
umount /tmp/m
dmsetup remove --retry p
fast
start
kept 3000
e2fsck -fn $dev
mount $dev /tmp/m
check_files

echo "--- overwritten, deleted, discarded; also by direct writes; stopped once more"
slow
dd if=/dev/urandom of=/tmp/m/one bs=64K seek=20 count=192 conv=notrunc,fsync status=none
sums[one]=$(md5sum < /tmp/m/one)
rm /tmp/m/two
unset 'sums[two]'
sync
fstrim /tmp/m
dmsetup message p 0 set seq_cutoff_write 1M
fill three 8
umount /tmp/m
dmsetup remove --retry p
fast
start
kept 200
e2fsck -fn $dev
mount $dev /tmp/m
check_files

echo "--- the power goes twice; only one SSD has its log"
slow
fill four 12
cut_power
fast
start
kept 1000
mount $dev /tmp/m
check_files
cut_power
dmsetup create p --table "${table% cache *} cache 2 /dev/c -"
mount $dev /tmp/m
check_files
fill five 2
umount /tmp/m
e2fsck -fn $dev
dmsetup remove --retry p

echo "--- all home, and the SSDs are not needed"
start
mount $dev /tmp/m
check_files
umount /tmp/m
dmsetup message p 0 checkpoint
expect_stat p log.used 0
expect_stat p poisoned_blocks 0
scrub p
dmsetup remove --retry p
dmsetup create p --table "${table% cache *} cache 2 - -"
e2fsck -fn $dev
mount $dev /tmp/m
check_files
umount /tmp/m
scrub p
