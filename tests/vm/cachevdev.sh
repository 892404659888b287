# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests of caches: disks a and b, SSDs c, d and e, and the pool tank on them.
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
for d in a b; do mksim $d 64; done
for d in c d e; do mksim $d 32; done
# shellcheck disable=SC2034 # for the tests
log=(-o log_size=8M)
all_is() { expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1)" "0 512 $1"; }
# The power goes, and comes back; what is dead stays so.
cut_power() {
	simset all cut_mode random
	simset all power_cut now
	udevadm settle
	dmsetup remove --retry tank
	simset all power_cut none
	simset all power_restore 1
}
# The same under a file system with a load on it. What runs as PID is to end then.
# The load may have ended by itself, as the disks are gone; what does its work is
# a child, which has files open. If the power went amid an exchange of tables, neither table starts: the pool stays
# suspended, and its file system frozen, which lets nobody die who writes there.
cut_power_mounted() { # PID
	local job
	simset all cut_mode random
	simset all power_cut now
	job=$(pgrep -P "$load") || :
	# shellcheck disable=SC2086 # one, or none
	kill -KILL "$load" $job 2> /dev/null || :
	wait "$1" || :
	is_suspended && echo 'neither table starts' && dmsetup wipe_table tank
	wait "$load" || :
	[ -z "$job" ] || while ps -o stat= -p "$job" | grep -q '^[^Z]'; do sleep 0.1; done
	umount -l /tmp/m
	udevadm settle
	dmsetup remove --retry --force tank
	simset all power_cut none
	simset all power_restore 1
}
is_suspended() { [[ $(dmsetup info -c --noheadings -o suspended tank) = Suspended ]]; }
# For good: what was discarded and not flushed may be back after a power cut.
blank() {
	for d in a b c d e; do
		simset $d faults clear
		simset $d dead 0
		blkdiscard -f /dev/$d 2> /dev/null
		dd if=/dev/zero of=/dev/$d bs=4K count=1 oflag=direct conv=fsync status=none
	done
}
# Writes and reads back what it wrote, for as long as it takes.
begin_load() {
	fio --name=load --filename=/tmp/m/load --rw=randrw --bs=4k --size=8m --fdatasync=4 --verify=crc32c \
		--verify_backlog=64 --time_based --runtime=86400 --output=/tmp/load.log --minimal &
	load=$!
	# Before it has a child it takes no signal: end_load would be ignored, and wait for ever.
	until pgrep -P "$load" > /dev/null; do
		kill -0 "$load" || fail "fio ended by itself: $(cat /tmp/load.log)"
		sleep 0.2
	done
	wait_more tank io.write_blocks 16
}
end_load() {
	wait_more tank io.write_blocks
	kill -0 "$load" || fail "fio ended by itself: $(cat /tmp/load.log)"
	kill -INT "$load"
	wait "$load" || [ $? -le 130 ] || fail "fio: $(cat /tmp/load.log)"
	! grep -qiE 'verify|error' /tmp/load.log || fail "fio: $(cat /tmp/load.log)"
}
# mode_is MODE PLACE
mode_is() {
	run 0 status -j tank
	expect_eq "$(json pools.0.cache.mode) $(json pools.0.log.on)" "$1 $2"
	expect_eq "$(kvpoolctl get tank cache_mode)" "$1"
}
