# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power cuts while legs come and go, for the tests powercut-legs*: comings SEED N LOSSES "KIND LEGS"
# ["KIND SSDS"] tells N stories. While the oracle writes to the pool tank, a story moves its legs, and
# at some step of it the power goes. It goes again in up to three recoveries from that, and in every
# second story once more while legs resilver. Then all that was acknowledged is there. The legs that
# are away return, and in every third story the pool is read without a leg that never left.
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
no_udev

stories=(leaves returns is_pulled is_plugged_in is_replaced in_use_is_replaced second_leaves
	second_returns flaps away_at_the_start)
dev=/dev/mapper/tank
state=/dev/shm/state
at_exit "rm -f $state"
moves=/tmp/moves # what a story did with power on
disks=() ssds=() spare='' losses=0 cuts=0 recovery_cuts=0
: > $moves

power_is_off() { [ "$(simget all power_cut)" = off ]; }
is_suspended() { [[ $(dmsetup info -c --noheadings -o suspended tank) = Suspended ]]; }

# cut_power OPS SEED: cut the power after that many more operations.
cut_power() {
	local modes=(random random torn drop_all keep_all)
	simset all cut_mode "${modes[$2 % 5]}"
	simset all seed "$2"
	simset all power_cut in "$1"
}

power_back() {
	[ ! -e $dev ] || dmsetup remove --retry tank
	simset all power_cut none
	simset all power_restore 1
}

# --- stories: disk x is leg at and leaves, disk y is another leg, disk new is free -----------------

# step COMMAND...: the story does this. The power goes some operations after the step with number due
# begins. Then the story ends.
step() {
	steps=$((steps + 1))
	[ $steps != "$due" ] || cut_power "$ops" "$seed"
	"$@" > /tmp/step 2>&1 || power_is_off || fail "seed $seed: $*: $(cat /tmp/step)"
	! power_is_off || exit 0
	kill -0 "$oracle" 2> /dev/null || may_fail || power_is_off || fail "seed $seed: an I/O error after $*"
	echo "$1" "${2:-}" >> $moves
}

# until_off SECONDS CONDITION...: wait for it, or for the power to go.
until_off() {
	local end
	end=$(_end "$1")
	shift
	until "$@" || power_is_off; do
		[ "$SECONDS" -lt "$end" ] || { echo "never: $*"; return 1; }
		sleep 0.2
	done
}
is_out() { [[ $(stat_of tank "leg.$1.state") = @(faulted|missing|stale) ]]; }
pull() { simset "$1" remove 1 && until_off 120 is_out "$2"; } # DISK LEG
plug_in() { [ "$(simget "$1" power)" = 1 ] || simset "$1" power 1; }
back() { plug_in "$1" && kvpoolctl online tank "/dev/$1"; }
# more KEY N: the counter grows by that much.
more() { until_off 120 stat_over tank "$1" $(($(stat_of tank "$1") + $2)); }
# The walk has begun to copy, or has ended already.
is_at_work() { [ "$(stat_of tank resilver.state)" != running ] || stat_over tank resilver.done 0; }

leaves() { step kvpoolctl offline tank "/dev/$x"; }
returns() {
	leaves
	step more io.write_blocks 512
	step back "$x"
	step until_off 120 is_at_work
}
is_pulled() { step pull "$x" "$at"; }
is_plugged_in() {
	is_pulled
	step more io.write_blocks 512
	step back "$x"
	step until_off 120 is_at_work
}
is_replaced() {
	if [ $((seed % 4)) -lt 2 ]; then is_pulled; else leaves; fi
	step kvpoolctl replace -f tank "$uuid" "/dev/$new"
	step until_off 120 is_at_work
}
in_use_is_replaced() {
	step kvpoolctl replace -f tank "/dev/$x" "/dev/$new"
	step until_off 120 is_at_work
	step kvpoolctl set tank resilver_rate=0
}
# While x resilvers, or just after that.
second_leaves() {
	returns
	step simset "$y" remove 1
	step sleep 1
}
second_returns() {
	second_leaves
	step plug_in "$y"
	may_fail || step kvpoolctl online tank "/dev/$y"
}
flaps() {
	for _ in 1 2 3; do
		leaves
		step back "$x"
	done
}
away_at_the_start() { is_pulled; }
# An SSD of the cache leaves while x resilvers, and returns.
ssd_leaves() {
	returns
	step kvpoolctl offline tank "/dev/${ssds[0]}"
	step more io.write_blocks 256
	step kvpoolctl online tank "/dev/${ssds[0]}"
}
# Without x, which may still resilver, and y the pool cannot go on.
may_fail() { [[ $story = second_* && $losses = 1 ]]; }

