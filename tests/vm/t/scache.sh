# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: blocks that were written home, or read, are read from the SSD: after writes, overwrites, discards, with rot, without SSDs, after a round of the log, under a file system
# timeout: 360
# turn: cache-in-use */cache/scache.c */cache/reinsert.c
# needs: gcc fio mkfs.ext4
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 96; done
for d in c d; do mksim $d 12; done
dmsetup create p --table "0 $(sectors_of 64) kvpool - 5 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
table=$(dmsetup table p)
dev=/dev/mapper/p
show() { # FIRST COUNT [BLOCKS]: so many blocks a request, on one line
	local seen
	seen=$(oracle show $dev "$1" "$2" "bs=${3:-1}")
	echo "${seen//$'\n'/,}"
}
home_reads() { echo $(($(simstat a reads) + $(simstat b reads))); }
hits() { stat_of p ssd.hits; }
# from_ssd WHAT FIRST COUNT VERSIONS [BLOCKS]: all blocks come from the SSD, none from a
# disk.
from_ssd() {
	local reads hits
	reads=$(home_reads) hits=$(hits)
	expect_eq "$(show "$2" "$3" "${5:-1}")" "$4" "$1"
	expect_eq "$(home_reads)" "$reads" "$1: reads of the disks"
	expect_eq "$(hits)" $((hits + $3)) "$1: hits"
}

echo "--- blocks that are home are read from the SSD"
oracle write $dev 0 1024 1 fsync bs=4
dmsetup message p 0 checkpoint
expect_stat p ssd.clean $((1024 * 4096))
expect_stat p ssd.size $(((12 - 2) << 20))
expect_stat p memory.index "$(stat_of p ssd.ram)"
for use in write_buffer table index fills summaries; do
	[ "$(stat_of p memory.$use)" -gt 0 ] || fail "memory.$use is $(stat_of p memory.$use)"
done
from_ssd "block by block" 0 1024 "0 1024 v1"
from_ssd "64 KiB a request, of blocks that were logged together or not" 0 1024 "0 1024 v1" 16
for d in c d; do [ "$(simstat $d reads)" -gt 100 ] || fail "$d was read $(simstat $d reads) times"; done

echo "--- overwritten, discarded, or directly written blocks"
for b in 3 40 41 42 700; do oracle write $dev $b 1 2; done
dmsetup message p 0 checkpoint
from_ssd overwritten 0 1024 "0 3 v1,3 1 v2,4 36 v1,40 3 v2,43 657 v1,700 1 v2,701 323 v1" 8
blkdiscard -o $((100 * 4096)) -l $((10 * 4096)) $dev
dmsetup message p 0 checkpoint
expect_eq "$(show 98 14)" "98 2 v1,100 10 zero,110 2 v1"
expect_stat p ssd.clean $((1014 * 4096))
# as long as old blocks are renewed, what the cache has stays there
dmsetup message p 0 set renew_mark 0
dmsetup message p 0 set seq_cutoff_write 1M
oracle write $dev 256 512 3 fsync bs=256
dmsetup message p 0 checkpoint
[ "$(stat_of p log.intent_blocks)" -ge 512 ] || fail "no large write went past the log"
expect_stat p ssd.clean $((502 * 4096))
expect_eq "$(show 250 524 8)" "250 6 v1,256 512 v3,768 6 v1"
dmsetup message p 0 set seq_cutoff_write 1G
dmsetup message p 0 set renew_mark 60

echo "--- rot on both SSDs: blocks come from the disks, which are not blamed; and once only"
for d in c d; do simset $d corrupt "$((512 * 8)) $((4 * 256 * 8)) 9"; done
expect_eq "$(show 0 100 4)" "0 3 v1,3 1 v2,4 36 v1,40 3 v2,43 57 v1"
[ "$(stat_of p ssd.mistrusted)" -gt 50 ] || fail "$(stat_of p ssd.mistrusted) blocks were mistrusted"
before=$(stat_of p ssd.mistrusted)
expect_eq "$(show 0 100)" "0 3 v1,3 1 v2,4 36 v1,40 3 v2,43 57 v1"
expect_stat p ssd.mistrusted "$before"
for l in 0 1 2 3; do expect_stat p leg.$l.err_checksum 0; done

