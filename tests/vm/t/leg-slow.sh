# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg of a mirror answers late: it is read last, status, metrics and an event tell of it, and it is well again
# timeout: 400
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

# reads SECONDS: 4 KiB at random, 32 at a time. The leg with fewer reads in flight gets the next one, so a leg that
# answers late gets few: a window of 256 reads must not last for long.
reads() {
	fio --name=r --filename=/dev/mapper/p --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=32 \
		--time_based --runtime="$1" --size=32M --output=/dev/null
}

# reads_until STATE SECONDS: read until the second leg is in that state
reads_until() {
	local end
	end=$(_end "$2")
	until [ "$(stat_of p leg.1.slow)" = "$1" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "leg.1.slow is $(stat_of p leg.1.slow), never became $1: $(dmsetup message p 0 stats | grep 'leg\..\.[ps]')"
		reads 10
	done
}

simset b delay_us 50000
reads_until yes 150
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

simset b delay_us 0
reads_until no 150
expect_eq "$(event_count p leg_not_slow)" 1 "events"
expect_eq "$(event_count p leg_slow)" 1 "events"
expect_stat p leg.1.state online
"$ctl" export p
