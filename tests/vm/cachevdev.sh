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
# Cuts the power and restores it. Dead disks stay dead.
cut_power() {
	simset all cut_mode random
	simset all power_cut now
	udevadm settle
	dmsetup remove --retry tank
	simset all power_cut none
	simset all power_restore 1
}
# The same under a file system with a load, whose process PID is to end. The load may have
# ended by itself, as the disks are gone. A child of it does its work, and has files open.
# If the power went during an exchange of tables, neither table starts. The pool then
# stays suspended and its file system frozen, and a program that writes there cannot die.
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
	[ -z "$job" ] || while grep -q '^[^Z]' <<< "$(ps -o stat= -p "$job")"; do sleep 0.1; done
	umount -l /tmp/m
	udevadm settle
	dmsetup remove --retry --force tank
	simset all power_cut none
	simset all power_restore 1
}
is_suspended() { [[ $(dmsetup info -c --noheadings -o suspended tank) = Suspended ]]; }
# Zeros the disks durably: a discard without a flush may be undone by a power cut.
blank() {
	for d in a b c d e; do
		simset $d faults clear
		simset $d dead 0
		blkdiscard -f /dev/$d 2> /dev/null
		dd if=/dev/zero of=/dev/$d bs=4K count=1 oflag=direct conv=fsync status=none
	done
}
# Writes, and reads its data back, until end_load.
begin_load() {
	fio --name=load --filename=/tmp/m/load --rw=randrw --bs=4k --size=8m --fdatasync=4 --verify=crc32c \
		--verify_backlog=64 --time_based --runtime=86400 --output=/tmp/load.log --minimal &
	load=$!
	# without a child fio ignores signals: end_load would wait for ever
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
