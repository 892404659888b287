# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: clean blocks of an SSD cache are read there again after a stop and a power cut, in the log and in the ring, unless they changed since
# turn: full-cache */rebuild.c */summary.c
# timeout: 300
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/warm.sh"
for d in c d; do mksim $d 34; done

echo "--- the log: stopped, and started twice"
known_after_a_stop mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d
dmsetup remove --retry p
start
restored 2048

echo "--- blocks that changed in between are not served from the cache"
oracle write $dev 40 8 2 fsync bs=4
dmsetup message p 0 set seq_cutoff_write 1M
oracle write $dev 512 256 3 fsync bs=256
dmsetup message p 0 checkpoint
dmsetup message p 0 set seq_cutoff_write 1G
blkdiscard -o $((100 * 4096)) -l $((8 * 4096)) $dev
dmsetup message p 0 checkpoint
sealed
cut_power
start
restored 1500
expect_eq "$(show 0 2048)" "0 40 v1,40 8 v2,48 52 v1,100 8 zero,108 404 v1,512 256 v3,768 1280 v1"
expect_stat p ssd.mistrusted 0

echo "--- the power goes: blocks in completed segments are known"
oracle write $dev 4096 1536 4 fsync bs=4
dmsetup message p 0 checkpoint
sealed
oracle write $dev 8192 64 5 fsync bs=4
dmsetup message p 0 checkpoint
sealed
cut_power
start
restored 2500
reads=$(hits)
expect_eq "$(show 4096 1536)" "4096 1536 v4"
[ $(($(hits) - reads)) -ge 900 ] || fail "$(($(hits) - reads)) of 1536 blocks were read from the SSDs"
expect_stat p ssd.mistrusted 0

echo "--- the log comes round, and the power goes again and again"
for i in 1 2 3 4; do
	for b in 0 1500; do oracle write $dev $((i * 1500 + b)) 1500 $((5 + i)) fsync bs=4; done
	dmsetup message p 0 checkpoint
	sleep 1
	cut_power
	start
	expect_eq "$(show $((i * 1500)) 3000)" "$((i * 1500)) 3000 v$((5 + i))"
	expect_stat p ssd.mistrusted 0
done

echo "--- the ring: blocks that were read are there after a stop"
dmsetup message p 0 set cache_mode writethrough force
dmsetup message p 0 checkpoint
show 10000 512 > /dev/null
oracle write $dev 10000 512 11 fsync bs=4
dmsetup message p 0 checkpoint
# a block that finds no page, or is in flight, is there the next time
is_in() {
	local before
	before=$(hits)
	show 10000 512 > /dev/null
	[ $(($(hits) - before)) -ge 384 ]
}
retry 60 is_in
sealed
dmsetup remove --retry p
start
restored 256
reads=$(hits)
expect_eq "$(show 10000 512)" "10000 512 v11"
[ $(($(hits) - reads)) -ge 256 ] || fail "$(($(hits) - reads)) of 512 blocks were read from the SSDs"
expect_stat p ssd.mistrusted 0
scrub p
expect_stat p poisoned_blocks 0
for l in 0 1 2 3; do expect_stat p leg.$l.err_checksum 0; done
dmsetup remove --retry p
