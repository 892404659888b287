# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a long read of which a part is spilled waits for home and for the SSDs, whichever answers last
# kernels: 6.12
# timeout: 120
# turn: programs */target/read*.c */log/spilled.c
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 96; done
for d in c d; do mksim $d 64; done
dmsetup create p --table "0 $(sectors_of 64) kvpool - 8 format name=p log_size=8M ram_cache=0 seq_cutoff_write=64K write_buffer=4M destage_idle_ms=86400000 leg_timeout=3600 mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
dev=/dev/mapper/p

echo "--- a stream is home, and a part of it is written again: that is spilled"
oracle write $dev 0 4096 1 fsync bs=256
dmsetup message p 0 checkpoint
dmsetup message p 0 set seq_cutoff_write 1G
# No round of destage ends. It has 2048 blocks at most, and those written first. The buffer has 1024
# of those written last.
for d in a b; do simset $d stall write; done
oracle write $dev 8192 4096 2 fsync bs=4
oracle write $dev 2048 512 2 fsync bs=4
oracle write $dev 12288 2048 2 fsync bs=4
parked=$(($(stat_of p ssd.parked) / 4096))
[ "$parked" -gt 2560 ] || fail "only $parked versions are spilled"

# read_held STALL DISK...: the read is not answered while these do not answer, and is right.
read_held() {
	local how=$1 retries buffered d
	shift
	retries=$(stat_of p read.retries) buffered=$(stat_of p io.buffer_read_blocks)
	for d in "$@"; do simset "$d" stall "$how"; done
	oracle show $dev 1920 256 bs=256 > /tmp/seen &
	sleep 2
	[ ! -s /tmp/seen ] || fail "answered, and $* were not: $(cat /tmp/seen)"
	kill -0 $! || fail "the read has ended"
	for d in c d; do simset $d stall 0; done
	for d in a b; do simset $d stall write; done
	wait $!
	expect_eq "$(cat /tmp/seen)" $'1920 128 v1\n2048 128 v2'
	# What came is used. Nothing is read a second time.
	expect_eq "$(stat_of p read.retries)" "$retries" "reads that were tried again"
	expect_eq "$(stat_of p io.buffer_read_blocks)" "$buffered" "blocks from the buffer"
}

echo "--- the SSDs answer last"
read_held read c d
echo "--- the disks answer last"
read_held 1 a b
echo "--- again, side by side"
for i in {1..8}; do oracle show $dev 1920 256 bs=256 > "/tmp/seen$i" & done
wait
for i in {1..8}; do expect_eq "$(cat "/tmp/seen$i")" $'1920 128 v1\n2048 128 v2'; done
for d in a b; do simset $d stall 0; done
dmsetup message p 0 checkpoint
expect_stat p ssd.parked 0
expect_eq "$(oracle show $dev 1920 256 bs=256)" $'1920 128 v1\n2048 128 v2'
dmsetup remove --retry p
