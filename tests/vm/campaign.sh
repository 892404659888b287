# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The power-cut campaign, for the tests powercut*. It prints the command that replays a
# cut: campaign SEED CUTS does cuts SEED, SEED+1, ...
. "$KVPOOL_TOP/tests/vm/lib.sh"

_campaign_legs=()

# cut_power OPS SEED: cut the power after that many more operations.
cut_power() {
	local modes=(random random torn drop_all keep_all)
	simset all cut_mode "${modes[$2 % 5]}"
	simset all seed "$2"
	simset all power_cut in "$1"
}

power_back() {
	simset all power_cut none
	simset all power_restore 1
}

power_is_off() {
	[ "$(simget all power_cut)" = off ]
}

# restart POOL TABLE SEED: with power cuts in the recovery, up to three deep.
restart() {
	local pool=$1 table=$2 seed=$3 depth
	for ((depth = seed % 4; depth > 0; depth--)); do
		cut_power $((1 + (seed * 7 + depth * 13) % 40)) $((seed + depth))
		# the start may succeed before the power goes
		if dmsetup create "$pool" --table "$table" 2> /tmp/cut-start; then
			dmsetup message "$pool" 0 checkpoint 2> /tmp/cut-start || true
			power_is_off || simset all power_cut now
			dmsetup remove --retry "$pool"
		else
			power_is_off || fail "seed $seed: start failed with power: $(last_refusal)"
		fi
		echo "  cut in recovery, $depth to go"
		power_back
	done
	dmsetup create "$pool" --table "$table" || fail "seed $seed: start failed: $(last_refusal)"
}

# one_cut SEED OPS [RUN OPTIONS]
one_cut() {
	local seed=$1 status=0 table
	table=$(dmsetup table p)
	cut_power $((1 + seed * 7919 % $2)) "$seed"
	oracle run "$state" /dev/mapper/p "$seed" 4 100000 || status=$?
	[ "$status" = 3 ] || fail "seed $seed: the run ended with $status"
	power_is_off || fail "seed $seed: an I/O error with power on"
	dmsetup remove --retry p
	echo "seed $seed: $(simget all last_cut)"
	power_back
	restart p "$table" "$seed"
	oracle check "$state" /dev/mapper/p || fail "seed $seed: wrong after recovery"
}

# after_cut SEED: the other conditions that must hold.
after_cut() {
	local leg
	expect_stat p state online
	expect_stat p poisoned_blocks 0
	scrub p
	oracle check "$state" /dev/mapper/p || fail "seed $1: not the same the second time"
	for leg in "${!_campaign_legs[@]}"; do
		expect_stat p "leg.$leg.state" online
		expect_stat p "leg.$leg.err_checksum" 0
	done
	dmsetup message p 0 clear
}

# campaign SEED CUTS VDEV LEGS OPS [FORMAT OPTION]...
campaign() {
	local seed=$1 cuts=$2 kind=$3 legs=$4 ops=$5 i
	shift 5
	helper oracle
	load_modules
	no_udev
	_campaign_legs=()
	for ((i = 0; i < legs; i++)); do
		mksim "pc$i" 160
		_campaign_legs+=("/dev/pc$i")
	done
	state=/dev/shm/state
	at_exit "rm -f $state"
	oracle new "$state" 3072 6 5000 "$seed"
	dmsetup create p --table "0 $(sectors_of 120) kvpool - $((2 + $#)) format name=p $* $kind $legs ${_campaign_legs[*]}"
	for ((i = seed; i < seed + cuts; i++)); do
		one_cut "$i" "$ops"
		[ $((i % 3)) != 0 ] || after_cut "$i"
	done
	after_cut "$i"
	dmsetup remove --retry p
}
