# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: injected faults: a read that is repeated, a write and a flush that cost a leg, and refusals
# timeout: 180
# turn: legs */io/inject.c */io/io.c
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules fault_injection=1
no_udev
mksim a 48; mksim b 48; mksim c 48
dev=/dev/mapper/p
dmsetup create p --table "0 $(sectors_of 24) kvpool - 3 format log_size=4M ram_cache=0 mirror 3 /dev/a /dev/b /dev/c"
oracle write $dev 0 2048 1 fsync bs=64
dmsetup message p 0 checkpoint

echo "--- refused"
expect_refusal "no such leg" dmsetup message p 0 inject /dev/d read 1
expect_refusal "read, write or flush" dmsetup message p 0 inject /dev/a frob 1
expect_refusal "no number" dmsetup message p 0 inject /dev/a read x
expect_refusal "too large" dmsetup message p 0 inject /dev/a read 3000000000
expect_refusal "number of words" dmsetup message p 0 inject /dev/a read

echo "--- reads"
# one only: a second one could hit the read that verifies a heal, which costs the leg
dmsetup message p 0 inject /dev/a read 1
expect_eq "$(event_count p fault_injected)" 1 "events"
for _ in 1 2 3 4; do expect_eq "$(oracle show $dev 0 2048)" "0 2048 v1"; done
[ "$(stat_of p read.retries)" -gt 0 ] || fail "no read failed"
expect_stat p leg.0.state online
dmsetup message p 0 inject /dev/a read 1000000
dmsetup message p 0 inject /dev/a read 0
scrub p
dmsetup message p 0 clear

echo "--- writes"
# the event of this order, and its copy in the ring of orders, take two
dmsetup message p 0 inject /dev/b write 3
oracle write $dev 0 64 2 fsync
wait_stat p leg.1.state faulted
expect_eq "$(oracle show $dev 0 2048)" "0 64 v2
64 1984 v1"

echo "--- a flush"
dmsetup message p 0 inject /dev/c flush 1
oracle write $dev 0 2048 3 fsync bs=256
dmsetup message p 0 checkpoint
wait_stat p leg.2.state faulted
expect_eq "$(oracle show $dev 0 2048)" "0 2048 v3"
