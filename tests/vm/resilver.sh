# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests resilver*: legs_return KIND LOSSES takes legs of the pool tank away and brings them
# back, in all the ways that there are. Then the pool has all its data without the other legs.
. "$KVPOOL_TOP/tests/vm/legs.sh"
for d in a b c; do mksim $d 48; done
mksim d 16

# without LEG...: the pool without these devices has all that it had with them, and goes on. They
# come back afterwards.
without() {
	local sum d rest=()
	sum=$(contents)
	run 0 export tank
	for d in a b c; do
		[[ " $* " == *" $d "* ]] || rest+=(-d "/dev/$d")
	done
	run 0 import --degraded "${rest[@]}" tank
	dmsetup message tank 0 drop_caches
	expect_eq "$(contents)" "$sum" "contents without $*"
	run 0 export tank
	run 0 import tank
	wait_stat tank state online
	sound
	expect_eq "$(contents)" "$sum" "contents, when $* were back"
}
# others_away LEG: what the vdev can lose besides that leg.
others_away() {
	case $kind:$1 in
	mirror:a) without b c ;;
	mirror:b) without a c ;;
	mirror:c) without a b ;;
	parity1:a) without b ;;
	parity1:*) without a ;;
	esac
}

by_order() {
	echo "--- $kind: taken offline under load, and online again"
	run 0 create -f -o log_size=4M -o ram_cache=0 tank "$kind" /dev/a /dev/b /dev/c
	oracle write $dev 0 $blocks 1 fsync bs=32
	dmsetup message tank 0 checkpoint
	begin_load
	run 0 offline tank /dev/b; has out 'undone by kvpoolctl online'
	expect_eq "$(state 4 1)" offline
	oracle write $dev 100 200 2 fsync bs=8
	run 0 online -n tank /dev/b; has out 'would bring /dev/b of pool tank online'
	run 0 online -n -j tank /dev/b
	expect_eq "$(json plan.redundancy.after)" "$losses"
	expect_eq "$(state 4 1)" offline "-n has changed it"
	run 0 online --wait tank /dev/b; has out '/dev/b is online'
	expect_eq "$(state 0 1)" online
	wait_more tank io.write_blocks 256
	end_fio $fio /tmp/fio.log
	refused 3 refused 'it is in use' online tank /dev/b
	sound
	others_away b
}

only_what_was_missed() {
	echo "--- $kind: only what was missed is copied"
	run 0 offline tank /dev/c
	sleep 1.1 # an era
	dmsetup message tank 0 checkpoint
	oracle write $dev 1000 64 3 fsync bs=1
	dmsetup message tank 0 checkpoint
	before=$(stat_of tank resilver.copied)
	run 0 online -j --wait tank /dev/c
	copied=$(($(stat_of tank resilver.copied) - before))
	echo "copied $copied bytes"
	# a parity1 copies whole pieces of rows
	[ "$copied" -gt 0 ] || fail "nothing was copied"
	[ "$copied" -le $((1024 * 4096)) ] || fail "copied $copied bytes for 64 blocks"
	run 0 events tank; has out 'resilver_finished leg=2 copied='
	sound
}

interrupted() {
	echo "--- $kind: offline while it resilvers; the power goes while it resilvers"
	run 0 set tank resilver_rate=256K
	run 0 offline tank /dev/a
	oracle write $dev 0 $blocks 4 fsync bs=32
	dmsetup message tank 0 checkpoint
	run 0 online tank /dev/a; has out 'resilvers; then the pool survives'
	expect_eq "$(state 4 0)" resilvering
	expect_eq "$(json pools.0.resilver.state)" running
	run 4 status -x tank; has out '/dev/a +resilvering'; has out ' resilver: running, [0-9]+ % of'
	has out 'advice: leg /dev/a is resilvering, .*kvpoolctl wait -t resilver tank'
	run 0 metrics; has out '^kvpool_leg_state\{.*path="/dev/a",state="resilvering"\} 1$'
	run 4 status -j tank; has out '"features":\[[^]]*"resilver"'
	run 3 online tank /dev/a; has err 'it resilvers already'
	retry 60 stat_over tank resilver.copied 0
	run 0 offline tank /dev/a
	expect_eq "$(state 4 0)" offline
	run 0 online tank /dev/a
	# too slow to have ended
	retry 60 stat_over tank resilver.done 0
	oracle write $dev 2000 500 5 fsync bs=16
	expect_eq "$(state 4 0)" resilvering
	simset all cut_mode random
	cut_power tank
	run 0 inspect -j /dev/b
	expect_eq "$(json inspect.superblock.legs.0.state)" resilvering
	run 4 check -j /dev/a /dev/b /dev/c
	expect_eq "$(json check.legs.0.verified) $(json check.blocks.unrepaired)" "false 0"
	run 0 import tank
	wait_stat tank leg.0.state resilvering
	run 0 set tank resilver_rate=0
	run 0 wait -t resilver,scrub tank
	expect_eq "$(state 0 0)" online
	expect_eq "$(oracle show $dev 2000 500)" "2000 500 v5" "contents"
	sound
	others_away a
}