echo "--- blocks read from the disks are admitted, and then read from the SSDs"
# written directly, past the log: the SSDs never had the blocks
dmsetup message p 0 set seq_cutoff_write 1M
oracle write $dev 1024 256 7 fsync bs=256
dmsetup message p 0 set seq_cutoff_write 1G
dmsetup message p 0 checkpoint
clean=$(stat_of p ssd.clean)
[ "$(stat_of p log.intent_blocks)" -ge 768 ] || fail "no large write went past the log"
# Reads until all of FIRST COUNT are there: a block that finds no page the first time is
# admitted the next time.
fill() { # FIRST COUNT VERSIONS
	retry 60 all_filled "$@"
}
all_filled() {
	local reads
	expect_eq "$(show "$1" "$2" 4)" "$3" "filled"
	reads=$(home_reads)
	expect_eq "$(show "$1" "$2" 4)" "$3" "filled"
	[ "$(home_reads)" = "$reads" ]
}
fill 1024 256 "1024 256 v7"
from_ssd filled 1024 256 "1024 256 v7" 4
[ "$(stat_of p ssd.fills)" -ge 256 ] || fail "$(stat_of p ssd.fills) fills"
expect_stat p ssd.clean $((clean + 256 * 4096))
[ "$(stat_of p ssd.written_fills)" -ge $((256 * 4096)) ] || fail "written: $(stat_of p ssd.written_fills)"
# overwritten there, in all ways
oracle write $dev 1030 3 8 fsync bs=1
blkdiscard -o $((1040 * 4096)) -l $((4 * 4096)) $dev
dmsetup message p 0 checkpoint
expect_eq "$(show 1024 256 8)" "1024 6 v7,1030 3 v8,1033 7 v7,1040 4 zero,1044 236 v7"
# a stream is not admitted
dmsetup message p 0 set seq_cutoff_write 1M
oracle write $dev 1024 1024 9 fsync bs=1024
dmsetup message p 0 set seq_cutoff_write 1G
dmsetup message p 0 checkpoint
before=$(stat_of p ssd.fills)
expect_eq "$(show 1024 1024 32)" "1024 1024 v9"
[ "$(stat_of p ssd.refused_stream)" -ge 512 ] || fail "$(stat_of p ssd.refused_stream) blocks of a stream were refused"
[ "$(stat_of p ssd.fills)" -le $((before + 512)) ] || fail "a stream has entered"
blkdiscard -o $((1024 * 4096)) -l $((1024 * 4096)) $dev
dmsetup message p 0 checkpoint

echo "--- the log comes round, while blocks are read"
blkdiscard -l $((2048 * 4096)) $dev
oracle new /tmp/state 2048 1 2048 1
oracle run /tmp/state $dev 1 4 200
oracle check /tmp/state $dev
oracle write $dev 0 2048 4 fsync bs=2
dmsetup message p 0 checkpoint
before=$(hits)
expect_eq "$(show 0 2048)" "0 2048 v4"
[ "$(hits)" -gt $((before + 500)) ] || fail "$(($(hits) - before)) hits of 2048"

echo "--- one SSD dies: from the other; both: from the disks"
oracle write $dev 0 256 5 fsync bs=4
dmsetup message p 0 checkpoint
simset c dead 1
oracle write $dev 1000 1 5 fsync
expect_stat p leg.2.state faulted
from_ssd "one SSD" 0 256 "0 256 v5" 4
simset d dead 1
oracle write $dev 1000 1 6 fsync
expect_stat p log.on legs
before=$(hits)
expect_eq "$(show 0 256 4)" "0 256 v5"
expect_eq "$(hits)" "$before" "hits without an SSD"
dmsetup remove --retry p

echo "--- a restart begins empty; a file system, and a load like a database's"
for d in e f; do mksim $d 96; done
for d in g h; do mksim $d 12; done
dmsetup create p --table "0 $(sectors_of 64) kvpool - 4 format name=p log_size=8M ram_cache=0 mirror 2 /dev/e /dev/f cache 2 /dev/g /dev/h"
table=$(dmsetup table p)
mkfs.ext4 -q $dev
mkdir -p /tmp/m
mount $dev /tmp/m
fio --name=f --directory=/tmp/m --size=6m --bs=4k --rw=randrw --fdatasync=8 --direct=1 --io_size=16m \
	--ioengine=libaio --iodepth=4 --verify=crc32c --verify_backlog=64 --output=/tmp/fio.log || fail "fio: $(cat /tmp/fio.log)"
[ "$(hits)" -gt 100 ] || fail "$(hits) hits under a file system"
# once through the SSDs, and later from the disks
sum_of() { dd if=/tmp/m/f.0.0 bs=16K iflag=direct status=none | sha256sum; }
sum=$(sum_of)
umount /tmp/m
# data that a stop leaves in the log is written home later, and is clean in the cache then
dmsetup message p 0 checkpoint
dmsetup remove --retry p
dmsetup create p --table "$table"
expect_stat p ssd.clean 0
mount $dev /tmp/m
expect_eq "$(sum_of)" "$sum" "the file, from the disks"
# Blocks that were read from the disks are there the next times, whatever else the file
# system does.
fio --name=g --directory=/tmp/m --size=2m --bs=4k --rw=randwrite --fdatasync=8 --direct=1 --time_based --runtime=86400 \
	--ioengine=libaio --output=/tmp/fio.log & pid=$!
for _ in 1 2 3 4 5; do
	wait_more p io.write_blocks 64
	expect_eq "$(sum_of)" "$sum" "the file, while another is written"
done
end_fio $pid /tmp/fio.log
expect_eq "$(sum_of)" "$sum" "the file, beside another"
# The log has come round: blocks that are read again and again are admitted. Its begin,
# which is no long stream.
begin_of() { dd if=/tmp/m/f.0.0 bs=16K count=32 iflag=direct status=none | sha256sum; }
sum=$(begin_of)
before=$(hits)
has_entered() {
	expect_eq "$(begin_of)" "$sum" "the file's begin"
	[ "$(hits)" -gt $((before + 100)) ]
}
retry 60 has_entered
umount /tmp/m
fsck.ext4 -fn $dev > /tmp/fsck.log || fail "fsck: $(cat /tmp/fsck.log)"
scrub p
