# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl status tells the state of a pool by its exit status, and gives advice in its last line
# timeout: 400
# turn: tool-watch */cmd_status.c */advice.c
# needs: python3 gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper leg
load_modules
for d in a b c; do mksim $d 16; done
log=(-o log_size=4M)
status() { # STATUS STATE: and the last line is advice unless the pool is healthy
	run "$1" status -j tank
	expect_eq "$(json pools.0.state)" "$2"
	run "$1" status tank
	has out "state: $2"
	if [ "$1" = 0 ]; then hasnt out advice; else ends_in_advice; fi
}
ends_in_advice() {
	expect_eq "$(grep -c 'advice: ' /tmp/out)" 1 "lines of advice"
	grep -Eq '^ *advice: .*(kvpoolctl|dmsetup) [a-z]+ ' <<< "$(tail -n 1 /tmp/out)" || fail "no advice: $(tail -n 1 /tmp/out)"
}

echo "--- no pool, a good one"
run 0 status -j; expect_eq "$(cat /tmp/out)" '{"version":1,"pools":[],"not_running":[]}'
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
run 0 create "${log[@]}" good single /dev/c
status 0 online
run 0 status -j tank; expect_eq "$(json pools.0.flush.count) $(json pools.0.flush.p99_us)" "0 null"
dd if=/dev/zero of=/dev/mapper/tank bs=4K count=1 oflag=direct conv=fsync status=none
run 0 status -j tank; [ "$(json pools.0.flush.count)" -ge 1 ] || fail "no flush was counted"
[ "$(json pools.0.flush.p50_us)" -gt 0 ] || fail "it took no time"
[ "$(json pools.0.flush.p50_us)" -le "$(json pools.0.flush.p999_us)" ] || fail "half took longer than all"
run 0 status -x; has out healthy
run 0 status -x -j; expect_eq "$(json pools)" "[]"

run 0 status good; has out '^  good +online'; has out '^    single-0 +online'; has out '^      /dev/c +online +0 +0 +0 +0$'

echo "--- a leg that disappears while the pool runs keeps its path"
dd if=/dev/urandom of=/dev/mapper/tank bs=64K count=16 oflag=direct conv=fsync status=none
run 0 export tank
start=$(kvpoolctl inspect -j /dev/a > /tmp/out; json inspect.superblock.geometry.data_start)
mkdir -p /dev/disk/by-id
for d in a b; do ln -sf ../../$d /dev/disk/by-id/kvpooltest-$d; at_exit "rm -f /dev/disk/by-id/kvpooltest-$d"; done
run 0 import -d /dev/disk/by-id/kvpooltest-a -d /dev/disk/by-id/kvpooltest-b tank
status 0 online; has out '/dev/disk/by-id/kvpooltest-b +online'
simset b remove 1
dd if=/dev/urandom of=/dev/mapper/tank bs=64K count=1 oflag=direct conv=fsync status=none
wait_stat tank state degraded
status 4 degraded; has out '/dev/disk/by-id/kvpooltest-b +faulted'; has out 'advice: leg /dev/disk/by-id/kvpooltest-b is faulted: .*kvpoolctl online tank'
run 4 status; ends_in_advice; has out 'pool: good'
run 4 status -j; expect_eq "$(json pools.1.losses_survivable)" 0
expect_eq "$(json pools.1.vdevs.0.legs.1.path)" /dev/disk/by-id/kvpooltest-b
run 4 status -x; has out 'pool: tank'; hasnt out 'pool: good'
run 0 status good
run 0 list -H -o name,state; has out '^tank	degraded$'
run 0 clear tank /dev/disk/by-id/kvpooltest-b
run 4 status tank
run 0 events tank; has out 'leg_lost leg=1'

echo "--- missing; offline"
run 0 export tank
simset b power 1
run 0 import -d /dev/a tank
status 4 degraded; has out 'advice: leg [0-9a-f-]{36} is missing: its device /dev/b is there, .*kvpoolctl online tank /dev/b brings it back'
run 4 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.1.path)" null
mksim d 16
dd if=/dev/b of=/dev/d bs=1M oflag=direct status=none
refused 3 duplicate_leg '/dev/[bd] carries the same UUID, and one of the two is a copy' online tank /dev/d
run 0 online -n -f tank /dev/d
run 0 labelclear -f /dev/d
run 0 online -n tank /dev/b
run 0 destroy tank
for d in a b; do run 0 labelclear -f /dev/$d; done
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
run 0 status -v -j tank
run 0 offline tank "$(json pools.0.vdevs.0.legs.1.uuid)"
status 4 degraded; has out 'leg /dev/b is offline: .*kvpoolctl online tank /dev/b brings it back'
run 0 events tank; has out 'leg_offline leg=1'

echo "--- lost blocks"
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=16 oflag=direct conv=fsync status=none
settle tank
leg garble /dev/a $((start + 5)) 1
run 4 scrub --wait tank; has out 'unrepaired 1'
status 4 degraded; has out 'poisoned: 1 block'; has out 'advice: 1 block is lost: kvpoolctl status -v tank'
run 4 status -v tank; has out 'lba 5, 1 block'
expect_fail dd if=/dev/mapper/tank of=/dev/null bs=4K skip=5 count=1 iflag=direct status=none
dd if=/dev/zero of=/dev/mapper/tank bs=4K seek=5 count=1 oflag=direct conv=fsync status=none
settle tank
status 4 degraded; has out 'poisoned: 0 block'