mended() {
	echo "--- $kind: a leg fails, and is mended"
	simset c dead 1
	oracle write $dev 0 300 6 fsync bs=4
	wait_stat tank state degraded
	simset c dead 0
	expect_eq "$(state 4 2)" faulted
	run 0 online --wait tank /dev/c
	run 0 clear tank
	sound
}

other_numbers() {
	echo "--- $kind: a leg is pulled out, and comes back under other numbers"
	simset b remove 1
	oracle write $dev 0 300 7 fsync bs=4
	wait_stat tank leg.1.state faulted
	uuid=$(stat_of tank leg.1.uuid)
	refused 3 refused 'its device has gone -- connect it' online tank "$uuid"
	before=$(dmsetup table tank)
	simset b power 1
	oracle write $dev 0 300 8 fsync bs=4
	run 0 online -n -j tank /dev/b; cp /tmp/out /tmp/plan
	expect_eq "$(dmsetup table tank)" "$before" "the table after -n"
	run 0 online -j --wait tank /dev/b
	expect_eq "$(json plan.table)" "$(json plan.table /tmp/plan)" "the table"
	[ "$(dmsetup table tank)" != "$before" ] || fail "the table is as it was"
	expect_eq "$(state 0 1)" online
	run 0 clear tank
	sound
	others_away b
}

connected() {
	echo "--- $kind: missing at the start, and connected while the pool runs"
	run 0 export tank
	run 0 import --degraded -d /dev/a -d /dev/b tank
	oracle write $dev 200 300 8 fsync bs=4
	run 4 status tank; has out 'advice: leg .* is missing: its device /dev/c is there, .*kvpoolctl online tank /dev/c brings it back'
	refused 3 refused 'does not have its device' online tank "$(stat_of tank leg.2.uuid)"
	refused 1 not_found 'not a leg of pool tank' online tank /dev/d
	begin_load
	run 0 online --wait tank /dev/c
	wait_more tank io.write_blocks 256
	end_fio $fio /tmp/fio.log
	sound
	others_away c
}

at_a_start() {
	echo "--- $kind: lost, and there at a start: it comes back by itself"
	simset b remove 1
	oracle write $dev 0 300 6 fsync bs=4
	wait_stat tank state degraded
	run 0 export tank
	simset b power 1
	run 0 import tank
	wait_stat tank leg.1.state online
	run 0 clear tank
	sound
}

stays_out() {
	echo "--- $kind: what was taken out by order stays out over a restart; so does all without online_auto"
	run 0 offline tank /dev/a
	oracle write $dev 0 300 9 fsync bs=4
	run 0 export tank
	run 0 import tank
	expect_eq "$(state 4 0)" offline
	run 0 online --wait tank /dev/a
	run 0 set tank online_auto=0
	simset a dead 1
	oracle write $dev 0 300 10 fsync bs=4
	wait_stat tank state degraded
	stop tank
	simset a dead 0
	run 0 import tank
	[[ $(state 4 0) = stale || $(json pools.0.vdevs.0.legs.0.state) = faulted ]] || fail "leg $(cat /tmp/out)"
	sleep 6 # longer than a leg waits that returns
	[ "$(stat_of tank leg.0.state)" != online ] || fail "it came back without online_auto"
	run 0 online --wait tank "$(stat_of tank leg.0.uuid)"
	run 0 clear tank
	run 0 set tank online_auto=1
	sound
	others_away a
	run 0 destroy tank
}

legs_return() { # KIND LOSSES
	kind=$1 losses=$2
	by_order
	only_what_was_missed
	interrupted
	mended
	other_numbers
	connected
	at_a_start
	stays_out
	check_json
}
