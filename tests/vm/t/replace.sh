# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a disk of a mirror, and of a parity1, is pulled out and replaced under load; then another one is lost
# timeout: 400
# turn: legs-replaced */pool/legreplace.c *kvpoolctl/replace.c
# needs: gcc python3 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/legs.sh"
for d in a b c d e; do mksim $d 48; done
mksim f 16

numbers() { lsblk -dno MAJ:MIN "/dev/$1" | tr -d ' '; }

refusals() {
	echo "--- $1: what is refused"
	run 0 offline tank /dev/b
	refused 3 too_small 'a leg of that vdev needs' replace tank /dev/b /dev/f
	refused 3 held 'tank' replace tank /dev/b /dev/a
	mkfs.ext4 -q /dev/d
	refused 3 signature 'ext4' replace tank /dev/b /dev/d # printed elsewhere: ext4
	# by hand: in the place of a leg that is in use
	table=$(dmsetup table tank)
	bad=${table/ 0 $1/ 1 replace $1}
	expect_fail dmsetup load tank --table "${bad/ $(numbers a) / $(numbers e) }"
	[[ $(last_refusal) = *'is in use'* ]] || fail "refused, but: $(last_refusal)"
	expect_eq "$(dmsetup table tank)" "$table" "the table"
	run 0 online --wait tank /dev/b
}

new_pool() { # KIND LEG...
	run 0 create -f -o log_size=4M -o ram_cache=0 tank "$@"
	oracle write $dev 0 $blocks 1 fsync bs=32
}

# Pulled out under load, and replaced. Then a leg that stayed is pulled: the new one has everything.
replaced() {
	local kind=$1
	echo "--- $kind: pulled out under load, and replaced"
	begin_load
	simset b remove 1
	oracle write $dev 100 200 2 fsync bs=8
	wait_stat tank leg.1.state faulted
	run 4 status tank; has out 'advice: leg .*kvpoolctl replace tank .* NEW'
	old=$(stat_of tank leg.1.uuid)
	run 0 replace -f -n tank "$old" /dev/d; has out "would replace $old by /dev/d in pool tank"
	has out '^survives  loss of 1 leg\(s\) then, now 0'
	expect_eq "$(stat_of tank leg.1.uuid)" "$old" "-n has changed it"
	run 0 set tank resilver_rate=1M
	run 0 replace -f -j tank "$old" /dev/d
	expect_eq "$(json plan.action) $(json plan.new) $(json plan.redundancy.after)" "replace /dev/d 1"
	expect_eq "$(state 4 1)" resilvering
	run 4 status tank; has out '/dev/d +resilvering'; has out 'advice: leg /dev/d is resilvering'
	# not with refused(), which waits until nothing is written
	run 3 replace tank /dev/d /dev/e; has err 'it is resilvering'
	run 0 set tank resilver_rate=0
	run 0 wait -t resilver tank
	expect_eq "$(state 0 1)" online
	run 0 events tank; has out "leg_replaced leg=1 uuid=.* old=$old"
	wait_more tank io.write_blocks 256
	end_fio $fio /tmp/fio.log
	expect_eq "$(oracle show $dev 100 200)" "100 200 v2" "contents"
	sound

	echo "--- $kind: another leg is pulled out: the new one has everything"
	sum=$(contents)
	simset a remove 1
	dmsetup message tank 0 drop_caches
	oracle write $dev 0 100 3 fsync bs=8
	wait_stat tank leg.0.state faulted
	oracle write $dev 0 100 1 fsync bs=8
	expect_eq "$(contents)" "$sum" "contents without /dev/a"
}

old_disk_is_back() {
	echo "--- the old disk is back: it is no leg, and free after labelclear; it replaces the other"
	simset b power 1
	run 0 export tank
	run 0 import tank
	expect_eq "$(state 4 1)" online
	expect_eq "$(json pools.0.vdevs.0.legs.1.path)" /dev/d
	refused 3 member 'was a leg of pool tank, which runs without it' replace tank "$(stat_of tank leg.0.uuid)" /dev/b
	run 0 labelclear -f /dev/b
	run 0 replace --wait tank "$(stat_of tank leg.0.uuid)" /dev/b
	has out '/dev/b is online; the pool survives the loss of 1 leg'
	expect_eq "$(contents)" "$sum" "contents, when all were back"
	sound
}

other_use() {
	echo "--- a leg is out, and its disk gets another use: that is not wiped"
	run 0 offline tank /dev/d
	truncate -s 1M /tmp/swap
	mkswap /tmp/swap > /dev/null
	dd if=/tmp/swap of=/dev/d bs=512 skip=2 seek=2 count=6 oflag=direct status=none
	refused 3 signature 'first and last MiB would be wiped' detach tank /dev/d
	run 0 replace --wait tank /dev/d /dev/e
	has out 'note: /dev/d keeps its label: it carries a signature of swap as well'
	grep -q swap <<< "$(wipefs /dev/d)" || fail "it was wiped"
	sound
}

# Something is written to it, so that nothing that was remembered of it counts.
unread() {
	echo "--- a leg is out and cannot be read: it leaves, and keeps its label"
	run 0 offline tank /dev/e
	dd if=/dev/zero of=/dev/e bs=4096 seek=1 count=1 oflag=direct status=none
	simset e faults "add read_error 0 64"
	echo 3 > /proc/sys/vm/drop_caches
	refused 1 io 'cannot be looked at for signatures' online tank /dev/e
	run 0 detach tank /dev/e
	has out 'no leg of pool tank any more'
	has out 'keeps its label'
	simset e faults clear
	refused 3 member 'was a leg of pool tank, which runs without it' attach tank /dev/b /dev/e
	run 0 labelclear -f /dev/e
	run 0 attach --wait tank /dev/b /dev/e
	sound
}

# The disks that are pulled out are plugged in again.
destroy() { # DISK...
	run 0 destroy tank
	for d in "$@"; do simset "$d" power 1; done
	for d in a b c d; do kvpoolctl labelclear -f /dev/$d > /dev/null 2>&1 || true; done
}

new_pool mirror /dev/a /dev/b
refusals mirror
replaced mirror
old_disk_is_back
other_use
unread
destroy a e
new_pool parity1 /dev/a /dev/b /dev/c
replaced parity1
destroy a b
check_json
