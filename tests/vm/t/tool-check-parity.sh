# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl check and extract of a parity1 agree with the module: whole, damaged, without a leg, after power cuts
# timeout: 400
# needs: python3 gcc
# long: many checks after power cuts
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper leg
load_modules
no_udev # udev would read, and so heal
for d in a b c; do mksim $d 32; done
pool=/dev/mapper/tank
legs=(/dev/a /dev/b /dev/c)
write() { # BLOCK COUNT [MORE]
	dd if=/dev/urandom of=$pool bs=4K seek="$1" count="$2" oflag=direct conv=fsync status=none
}
check() { # STATUS DEV...: which it must not write
	local before
	before=$(checksums "${legs[@]}")
	run "$1" check -j "${@:2}"
	expect_eq "$(checksums "${legs[@]}")" "$before" "legs after check"
	cp /tmp/out /tmp/check
}
checked() { expect_eq "$(json "check.$1" /tmp/check)" "$2" "check: $1"; }
# total: of the written blocks that it found.
total() {
	local n=0 state
	for state in valid in_log torn; do n=$((n + $(json check.blocks.$state /tmp/check))); done
	echo $n
}
two_legs() { # without any one leg no data is lost
	local want=$1 i
	for i in 0 1 2; do
		check 4 "${legs[@]:0:i}" "${legs[@]:i+1}"
		checked blocks.unrepaired 0; checked blocks.torn 0; checked legs.$i.state missing
		expect_eq "$(total)" "$want" "written, without leg $i"
	done
}

echo "--- clean"
run 0 create -o log_size=8M -o chunk=16384 -o strict=1 tank parity1 "${legs[@]}"
write 0 2000
write 3001 99
settle tank
written=$(stat_of tank written_blocks)
run 0 export tank
check 0 "${legs[@]}"
checked result sound; checked advice null; checked blocks.valid "$written"; checked blocks.in_log 0
two_legs "$written"
run 5 check /dev/a; has out 'result: faulted'; has out 'advice: vdev 0, a parity1: 1 of 3 legs'
run 0 inspect -j /dev/b; start=$(json inspect.superblock.geometry.data_start)
table=$(json inspect.superblock.geometry.table_start)
expect_eq "$(json inspect.log.state)" partial

echo "--- damage that the other legs mend"
# Every row of these blocks has data or parity on each leg.
leg garble /dev/b $((start + 500)) 3
leg garble /dev/c $((start + 610)) 2
leg garble /dev/c $((start + 1490)) 5 # unwritten: no fault
check 4 "${legs[@]}"
checked legs.1.blocks_bad 3; checked legs.2.blocks_bad 2; checked legs.0.blocks_bad 0
checked blocks.unrepaired 0; checked blocks.valid "$written"
check 4 /dev/b /dev/c
[ "$(json check.blocks.unrepaired /tmp/check)" -gt 0 ] || fail "damaged, and without a leg, all is well"
run 0 import tank
run 0 scrub --wait -j tank
expect_eq "$(json pools.0.scrub.healed)" 5 "healed"
expect_eq "$(json pools.0.scrub.unrepaired)" 0
run 0 export tank
check 0 "${legs[@]}"

echo "--- two of a row: one is lost"
leg garble /dev/a $((start + 700)) 1
leg garble /dev/b $((start + 700)) 1
check 4 "${legs[@]}"
lost=$(json check.blocks.unrepaired /tmp/check)
[ "$lost" -ge 1 ] || fail "two bad blocks of a row, and $lost lost"
run 0 import tank
run 4 scrub --wait -j tank
expect_eq "$(json pools.0.scrub.unrepaired)" "$lost"
expect_eq "$(json pools.0.poisoned)" "$(json check.damage /tmp/check | sed 's/,"state":"unrepaired"//g')" "lost blocks"
lba=$(json pools.0.poisoned.0.lba)
write $((lba - lba % 8)) 8 # the stripe
[ "$lost" = 1 ] || write $((lba - lba % 8 + 4)) 8
settle tank
run 0 scrub --wait tank
run 0 export tank
check 0 "${legs[@]}"

echo "--- a page of the table"
leg garble /dev/a "$table" 1; leg garble /dev/a $((table + 16)) 1 # both slots
check 4 "${legs[@]}"; checked legs.0.pages_bad 1; checked table.pages_lost 0
run 0 import tank
run 0 scrub --wait tank
run 0 export tank
check 0 "${legs[@]}"

echo "--- after a power cut: blocks in the log count, also without a leg"
simset all seed 11
run 0 import tank
run 0 set tank destage_idle_ms=86400000 # the log keeps all of it, however slow the machine is
run 0 export tank
for mode in keep_all drop_all random torn; do
	simset all cut_mode $mode
	run 0 import tank
	write 200 300
	write 3001 21
	for b in 11 22 11 33; do write $b 1; done
	blkdiscard -o $((700 * 4096)) -l $((37 * 4096)) $pool
	write 1501 64
	cut_power tank
	check 4 /dev/b /dev/c
	found=$(total)
	[ "$(json check.blocks.in_log /tmp/check)" -gt 0 ] || fail "$mode: nothing in the log: $(cat /tmp/check)"
	two_legs "$found"
	run 0 check -j "${legs[@]}"; cp /tmp/out /tmp/check
	expect_eq "$(total)" "$found" "$mode: written"
	run 0 extract -f "${legs[@]}" -o /tmp/copy
	run 0 import tank
	cmp $pool /tmp/copy || fail "$mode: the pool differs from the copy that was made without the module"
	expect_stat tank written_blocks "$found"
	run 0 scrub --wait -j tank
	expect_eq "$(json pools.0.scrub.unrepaired) $(json pools.0.scrub.healed)" "0 0" "$mode: scrub"
	run 0 export tank
	check 0 "${legs[@]}"
done

echo "--- whole stripes by direct writes, none acknowledged"
run 0 import tank
run 0 set tank strict=0
for mode in random torn; do
	simset all cut_mode $mode
	write 200 300
	dd if=/dev/urandom of=$pool bs=1M seek=5 count=2 oflag=direct status=none
	cut_power tank
	got=0
	kvpoolctl check -j "${legs[@]}" > /tmp/check || got=$?
	[ "$got" = 0 ] || [ "$got" = 4 ] || fail "check after $mode: status $got: $(cat /tmp/check)"
	checked blocks.unrepaired 0
	run 0 import tank
	expect_stat tank written_blocks "$(total)"
	run 0 scrub --wait -j tank
	expect_eq "$(json pools.0.scrub.unrepaired)" 0 "$mode: scrub"
done
run 0 export tank
check 0 "${legs[@]}"
check_json
