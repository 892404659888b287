# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: the log on one SSD and on two: power cuts, SSDs that die and come back
# timeout: 300
# turn: cache-in-use */recovery/*.c
# needs: gcc python3 mkfs.ext4 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"

echo "--- one SSD under a mirror: idle unless forced"
refused 3 refused 'survive' create "${log[@]}" -o cache_mode=writeback tank mirror /dev/a /dev/b cache /dev/c
refused 2 usage 'no cache' create "${log[@]}" -o cache_mode=writeback tank mirror /dev/a /dev/b
refused 2 usage 'before it' create "${log[@]}" tank cache /dev/c mirror /dev/a /dev/b
refused 2 usage 'one leg' create "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c /dev/d
refused 2 usage 'one cache' create "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c cache /dev/d
refused 3 too_small '/dev/c: .* 64 MiB, .*-f' create "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c
run 0 create -f -n -j "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c; ram=$(json plan.ram_bytes)
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache /dev/c
has err 'note: the cache is write-through'
run 0 status -j tank
expect_eq "$(json pools.0.cache.mode) $(json pools.0.cache.state) $(json pools.0.log.on)" "writethrough online legs"
expect_eq "$(json pools.0.losses_survivable)" 1
expect_eq "$(kvpoolctl get tank cache_mode)" writethrough
oracle write /dev/mapper/tank 0 512 1 fsync bs=8
run 0 export tank
run 0 import -n -j tank; expect_eq "$(json plan.ram_bytes)" "$ram" "memory of create and of import"
[ "$ram" -gt $((3 * 64 << 20)) ] || fail "the cache takes no memory"
run 0 import tank
all_is v1
run 0 destroy tank
blank

echo "--- two SSDs: the plan, then the same for good"
run 0 create -f -n "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
has out 'and cache of 2'; has out '^log +.* of the cache'; has out '^survives +loss of 1 leg'
run 0 create -f -n -j "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d; dirty=$(json plan.cache_dirty_max)
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d; hasnt err note
run 0 get -p tank cache_dirty_max; expect_eq "$(cat /tmp/out)" "$dirty"
run 0 get tank; has out '^cache_dirty_max +[0-9]+M +- +64M..64G +limit of dirty data'
# the whole cache may be dirty, so there is no larger limit
run 0 set -n -j tank cache_dirty_max=64M
expect_eq "$(json plan.before) $(json plan.value) $(json plan.over_bytes)" "$dirty $dirty 0"
run 0 set -n tank cache_dirty_max=64M; has out '^memory +.* if all of that is dirty'
run 0 set tank cache_dirty_max=64M
run 0 get -p tank cache_dirty_max; expect_eq "$(cat /tmp/out)" "$dirty"
refused 2 usage 'from 64 MiB to 64 GiB' set tank cache_dirty_max=1M
run 0 events tank; has out " cache_dirty_max bytes=$dirty uid=0\$"
[[ $(dmsetup table tank) = *" mirror 2 "*" cache 2 "* ]] || fail "table line: $(dmsetup table tank)"
[[ $(dmsetup status tank) = *" online cache" ]] || fail "status line: $(dmsetup status tank)"
run 0 status tank; has out 'on the cache'; has out 'cache: write-back'; has out '^ +cache +online'; has out '/dev/d +online'
run 0 status -j tank
expect_eq "$(json pools.0.cache.mode) $(json pools.0.cache.legs.1.path)" "writeback /dev/d"
expect_eq "$(json pools.0.losses_survivable)" 1
expect_eq "$(json pools.0.memory.index)" "$(json pools.0.cache.ram_bytes)"
expect_eq "$(json pools.0.memory.log_parity)" "$(stat_of tank memory.log_parity)"
for use in index fills summaries table; do
	[ "$(json pools.0.memory.$use)" -gt 0 ] || fail "memory for $use: $(json pools.0.memory.$use)"
done
run 0 inspect -j /dev/d; expect_eq "$(json inspect.superblock.incompat)" $((2 + 4 + 4096))
mkfs.ext4 -q -E nodiscard /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
fio --name=c --filename=/tmp/m/file --rw=randwrite --bs=4k --size=4m --fdatasync=1 --verify=crc32c \
	--output=/tmp/fio.log || fail "fio: $(cat /tmp/fio.log)"
[ "$(simstat c writes)" -gt "$(simstat a writes)" ] || fail "writes to a: $(simstat a writes), to c: $(simstat c writes)"
umount /tmp/m

