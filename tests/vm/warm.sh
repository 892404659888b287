# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests of clean blocks on a cache after a restart: the pool p, on the disks a and
# b and some SSDs.
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 96; done
dev=/dev/mapper/p
show() { # FIRST COUNT: the contents of the blocks, on one line
	local seen
	seen=$(oracle show $dev "$1" "$2" bs=4)
	echo "${seen//$'\n'/,}"
}
# sealed: wait until the summaries of full segments are written; they are written in their
# own time.
sealed() { wait_stat p ssd.unsealed 0; }
home_reads() { echo $(($(simstat a reads) + $(simstat b reads))); }
hits() { stat_of p ssd.hits; }
# from_ssd WHAT FIRST COUNT VERSIONS: all of it, and nothing from a disk but pages of the checksum table.
from_ssd() {
	local reads hits
	reads=$(home_reads) hits=$(hits)
	expect_eq "$(show "$2" "$3")" "$4" "$1"
	expect_eq "$(hits)" $((hits + $3)) "$1: hits"
	[ $(($(home_reads) - reads)) -le 24 ] || fail "$1: $(($(home_reads) - reads)) reads of the disks"
}
known_again() { [ "$(stat_of p ssd.restore_ms)" != 0 ]; }
# restored LEAST: so many blocks are known again, or more.
restored() {
	retry 60 known_again
	[ "$(stat_of p ssd.restored)" -ge "$1" ] || fail "$(stat_of p ssd.restored) blocks are known again, not $1"
	echo "$(stat_of p ssd.restored) blocks were known again after $(stat_of p ssd.restore_ms) ms"
}
start() { dmsetup create p --table "$table"; }
cut_power() {
	simset all cut_mode random
	simset all power_cut now
	dmsetup remove --retry p
	simset all power_cut none
	simset all power_restore 1
}
# known_after_a_stop VDEVS: a pool on them; its first 2048 blocks are clean on the cache, and known again then.
known_after_a_stop() {
	dmsetup create p --table "0 $(sectors_of 64) kvpool - 6 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G destage_idle_ms=86400000 $*"
	table=$(dmsetup table p)
	# less than a direct write needs, whatever the cutoff
	for b in 0 1024; do oracle write $dev $b 1024 1 fsync bs=4; done
	dmsetup message p 0 checkpoint
	from_ssd "before" 0 2048 "0 2048 v1"
	dmsetup remove --retry p
	start
	restored 2048
	from_ssd "after a stop" 0 2048 "0 2048 v1"
}
