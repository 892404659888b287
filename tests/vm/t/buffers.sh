# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: buffers of a reader and of a writer that change in flight cause no device error and leave both legs equal
# timeout: 240
# turn: ram */target/read.c */target/write.c
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 96; mksim b 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 3 format name=p log_size=8M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
no_blame() { # WHAT
	local l
	for l in 0 1; do
		expect_stat p leg.$l.state online
		expect_eq "$(stat_of p leg.$l.err_checksum)/$(stat_of p leg.$l.err_read)/$(stat_of p leg.$l.healed)" 0/0/0 \
			"$1: errors of leg $l"
	done
	expect_stat p poisoned_blocks 0
	dmsetup message p 0 checkpoint
	expect_eq "$(leg sum /dev/a "$home" 4096)" "$(leg sum /dev/b "$home" 4096)" "$1: home on a and b"
	scrub p
}
oracle write $dev 0 4096 1 fsync bs=256
dmsetup message p 0 checkpoint
echo "--- a reader's"
oracle scribble-read $dev 0 4096 4 8
oracle scribble-read $dev 0 4096 2 128
echo "retries: $(stat_of p read.retries)"
no_blame reader
expect_eq "$(oracle show $dev 0 4096)" "0 4096 v1"
echo "--- a writer's"
for bs in 1 8 256; do oracle scribble-write $dev 0 4096 3 $bs; done
no_blame writer
echo "--- that begin in the middle of a page, so that blocks lie in two segments"
oracle write $dev 0 512 6 bs=8 shift=512
oracle write $dev 512 512 6 bs=256 shift=3584
oracle write $dev 1024 64 6 bs=1 shift=2048 fsync
for shift in 512 2048 3584; do
	expect_eq "$(oracle show $dev 0 1088 bs=8 shift=$shift)" "0 1088 v6" "from the buffer, at $shift"
done
dmsetup message p 0 checkpoint
dmsetup message p 0 drop_caches
for bs in 1 16 64 256; do
	expect_eq "$(oracle show $dev 0 1088 bs=$bs shift=1536)" "0 1088 v6" "from the legs, bs=$bs"
done
no_blame shifted
echo "--- from home and from the buffer in one request"
oracle write $dev 0 512 7 bs=256 fsync
dmsetup message p 0 checkpoint
dmsetup message p 0 set destage_idle_ms 86400000
before=$(stat_of p io.buffer_read_blocks)
expected="0 5 v7"
for ((b = 5; b < 512; b += 50)); do
	oracle write $dev $b 1 8 bs=1
	end=$((b + 50 < 512 ? b + 50 : 512))
	expected+=$'\n'"$b 1 v8"$'\n'"$((b + 1)) $((end - b - 1)) v7"
done
expect_eq "$(oracle show $dev 0 512 bs=256)" "$expected"
(($(stat_of p io.buffer_read_blocks) >= before + 11)) || fail "nothing came from the buffer: the case was not set up"
no_blame mixed
expect_eq "$(oracle show $dev 0 512 bs=256)" "$expected"
oracle write $dev 0 1088 9 bs=64 fsync
dd if=$dev bs=1M count=16 iflag=direct status=none | md5sum > /tmp/sum
echo "--- both, and a power cut in the middle"
oracle scribble-write $dev 4096 2048 86400 64 2> /tmp/writer & writer=$!
oracle scribble-read $dev 0 4096 86400 16 2> /tmp/reader & reader=$!
wait_more p io.write_blocks 4096
wait_more p io.read_blocks 1024
wait_more p io.write_blocks
kill -0 $reader || fail "the reader ended by itself: $(cat /tmp/reader)"
simset all cut_mode random; simset all power_cut now
expect_fail wait $writer
grep -q 'Input/output error' /tmp/writer || fail "the writer: $(cat /tmp/writer)" # printed elsewhere: Input output error
# data in RAM can still be read
pkill -P $reader || :
wait $reader || :
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$table"
dd if=$dev bs=1M count=16 iflag=direct status=none | md5sum | cmp - /tmp/sum
dd if=$dev bs=1M skip=16 count=8 iflag=direct of=/dev/null status=none
no_blame "after the cut"
