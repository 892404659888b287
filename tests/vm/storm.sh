# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests storm*: random writes of four times the cache's capacity, while the disks
# are slow. The pool p is on the disks a and b; the tests make its SSDs.
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
for d in a b; do mksim $d 192; done
dev=/dev/mapper/p
slow() { for d in a b; do simset $d delay_us "$1"; done; }
# storm SEED MIB OPTION...: every byte holds its place and its storm's seed. A checksum in
# each block would not do: fio accepts a block of any storm.
storm() {
	local seed=$1 size=$2
	shift 2
	fio --name=storm --filename="$dev" --ioengine=libaio --direct=1 --rw=randwrite --bs=4k --iodepth=32 --size="${size}m" \
		--verify=pattern --verify_pattern="%o0x0000000$seed" --verify_fatal=1 --verify_state_save=0 --randseed="$seed" \
		"$@" > /tmp/storm.txt 2>&1
}
written() { storm "$1" "$2" --do_verify=0 --end_fsync=1 || fail "$(cat /tmp/storm.txt)"; }
is_there() { storm "$1" "$2" --verify_only || fail "storm $1: $(cat /tmp/storm.txt)"; }
asked() { echo $(($(stat_of p ssd.hits) + $(stat_of p ssd.misses))); }

# _read_back MODE MIB SEED; share as of storms
_read_back() {
	local mode=$1 mib=$2 seed=$3 on through asked
	case $mode in writeback) on=cache ;; *) on=legs ;; esac
	dmsetup message p 0 set cache_mode "$mode"
	expect_stat p tunable.cache_mode "$mode"
	expect_stat p log.on $on
	through=$(stat_of p ssd.written_data) asked=$(asked)
	written "$seed" "$mib"
	[ "$(stat_of p destage.rate)" -gt 0 ] || fail "nothing goes home"
	through=$(($(stat_of p ssd.written_data) - through))
	case $on in
	cache) [ $through -ge $(((mib << 20) / share)) ] || fail "only $through bytes of the log on each SSD" ;;
	legs) expect_eq $through 0 "bytes of the log on the cache" ;;
	esac
	is_there "$seed" "$mib"
	[ "$(asked)" -gt "$asked" ] || fail "no read has asked the cache"
	expect_fail storm $((seed + 1)) "$mib" --verify_only
}

# _cut_behind_flush MODE SEED TABLE
_cut_behind_flush() {
	written "$2" 16
	simset all cut_mode random
	simset all power_cut now
	dmsetup remove --retry p
	simset all power_cut none
	simset all power_restore 1
	dmsetup create p --table "$3"
	expect_stat p tunable.cache_mode "$1"
	is_there "$2" 16
}

# storms MIB MODES CACHE...: in the first mode the cache begins empty, and admits the
# blocks that are read.
storms() {
	local mib=$1 modes mode table cache share=1 seed=0
	read -ra modes <<< "$2"
	shift 2
	# each SSD has the whole log; in a parity1 one of SHARE blocks
	[ "$1" != cache-parity1 ] || share=$2
	dmsetup create p --table "0 $(sectors_of 160) kvpool - 6 format name=p log_size=8M ram_cache=2M write_buffer=4M cache_mode=${modes[0]} mirror 2 /dev/a /dev/b $*"
	table=$(dmsetup table p)
	cache=$(stat_of p ssd.size)
	[ $((mib << 20)) -ge $((4 * cache)) ] || fail "a storm of $mib MiB is none for a cache of $cache bytes"
	slow 300
	for mode in "${modes[@]}"; do
		echo "--- $mode: a storm"
		_read_back "$mode" "$mib" $((++seed))
		echo "--- $mode: a power cut right after a FLUSH loses no data that was flushed"
		_cut_behind_flush "$mode" $((++seed)) "$table"
	done
}

quiet() {
	slow 0
	dmsetup message p 0 set destage_idle_ms 200
	wait_stat p log.used 0 200
	expect_stat p poisoned_blocks 0
	expect_stat p ssd.parked 0
	expect_stat p destage.drain_ms 0
	scrub p
}
