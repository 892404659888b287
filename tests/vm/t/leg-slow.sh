# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg of a mirror, and one of a parity1, answer late: they are read last, status, metrics and events tell of them, and they are well again
# timeout: 500
# long: windows of ten seconds
# needs: fio gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 64 rotational=1
mksim b 64 rotational=1
ctl=$KVPOOL_TOP/build/kvpoolctl
# The tool knows pools by their DM UUID.
"$ctl" create -f -o log_size=8M -o ram_cache=0 p mirror /dev/a /dev/b
oracle write /dev/mapper/p 0 8192 1 fsync bs=32
dmsetup message p 0 checkpoint
expect_stat p leg.1.slow no
for d in c d e; do mksim $d 64 rotational=1; done
"$ctl" create -f -o log_size=8M -o ram_cache=0 q parity1 /dev/c /dev/d /dev/e
oracle write /dev/mapper/q 0 8192 1 fsync bs=32
dmsetup message q 0 checkpoint

# reads SECONDS: 4 KiB at random, 32 at a time, of both pools. The leg with fewer reads in flight gets the next one, so a
# leg that answers late gets few: a window of 256 reads must not last for long.
reads() {
	fio --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=32 --time_based --runtime="$1" --size=32M \
		--name=p --filename=/dev/mapper/p --name=q --filename=/dev/mapper/q --output=/tmp/leg-slow.fio
}

# reads_until STATE SECONDS: read until the second leg of each pool is in that state
reads_until() {
	local end
	end=$(_end "$2")
	until [ "$(stat_of p leg.1.slow) $(stat_of q leg.1.slow)" = "$1 $1" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "legs are not all $1: $(for x in p q; do dmsetup message $x 0 stats | grep 'leg\..\.[ps]'; done)"
		reads 10
	done
}

simset b delay_us 100000
simset d delay_us 200000
expect_stat q read.passed_blocks 0
reads 5
grep -E 'name|clat percentiles|99.00th|IOPS' -A1 /tmp/leg-slow.fio
reads_until yes 200
dmsetup message p 0 stats | grep 'leg\.1\.[ps]'
expect_stat p leg.0.slow no
expect_stat p leg.1.slow_by read
expect_stat p leg.1.state online
expect_eq "$(event_count p leg_slow)" 1 "events"
"$ctl" status p | tee /tmp/leg-slow.status
grep -q '/dev/b  *online .* slow$' /tmp/leg-slow.status || fail "status does not mark it"
grep -q 'advice: leg /dev/b is slow (99 % of reads take up to' /tmp/leg-slow.status || fail "no advice"
# Through files: a grep that is content at once would end the tool by a signal.
"$ctl" metrics > /tmp/leg-slow.metrics
grep -q '^kvpool_leg_slow{.*leg="1".*} 1$' /tmp/leg-slow.metrics || fail "metrics do not tell of it"
"$ctl" status -j p > /tmp/leg-slow.json
grep -q '"slow": *{ *"state": *"yes"' /tmp/leg-slow.json || fail "the object does not tell of it"

# Of the parity1 the others make its blocks. What comes is verified, and the slow leg is no worse for it.
before=$(stat_of q read.passed_blocks)
reads 5
grep -E 'name|clat percentiles|99.00th|IOPS' -A1 /tmp/leg-slow.fio
echo "passed over for $(($(stat_of q read.passed_blocks) - before)) blocks"
[ "$(stat_of q read.passed_blocks)" -gt "$before" ] || fail "no block of the slow leg is made"
expect_eq "$(oracle show /dev/mapper/q 0 8192 bs=1)" "0 8192 v1"
expect_stat q leg.1.state online
expect_stat q leg.1.err_read 0
expect_stat q read.rebuilt_blocks 0
expect_eq "$(event_count q leg_slow)" 1 "events"

simset b delay_us 0
simset d delay_us 0
reads_until no 200
expect_eq "$(event_count q leg_not_slow)" 1 "events"
expect_eq "$(event_count p leg_not_slow)" 1 "events"
expect_eq "$(event_count p leg_slow)" 1 "events"
expect_stat p leg.1.state online
"$ctl" export p
"$ctl" export q
