# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# etcd and fio, which verifies, on a pool that goes through all its changes, for the tests
# databases-legs*: changes KIND DISK...
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
no_udev
keys=$KVPOOL_TOP/scripts/demo-keys.py
dev=/dev/mapper/tank dir=/tmp/m fio=
mkdir -p $dir

start_etcd() {
	etcd --data-dir $dir/etcd --heartbeat-interval 1000 --election-timeout 10000 \
		--snapshot-count 300 > /tmp/etcd.log 2>&1 &
	etcd=$!
	python3 "$keys" wait || fail "etcd does not answer: $(tail -n 3 /tmp/etcd.log)"
}
stop_etcd() {
	kill -9 "$etcd"
	wait "$etcd" || true
}
# Not as fast as it can be: that would take all processors.
begin_fio() {
	fio --name=load --filename=$dir/load --direct=1 --rw=randrw --bsrange=4k-64k --size=24m --time_based \
		--runtime=86400 --verify=crc32c --verify_backlog=64 --verify_state_save=0 --rate_iops=60 \
		--fdatasync=16 --ioengine=libaio --iodepth=4 --output=/tmp/fio.log &
	fio=$!
	wait_more tank io.write_blocks 256
}

# beside COMMAND...: while keys are written, and fio goes on. Then all keys are there.
beside() {
	local writer
	echo "--- $*"
	python3 "$keys" fill 200 > /tmp/fill 2>&1 &
	writer=$!
	"$@"
	kill -0 "$fio" || fail "fio ended by itself: $(cat /tmp/fio.log)"
	wait $writer || fail "etcd: $(cat /tmp/fill)"
	python3 "$keys" verify || fail "etcd lost keys"
	wait_more tank io.write_blocks 16
}
# From the disks, not from any RAM.
all_from_disks() {
	end_fio "$fio" /tmp/fio.log
	stop_etcd
	umount $dir
	e2fsck -fn $dev > /tmp/fsck 2>&1 || fail "$(cat /tmp/fsck)"
	dmsetup message tank 0 drop_caches
	run 0 scrub --wait tank; has out 'healed 0, unrepaired 0'
	mount $dev $dir
	start_etcd
	python3 "$keys" verify || fail "etcd lost keys"
	begin_fio
}

# leg_on DISK: the number of the leg
leg_on() {
	local i
	for ((i = 0; ; i++)); do
		[ "$(stat_of tank "leg.$i.path")" != "/dev/$1" ] || break
		[ -n "$(stat_of tank "leg.$i.uuid")" ] || fail "no leg is on $1"
	done
	echo "$i"
}
is_lost() { # DISK
	local leg
	leg=$(leg_on "$1")
	lost=$(stat_of tank "leg.$leg.uuid")
	simset "$1" remove 1
	wait_stat tank "leg.$leg.state" faulted
	expect_stat tank state degraded
}
returns() { # DISK
	simset "$1" power 1
	run 0 online --wait tank "/dev/$1"
	wait_stat tank state online
}
is_replaced() { # OLD NEW
	run 0 replace -f --wait tank "$1" "/dev/$2"
	wait_stat tank state online
}
grows() {
	local was
	was=$(blockdev --getsize64 $dev)
	run 0 "$@"
	[ "$(blockdev --getsize64 $dev)" -gt "$was" ] || fail "the pool has not grown"
	resize2fs $dev > /tmp/resize 2>&1 || fail "$(cat /tmp/resize)"
}
gets_a_cache() {
	run 0 add -f tank cache mirror /dev/s /dev/t
	expect_stat tank log.on cache
}
# A leg with data is away meanwhile.
ssd_goes_and_returns() {
	local leg
	leg=$(leg_on s)
	run 0 offline tank /dev/s
	expect_stat tank "leg.$leg.state" offline
	wait_more tank io.write_blocks 64
	run 0 online tank /dev/s
	wait_stat tank "leg.$leg.state" online
}
gives_the_cache_away() {
	run 0 remove tank cache
	expect_stat tank log.on legs
}

changes() { # KIND DISK...
	local kind=$1 d i n
	shift
	n=$#
	for d in "$@" spare; do mksim "$d" 400; done
	for ((i = 0; i < n; i++)); do mksim "large$i" 500; done
	for d in e f; do mksim $d 200; done
	for d in s t; do mksim $d 96; done
	run 0 create -o log_size=16M -o write_buffer=16M tank "$kind" "${@/#//dev/}"
	mkfs.ext4 -q $dev
	mount $dev $dir
	start_etcd
	python3 "$keys" fill 300
	begin_fio
	beside is_lost "$2"
	beside returns "$2"
	beside is_lost "$1"
	beside is_replaced "$lost" spare
	all_from_disks
	# each leg in use, by a larger disk
	beside is_replaced /dev/spare large0
	for ((i = 2; i <= n; i++)); do beside is_replaced "/dev/${!i}" "large$((i - 1))"; done
	beside grows grow tank
	beside grows add tank mirror /dev/e /dev/f
	all_from_disks
	beside gets_a_cache
	beside is_lost large1
	beside ssd_goes_and_returns
	beside returns large1
	beside gives_the_cache_away
	all_from_disks
	end_fio "$fio" /tmp/fio.log
	stop_etcd
	umount $dir
	run 0 export tank
}
