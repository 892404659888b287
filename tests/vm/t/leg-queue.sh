# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: neighbours that wait for a busy leg go as one request; a bad block among them, and a leg that fails them, cost no data
# timeout: 240
# turn: legs */io/leg_queue.c
# needs: gcc fio losetup
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper leg
load_modules
no_udev
modprobe loop
# A loop device makes a sender wait that exceeds its number of requests, as a disk does;
# simdisk takes any number.
for d in a b c; do
	mksim $d 64
	loop=$(losetup --direct-io=on -b 4096 -f --show /dev/$d)
	at_exit "losetup -d $loop"
	queue=/sys/block/${loop#/dev/}/queue
	echo none > "$queue/scheduler"
	echo 2 > "$queue/nomerges" # so that only kvpool joins requests
	echo 4 > "$queue/nr_requests"
	loops+=("$loop")
done
dmsetup create p --table \
	"0 $(sectors_of 64) kvpool - 5 format name=p log_size=8M chunk=65536 ram_cache=0 parity1 3 ${loops[*]}"
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
counted() { local d n=0; for d in a b c; do n=$((n + $(simstat $d "$1"))); done; echo $n; }
busy() { # FIO-OPTION...
	fio --name=busy --filename=/dev/mapper/p --size=24M --direct=1 --ioengine=libaio --iodepth=256 \
		--verify=crc32c --randrepeat=1 --verify_state_save=0 --output=/tmp/fio.log "$@" || { cat /tmp/fio.log; fail "fio $*"; }
}
# One request takes so long that fio has sent all it may meanwhile, even on a busy host.
delay() { for d in a b c; do simset $d delay_us "$1"; done; }

echo "--- reads, one after the other"
busy --rw=write --bs=4k --do_verify=0
dmsetup message p 0 checkpoint
delay 50000
before=$(counted reads)
busy --rw=write --bs=4k --verify_only=1
reads=$(($(counted reads) - before))
echo "$reads requests for 6144 blocks"
[ $reads -lt 4500 ] || fail "$reads requests: next to none were joined"

echo "--- a stream that skips parity: legs that seek read the parity along"
stream() { # sets reads
	before=$(counted reads)
	fio --name=stream --filename=/dev/mapper/p --size=24M --direct=1 --ioengine=libaio --iodepth=128 --rw=read \
		--bs=128k --output=/tmp/fio.log || { cat /tmp/fio.log; fail "fio"; }
	reads=$(($(counted reads) - before))
	busy --rw=write --bs=128k --verify_only=1 --verify_interval=4k
}
delay 200000
stream
skipped=$reads
delay 0
table=$(dmsetup table p)
dmsetup remove --retry p
for loop in "${loops[@]}"; do echo 1 > "/sys/block/${loop#/dev/}/queue/rotational"; done
dmsetup create p --table "$table"
delay 200000
stream # reads the table, too
stream
echo "$skipped requests without, $reads with parity"
[ $((reads * 3)) -lt $((skipped * 2)) ] || fail "$reads requests where it may be read along, $skipped where not"
delay 2000

echo "--- the same, some blocks unreadable"
parity=0
for ((i = 0; i < 40; i++)); do
	simset b faults "add bad $(((home + i * 61) * 8)) 8"
	[ $((i * 61 / 16 % 3)) != 1 ] || parity=$((parity + 1)) # of stripes of 16 rows, on leg 1
done
busy --rw=write --bs=4k --verify_only=1
[ "$(stat_of p leg.1.err_read)" -ge 20 ] || fail "$(stat_of p leg.1.err_read) errors of leg 1"
expect_stat p leg.1.state online
expect_stat p leg.0.err_read 0
expect_stat p poisoned_blocks 0
scrub p $parity # which was not read
scrub p
busy --rw=write --bs=4k --verify_only=1

echo "--- writes"
before=$(counted writes)
busy --rw=randwrite --bs=64k --iodepth=64 --do_verify=0
dmsetup message p 0 checkpoint
echo "$(($(counted writes) - before)) writes"
busy --rw=randwrite --bs=64k --verify_only=1
scrub p

echo "--- a leg that fails them"
simset c faults "add write_error $(((home + 2000) * 8)) 800"
busy --rw=randwrite --bs=64k --iodepth=64 --do_verify=0 --verify_pattern=0x5a --verify=pattern
expect_stat p leg.2.state faulted
expect_stat p state degraded
busy --rw=randwrite --bs=64k --verify_only=1 --verify_pattern=0x5a --verify=pattern
delay 0
dmsetup remove --retry p

echo "--- a bad block in a gap blames no request, on the only disk"
mksim d 64
loop=$(losetup --direct-io=on -b 4096 -f --show /dev/d)
at_exit "losetup -d $loop"
queue=/sys/block/${loop#/dev/}/queue
echo none > "$queue/scheduler"
echo 4 > "$queue/nr_requests"
echo 1 > "$queue/rotational"
dmsetup create p --table "0 $(sectors_of 32) kvpool - 4 format name=p log_size=8M ram_cache=0 single 1 $loop"
home=$(leg label /dev/d | sed -n 's/^data_start=//p')
# 16 KiB of every 32 are written
every_second() {
	fio --name=gaps --filename=/dev/mapper/p --size=32M --direct=1 --ioengine=libaio --iodepth=128 --rw=write --bs=16k \
		--zonemode=strided --zonesize=16k --zoneskip=16k --verify=crc32c --verify_state_save=0 --output=/tmp/fio.log "$@" ||
		{ cat /tmp/fio.log; fail "fio $*"; }
}
every_second --do_verify=0
dmsetup message p 0 checkpoint
expect_stat p written_blocks 4096
for ((i = 0; i < 1024; i += 5)); do simset d faults "add bad $(((home + i * 8 + 5) * 8)) 8"; done
simset d delay_us 50000
before=$(simstat d injected)
every_second --verify_only=1
[ $(($(simstat d injected) - before)) -gt 10 ] || fail "nobody read what is bad: nothing was joined over it"
expect_stat p leg.0.err_read 0
expect_stat p poisoned_blocks 0
simset d delay_us 0
dmsetup remove --retry p

echo "--- polled reads that are joined: each is polled to its end"
# Polled requests of the disk end only when they are polled for.
mknull n 64 submit_queues=1 poll_queues=1 hw_queue_depth=4
queue=/sys/block/$(basename "$(readlink -f /dev/n)")
echo none > "$queue/queue/scheduler"
echo 2 > "$queue/queue/nomerges"
dmsetup create p --table "0 $(sectors_of 32) kvpool - 4 format name=p log_size=8M ram_cache=0 single 1 /dev/n"
expect_eq "$(cat "/sys/block/$(dmsetup info -c --noheadings -o blkdevname p)/queue/io_poll")" 1 "is the pool polled"
busy --rw=write --bs=4k --do_verify=0
dmsetup message p 0 checkpoint
before=$(awk '{ print $1 }' "$queue/stat")
busy --rw=read --bs=4k --ioengine=io_uring --hipri --iodepth=64 --verify_only=1
reads=$(($(awk '{ print $1 }' "$queue/stat") - before))
echo "$reads requests for 6144 blocks"
[ $reads -lt 6000 ] || fail "$reads requests: none was joined, and it is not known what becomes of those"
expect_stat p leg.0.err_read 0
