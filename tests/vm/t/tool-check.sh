# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl check, extract and inspect agree on real legs with the module's scrub: clean, damaged, after a power cut
# timeout: 400
# long: five minutes under emulation
# needs: python3 gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper leg
load_modules
for d in a b; do mksim $d 32; done
pool=/dev/mapper/tank
write() { # BLOCK COUNT
	dd if=/dev/urandom of=$pool bs=4K seek="$1" count="$2" oflag=direct conv=fsync status=none
}
check() { # STATUS: of both legs, which it must not write
	local before
	before=$(checksums /dev/a /dev/b)
	run "$1" check -j /dev/a /dev/b
	expect_eq "$(checksums /dev/a /dev/b)" "$before" "legs after check"
	cp /tmp/out /tmp/check
}
checked() { expect_eq "$(json "check.$1" /tmp/check)" "$2" "check: $1"; }
# extract DEV...: a copy, made without the module, which the pool must equal later.
extract() {
	run 0 extract -f "$@" -o /tmp/copy
}
same_as_copy() { cmp $pool /tmp/copy || fail "the pool differs from its copy, $1"; }
# agrees: it counted the same blocks as the pool has later.
agrees() {
	local written
	written=$(stat_of tank written_blocks)
	"$_python" -IS - "$written" <<-'END'
		import json, sys
		b = json.load(open("/tmp/check"))["check"]["blocks"]
		n = b["valid"] + b["in_log"] + b["torn"]
		sys.exit(n != int(sys.argv[1]) and f"check counted {b}, the pool has {sys.argv[1]}")
	END
}

echo "--- clean"
run 0 create -o log_size=8M tank mirror /dev/a /dev/b
write 0 1024
write 3000 100
written=$(stat_of tank written_blocks)
sum=$(md5sum < $pool)
run 0 export tank
extract /dev/a /dev/b; expect_eq "$(md5sum < /tmp/copy)" "$sum" "the copy"
check 0
checked result sound; checked advice null; checked blocks.valid "$written"; checked blocks.in_log 0
checked log.state sound; checked damage "[]"; checked legs.0.blocks_bad 0
run 0 check /dev/a /dev/b; has out 'result: sound'; hasnt out advice
for d in a b; do
	run 0 inspect -j /dev/$d
	expect_eq "$(json inspect.table.valid)" "$written" "inspect: valid"
	expect_eq "$(json inspect.table.pages_bad)" 0
	expect_eq "$(json inspect.superblock.clean)" true
	expect_eq "$(json inspect.log.entries)" 0
done
start=$(json inspect.superblock.geometry.data_start)
levels=$(json inspect.superblock.geometry.table_levels)
[ "$levels" -ge 1 ] || fail "no table"
cp --sparse=always /dev/a /tmp/a.img; cp --sparse=always /dev/b /tmp/b.img
run 0 check -j /tmp/a.img /tmp/b.img

echo "--- one leg only"
run 4 check -j /dev/a; expect_eq "$(json check.legs.1.state)" missing; expect_eq "$(json check.blocks.valid)" "$written"
run 4 check /dev/b; has out 'advice: legs that were not given may hold newer data'

echo "--- damage that another leg mends"
# in a place that programs that probe a new device do not read, and so heal
leg garble /dev/a $((start + 1010)) 3
leg garble /dev/b $((start + 3050)) 2
leg garble /dev/b $((start + 2000)) 5 # unwritten: no fault
check 4
checked result degraded; checked legs.0.blocks_bad 3; checked legs.1.blocks_bad 2; checked blocks.unrepaired 0
checked blocks.valid "$written"
run 4 check /dev/a /dev/b; has out 'advice: .*scrub it'
run 0 import tank
run 0 scrub --wait -j tank
expect_eq "$(json pools.0.scrub.healed)" 5 "healed"
expect_eq "$(json pools.0.scrub.unrepaired)" 0
agrees
run 0 export tank
check 0; checked blocks.valid "$written"

echo "--- a page of the table"
page=$(leg page /dev/b 0)
leg garble /dev/b "$page" 1
check 4; checked legs.1.pages_bad 1; checked legs.0.pages_bad 0; checked table.pages_lost 0
run 0 inspect -j /dev/b; expect_eq "$(json inspect.table.pages_bad)" 1
run 0 import tank
run 0 scrub --wait -j tank; expect_eq "$(json pools.0.scrub.healed)" 1
run 0 export tank
check 0

echo "--- a label ring"
dd if=/dev/urandom of=/dev/a bs=1M count=1 oflag=direct status=none
check 4; checked result degraded; checked legs.0.blocks_bad 0; checked legs.1.labels_bad 0
run 0 inspect /dev/a; has out '^superblock'
run 0 import tank
run 0 export tank

echo "--- after a power cut: blocks in the log count"
simset all seed 11
run 0 import tank
run 0 set tank destage_idle_ms=86400000 # the log keeps all of it, however slow the machine is
run 0 export tank
for mode in keep_all drop_all random torn; do
	simset all cut_mode $mode
	run 0 import tank
	write 200 300
	write 3500 20
	for b in 11 22 11 33; do write $b 1; done
	dd if=/dev/urandom of=$pool bs=4K seek=1500 count=64 oflag=direct status=none
	cut_power tank
	run 0 inspect -j /dev/a
	got=0
	kvpoolctl check -j /dev/a /dev/b > /tmp/check || got=$?
	[ "$got" = 0 ] || [ "$got" = 4 ] || fail "check after $mode: status $got: $(cat /tmp/check)"
	checked blocks.unrepaired 0
	checked log.state sound
	[ "$(json check.blocks.in_log /tmp/check)" -gt 0 ] || fail "$mode: nothing in the log: $(cat /tmp/check)"
	cp /tmp/check /tmp/out; _record "$got" "check -j"
	extract /dev/a /dev/b
	run 0 import tank
	same_as_copy "after $mode"
	agrees
	run 0 scrub --wait -j tank
	expect_eq "$(json pools.0.scrub.unrepaired)" 0 "$mode: unrepaired"
	expect_eq "$(json pools.0.scrub.healed)" 0 "$mode: healed"
	run 0 export tank
	check 0
done
simset all cut_mode random

echo "--- damage that cannot be mended"
leg garble /dev/a $((start + 77)) 2
leg garble /dev/b $((start + 78)) 2
check 4; checked blocks.unrepaired 1; checked damage '[{"lba":78,"blocks":1,"state":"unrepaired"}]'
run 4 check /dev/a /dev/b; has out 'lba 78, 1 block\(s\): unrepaired'; has out 'advice: .*backup'
run 0 import tank
run 4 scrub --wait -j tank
expect_eq "$(json pools.0.scrub.unrepaired)" 1; expect_eq "$(json pools.0.scrub.healed)" 2
expect_eq "$(json pools.0.poisoned)" '[{"lba":78,"blocks":1}]'
run 4 status -v tank; has out 'lba 78, 1 block'; has out 'advice: 1 block is lost'
run 0 export tank
check 4; checked blocks.poisoned 1; checked blocks.unrepaired 0; checked damage '[{"lba":78,"blocks":1,"state":"poisoned"}]'
run 0 inspect -j /dev/b; expect_eq "$(json inspect.table.poisoned)" 1
run 0 import tank
write 78 1
settle tank # lost blocks are counted until their new contents are home
run 0 scrub --wait tank; has out 'healed 0, unrepaired 0'
run 0 status tank
run 0 export tank
check 0
check_json
