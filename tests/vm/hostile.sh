# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Hostile images, for the tests hostile*: hostile SEED COUNT.
. "$KVPOOL_TOP/tests/vm/lib.sh"

# An image as after a power cut: a log with data, intents and discards that are not yet
# home, and a table of several pages.
_make_image() { # SEED
	mksim h0 16; mksim h1 16
	state=/dev/shm/state
	at_exit "rm -f $state /dev/shm/h0 /dev/shm/h1"
	oracle new $state 768 3 512 "$1"
	dmsetup create p --table "0 $(sectors_of 7) kvpool - 4 format name=p log_size=4M write_buffer=4M mirror 2 /dev/h0 /dev/h1"
	table=$(dmsetup table p)
	oracle run $state /dev/mapper/p "$1" 2 60 0
	dmsetup message p 0 checkpoint
	oracle run $state /dev/mapper/p $(($1 + 1)) 2 60 3
	oracle sync /dev/mapper/p
	simset all cut_mode random; simset all seed "$1"; simset all power_cut now
	dmsetup remove --retry p
	simset all power_restore 1
	for l in h0 h1; do leg save /dev/$l /dev/shm/$l; done
	# the image itself is sound
	cp "$state" "$state.tmp"; at_exit "rm -f $state.tmp"
	dmsetup create p --table "$table"
	oracle check "$state.tmp" /dev/mapper/p
	scrub p
	dmsetup remove --retry p
}

# damage SEED: prints how to judge the result.
_damage() {
	local seed=$1 l=h$(($1 / 8 % 2))
	case $((seed % 8)) in
	0) leg mutate /dev/$l "$seed" label >&2 ; echo one ;;
	1) leg mutate /dev/$l "$seed" table >&2; echo one ;;
	2) leg mutate /dev/$l "$seed" log >&2; echo one ;;
	3) for i in 1 2 3; do leg mutate /dev/$l "$seed$i" any >&2; done; echo one ;;
	4) for l in h0 h1; do leg mutate /dev/$l "$seed" any >&2; done; echo both ;;
	5) leg forge /dev/$l "$seed" >&2; echo both ;;
	6) for l in h0 h1; do leg forge /dev/$l "$seed" >&2; done; echo both ;;
	7) for l in h0 h1; do leg forge /dev/$l "$seed" >&2; leg mutate /dev/$l "$seed" any >&2; done; echo both ;;
	esac
}

hostile() {
	local seed kind options refused=0 started=0
	helper oracle; helper leg
	load_modules
	no_udev
	_make_image "$1"
	for ((seed = $1; seed < $1 + $2; seed++)); do
		for l in h0 h1; do leg restore /dev/$l /dev/shm/$l; done
		cp "$state" "$state.tmp"
		kind=$(_damage "$seed")
		if ! dmsetup create p --table "$table" 2> /tmp/create.err; then
			refused=$((refused + 1))
			echo "seed $seed: refused: $(last_refusal)"
			[[ $(last_refusal) == *?' | '?*' | '?* ]] || fail "seed $seed: no reason: $(last_refusal)"
			# these legs answer, so a refusal must name the reason, not an
			# error number
			[[ $(last_refusal) != *'(error '* ]] || fail "seed $seed: a vague reason: $(last_refusal)"
			[ "$kind" = both ] || [ $((seed % 8)) = 0 ] || [ $((seed % 8)) = 3 ] ||
				fail "seed $seed: refused, though one leg is whole: $(last_refusal)"
			continue
		fi
		started=$((started + 1))
		# With one whole leg all data is right. If both were forged, a read must
		# still return data that was written there.
		options=()
		[ "$kind" = one ] || options=(eio-ok old-ok)
		oracle check "$state.tmp" /dev/mapper/p "${options[@]}" || fail "seed $seed: wrong data"
		dmsetup message p 0 scrub start || [ "$kind" = both ]
		[ "$kind" = both ] || wait_stat p scrub.state finished
		[ "$kind" = both ] || oracle write /dev/mapper/p 0 8 1 fsync
		dmsetup status p > /dev/null
		dmsetup remove --retry p
	done
	echo "$refused refused, $started started"
	[ "$started" -gt 0 ] || fail "all refused: the damage is too much"
	[ "$refused" -gt 0 ] || fail "all the same: the damage misses"
}
