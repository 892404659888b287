# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: rot, latent errors, lost and misdirected writes, bad table pages and labels heal; two bad copies are poison
# timeout: 240
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 96; mksim b 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 4 format name=p log_size=8M ram_cache=0 mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
home=$(leg label /dev/a | sed -n 's/^data_start=//p')

# sick LEG KIND BLOCK COUNT: at home, "corrupt" or a fault.
sick() {
	local sectors="$(((home + $3) * 8)) $(($4 * 8))"
	if [ "$2" = corrupt ]; then simset "$1" corrupt "$sectors 9"; else simset "$1" faults "add $2 $sectors"; fi
}
restart_pool() { dmsetup remove --retry p; dmsetup create p --table "$table"; }
# same_home BLOCK COUNT: both legs hold the same data.
same_home() {
	expect_eq "$(leg sum /dev/a $((home + $1)) "$2")" "$(leg sum /dev/b $((home + $1)) "$2")" "home of $1 on a and b"
}
# read_often BLOCK COUNT: one block a request, so that every copy is read.
read_often() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		expect_eq "$(oracle show /dev/mapper/p "$1" "$2" bs=1)" "$1 $2 v1"
	done
}
healed() { echo $(($(stat_of p leg.0.healed) + $(stat_of p leg.1.healed))); }

oracle write /dev/mapper/p 0 1024 1 fsync bs=16
dmsetup message p 0 checkpoint
same_home 0 1024

echo "--- rot on one leg or the other"
sick a corrupt 10 10; sick b corrupt 30 10
read_often 0 64
[ "$(healed)" -gt 0 ] || fail "160 reads of each leg's rot healed nothing"
[ "$(event_count p healed)" -gt 0 ] || fail "no event 'healed'"
by_reading=$(healed)
scrub p $((20 - by_reading))
expect_eq "$(healed)" 20 "blocks healed"
expect_stat p leg.0.err_checksum 10
expect_stat p leg.1.err_checksum 10
expect_stat p leg.0.state online
same_home 0 64
expect_eq "$(leg sum /dev/a $((home + 10)) 10)" "$(leg sum /dev/b $((home + 10)) 10)"
scrub p

echo "--- latent read errors"
sick a bad 50 6; sick b bad 60 6
read_often 48 24
scrub_healed_before=$(healed)
dmsetup message p 0 scrub start; wait_stat p scrub.state finished
expect_eq "$(simget a faults)$(simget b faults)" "" "latent errors left"
[ "$(healed)" -ge 32 ] || fail "healed $(healed) (before the scrub $scrub_healed_before), expected 32"
expect_stat p leg.0.state online
expect_stat p leg.1.state online
same_home 48 24

echo "--- a long read beside a latent error"
# reads NAME: requests that the disk has answered
reads() { awk '{ print $1 }' "/sys/class/block/$(basename "$(readlink -f "/dev/$1")")/stat"; }
# Each leg has one, as either may be asked. 256 single requests are too many.
sick a bad 300 1; sick b bad 400 1
before=$(($(reads a) + $(reads b)))
retries=$(stat_of p read.retries)
expect_eq "$(oracle show /dev/mapper/p 256 256 bs=256)" "256 256 v1"
[ "$(stat_of p read.retries)" -gt "$retries" ] || fail "no read failed"
requests=$(($(reads a) + $(reads b) - before))
[ "$requests" -ge 8 ] || fail "$requests requests: they are not counted"
[ "$requests" -le 80 ] || fail "$requests requests for a read of 1 MiB"
dmsetup message p 0 scrub start; wait_stat p scrub.state finished
expect_eq "$(simget a faults)$(simget b faults)" "" "latent errors left"
same_home 256 256

echo "--- lost and misdirected writes"
dmsetup message p 0 clear
expect_stat p leg.0.healed 0
sick a lost 100 1
oracle write /dev/mapper/p 100 1 2 fsync; dmsetup message p 0 checkpoint
simset b faults "add misdirect 80 $(((home + 120) * 8)) 8"
oracle write /dev/mapper/p 120 1 2 fsync; dmsetup message p 0 checkpoint
expect_eq "$(simget a faults)$(simget b faults)" "" "faults that did not fire"
for i in 1 2 3 4; do
	expect_eq "$(oracle show /dev/mapper/p 99 3 bs=1 | tr '\n' ,)" "99 1 v1,100 1 v2,101 1 v1,"
	expect_eq "$(oracle show /dev/mapper/p 119 13 bs=1 | tr '\n' ,)" "119 1 v1,120 1 v2,121 11 v1,"
done
dmsetup message p 0 scrub start; wait_stat p scrub.state finished
expect_eq "$(healed)" 3 "a lost write, and both victims of a misdirected one"
expect_stat p scrub.unrepaired 0
same_home 96 64

