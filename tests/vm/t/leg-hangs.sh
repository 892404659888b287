# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg that hangs: offline frees waiting requests, and so does leg_timeout, also if only reads hang; the pool is suspended and removed meanwhile
# timeout: 120
# turn: legs */io/flight.c */io/io.c
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 64
mksim b 64
len="0 $(sectors_of 40)"
dmsetup create slow --table "0 $(blockdev --getsz /dev/a) linear /dev/a 0"

make_pool() {
	dmsetup create p --table "$len kvpool - 3 format name=p log_size=8M mirror 2 /dev/mapper/slow /dev/b"
	uuid=$(dmsetup table p | awk '{ print $4 }')
	oracle write /dev/mapper/p 0 256 1 fsync bs=32
	dmsetup suspend --noflush slow
	oracle write /dev/mapper/p 0 256 2 fsync bs=32 &
	writer=$!
}

echo "--- by order"
make_pool
dmsetup message p 0 set leg_timeout 0 &
setter=$!
retry 60 asks_disk $writer
dmsetup message p 0 offline /dev/mapper/slow
wait $writer
wait $setter
expect_stat p leg.0.state offline
[ "$(stat_of p unanswered)" -gt 0 ] || fail "nothing is unanswered"
dmsetup suspend p
dmsetup resume p
expect_eq "$(oracle show /dev/mapper/p 0 256)" "0 256 v2" "contents"
dmsetup remove --retry p
expect_refusal "not yet answered" start p "$len kvpool $uuid 0 mirror 2 /dev/mapper/slow /dev/b"
dmsetup create p --table "$len kvpool $uuid 0 mirror 2 - /dev/b"
expect_eq "$(oracle show /dev/mapper/p 0 256)" "0 256 v2" "contents"
dmsetup remove --retry p
dmsetup resume slow

echo "--- by itself"
dd if=/dev/zero of=/dev/a bs=1M oflag=direct status=none || :
dd if=/dev/zero of=/dev/b bs=1M oflag=direct status=none || :
dmsetup create p --table "$len kvpool - 3 format name=p log_size=8M mirror 2 /dev/mapper/slow /dev/b"
dmsetup message p 0 set leg_timeout 2
dmsetup suspend --noflush slow
oracle write /dev/mapper/p 0 256 3 fsync bs=32
expect_stat p leg.0.state faulted
grep -q 'leg_lost leg=0 .*why=does not answer' <<< "$(dmsetup message p 0 events)" || fail "no event"
dmsetup resume slow
wait_stat p unanswered 0
expect_eq "$(oracle show /dev/mapper/p 0 256)" "0 256 v3" "contents"
dmsetup remove --retry p

echo "--- only its reads hang"
dd if=/dev/zero of=/dev/a bs=1M oflag=direct status=none || :
dd if=/dev/zero of=/dev/b bs=1M oflag=direct status=none || :
dmsetup create p --table "$len kvpool - 4 format name=p log_size=8M ram_cache=0 mirror 2 /dev/mapper/slow /dev/b"
oracle write /dev/mapper/p 0 1024 4 fsync bs=32
dmsetup message p 0 checkpoint
dmsetup message p 0 set leg_timeout 2
dmsetup message p 0 set destage_idle_ms 86400000
expect_eq "$(oracle show /dev/mapper/p 0 1024)" "0 1024 v4" "contents"
dmsetup suspend --noflush slow
readers=()
for i in 0 1 2 3; do
	dd if=/dev/mapper/p of=/dev/null bs=4k count=1024 iflag=direct status=none &
	readers+=($!)
done
wait_stat p leg.0.state faulted
expect_eq "$(oracle show /dev/mapper/p 0 1024)" "0 1024 v4" "contents, while the leg hangs"
dmsetup resume slow
wait "${readers[@]}"
dmsetup remove --retry p
