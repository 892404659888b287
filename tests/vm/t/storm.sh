# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: four times what a cache holds is written at random while the disks are slow, in every mode; all of it is read back, after a power cut, too; ext4 on it
# timeout: 420
# needs: fio,mkfs.ext4
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
for d in a b; do mksim $d 192; done
for d in c d; do mksim $d 12; done
# In the first mode, in which the cache is empty, and what is read enters.
dmsetup create p --table "0 $(sectors_of 160) kvpool - 6 format name=p log_size=8M ram_cache=2M write_buffer=4M cache_mode=writethrough mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
table=$(dmsetup table p)
dev=/dev/mapper/p
cache=$(stat_of p ssd.size)
mib=40
[ $((mib << 20)) -ge $((4 * cache)) ] || fail "a storm of $mib MiB is none for a cache of $cache bytes"
slow() { for d in a b; do simset $d delay_us "$1"; done; }
# storm SEED MIB OPTION...: every byte says where it is and which storm it is of. (A checksum in each
# block would not: fio takes that of any storm.)
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
slow 300

seed=0
for mode in writethrough writearound writeback; do
	echo "--- $mode: a storm"
	case $mode in writeback) on=cache ;; *) on=legs ;; esac
	dmsetup message p 0 set cache_mode $mode
	expect_stat p tunable.cache_mode $mode
	expect_stat p log.on $on
	through=$(stat_of p ssd.written_data) asked=$(asked)
	written $((++seed)) $mib
	[ "$(stat_of p destage.rate)" -gt 0 ] || fail "nothing goes home"
	through=$(($(stat_of p ssd.written_data) - through))
	case $on in
	cache) [ $through -ge $((mib << 20)) ] || fail "only $through bytes went through the cache" ;;
	legs) expect_eq $through 0 "bytes of the log on the cache" ;;
	esac
	is_there $seed $mib
	[ "$(asked)" -gt "$asked" ] || fail "no read has asked the cache"
	expect_fail storm $((seed + 1)) $mib --verify_only

	echo "--- $mode: what a FLUSH has seen stays, when the power goes right after it"
	written $((++seed)) 16
	simset all cut_mode random
	simset all power_cut now
	dmsetup remove --retry p
	simset all power_cut none
	simset all power_restore 1
	dmsetup create p --table "$table"
	expect_stat p tunable.cache_mode $mode
	is_there $seed 16
done

echo "--- a file system, with streams beside small writes"
mkfs.ext4 -q -F -E nodiscard $dev
mkdir -p /tmp/mnt
mount $dev /tmp/mnt
fio --directory=/tmp/mnt --ioengine=libaio --direct=1 --iodepth=8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --group_reporting \
	--name=small --rw=randrw --bs=4k --size=24m --fdatasync=64 \
	--name=stream --rw=write --bs=1m --size=40m > /tmp/fs.txt || fail "$(cat /tmp/fs.txt)"
umount /tmp/mnt
fsck.ext4 -fn $dev > /tmp/fsck.txt 2>&1 || fail "$(cat /tmp/fsck.txt)"

echo "--- quiet: all of it comes home"
slow 0
dmsetup message p 0 set destage_idle_ms 200
wait_stat p log.used 0
expect_stat p poisoned_blocks 0
expect_stat p ssd.parked 0
expect_stat p destage.drain_ms 0
scrub p