# In a subshell: the story, and what comes after it, until the power is off.
_teller() {
	trap - ERR
	set +e
	"$story"
	[ "$due" -le "$steps" ] || cut_power "$ops" "$seed"
	until power_is_off; do
		if ! kill -0 "$oracle" 2> /dev/null && ! power_is_off; then
			may_fail || fail "seed $seed: an I/O error with power"
			simset all power_cut now
		fi
		sleep 0.2
	done
}

# written_until_off SEED COMMAND...: the oracle writes, and the command runs beside it and ends when
# the power is off.
written_until_off() {
	local seed=$1 oracle teller status=0
	shift
	# It ends with an error, which is no fault.
	(trap - ERR; oracle run "$state" $dev "$seed" 4 1000000 > /tmp/oracle 2>&1) &
	oracle=$!
	"$@" &
	teller=$!
	wait $teller || fail "seed $seed: $story"
	if is_suspended; then
		echo 'the power went in an exchange of tables'
		dmsetup wipe_table tank
	fi
	wait $oracle || status=$?
	cat /tmp/oracle
	[ "$status" = 3 ] || fail "seed $seed: the run ended with $status"
	cuts=$((cuts + 1))
	echo "seed $seed: $story: $(simget all last_cut)"
	power_back
}

# --- afterwards -----------------------------------------------------------------------------------

plug_all() { for d in "${disks[@]}" "$spare"; do plug_in "$d"; done; }

# imported AGAIN: false if the power is off, or a leg is missing that may know more.
imported() {
	! kvpoolctl import -j tank > /tmp/import 2>&1 || return 0
	[ ! -e $dev ] || dmsetup remove --retry tank
	! power_is_off || return 1
	grep -q '"code":"missing_legs"' /tmp/import || fail "no start with power: $(cat /tmp/import)"
	[ "$story" = away_at_the_start ] || fail "a leg is missing: $(cat /tmp/import)"
	echo '  no start without the leg'
	plug_all
	return 1
}

# wake SEED: start the pool, with power cuts in the recovery.
wake() {
	local seed=$1 depth
	[ "$story" = away_at_the_start ] || plug_all
	for ((depth = seed % 4; depth > 0; depth--)); do
		cut_power $((1 + (seed * 7 + depth * 13) % 40)) $((seed + depth))
		# the start may succeed before the power goes
		! imported || dmsetup message tank 0 checkpoint 2> /tmp/checkpoint || true
		power_is_off || simset all power_cut now
		power_back
		recovery_cuts=$((recovery_cuts + 1))
		echo "  cut in recovery, $((depth - 1)) to go"
	done
	imported || imported || fail "seed $seed: no start: $(cat /tmp/import)"
	oracle check "$state" $dev || fail "seed $seed: wrong after recovery"
}

# is_taken LEG: another leg has its place, or is to have it.
is_taken() {
	local all uuid
	all=$(dmsetup message tank 0 stats)
	uuid=$(sed -n "s/^leg\.$1\.uuid=//p" <<< "$all")
	grep -q "^leg\.[0-9]*\.replaces=$uuid\$" <<< "$all"
}

