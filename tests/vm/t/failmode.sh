# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: failmode=wait: with no leg left, reads wait as writes do, until clear; a lost block is EIO all the same
# timeout: 150
# turn: legs-lost */target/request.c */target/read_anew.c */target/write.c
# needs: gcc fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 6 format name=p log_size=8M ram_cache=0 failmode=wait commit_interval_ms=100 single 1 /dev/a"
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
oracle write /dev/mapper/p 0 1024 1 fsync bs=16
dmsetup message p 0 checkpoint
simset a corrupt "$(((home + 700) * 8)) 8 9"
expect_eq "$(oracle show /dev/mapper/p 700 1)" "700 1 EIO"

echo "--- the leg dies: a write makes the pool faulted, and then reads wait, too"
simset a dead 1
oracle write /dev/mapper/p 10 1 2 fsync & writer=$!
wait_stat p state faulted
oracle show /dev/mapper/p 500 4 > /tmp/read & reader=$!
for pid in $reader $writer; do retry 60 asks_disk "$pid"; done
# Status queries are answered, and the requests still wait.
both_wait() { # WHEN
	expect_eq "$(oracle show /dev/mapper/p 700 1)" "700 1 EIO" "a lost block"
	asks_disk $reader || fail "a read did not wait $1: $(cat /tmp/read)"
	asks_disk $writer || fail "a write did not wait $1"
}
both_wait "for a leg"
# clear tries the legs before it returns; nothing else does while no leg answers
dmsetup message p 0 clear
expect_stat p state faulted
both_wait "after a clear with no leg"
expect_stat p leg.0.err_read 0
resumed() { dmsetup message p 0 events | grep -c ' resumed\( uid=0\)*$' || true; }
expect_eq "$(resumed)" 0 "events"

echo "--- it comes back"
simset a dead 0
dmsetup message p 0 clear
wait $reader; expect_eq "$(cat /tmp/read)" "500 4 v1"
wait $writer
expect_eq "$(oracle show /dev/mapper/p 10 1)" "10 1 v2"
expect_stat p state online
expect_eq "$(resumed)" 1 "events"
dmsetup message p 0 clear
expect_eq "$(resumed)" 1 "events after a clear of a pool that was well"

echo "--- failmode=error ends the waiting"
simset a dead 1
oracle write /dev/mapper/p 10 1 3 fsync & writer=$!
wait_stat p state faulted
oracle show /dev/mapper/p 500 4 > /tmp/read & reader=$!
for pid in $reader $writer; do retry 60 asks_disk "$pid"; done
both_wait "for a leg"
expect_refusal "message set . too few legs succeeded" dmsetup message p 0 set failmode error
wait $reader; expect_eq "$(cat /tmp/read)" "500 4 EIO"
! wait $writer || fail "a write succeeded without a leg"
simset a dead 0
dmsetup message p 0 clear
dmsetup remove --retry p

echo "--- an interrupted suspend without a flush loses no request"
mksim b 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 5 format name=p log_size=8M write_buffer=8M ram_cache=0 single 1 /dev/b"
oracle write /dev/mapper/p 8192 64 1 fsync bs=16
dmsetup message p 0 checkpoint
simset b stall 1
# More writes than the buffer holds, so that many wait for room in it; and a read that
# waits for the leg.
fio --name=w --filename=/dev/mapper/p --direct=1 --rw=write --bs=64k --size=24m --ioengine=libaio --iodepth=256 \
	--verify=crc32c --verify_state_save=0 --output=/tmp/fio.log & writer=$!
oracle show /dev/mapper/p 8192 64 > /tmp/read & reader=$!
is_full() { [ "$(stat_of p ram.dirty_blocks)" -gt 512 ]; }
retry 60 is_full
for i in 1 2 3 4 5 6; do
	dmsetup suspend --noflush p & suspender=$!
	sleep 0.3
	kill -KILL $suspender
	expect_status 137 wait $suspender
done
expect_eq "$(dmsetup info -c --noheadings -o suspended p)" Active
simset b stall 0
wait $writer || fail "a writer failed: $(cat /tmp/fio.log)"
wait $reader; expect_eq "$(cat /tmp/read)" "8192 64 v1"
