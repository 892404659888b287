# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool of a mirror and a parity1 keeps data on both, heals, lives without a leg of each, and needs both
# timeout: 240
# turn: legs-lost */core/vdev.c
# needs: gcc python3
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle; helper leg
load_modules
for d in a b c d e; do mksim $d 64; done
log=(-o log_size=8M)
shape=(mirror /dev/a /dev/b parity1 /dev/c /dev/d /dev/e)

echo "--- the plan, then the same for good"
run 0 create -n "${log[@]}" tank "${shape[@]}"
has out 'mirror of 2'; has out 'and parity1 of 3'; has out '^survives +loss of 1 leg'
run 0 create -n -j "${log[@]}" tank "${shape[@]}"; size=$(json plan.size)
run 0 create "${log[@]}" tank "${shape[@]}"
expect_eq "$(blockdev --getsize64 /dev/mapper/tank)" "$size" "the plan's size, and the device's"
[[ $(dmsetup table tank) = *" mirror 2 "*" parity1 3 "* ]] || fail "table line: $(dmsetup table tank)"
run 0 status -j tank
expect_eq "$(json pools.0.vdevs.0.kind) $(json pools.0.vdevs.1.kind)" "mirror parity1"
expect_eq "$(json pools.0.vdevs.1.legs.2.path)" /dev/e
expect_eq "$(json pools.0.losses_survivable)" 1
run 0 status tank
has out '^  tank +online'; has out '^    mirror-0 +online'; has out '^      /dev/b +online +0 +0 +0 +0$'
has out '^    parity1-1 +online'; has out '^      /dev/e +online'
run 0 status -v tank; has out 'mirror-0 +online +[0-9.]+ MiB +has the log$'; has out 'parity1-1 +online +[0-9.]+ MiB +has the log$'
run 0 inspect -j /dev/d; expect_eq "$(json inspect.superblock.incompat)" $((4 + 32 + 4096)) # vdevs, a log that rotates over them, and folded sums
run 0 get tank chunk; expect_eq "$(cat /tmp/out)" 64K
run 0 get -j tank; expect_eq "$(json tunables.chunk.value)" 65536

echo "--- data on both, read back, also after a restart"
blocks=4096 # several turns of both
all_is() { expect_eq "$(oracle show /dev/mapper/tank 0 $blocks)" "0 $blocks $1"; }
oracle write /dev/mapper/tank 0 $blocks 1 fsync bs=64
dmsetup message tank 0 checkpoint
# two thirds are the parity1's
[ "$(stat_of tank log.intent_blocks)" -gt $((blocks * 3 / 4)) ] || fail "$(stat_of tank log.intent_blocks) blocks by intent"
all_is v1
run 0 scrub --wait tank
written=$(stat_of tank written_blocks)
run 0 export tank
checked() { # STATUS DEV...: no data is lost
	run "$1" check -j "${@:2}"
	expect_eq "$(json check.blocks.unrepaired)" 0 "check of ${*:2}"
}
checked 0 /dev/[a-e]; expect_eq "$(json check.blocks.valid)" "$written"
checked 4 /dev/b /dev/c /dev/e; expect_eq "$(json check.blocks.valid)" "$written"
expect_eq "$(json check.legs.0.state) $(json check.legs.3.state)" "missing missing"
run 5 check /dev/[cde]; has out 'advice: vdev 0, a mirror: 0 of 2 legs'
run 5 check /dev/a /dev/c; has out 'advice: vdev 1, a parity1: 1 of 3 legs'
run 0 inspect -j /dev/a; expect_eq "$(json inspect.table.vdev) $(json inspect.log.state)" "0 partial"
run 0 inspect -j /dev/d; expect_eq "$(json inspect.table.vdev) $(json inspect.log.state)" "1 partial"
run 0 inspect /dev/d; has out partial
run 0 import tank
all_is v1

table=$(dmsetup table tank)
uuid=$(dmsetup info -c --noheadings -o uuid tank)
run 0 export tank

# words of the table: 8 and 9 are the mirror's, 12 to 14 the parity1's
without() { awk -v words="$1" '{ n = split(words, w, " "); for (i = 1; i <= n; i++) $w[i] = "-"; print }' <<< "$table"; }
restart_without() { dmsetup create tank -u "$uuid" --table "$(without "$1")" || fail "without '$1': $(last_refusal)"; }

echo "--- a leg of the mirror is missing: no --degraded is needed, as the parity1 would know"
restart_without 8
run 4 status -j tank
expect_eq "$(json pools.0.vdevs.0.state) $(json pools.0.vdevs.1.state)" "degraded online"
expect_stat tank losses_survivable 0
all_is v1
oracle write /dev/mapper/tank 0 $blocks 2 fsync bs=1
stop tank

echo "--- with it a leg of the parity1"
restart_without "8 12"
all_is v2
dmsetup message tank 0 checkpoint
stop tank

echo "--- without either vdev there is no pool"
expect_refusal "of vdev 0 no leg" start tank "$(without "8 9")"
expect_refusal "all but one" start tank "$(without "13 12")"

echo "--- the power goes with much in the log"
restart_without ""
oracle write /dev/mapper/tank 0 $blocks 3 fsync bs=1
oracle write /dev/mapper/tank 1 1000 4 fsync bs=3
simset all cut_mode random
cut_power tank
restart_without ""
expect_eq "$(oracle show /dev/mapper/tank 1 1000)" "1 1000 v4"
expect_eq "$(oracle show /dev/mapper/tank 1001 $((blocks - 1001)))" "1001 $((blocks - 1001)) v3"
expect_stat tank poisoned_blocks 0
scrub tank
expect_eq "$(dmsetup table tank | cut -d ' ' -f 4-)" "$(cut -d ' ' -f 4- <<< "$table")"
stop tank

echo "--- found again by its labels"
run 0 import -j; expect_eq "$(json pools.0.vdevs.1.kind)" parity1
check_json
