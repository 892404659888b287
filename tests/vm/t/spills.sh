# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: more is dirty on the SSDs than RAM holds: read, overwritten, discarded, power cut, one SSD, rot, both SSDs dead
# timeout: 300
# turn: full-cache */spill.c
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 96; done
for d in c d; do mksim $d 64; done
dmsetup create p --table "0 $(sectors_of 64) kvpool - 7 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G write_buffer=4M destage_idle_ms=60000 mirror 2 /dev/a /dev/b cache 2 /dev/c /dev/d"
table=$(dmsetup table p)
dev=/dev/mapper/p
show() { # FIRST COUNT [BLOCKS]: so many blocks a request, on one line
	local seen
	seen=$(oracle show $dev "$1" "$2" "bs=${3:-1}")
	echo "${seen//$'\n'/,}"
}
spilled() { echo $(($(stat_of p ssd.parked) / 4096)); }
# From now on no data is written home, however long the rest takes. One round of destage
# never ends.
hold() { for d in a b; do simset $d stall write; done; }
let_go() { for d in a b; do simset $d stall 0; done; }
# 8192 blocks are written. The buffer holds 1024 of them, and that round 2048 at most.
spill() { # VERSION
	hold
	oracle write $dev 10000 4096 "$1" fsync bs=4
	oracle write $dev 0 4096 "$1" fsync bs=4
	[ "$(spilled)" -gt 4096 ] || fail "only $(spilled) versions are spilled"
	[ "$(stat_of p memory.parked)" -gt $((4096 * 96)) ] || fail "and they take no memory"
}
home() {
	let_go
	dmsetup message p 0 checkpoint
	expect_stat p ssd.parked 0
	# 2048 of 128 bytes are kept at hand, and a few pages of records.
	[ "$(stat_of p memory.parked)" -le $((72 * 4096)) ] || fail "$(stat_of p memory.parked) bytes for nothing that is spilled"
	expect_stat p log.used 0
}

echo "--- read, overwritten, discarded"
spill 1
expect_eq "$(show 3000 500)" "3000 500 v1"
expect_eq "$(show 3000 500 16)" "3000 500 v1"
for b in 3001 3100 3101; do oracle write $dev $b 1 2 fsync; done
blkdiscard -o $((3200 * 4096)) -l $((10 * 4096)) $dev
oracle write $dev 3203 1 3 fsync
all="0 3001 v1,3001 1 v2,3002 98 v1,3100 2 v2,3102 98 v1,3200 3 zero,3203 1 v3,3204 6 zero,3210 886 v1"
expect_eq "$(show 3000 300)" "3000 1 v1,3001 1 v2,3002 98 v1,3100 2 v2,3102 98 v1,3200 3 zero,3203 1 v3,3204 6 zero,3210 90 v1"
[ "$(spilled)" -gt 4096 ] || fail "only $(spilled) are spilled by now"
home
expect_eq "$(show 0 4096 4)" "$all"

echo "--- the power goes"
spill 4
simset all cut_mode random
simset all power_cut now
dmsetup remove --retry p
let_go
simset all power_cut none
simset all power_restore 1
dmsetup create p --table "$table"
expect_eq "$(show 0 4096 4)" "0 4096 v4"
home

echo "--- one SSD is rotten"
spill 5
simset c corrupt "$((2048 * 8)) $((14000 * 8)) 7"
expect_eq "$(show 3000 200)" "3000 200 v5"
home
expect_eq "$(show 0 4096 4)" "0 4096 v5"
expect_stat p poisoned_blocks 0

echo "--- both die: spilled versions are lost and listed, versions in RAM are not"
hold
oracle write $dev 0 8192 6 fsync bs=4
expect_stat p log.on cache
for d in c d; do simset $d dead 1; done
# more than destage may have in hand
[ "$(spilled)" -gt 4096 ] || fail "only $(spilled) versions are spilled"
let_go
oracle write $dev 9000 1 6 fsync
expect_stat p log.on legs
dmsetup message p 0 checkpoint
lost=$(stat_of p poisoned_blocks)
[ "$lost" -gt 500 ] || fail "$lost blocks are lost"
[ "$lost" -lt 8192 ] || fail "all are lost"
seen=$(show 0 8192)
count() { tr , '\n' <<< "$seen" | awk -v v="$1" '$3 == v { n += $2 } END { print n + 0 }'; }
expect_eq "$(count EIO)" "$lost" "blocks that give an error"
expect_eq "$(count v6)" $((8192 - lost)) "blocks that are current"
dmsetup remove --retry p
dmsetup create p --table "${table% cache *} cache 2 - -"
expect_stat p poisoned_blocks "$lost"
expect_eq "$(show 0 8192)" "$seen" "after a restart"
oracle write $dev 0 8192 7 fsync bs=4
expect_eq "$(show 0 8192 4)" "0 8192 v7"
dmsetup message p 0 checkpoint
expect_stat p poisoned_blocks 0
scrub p
