# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache that is missing at the start: refused, given up, not needed
# timeout: 300
# turn: cache-in-use */recovery/discard_log.c
# needs: gcc python3
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"

echo "--- one SSD, forced; without it the pool is refused while its log is needed"
run 0 create -f "${log[@]}" -o cache_mode=writeback -o destage_idle_ms=86400000 tank mirror /dev/a /dev/b cache /dev/c
expect_stat tank losses_survivable 0
uuid=$(dmsetup table tank | awk '{ print $4 }')
len=$(dmsetup table tank | cut -d ' ' -f 1-2)
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
dmsetup message tank 0 checkpoint
oracle write /dev/mapper/tank 0 256 2 fsync bs=4
cut_power
refused 3 no_cache 'cache is missing.* MiB that the last checkpoint counted, at 20.*and all later writes' import -d /dev/a -d /dev/b tank
expect_refusal "discard[_-]log" start tank "$len kvpool $uuid 0 mirror 2 /dev/a /dev/b cache 1 -"
refused 3 no_cache 'its log need not be given up' import --discard-log tank
run 0 import -d /dev/a -d /dev/b; has out 'refused: its cache is missing'
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 256 v2,256 256 v1,"

echo "--- given up: the data of the last checkpoint; the SSD that comes back is not replayed"
dmsetup message tank 0 checkpoint
oracle write /dev/mapper/tank 0 128 3 fsync bs=4
cut_power
run 0 import -n --discard-log -d /dev/a -d /dev/b tank; has out 'would discard the log.*lsn.* MiB'
run 0 import --discard-log -d /dev/a -d /dev/b tank; has out 'discarded the log.*Lost are the'
# The version before, or an error for a lost one that was home already; never the lost
# version.
oracle show /dev/mapper/tank 0 128 bs=1 > /tmp/shown
! grep -vE ' (v2|EIO)$' /tmp/shown || fail "after the log was given up: $(cat /tmp/shown)"
expect_eq "$(oracle show /dev/mapper/tank 128 384 bs=1 | tr '\n' ,)" "128 128 v2,256 256 v1,"
expect_eq "$(event_count tank log_discarded)" 1 "events log_discarded"
oracle write /dev/mapper/tank 0 128 4 fsync bs=4
cut_power
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 128 v4,128 128 v2,256 256 v1,"
scrub tank
run 4 status -j tank; expect_eq "$(json pools.0.cache.legs.0.state)" stale
run 0 destroy tank
blank

echo "--- an SSD that was out before the end names some lost blocks"
run 0 create -f "${log[@]}" -o destage_idle_ms=86400000 tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
dmsetup message tank 0 checkpoint
oracle write /dev/mapper/tank 8 4 2 fsync bs=1
run 0 offline tank /dev/c
oracle write /dev/mapper/tank 64 4 3 fsync bs=1
cut_power
simset d dead 1
refused 3 no_cache 'cache is missing' import tank
run 0 import --discard-log tank; has out 'discarded the log'; has out '^4 blocks are known to be lost'
run 4 status -j tank; expect_eq "$(json pools.0.poisoned.0.lba) $(json pools.0.poisoned.0.blocks)" "8 4"
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 8 v1,8 4 EIO,12 500 v1,"
oracle write /dev/mapper/tank 8 4 4 fsync
dmsetup message tank 0 checkpoint
run 4 status -j tank; expect_eq "$(json pools.0.poisoned_total)" 0
stop tank
simset d dead 0
run 0 import tank
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 8 v1,8 4 v4,12 500 v1,"
run 0 destroy tank
blank

echo "--- missing, but its log was empty: the pool starts, with the log on the legs"
run 0 create -f "${log[@]}" -o cache_mode=writeback -o destage_idle_ms=86400000 tank single /dev/a cache /dev/e
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
# large writes went home directly
for b in 3 90 200; do oracle write /dev/mapper/tank $b 1 1 fsync; done
run 0 export tank; has out '/dev/e must travel along'
refused 3 no_cache 'cache is missing' import -d /dev/a tank
run 0 import -d /dev/a -d /dev/e tank
all_is v1
run 0 export --drain tank; hasnt out 'must travel'
refused 3 no_cache 'its log need not be given up' import --discard-log -d /dev/a tank
run 0 import -d /dev/a tank
all_is v1
expect_stat tank log.on legs
oracle write /dev/mapper/tank 0 512 2 fsync bs=4
run 0 destroy tank
check_json
