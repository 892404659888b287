# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a parity1 tells its stripes, keeps data, heals rot in data and parity, lives without any one leg, also after a power cut
# timeout: 240
# kernels: 6.1 6.12
# turn: parity */format/stripe.c */home/row.c
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
legs=(/dev/a /dev/b /dev/c /dev/d)
for d in a b c d; do mksim $d 64; done
len="0 $(sectors_of 96)"
dmsetup create p --table "$len kvpool - 4 format name=p log_size=8M chunk=16384 parity1 4 ${legs[*]}"
table=$(dmsetup table p)
[[ $table = *" parity1 4 "* ]] || fail "table line: $table"
expect_stat p vdev.0.kind parity1
expect_stat p losses_survivable 1
home=$(leg label /dev/a | sed -n 's/^data_start=//p')

# Stripes have 12 blocks of data, in chunks of 4. The parity of stripe s is on leg s mod
# 4.
rot() { # LEG BLOCK: in the row of that block
	local row=$((($2 - $2 % 12) / 3 + $2 % 4))
	simset "$(tr 0123 abcd <<< "$1")" corrupt "$(((home + row) * 8)) 8 9"
}
rot_block() { rot $(((1 + $1 % 12 / 4 + $1 / 12) % 4)) "$1"; }
rot_parity() { rot $(($1 / 12 % 4)) "$1"; }
all_is() { expect_eq "$(oracle show /dev/mapper/p 0 4096)" "0 4096 $1"; }
restart_without() { # LEG, or none
	local t=$table
	[ -z "$1" ] || t=$(awk -v leg="$1" '{ $(NF - 3 + leg) = "-"; print }' <<< "$table")
	dmsetup create p --table "$t" || fail "start without leg '$1': $(last_refusal)"
}

echo "--- the device tells its stripes, also if only labels have them; statistics name the legs"
tells() { # MINIMUM OPTIMUM
	local queue
	queue=/sys/block/$(dmsetup info -c --noheadings -o blkdevname p)/queue
	expect_eq "$(cat "$queue/minimum_io_size") $(cat "$queue/optimal_io_size")" "$1 $2" "hints"
	[ "$(cat "$queue/read_ahead_kb")" -ge $(($2 * 2 / 1024)) ] || fail "it reads ahead $(cat "$queue/read_ahead_kb") KiB"
}
tells 16384 49152
dmsetup remove --retry p
ima=/sys/kernel/security/ima
[ -e $ima ] || mount -t securityfs none /sys/kernel/security
# A device takes one policy, and never another.
[ ! -w $ima/policy ] || echo "measure func=CRITICAL_DATA label=device-mapper" > $ima/policy
dmsetup create p --table "$table"
tells 16384 49152
measured=$(awk '$5 == "dm_table_load" { print $6 }' $ima/ascii_runtime_measurements | tail -n 1 | xxd -r -p)
echo "$measured"
[[ $measured = *"target_name=kvpool,target_version="*",mode=rw,vdev_0=parity1,vdev_0_legs=4,leg_0="*",leg_3="*";"* ]] ||
	fail "measured: $measured"

echo "--- no hibernation while a pool runs; sleep"
expect_fail bash -c 'echo disk > /sys/power/state'
[[ $(last_refusal) == "hibernation | the pool 'p' runs"* ]] || fail "refused: $(last_refusal)"
oracle write /dev/mapper/p 0 64 1
before=$(stat_of p log.commits)
echo freezer > /sys/power/pm_test # test mode only: the machine's own disk cannot sleep
echo 1 > /sys/module/suspend/parameters/pm_test_delay
echo freeze > /sys/power/state
[ "$(stat_of p log.commits)" -gt "$before" ] || fail "nothing was committed before sleep"
expect_eq "$(oracle show /dev/mapper/p 0 64)" "0 64 v1"

echo "--- written as a whole and in part, and read back"
oracle write /dev/mapper/p 0 4096 1 fsync bs=64
dmsetup message p 0 checkpoint
all_is v1
oracle write /dev/mapper/p 0 4096 2 fsync bs=1
dmsetup message p 0 checkpoint
all_is v2
scrub p

echo "--- long reads: one request to each leg that seeks, otherwise one for each part between two chunks of parity"
requests() { local d n=0; for d in a b c d; do n=$((n + $(simstat $d reads))); done; echo $n; }
long_reads() { # 0 OR 1: do the legs say that they rotate? HOW-MANY-REQUESTS for 20 stripes
	local d before
	dmsetup remove --retry p
	for d in a b c d; do echo "$1" > "/sys/block/$(basename "$(readlink -f /dev/$d)")/queue/rotational"; done
	restart_without ""
	expect_eq "$(oracle show /dev/mapper/p 0 240 bs=240)" "0 240 v2"
	before=$(requests)
	expect_eq "$(oracle show /dev/mapper/p 0 240 bs=240)" "0 240 v2"
	expect_eq $(($(requests) - before)) "$2" "requests to the legs"
	expect_eq "$(oracle show /dev/mapper/p 7 230 bs=230)" "7 230 v2"
	expect_eq "$(oracle show /dev/mapper/p 300 200 bs=200)" "300 200 v2"	# two leaves
	expect_eq "$(oracle show /dev/mapper/p 3 6 bs=6)" "3 6 v2"
	rot_block 100; rot_parity 110
	expect_eq "$(oracle show /dev/mapper/p 0 240 bs=240)" "0 240 v2"
	expect_stat p read.retries 1
	scrub p 1
	scrub p
}
long_reads 0 22
long_reads 1 4

echo "--- rot in data and in parity"
rot_block 100; rot_block 217; rot_parity 301
expect_eq "$(oracle show /dev/mapper/p 96 8 bs=1)" "96 8 v2"
scrub p 2
scrub p
expect_stat p poisoned_blocks 0

echo "--- two bad blocks in a row are lost, and no others, until they are overwritten"
rot_block 600; rot_block 604
scrub p 0 2
expect_stat p poisoned_blocks 2
expect_fail dd if=/dev/mapper/p of=/dev/null bs=4096 skip=600 count=1 iflag=direct
expect_eq "$(oracle show /dev/mapper/p 608 4 bs=1)" "608 4 v2"
oracle write /dev/mapper/p 600 8 2 fsync bs=1
dmsetup message p 0 checkpoint
expect_stat p poisoned_blocks 0
all_is v2
scrub p

echo "--- after a restart"
dmsetup remove --retry p
restart_without ""
all_is v2
echo "--- the power goes with much in the log, and a leg with it"
oracle write /dev/mapper/p 0 4096 3 fsync bs=1
oracle write /dev/mapper/p 1 1000 4 fsync bs=3
simset all cut_mode random
simset all power_cut now
dmsetup remove --retry p
simset all power_cut none
simset all power_restore 1
restart_without 2
expect_stat p state degraded
expect_eq "$(oracle show /dev/mapper/p 1 1000)" "1 1000 v4"
expect_eq "$(oracle show /dev/mapper/p 1001 3095)" "1001 3095 v3"
oracle write /dev/mapper/p 0 4096 5 fsync bs=7
dmsetup message p 0 checkpoint
all_is v5
expect_stat p poisoned_blocks 0
dmsetup remove --retry p

echo "--- a second one is one too many"
expect_refusal "all but one" start p "$(awk '{ $NF = "-"; $(NF - 1) = "-"; print }' <<< "$table")"
