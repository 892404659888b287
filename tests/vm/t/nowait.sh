# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: REQ_NOWAIT: a request that would have to wait ends with EAGAIN at once and without effect; others are served; io_uring hides it
# timeout: 120
# turn: stacked */target/request.c */target/read.c */target/write.c */target/paced.c
# needs: gcc fio
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
dev=/dev/mapper/p
mknull a 64 hw_queue_depth=4
dmsetup create slow --table "0 $(blockdev --getsz /dev/a) linear /dev/a 0"
dmsetup create p --table "0 $(sectors_of 40) kvpool - 4 format name=p log_size=8M write_buffer=4M single 1 /dev/mapper/slow"
expect_eq "$(oracle write $dev 0 512 1 bs=32 nowait)" 512 "blocks written"
dmsetup message p 0 checkpoint

echo "--- a page of the table that is not in memory; a read that would be cut"
dmsetup message p 0 drop_caches
before=$(stat_of p io.read_blocks)
expect_eq "$(oracle show $dev 0 8 nowait)" "0 8 EAGAIN"
expect_eq "$(stat_of p io.read_blocks)" "$before" "blocks read"
expect_eq "$(oracle show $dev 0 8)" "0 8 v1"
expect_eq "$(oracle show $dev 8 64 bs=8 nowait)" "8 64 v1" "the page is there, the leg is asked"
oracle write $dev 3 1 2
expect_eq "$(oracle show $dev 0 8 bs=8 nowait)" "0 8 EAGAIN" "partly buffered"
expect_eq "$(oracle show $dev 0 8 bs=1 nowait | tr '\n' ,)" "0 3 v1,3 1 v2,4 4 v1,"

echo "--- the disk hangs: requests that do not need it are served"
dmsetup message p 0 set leg_timeout 0
dmsetup suspend --noflush slow
expect_eq "$(oracle show $dev 0 8 bs=1 nowait | tr '\n' ,)" "0 3 v1,3 1 v2,4 4 v1," "from RAM"
before=$(stat_of p io.read_blocks) misses=$(stat_of p ram.misses)
expect_eq "$(oracle show $dev 200 8 nowait)" "200 8 EAGAIN" "from a leg that would wait"
expect_eq "$(stat_of p io.read_blocks) $(stat_of p ram.misses)" "$before $misses" "it comes again, and is counted then"
before=$(stat_of p io.write_blocks)
taken=$(oracle write $dev 1024 6144 3 nowait)
echo "$taken blocks were taken"
((taken > 0 && taken < 6144)) || fail "the buffer took $taken blocks"
expect_eq $(($(stat_of p io.write_blocks) - before)) "$taken" "blocks that were written"
expect_eq "$(oracle write $dev 7300 1 3 nowait)" 0 "blocks taken by the full buffer"
expect_eq "$(oracle show $dev 1024 "$taken" nowait)" "1024 $taken v3" "from the buffer"
# A writer of io_uring, which tries NOWAIT first, and then waits.
fio --name=uring --filename=$dev --offset=30M --size=8M --direct=1 --ioengine=io_uring --iodepth=32 --rw=randwrite --bs=32k \
	--verify=crc32c --verify_state_save=0 --output=/tmp/fio.log &
writer=$!
# in 6.1 that is part of the system call
retry 60 waits_in $writer 'io_cqring_wait\|io_uring_enter'
kill -0 $writer || fail "fio has not waited: $(cat /tmp/fio.log)"
dmsetup resume slow
wait $writer || { cat /tmp/fio.log; fail "fio"; }

echo "--- accepted writes are there, and the others left no trace"
dmsetup message p 0 checkpoint
dmsetup message p 0 drop_caches
expect_eq "$(oracle show $dev 1024 $((taken + 1)) | tr '\n' ,)" "1024 $taken v3,$((1024 + taken)) 1 zero,"
expect_eq "$(oracle show $dev 7300 1)" "7300 1 zero"
expect_stat p leg.0.err_read 0
expect_stat p read.retries 0
expect_stat p poisoned_blocks 0

echo "--- io_uring, much at once on a disk with few requests, polled and not"
for polled in 0 1; do
	fio --name=mixed --filename=$dev --size=24M --direct=1 --ioengine=io_uring --hipri=$polled --iodepth=64 --rw=randrw \
		--bs=4k --verify=crc32c --verify_state_save=0 --output=/tmp/fio.log || { cat /tmp/fio.log; fail "fio, polled $polled"; }
done
expect_stat p leg.0.err_read 0
scrub p