echo "--- suspended"
dmsetup suspend tank
status 5 suspended; has out 'advice: all I/O waits: kvpoolctl clear tank'
run 5 status; ends_in_advice
dmsetup resume tank
status 4 degraded
dmsetup suspend tank
run 0 clear tank
status 4 degraded

echo "--- faulted: the last leg fails"
simset a dead 1
expect_fail dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=1 oflag=direct conv=fsync status=none
wait_stat tank state faulted
status 5 faulted; has out 'advice: no leg (takes the log|can be written).*: .*kvpoolctl clear tank'
run 1 clear tank; has err 'still faulted.*dmsetup remove tank'
run 1 export tank; has err 'to stop it without a mark: dmsetup remove tank'
run 5 status -x; has out 'pool: tank'
simset a dead 0
run 0 clear tank
status 4 degraded
run 0 clear good

echo "--- errors that were mended"
run 0 status -x good; has out healthy
run 0 export good; run 0 destroy tank
# a leg whose label says that its pool should run makes the status bad
run 0 labelclear /dev/a
run 5 status -x; has out 'pool: tank'; has out 'state: not running'; hasnt out healthy
expect_eq "$(tail -n 1 /tmp/out | grep -c 'advice: .*missing')" 1
for d in b c; do run 0 labelclear -f /dev/$d; done
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/c
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=16 oflag=direct conv=fsync status=none
settle tank
leg garble /dev/a $((start + 5)) 1
run 0 scrub --wait tank; has out 'healed 1, unrepaired 0'
run 0 status tank; ends_in_advice; has out 'advice: leg /dev/a had errors \(0 read, 0 write, 1 checksum\)'
run 0 status -x; has out 'pool: tank'
run 0 clear tank
status 0 online

echo "--- suspended, and neither table could be started"
run 0 status -j tank; uuid=$(json pools.0.uuid)
table=$(dmsetup table tank)
run 0 export tank
for d in a c; do simset $d dead 1; done
dmsetup create -u "KVPOOL-$uuid" --notable tank
dmsetup suspend tank
dmsetup load tank --table "$table"
expect_fail dmsetup resume tank
run 0 create "${log[@]}" good single /dev/b
status 5 suspended; has out 'and the pool does not run.*kvpoolctl clear tank.*dmsetup resume tank'
hasnt out 'size|memory|LAYOUT'
run 5 status -j tank; expect_eq "$(json pools.0.name) $(json pools.0.vdevs)" "tank null"
run 5 status -j; expect_eq "$(json pools.0.state) $(json pools.1.state)" "online suspended"
run 5 status; ends_in_advice; has out 'pool: good'
run 0 list; has out '^tank +- +- +suspended'; has out '^good .* online '
run 0 list -j
run 0 metrics; has out '^kvpool_pool_state\{pool="tank",state="suspended"\} 1$'; hasnt out 'kvpool_size_bytes\{pool="tank"'
has out '^kvpool_size_bytes\{pool="good"'
for d in a c; do simset $d dead 0; done
run 0 clear tank
status 0 online

echo "--- stopped without a mark, and not started again"
run 0 status -x; has out healthy
stop tank
run 5 status -x; has out 'pool: tank'; has out 'advice: it was not started: kvpoolctl import tank'; hasnt out healthy
run 5 status -j; expect_eq "$(json pools.0.name) $(json not_running.0.name)" "good tank"
run 0 metrics; has out "^kvpool_pool_not_running\{pool=\"tank\",uuid=\"$uuid\"\} 1\$"; has out 'kvpool_size_bytes\{pool="good"'
run 0 status good
run 0 import tank
run 0 status -x; has out healthy

echo "--- what was read is remembered, so that disks can sleep; what is written is seen"
mksim e 16
reads() { for d in a b c e; do awk '{ print $1, $3 }' /sys/block/$d/stat; done | xargs; }
read_once() {
	local before
	settle tank; settle good
	echo 3 > /proc/sys/vm/drop_caches
	kvpoolctl status > /tmp/first; kvpoolctl metrics > /dev/null
	before=$(reads)
	echo 3 > /proc/sys/vm/drop_caches
	kvpoolctl status > /tmp/second; kvpoolctl status tank > /dev/null; kvpoolctl metrics > /dev/null
	expect_eq "$(reads)" "$before" "reads"
	expect_eq "$(grep -c spare /tmp/second)" "$(grep -c spare /tmp/first)" "lines of spares"
}
before=$(reads)
read_once
[ "$(reads)" != "$before" ] || fail "nothing was read"
run 0 add tank spare /dev/e
read_once
run 0 status -j tank; expect_eq "$(json pools.0.spares.0.path) $(json pools.0.spares.0.state)" "/dev/e available"
run 0 remove tank /dev/e
run 0 status -j tank; expect_eq "$(json pools.0.spares)" "[]"
read_once
run 0 create "${log[@]}" new single /dev/e
stop new
run 5 status -x; has out 'pool: new'; has out 'advice: it was not started: kvpoolctl import new'
run 0 import new; run 0 export new
run 0 status -x; has out healthy
run 0 import new; run 0 destroy new

echo "--- removed by force while a program has it open: the table of another target"
udevadm settle
exec 3< /dev/mapper/tank
expect_fail dmsetup remove --force tank
run 1 status tank; has err 'does not run: its device has the table of another target.*dmsetup remove'
exec 3<&-
udevadm settle
dmsetup remove --retry tank
run 0 import tank
run 0 status -x; has out healthy
check_json
