# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg of a mirror answers late: it is read last, status, metrics and an event tell of it, and it is well again
# timeout: 300
# long: windows of ten seconds
# needs: fio gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 64 rotational=1
mksim b 64 rotational=1
ctl=$KVPOOL_TOP/build/kvpoolctl
dmsetup create p --table "0 $(sectors_of 40) kvpool - 4 format name=p log_size=8M ram_cache=0 mirror 2 /dev/a /dev/b"
oracle write /dev/mapper/p 0 8192 1 fsync bs=32
dmsetup message p 0 checkpoint
expect_stat p leg.1.slow no

# reads SECONDS: 4 KiB at random, 16 at a time
reads() {
	fio --name=r --filename=/dev/mapper/p --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=16 \
		--time_based --runtime="$1" --size=32M --output=/dev/null
}

# reads_until STATE SECONDS: read until the second leg is in that state
reads_until() {
	local end
	end=$(_end "$2")
	until [ "$(stat_of p leg.1.slow)" = "$1" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "leg.1.slow is $(stat_of p leg.1.slow), never became $1: $(dmsetup message p 0 stats | grep 'leg\..\.[ps]')"
		reads 5
	done
}

simset b delay_us 400000
reads_until yes 150
dmsetup message p 0 stats | grep 'leg\.1\.[ps]'
expect_stat p leg.0.slow no
expect_stat p leg.1.slow_by read
expect_stat p leg.1.state online
expect_eq "$(event_count p leg_slow)" 1 "events"
"$ctl" status p | tee /tmp/leg-slow.status
grep -q '/dev/b  *online .* slow$' /tmp/leg-slow.status || fail "status does not mark it"
grep -q 'advice: leg /dev/b is slow (99 % of reads take up to' /tmp/leg-slow.status || fail "no advice"
"$ctl" metrics | grep -q '^kvpool_leg_slow{.*leg="1".*} 1$' || fail "metrics do not tell of it"
"$ctl" status -j p | grep -q '"slow": *{ *"state": *"yes"' || fail "the object does not tell of it"

simset b delay_us 0
reads_until no 150
expect_eq "$(event_count p leg_not_slow)" 1 "events"
expect_eq "$(event_count p leg_slow)" 1 "events"
expect_stat p leg.1.state online
dmsetup remove --retry p