# Legs that do not return by themselves are told to. What is refused is tried again. A leg that was
# replaced in use, and whose successor is in sync already, does not return: it leaves.
_all_there() {
	local i d all=true
	for ((i = 0; i < ${#disks[@]} + ${#ssds[@]}; i++)); do
		case $(stat_of tank "leg.$i.state") in
		online | resilvering) continue ;;
		esac
		all=false
		for d in "$x" "$y" "$spare" "${ssds[@]}"; do
			kvpoolctl online tank "/dev/$d" > /tmp/online 2>&1 || true
		done
		! is_taken $i || kvpoolctl wait -t replace tank > /tmp/online 2>&1 || true
	done
	$all
}

# All legs are in sync, and one disk is free.
whole() {
	local d i
	plug_all
	run 0 set tank resilver_rate=0
	retry 120 _all_there
	run 0 wait -t resilver tank
	run 0 wait -t replace tank
	wait_stat tank state online 120
	run 0 status -j tank
	for ((i = 0; i < ${#disks[@]}; i++)); do
		d=$(json "pools.0.vdevs.0.legs.$i.path")
		[ "${d#/dev/}" != "$spare" ] || spare=${disks[at]}
		legs[i]=${d#/dev/}
	done
	disks=("${legs[@]}")
	[[ " ${disks[*]} " != *" $spare "* ]] || fail "no disk is free: ${disks[*]}"
	kvpoolctl labelclear -f "/dev/$spare" > /tmp/out 2>&1 || true
}

# Nothing is wrong anywhere, and the pool can be without a leg that never left.
sound() { # SEED
	local d rest=()
	expect_stat tank poisoned_blocks 0
	scrub tank
	for d in "${!disks[@]}"; do expect_stat tank "leg.$d.err_checksum" 0; done
	oracle check "$state" $dev || fail "seed $1: not the same with all legs"
	[ $(($1 % 3)) = 0 ] || return 0
	run 0 export tank
	for d in "${disks[@]}" "${ssds[@]}"; do
		[ "$d" = "$y" ] || rest+=(-d "/dev/$d")
	done
	run 0 import --degraded "${rest[@]}" tank
	oracle check "$state" $dev || fail "seed $1: wrong without $y"
	run 0 export tank
	run 0 import tank
	wait_stat tank state online 120
	run 0 clear tank
}

tell() { # SEED
	local seed=$1 story x y uuid new at steps=0 due ops
	story=${stories[seed % ${#stories[@]}]}
	at=$((seed / 7 % ${#disks[@]}))
	x=${disks[at]} y=${disks[(at + 1) % ${#disks[@]}]} new=$spare
	uuid=$(stat_of tank "leg.$at.uuid")
	due=$((1 + seed * 3 % 8)) ops=$((1 + seed * 7919 % 300))
	run 0 set tank resilver_rate=$((seed % 3 * 2))M
	written_until_off "$seed" _teller
	wake "$seed"
	if [ $((seed % 2)) = 1 ]; then
		story="after $story"
		steps=0
		written_until_off $((seed + 100000)) again
		wake $((seed / 2))
	fi
	whole
	sound "$seed"
}
# Legs may resilver when the power goes once more.
again() {
	due=0
	cut_power $((ops * 3)) $((seed + 7))
	story=: _teller
}

comings() { # SEED N LOSSES LEGS [SSDS]
	local seed=$1 n=$2 kind legs=() ssd_kind i what
	losses=$3
	read -r kind i <<< "$4"
	for ((; i > 0; i--)); do disks+=("d$i"); done
	[ -z "${5:-}" ] || stories+=(ssd_leaves)
	read -r ssd_kind i <<< "${5:-none 0}"
	for ((; i > 0; i--)); do ssds+=("s$i"); done
	spare=e
	for i in "${disks[@]}" $spare; do mksim "$i" 160; done
	for i in "${ssds[@]}"; do mksim "$i" 80; done
	oracle new "$state" 3072 6 5000 "$seed"
	set -- "$kind" "${disks[@]/#//dev/}"
	[ ${#ssds[@]} = 0 ] || set -- "$@" cache "$ssd_kind" "${ssds[@]/#//dev/}"
	run 0 create -o log_size=8M -o write_buffer=4M tank "$@"
	for ((i = seed; i < seed + n; i++)); do tell "$i"; done
	sort $moves | uniq -c
	echo "$n stories, $cuts power cuts, and $recovery_cuts in recoveries"
	for what in 'kvpoolctl offline' 'kvpoolctl replace' pull back; do
		grep -q "^$what" $moves || fail "no story came to $what with power"
	done
	run 0 export tank
}
