# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl check of pools with a cache of each kind: dirty after a power cut and an export, rotten, without an SSD
# timeout: 300
# long: many checks of whole pools
# needs: gcc python3
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
helper leg
no_udev # udev would read, and so heal
check() { # STATUS DEV...
	run "$1" check -j "${@:2}"
	cp /tmp/out /tmp/check
}
checked() { expect_eq "$(json "check.$1" /tmp/check)" "$2" "check: $1"; }
# bad: the number of faults that it finds, on all legs together.
bad() {
	"$_python" -IS - /tmp/check <<-'END'
		import json, sys
		legs = json.load(open(sys.argv[1]))["check"]["legs"]
		print(sum(l.get(k, 0) for l in legs for k in ("log_bad", "pages_bad", "blocks_bad", "read_errors")))
	END
}
# whole DIRTY: no loss, no fault, and DIRTY blocks are only in the log.
whole() {
	checked log.state sound; checked blocks.unrepaired 0; checked blocks.poisoned 0; checked blocks.torn 0
	checked blocks.in_log "$1"; checked blocks.valid $((512 - $1))
	expect_eq "$(bad)" 0 "what is bad"
}
# in entries with one block of header each
write_all() {
	local b
	for b in {0..7}; do oracle write /dev/mapper/tank $((64 * b)) 64 1 fsync bs=4; done
}
next_lsn() { run 0 status -j tank; json pools.0.log.lsn; }
# place LSN: the place of the cache's log at LSN, as "DEVICE BLOCK"; with copies, on the
# first.
place() {
	run 0 inspect -j /dev/c
	local g=inspect.superblock.geometry at
	at=$(($1 % ($(json $g.log_segments) * $(json $g.segment_blocks)) ))
	if [ "$kind" = parity1 ]; then
		echo "${ssds[at % 3]} $(($(json $g.log_start) + at / 3))"
	else
		echo "/dev/c $(($(json $g.log_start) + at))"
	fi
}
# payload LSN: the first block of data of the entry at LSN; for kind parity1 it follows
# two headers and the parity.
payload() { if [ "$kind" = parity1 ]; then place $(($1 + 3)); else place $(($1 + 1)); fi; }
# damage DEVICE BLOCK, and mend: restore it.
damage() {
	dd if="$1" of=/tmp/block bs=4K skip="$2" count=1 iflag=direct status=none
	leg garble "$1" "$2" 1
}
mend() { dd if=/tmp/block of="$1" bs=4K seek="$2" oflag=direct conv=fsync,notrunc status=none; }

# what KIND SSD...
what() {
	kind=$1 ssds=("${@:2}") all=(/dev/a /dev/b "${@:2}")
	local words=(cache) at dirty before
	[ "$kind" = one ] || words+=("$kind")
	run 0 create -f "${log[@]}" -o cache_mode=writeback -o destage_idle_ms=86400000 -o seq_cutoff_write=1G tank mirror /dev/a /dev/b \
		"${words[@]}" "${ssds[@]}"

	echo "--- $kind: all home, and clean on the cache; a rotten clean block is no loss"
	at=$(next_lsn)
	write_all
	dmsetup message tank 0 checkpoint
	run 0 export tank
	check 0 "${all[@]}"
	whole 0; checked result sound; checked cache.log_on cache; checked cache.clean_bad 0
	[ "$(json check.cache.clean /tmp/check)" -ge 512 ] || fail "of 512 clean blocks $(json check.cache.clean /tmp/check)"
	at=$(payload "$at")
	# shellcheck disable=SC2086 # device and block
	damage $at
	check 0 "${all[@]}"
	whole 0; checked cache.clean_bad 1
	run 0 check "${all[@]}"; has out '1 rotten: no loss'
	# shellcheck disable=SC2086 # device and block
	mend $at

	echo "--- $kind: dirty, and the power goes"
	run 0 import tank
	dirty=$(next_lsn)
	oracle write /dev/mapper/tank 8 60 2 fsync bs=4
	# only blocks that a later entry calls durable are known to be complete
	oracle write /dev/mapper/tank 68 4 2 fsync bs=4
	cut_power
	before=$(checksums "${all[@]}")
	check 0 "${all[@]}"
	expect_eq "$(checksums "${all[@]}")" "$before" "legs after check"
	whole 64; checked result sound; checked cache.clean_bad 0

	echo "--- $kind: a rotten dirty block"
	at=$(payload "$dirty")
	# shellcheck disable=SC2086 # device and block
	damage $at
	if [ "$kind" = one ]; then
		check 5 "${all[@]}"; checked log.state damaged
		run 5 check "${all[@]}"; has out "log entry $dirty: bad payload of block 8\$"; has out 'advice: .*--discard-log'
	else
		check 4 "${all[@]}"
		checked log.state sound; checked blocks.in_log 64; checked blocks.unrepaired 0
		expect_eq "$(bad)" 1 "what is bad"
		checked log.bad.0.path "${at% *}"
		run 4 check "${all[@]}"; has out "${at% *}: log entry $dirty: bad payload of block 8\$"; has out 'advice: .*scrub'
	fi
	# shellcheck disable=SC2086 # device and block
	mend $at

	echo "--- $kind: an SSD is not given"
	if [ "$kind" = one ]; then
		check 5 /dev/a /dev/b
		run 0 inspect -j /dev/c
		at=$(json inspect.superblock.leg_uuid)
		run 5 check /dev/a /dev/b; has out "advice: its log is on the cache.*name the SSD with UUID $at too"
	else
		check 4 "${all[@]:0:3}" "${all[@]:4}"
		whole 64; checked legs.3.state missing
	fi

	echo "--- $kind: the module agrees; exported, with much in the log of two activations"
	run 0 import tank
	expect_stat tank written_blocks 512
	expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 8 v1,8 64 v2,72 440 v1,"
	oracle write /dev/mapper/tank 300 20 3 fsync bs=4
	run 0 export tank
	check 0 "${all[@]}"
	whole 84; checked cache.clean_bad 0
	run 0 import tank
	expect_eq "$(oracle show /dev/mapper/tank 0 512 bs=1 | tr '\n' ,)" "0 8 v1,8 64 v2,72 228 v1,300 20 v3,320 192 v1,"
	scrub tank
	run 0 destroy tank
	blank
}
what one /dev/c
what mirror /dev/c /dev/d
what parity1 /dev/c /dev/d /dev/e

echo "--- a cache without the log, which is on the legs: no SSD is needed"
all=(/dev/a /dev/b /dev/c)
run 0 create -f "${log[@]}" -o cache_mode=writethrough tank mirror /dev/a /dev/b cache /dev/c
write_all
cut_power
check 0 "${all[@]}"
checked cache.log_on legs; checked blocks.unrepaired 0; checked cache.clean_bad 0
expect_eq "$(bad)" 0 "what is bad"
check 4 /dev/a /dev/b
checked blocks.unrepaired 0; checked log.state sound; checked legs.2.state missing
run 0 import tank
all_is v1
run 0 destroy tank
check_json