echo "--- bytes written to the SSDs, by cause"
run 0 iostat -j tank 0.1 2
head -n 1 /tmp/out > /tmp/first
sed -n 2p /tmp/out > /tmp/last
data=$(json cache.written.data /tmp/first) headers=$(json cache.written.headers /tmp/first)
[ "$data" -ge $((4 << 20)) ] || fail "bytes of users: $data"
[ "$headers" -gt 0 ] || fail "each fsync has its entry, and none has a header"
all=$((headers + data))
for cause in parity fills reinserted renewed table; do all=$((all + $(json cache.written.$cause /tmp/first))); done
expect_eq "$(json cache.amplification /tmp/first)" $(((200 * all + data) / (2 * data)))
expect_eq "$(json cache.written.data /tmp/last)" 0
run 0 status -j tank
expect_eq "$(json pools.0.cache.written.data)" "$data"
[ "$(json pools.0.log.data)" -ge $((4 << 20)) ] || fail "through the log: $(json pools.0.log.data)"
run 0 status tank; has out '[0-9] [KM]?i?B are dirty; '; hasnt out 'to each SSD'
run 0 status -v tank; has out '^  flushes: [1-9][0-9]*; half took [0-9.]+ ms'; has out '^  written: to each SSD [1-9].* times the data of users'
has out '^ bypassed: the RAM cache: '; has out '^  refused: by the SSD cache: '
run 0 iostat -v tank; has out '^  cache: .* hits, .* written to each SSD'
run 0 metrics
has out 'kvpool_ssd_cache_write_amplification\{pool="tank"\} [1-9][0-9]*\.[0-9]{4}$'
has out '^kvpool_ssd_cache_mode\{pool="tank",mode="writeback"\} 1$'; has out '^kvpool_ssd_cache_mode\{.*,mode="writearound"\} 0$'
has out '^kvpool_log_on_cache\{pool="tank"\} 1$'
has out '^kvpool_ssd_cache_state\{pool="tank",state="online"\} 1$'; has out '^kvpool_drain_state\{pool="tank",state="none"\} 1$'
has out "^kvpool_ssd_cache_dirty_max_bytes\{pool=\"tank\"\} $dirty\$"

echo "--- the power goes with much in the log"
oracle write /dev/mapper/tank 0 512 2 fsync bs=4
cut_power
run 0 import tank
all_is v2
scrub tank

echo "--- the pool moves to another host, and the SSDs travel along"
dmsetup message tank 0 set destage_idle_ms 86400000
oracle write /dev/mapper/tank 0 512 2 fsync bs=4
run 0 export -n tank; has out '^/dev/c must travel along, unless'; has out '^/dev/d must travel along, unless'
run 0 export -n -j tank; expect_eq "$(json plan.travel)" '["/dev/c","/dev/d"]'
run 0 export -n -j --drain tank; expect_eq "$(json plan.travel)" '[]'
run 0 export -j tank; expect_eq "$(json plan.travel)" '["/dev/c","/dev/d"]'
run 0 import tank
all_is v2
run 0 export -j --drain tank; expect_eq "$(json plan.travel)" '[]'
run 0 import tank
all_is v2
dmsetup message tank 0 set destage_idle_ms 5000

echo "--- an SSD dies, and the power goes: the other one has all data"
oracle write /dev/mapper/tank 0 512 3 fsync bs=4
simset c dead 1
oracle write /dev/mapper/tank 0 512 4 fsync bs=4
run 4 status -j tank
expect_eq "$(json pools.0.cache.state) $(json pools.0.cache.legs.0.state)" "degraded faulted"
run 0 metrics; has out '^kvpool_ssd_cache_state\{pool="tank",state="degraded"\} 1$'
cut_power
simset c dead 0
run 0 import tank
all_is v4
run 4 status -j tank
expect_eq "$(json pools.0.cache.mode) $(json pools.0.losses_survivable)" "writeback 0"

echo "--- the last SSD dies: the log moves to the legs, and no data is lost"
oracle write /dev/mapper/tank 0 512 5 fsync bs=4
simset d dead 1
oracle write /dev/mapper/tank 0 256 6 fsync bs=4
expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 256 v6,256 256 v5,"
expect_eq "$(event_count tank log_moved)" 1 "events log_moved"
expect_stat tank log.on legs
run 0 metrics; has out '^kvpool_log_on_cache\{pool="tank"\} 0$'
run 4 status -j tank
expect_eq "$(json pools.0.cache.mode) $(json pools.0.cache.state) $(json pools.0.state)" "writeback faulted degraded"
expect_eq "$(json pools.0.losses_survivable)" 1
oracle write /dev/mapper/tank 0 512 7 fsync bs=4
cut_power
simset d dead 0

echo "--- the old SSDs come back, but their old data does not"
run 0 import tank
all_is v7
scrub tank
oracle write /dev/mapper/tank 0 512 8 fsync bs=4
run 0 export tank
run 0 import -d /dev/a -d /dev/b tank
all_is v8
run 0 destroy tank
check_json