echo "--- a page of the checksum table, on one leg"
restart_pool
page=$(leg page /dev/a 0)
simset a corrupt "$((page * 8)) 8 3"
dmsetup message p 0 drop_caches
read_often 0 8
page2=$(leg page /dev/b 600)
simset b corrupt "$((page2 * 8)) 8 3"
restart_pool
expect_eq "$(oracle show /dev/mapper/p 512 512)" "512 512 v1"
dmsetup message p 0 scrub start; wait_stat p scrub.state finished
expect_stat p scrub.unrepaired 0
[ "$(event_count p table_healed)" -ge 1 ] || fail "no event 'table_healed'"
restart_pool
expect_eq "$(leg sum /dev/a "$page" 1)" "$(leg sum /dev/b "$page" 1)" "table page on a and b"
expect_eq "$(leg sum /dev/a "$page2" 1)" "$(leg sum /dev/b "$page2" 1)" "table page on a and b"

echo "--- labels"
dmsetup remove --retry p
leg garble /dev/a 16 64; leg garble /dev/b $((96 * 256 - 256 + 16)) 64
dmsetup create p --table "$table"
expect_stat p state online
expect_eq "$(oracle show /dev/mapper/p 512 512)" "512 512 v1"
restart_pool

echo "--- both copies rotten: EIO on that block alone, for good"
dmsetup message p 0 clear
sick a corrupt 200 1; sick b corrupt 200 1
expect_eq "$(oracle show /dev/mapper/p 199 3 | tr '\n' ,)" "199 1 v1,200 1 EIO,201 1 v1,"
[ "$(event_count p unrepaired)" -ge 1 ] || fail "no event 'unrepaired'"
# that write was acknowledged, so it is durable; the old right bytes, once back, change
# nothing
simset all cut_mode drop_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
expect_poison() {
	expect_stat p poisoned_blocks 1
	expect_eq "$(dmsetup message p 0 poisoned)" "200 1" "poisoned"
	expect_eq "$(oracle show /dev/mapper/p 199 3 bs=1 | tr '\n' ,)" "199 1 v1,200 1 EIO,201 1 v1,"
}
dmsetup create p --table "$table"
expect_poison
dmsetup remove --retry p
sick a corrupt 200 1; sick b corrupt 200 1
dmsetup create p --table "$table"
expect_poison
oracle write /dev/mapper/p 200 1 3 fsync
expect_eq "$(oracle show /dev/mapper/p 199 3 | tr '\n' ,)" "199 1 v1,200 1 v3,201 1 v1,"
restart_pool
expect_eq "$(oracle show /dev/mapper/p 199 3 | tr '\n' ,)" "199 1 v1,200 1 v3,201 1 v1,"
expect_stat p poisoned_blocks 0
expect_eq "$(dmsetup message p 0 poisoned)" "" "poisoned"

echo "--- a scrub finds rot that no read has met; a discard ends poison too"
sick a corrupt 300 2; sick b corrupt 300 2
scrub p 0 2
expect_eq "$(oracle show /dev/mapper/p 299 4 | tr '\n' ,)" "299 1 v1,300 2 EIO,302 1 v1,"
blkdiscard -o $((300 * 4096)) -l 8192 /dev/mapper/p
expect_eq "$(oracle show /dev/mapper/p 299 4 | tr '\n' ,)" "299 1 v1,300 2 zero,302 1 v1,"
dmsetup message p 0 checkpoint
expect_stat p poisoned_blocks 0

echo "--- the table page itself gone on both legs: never zeros, never wrong"
restart_pool
page=$(leg page /dev/a 0)
dmsetup remove --retry p
for l in a b; do simset $l corrupt "$((page * 8)) 8 3"; done
if dmsetup create p --table "$table"; then
	oracle show /dev/mapper/p 0 200 > /tmp/seen
	cat /tmp/seen
	expect_eq "$(awk '{ print $3 }' /tmp/seen | sort -u)" EIO "blocks without a checksum"
	expect_eq "$(oracle show /dev/mapper/p 512 512)" "512 512 v1"
	expect_stat p poisoned_blocks 512
	[ "$(event_count p table_lost)" = 1 ] || fail "no event 'table_lost', or more than one"
	# the pool goes on, and a new write there is good again
	oracle write /dev/mapper/p 0 8 4 fsync
	dmsetup message p 0 checkpoint
	expect_stat p state online
	restart_pool
	expect_eq "$(oracle show /dev/mapper/p 0 8)" "0 8 v4"
	expect_stat p poisoned_blocks 504
else
	fail "not started: $(last_refusal)"
fi
