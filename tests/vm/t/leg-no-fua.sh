# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: on disks without FUA a write with fdatasync is a write and a flush a leg; a flush of it that fails costs the leg, and no data
# turn: flush */io/flight.c
# timeout: 120
# needs: gcc losetup
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
modprobe loop
# A loop device has a cache and no FUA, like most SATA disks.
for d in a b; do
	mksim $d 64
	loop=$(losetup --direct-io=on -b 4096 -f --show /dev/$d)
	at_exit "losetup -d $loop"
	loops+=("$loop")
	expect_eq "$(cat "/sys/block/${loop#/dev/}/queue/write_cache") $(cat "/sys/block/${loop#/dev/}/queue/fua")" "write back 0" "cache and FUA" # printed elsewhere: write back
done
dmsetup create p --table "0 $(sectors_of 40) kvpool - 3 format name=p log_size=8M mirror 2 ${loops[*]}"
table=$(dmsetup table p)
dev=/dev/mapper/p
oracle write $dev 0 512 1 fsync bs=32
dmsetup message p 0 checkpoint
# Background work would be counted too, so it is off.
dmsetup message p 0 set commit_interval_ms 600000
dmsetup message p 0 set destage_idle_ms 86400000
dmsetup message p 0 checkpoint

echo "--- the cost of a write"
for d in a b; do simset $d stats 0; done
for i in 1 2 3 4 5 6 7 8; do oracle write $dev $((i * 40)) 1 2 fsync; done
for d in a b; do
	expect_eq "$(simstat $d writes) writes $(simstat $d flushes) flushes $(simstat $d fua) fua" "8 writes 8 flushes 0 fua" "leg $d"
done

echo "--- acknowledged data is there after a cut"
simset all cut_mode drop_all
simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$table"
for i in 1 2 3 4 5 6 7 8; do expect_eq "$(oracle show $dev $((i * 40)) 1)" "$((i * 40)) 1 v2" "contents"; done

echo "--- the flush behind a log write fails"
dmsetup message p 0 set destage_idle_ms 86400000
dmsetup message p 0 checkpoint
simset b flush_fault "fail 1"
oracle write $dev 100 1 3 fsync
wait_stat p leg.1.state faulted
grep -q 'leg_lost leg=1 .*why=a flush failed\|leg_lost leg=1 .*why=a log write failed' \
	<<< "$(dmsetup message p 0 events)" || fail "no event"
expect_stat p leg.0.state online
expect_eq "$(oracle show $dev 100 1)" "100 1 v3" "contents"
dmsetup remove --retry p
