# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a write with fdatasync is one FUA write a leg; failed commits and flushes stay failed until all is durable
# turn: flush */log/flush.c */log/commit.c
# timeout: 180
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 128; mksim b 128
dmsetup create p --table "0 $(sectors_of 64) kvpool - 4 format name=p log_size=32M write_buffer=32M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
# costs COUNT: FUA writes on each leg since the last call, and nothing else.
costs() {
	local l
	tail -n 60 "$trace" > /tmp/trace
	for l in a b; do
		[ "$(simstat $l writes)/$(simstat $l flushes)" = "$1/0" ] || cat /tmp/trace
		expect_eq "$(simstat $l fua) fua $(simstat $l writes) writes $(simstat $l flushes) flushes $(simstat $l preflush) preflush" \
			"$1 fua $1 writes 0 flushes 0 preflush" "device operations of leg $l"
	done
	reset_costs
}
trace=/sys/kernel/debug/simdisk/trace
reset_costs() {
	echo > "$trace"
	for l in a b; do simset "$l" stats 0; done
}
# cut: cut the power; data that was not durable is gone.
cut() {
	simset all cut_mode drop_all; simset all power_cut now
	dmsetup remove --retry p
	simset all power_restore 1
	dmsetup create p --table "$table"
}
oracle write $dev 0 2048 1 fsync bs=64
dmsetup message p 0 checkpoint
# Background work would be counted too, so it is off.
dmsetup message p 0 set commit_interval_ms 600000
dmsetup message p 0 set destage_idle_ms 86400000
dmsetup message p 0 checkpoint

echo "--- the cost of a write"
reset_costs
for i in 1 2 3 4 5 6 7 8; do oracle write $dev $((i * 40)) 1 2 fsync; done
costs 8
for i in 1 2 3 4; do oracle write $dev $((i * 50 + 1)) 1 2 dsync; done
costs 4
oracle write $dev 500 8 2 bs=1 fsync
costs 1
for i in 1 2 3 4; do oracle sync $dev; done
costs 0
oracle write $dev 600 1 2; oracle write $dev 600 1 3; oracle write $dev 600 1 4 fsync
costs 1
[ "$(stat_of p io.coalesced_blocks)" -ge 2 ] || fail "rewrites in the buffer did not coalesce"
cut
expect_eq "$(oracle show $dev 499 10 | tr '\n' ,)" "499 1 v1,500 8 v2,508 1 v1,"
expect_eq "$(oracle show $dev 600 1)" "600 1 v4"
for i in 1 2 3 4 5 6 7 8; do expect_eq "$(oracle show $dev $((i * 40)) 1)" "$((i * 40)) 1 v2"; done
for i in 1 2 3 4; do expect_eq "$(oracle show $dev $((i * 50 + 1)) 1)" "$((i * 50 + 1)) 1 v2"; done

echo "--- a log full of user data that looks like a log"
leg save /dev/a /dev/shm/a; at_exit "rm -f /dev/shm/a"
log=$(leg label /dev/a | sed -n 's/^log_start=//p')
dd if=/dev/shm/a of=$dev bs=4k skip="$log" seek=4096 count=2048 oflag=direct conv=fdatasync status=none
dd if=/dev/shm/a of=/tmp/entries bs=4k skip="$log" count=2048 status=none
cut
dd if=$dev bs=4k skip=4096 count=2048 iflag=direct status=none | cmp - /tmp/entries
expect_eq "$(oracle show $dev 600 1)" "600 1 v4"

echo "--- a commit that failed"
for l in a b; do simset $l faults "add write_error 0 262144"; done
status=0
oracle write $dev 700 16 5 fsync || status=$?
expect_eq "$status" 3 "status of write and fdatasync with legs that fail"
expect_status 3 oracle sync $dev
expect_status 3 oracle sync $dev
[ "$(event_count p commit_failed)" -ge 1 ] || fail "no event 'commit_failed'"
for l in a b; do simset $l faults clear; done
dmsetup message p 0 clear
# these disks have FUA, so no flush failed, and no other data is lost
retry 60 oracle sync $dev
before=$(oracle show $dev 690 40)
cut
expect_eq "$(oracle show $dev 690 40)" "$before" "what fdatasync acknowledged at last"
# The buffered write was accepted: 16 requests of a block. None failed unless it was
# refused.
echo "$before"
expect_eq "$(oracle show $dev 2000 48)" "2000 48 v1"

set -- a b
if [ "$(stat_of p state)" != online ]; then
	# the failures above cost a leg; a new pool has two legs again
	dmsetup remove --retry p
	mksim c 128; mksim d 128
	dmsetup create p --table "0 $(sectors_of 64) kvpool - 3 format name=p log_size=32M mirror 2 /dev/c /dev/d"
	table=$(dmsetup table p)
	set -- c d
fi

echo "--- a flush that fails: a direct write is written again, or its leg is given up"
oracle write $dev 0 2048 6 fsync bs=256
simset "$1" flush_fault fail 1
oracle write $dev 0 2048 7 bs=256 fsync
oracle sync $dev
simset "$1" flush_fault none
dmsetup status p
cut
expect_eq "$(oracle show $dev 0 2048)" "0 2048 v7"
