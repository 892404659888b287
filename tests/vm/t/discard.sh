# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: discarded and zeroed blocks read as zeros, also after a power cut, and count as unwritten
# timeout: 120
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 160; mksim b 160
dmsetup create p --table "0 $(sectors_of 128) kvpool - 3 format name=p log_size=8M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
cut() {
	simset all cut_mode "$1"; simset all power_cut now
	dmsetup remove --retry p
	simset all power_restore 1
	dmsetup create p --table "$table"
}
lines() { tr '\n' ,; }
written() { dmsetup message p 0 checkpoint; expect_stat p written_blocks "$1"; }

expect_stat p written_blocks 0
oracle write $dev 0 4096 1 fsync bs=256
written 4096
echo "--- blkdiscard"
before=$(stat_of p io.discard_blocks)
blkdiscard -o $((100 * 4096)) -l $((1000 * 4096)) $dev
expect_stat p io.discard_blocks $((before + 1000))
expect_eq "$(oracle show $dev 0 4096 | lines)" "0 100 v1,100 1000 zero,1100 2996 v1,"
oracle sync $dev
cut drop_all
expect_eq "$(oracle show $dev 0 4096 | lines)" "0 100 v1,100 1000 zero,1100 2996 v1,"
written 3096

echo "--- blkdiscard -z, and zeros that are written"
blkdiscard -z -o $((2000 * 4096)) -l $((8 * 4096)) $dev
dd if=/dev/zero of=$dev bs=64k seek=150 count=1 oflag=direct status=none
expect_eq "$(oracle show $dev 1990 500 | lines)" "1990 10 v1,2000 8 zero,2008 392 v1,2400 16 zero,2416 74 v1,"
oracle sync $dev
cut drop_all
expect_eq "$(oracle show $dev 1990 500 | lines)" "1990 10 v1,2000 8 zero,2008 392 v1,2400 16 zero,2416 74 v1,"
written $((3096 - 24))

echo "--- discard and overwrite in every order, in the buffer and across a checkpoint"
oracle write $dev 100 8 2; blkdiscard -o $((100 * 4096)) -l 16384 $dev; oracle sync $dev
blkdiscard -o $((1100 * 4096)) -l 32768 $dev; oracle write $dev 1104 4 3 fsync
cut torn
expect_eq "$(oracle show $dev 98 14 | lines)" "98 2 v1,100 4 zero,104 4 v2,108 4 zero,"
expect_eq "$(oracle show $dev 1098 14 | lines)" "1098 6 zero,1104 4 v3,1108 4 v1," 
dmsetup message p 0 checkpoint
blkdiscard -o $((104 * 4096)) -l 16384 $dev
dmsetup message p 0 checkpoint
cut drop_all
expect_eq "$(oracle show $dev 98 14 | lines)" "98 2 v1,100 12 zero,"

echo "--- a discard without a flush: old data or zeros"
blkdiscard -o $((3000 * 4096)) -l $((64 * 4096)) $dev
cut drop_all
seen=$(oracle show $dev 3000 64 | awk '{ print $3 }' | sort -u | lines)
[[ $seen = "v1," || $seen = "zero," || $seen = "v1,zero," ]] || fail "unflushed discard: $seen"

echo "--- a MiB of zeros is not written, although it is large enough for a direct write"
dmsetup message p 0 checkpoint
before=$(stat_of p written_blocks)
dd if=/dev/zero of=$dev bs=1M seek=5 count=1 oflag=direct status=none
written $((before - 256))

echo "--- all of it at once; zeros cost no reads"
blkdiscard $dev
dmsetup message p 0 checkpoint
for l in a b; do simset $l stats 0; done
cmp -n $((128 << 20)) $dev /dev/zero
expect_eq "$(simstat a read_sectors) $(simstat b read_sectors)" "0 0" "sectors read for zeros"
[ "$(stat_of p io.zero_read_blocks)" -ge 32768 ] || fail "io.zero_read_blocks $(stat_of p io.zero_read_blocks)"
written 0
cut drop_all
oracle show $dev 0 32768
expect_eq "$(oracle show $dev 0 32768)" "0 32768 zero"
scrub p

echo "--- trim"
expect_refusal 'no trim is running' dmsetup message p 0 trim stop
expect_refusal 'unknown word' dmsetup message p 0 trim everything
oracle write $dev 1000 300 5 fsync bs=100
for l in a b; do simset $l stats 0; done
dmsetup message p 0 trim start
wait_stat p trim.state finished 60
expect_eq "$(stat_of p trim.blocks)" $((32768 - 300)) "trim.blocks"
for l in a b; do expect_eq "$(simstat $l discard_sectors)" $(((32768 - 300) * 8)) "told to $l"; done
expect_eq "$(oracle show $dev 0 32768 | lines)" "0 1000 zero,1000 300 v5,1300 31468 zero,"
blkdiscard -o $((1000 * 4096)) -l $((300 * 4096)) $dev

echo "--- passing down: only with the tunable, and only after a checkpoint"
expect_refusal 'discard_passdown takes' dmsetup message p 0 set discard_passdown 2
told() { for l in a b; do expect_eq "$(simstat $l discard_sectors)" $(($1 * 8)) "passed down to $l"; done; }
dmsetup message p 0 set destage_idle_ms 3600000
for l in a b; do simset $l stats 0; done
oracle write $dev 1000 600 5 fsync bs=100
blkdiscard -o $((1000 * 4096)) -l $((200 * 4096)) $dev
dmsetup message p 0 checkpoint
told 0
dmsetup message p 0 set discard_passdown 1
blkdiscard -o $((1200 * 4096)) -l $((200 * 4096)) $dev
oracle write $dev 1300 8 6 fsync
told 0
dmsetup message p 0 checkpoint
wait_stat p passdown.blocks 192 60
told 192
expect_eq "$(oracle show $dev 1190 420 | lines)" "1190 110 zero,1300 8 v6,1308 92 zero,1400 200 v5,1600 10 zero,"
dmsetup message p 0 set discard_passdown 0
blkdiscard -o $((1200 * 4096)) -l $((400 * 4096)) $dev
dmsetup message p 0 set destage_idle_ms 5000

echo "--- partial blocks of a discard are left alone"
oracle write $dev 0 8 4 fsync
for range in "-o 512 -l 8192" "-o 4096 -l 1024" "-o 2048 -l 4096"; do
	# shellcheck disable=SC2086 # words
	for how in "" -z; do expect_fail blkdiscard $how $range $dev; done
done
expect_eq "$(oracle show $dev 0 9 | lines)" "0 8 v4,8 1 zero,"
expect_eq "$(cat "/sys/block/$(dmsetup info -c --noheadings -o blkdevname p)/queue/discard_granularity")" 4096 "discard granularity"
