# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# etcd and RocksDB on a pool, for the tests databases*: databases CUTS.
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper rocks -lrocksdb
helper leg
load_modules
no_udev
mksim a 400; mksim b 400
dmsetup create p --table "0 $(sectors_of 352) kvpool - 4 format name=p log_size=16M write_buffer=16M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
mkfs.ext4 -q /dev/mapper/p
mkdir -p /tmp/mnt
keys=$KVPOOL_TOP/scripts/demo-keys.py
etcd_pid='' rocks_pid='' last=-1

start_etcd() {
	etcd --data-dir /tmp/mnt/etcd --heartbeat-interval 1000 --election-timeout 10000 \
		--snapshot-count 300 > /tmp/etcd.log 2>&1 &
	etcd_pid=$!
	python3 "$keys" wait || fail "etcd does not answer: $(tail -n 3 /tmp/etcd.log)"
}

stop_etcd() {
	kill -9 $etcd_pid 2> /dev/null || true
	wait $etcd_pid || true
}

has_written() { grep -q '^done ' /tmp/acked; }
# Both write until every call fails; the power goes after OPS operations.
write_on() { # OPS
	: > /tmp/acked
	rocks put /tmp/mnt/rocks $((last + 1)) > /tmp/acked 2> /tmp/rocks.err & rocks_pid=$!
	retry 60 has_written
	simset all power_cut in "$1"
	python3 "$keys" write-until-it-fails
	wait $rocks_pid && fail "RocksDB noticed nothing"
	stop_etcd
	last=$(awk -v n="$last" '$1 == "done" { n = $2 } END { print n }' /tmp/acked)
	umount /tmp/mnt || umount -l /tmp/mnt
	dmsetup remove --retry p
	simset all power_restore 1
}

all_there() {
	mount /dev/mapper/p /tmp/mnt
	last=$(rocks verify /tmp/mnt/rocks "$last") || fail "RocksDB lost keys"
	start_etcd
	python3 "$keys" verify || fail "etcd lost keys"
	echo "RocksDB: $((last + 1)) keys"
}

databases() { # CUTS
	local cut before
	mount /dev/mapper/p /tmp/mnt
	start_etcd
	python3 "$keys" fill 300
	for ((cut = 1; cut <= $1; cut++)); do
		echo "--- power cut $cut"
		simset all seed $cut; simset all cut_mode random
		before=$last
		write_on $((cut * 700))
		[ "$last" -gt "$before" ] || fail "RocksDB wrote nothing: $(cat /tmp/rocks.err)"
		dmsetup create p --table "$table"
		all_there
	done

	echo "--- rot, then one leg less"
	stop_etcd
	umount /tmp/mnt
	dmsetup message p 0 checkpoint
	leg garble /dev/a 20000 4000
	dmsetup message p 0 drop_caches
	all_there
	stop_etcd
	umount /tmp/mnt
	e2fsck -fn /dev/mapper/p
	# blocks that were not read are still rotten
	dmsetup message p 0 scrub start
	wait_stat p scrub.state finished 120
	expect_stat p scrub.unrepaired 0
	simset b remove 1
	all_there
	stop_etcd
	umount /tmp/mnt
	e2fsck -fn /dev/mapper/p
	scrub p
}
