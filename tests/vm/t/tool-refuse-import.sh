# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl refuses to start, stop or change a pool where data would be lost, and changes nothing
# timeout: 400
# long: minutes where that is emulated
# needs: python3 mkswap
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
for d in a b c d; do mksim $d 16; done
all=(/dev/a /dev/b /dev/c /dev/d)
log=(-o log_size=4M)
fill() { dd if=/dev/urandom of="/dev/mapper/$1" bs=4K count=64 oflag=direct conv=fsync status=none; }
# unchanged: the devices are unchanged since the last call of changed
changed() { before=$(checksums "${all[@]}"); }
unchanged() { expect_eq "$(checksums "${all[@]}")" "$before" "devices"; }
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
fill tank
uuid=$(stat_of tank uuid)
settle tank

echo "--- an open device"
changed
refused 3 active 'active as tank' import tank
exec 9< /dev/mapper/tank
refused 3 busy 'open.*fuser' export tank
refused 3 busy 'open' destroy tank
refused 3 busy 'open' export -n tank
refused 3 busy 'open' export -a
exec 9<&-
udevadm settle
dmsetup create above --table "0 8 linear /dev/mapper/tank 0"
refused 3 busy 'held by dm-' export tank
udevadm settle; dmsetup remove --retry above
refused 3 held 'leg of pool tank' labelclear -f /dev/a
refused 3 held 'leg of pool tank' check /dev/a /dev/b
refused 3 name_in_use . create "${log[@]}" tank single /dev/c
unchanged
mkswap /dev/mapper/tank > /dev/null
swapon /dev/mapper/tank
refused 3 mounted 'swap' destroy tank
refused 3 held 'leg of pool tank' labelclear -f /dev/a
swapoff /dev/mapper/tank

echo "--- unknown words"
settle tank
changed
for c in status export destroy scrub 'get' 'clear' events; do
	refused 1 not_found 'no such pool' $c nopool
done
refused 1 not_found 'no such pool' set nopool strict=1
refused 1 not_found 'no such pool' offline nopool /dev/a
refused 1 not_found 'not a leg of pool tank' offline tank /dev/c
refused 1 not_found 'not a leg of pool tank' clear tank /dev/nowhere
for v in frob=1 strict=2 write_buffer=1 scrub_rate=x frob; do
	refused 2 usage . set tank $v
done
refused 2 usage 'is not a tunable' get tank frob
refused 3 refused 'no such scrub.*start one' scrub --pause tank
refused 3 refused 'no such scrub' scrub --resume tank
refused 3 refused 'no such scrub' scrub --stop tank
refused 2 usage 'only one of' scrub --stop --wait tank
refused 3 refused 'still to come' scrub --since 99 tank
refused 2 usage 'too many' upgrade tank lake
for c in remove attach detach replace online cancel rename; do
	refused 2 usage 'an argument is missing' $c tank
done
refused 2 usage 'an argument is missing' history
refused 2 usage '-t takes scrub, resilver, drain, trim' wait -t scrub,drains tank
refused 3 refused . remove tank cache
refused 3 refused . cancel tank drain
refused 2 usage 'unknown option' import --discard-data tank
refused 2 usage 'unknown option' status --frob
refused 2 usage 'too many' status tank tank
refused 2 usage 'not a column' list -o frob
unchanged

echo "--- without a leg"
run 0 export tank
changed
refused 3 missing_legs '1 of 2 legs are missing.*--degraded' import -d /dev/a tank
refused 1 not_found 'no such pool was found' import nopool
refused 1 not_found 'No such file' import -d /dev/nowhere tank # printed elsewhere: No such file
refused 2 usage 'reserved' import tank mirror
refused 2 usage 'a name' import tank 9lives
run 0 import -j -d /dev/b; expect_eq "$(json pools.0.refused.0.code)" missing_legs
expect_eq "$(json pools.0.importable)" false
run 0 import -n --degraded -d /dev/b tank; has out '1 of 2 legs'
refused 3 no_cache 'no cache: its log lies on its legs' import --discard-log tank
unchanged

echo "--- a copy of a leg"
dd if=/dev/a of=/dev/c bs=1M oflag=direct status=none
changed
refused 3 duplicate_leg '/dev/c carries the same UUID' import tank
refused 3 duplicate_leg 'same leg UUID' check "${all[@]:0:3}"
unchanged
refused 3 member 'tank' labelclear /dev/c
run 0 labelclear -f /dev/c

echo "--- destroyed"
run 0 import tank; run 0 destroy tank
changed
refused 3 destroyed 'destroyed -- --destroyed' import tank
run 0 import -a; expect_eq "$(cat /tmp/out)" "no pool can be imported"
unchanged
run 0 import --destroyed tank
run 0 export tank

echo "--- names"
run 0 create "${log[@]}" lake single /dev/d
run 0 export lake
run 0 import lake tank
changed
refused 3 name_in_use 'called tank exists' import "$uuid"
unchanged
run 0 export tank
changed
refused 3 ambiguous 'several pools.*UUID' import tank
unchanged
run 0 import "$uuid"
refused 3 ambiguous 'several pools' import tank
settle tank
dmsetup create other --table "0 8 error"
changed
refused 3 name_in_use 'called other exists' rename tank other
refused 3 name_in_use 'called other exists' rename -n tank other
refused 2 usage "'status'" rename tank status
refused 2 usage "'9lake'" rename tank 9lake
refused 1 not_found 'no such pool' rename nopool lake
expect_fail dmsetup message tank 0 rename 9lake
unchanged
# the exported pool is called tank in its labels, and this one is not any more; refused() looks for writes
dmsetup message tank 0 rename pond
refused 3 name_in_use 'has this name in its labels.*kvpoolctl import [0-9a-f-]{36} NEWNAME' rename tank tank
refused 3 name_in_use 'has this name in its labels' rename -n tank tank
dmsetup message tank 0 rename tank
dmsetup remove --retry other
run 0 export tank
run 0 labelclear -f /dev/d

echo "--- read-only"
run 0 import tank; fill tank
simset all seed 7; simset all cut_mode keep_all
fill tank
cut_power tank
run 0 inspect -j /dev/a
[ "$(json inspect.log.entries)" -gt 0 ] || fail "the log is empty after a power cut"
changed
refused 3 not_clean 'not yet home.*without --readonly' import --readonly tank
unchanged
run 0 import tank; settle tank
cut_power tank
run 0 inspect -j /dev/a; expect_eq "$(json inspect.superblock.clean)" false
changed
run 0 import --readonly tank
run 0 status tank; has out 'online, read-only'
run 0 status -j tank; expect_eq "$(json pools.0.readonly)" true
refused 3 read_only 'read-only.*without --readonly' destroy tank
refused 3 read_only 'read-only' set tank strict=1
refused 3 read_only 'read-only' set tank comment=x
refused 3 read_only 'read-only' scrub tank
refused 3 read_only 'read-only' offline tank /dev/a
refused 3 read_only 'read-only' offline -n tank /dev/a
refused 3 read_only 'read-only' rename tank lake
expect_fail dd if=/dev/zero of=/dev/mapper/tank bs=4K count=1 oflag=direct status=none
run 0 export tank
unchanged
run 0 import tank # its log must still be recovered, by its own host
run 0 export tank

echo "--- another host"
be() { # HOST DIGIT: this machine gets that name, and an ID of those digits
	echo "$1" > /proc/sys/kernel/hostname
	printf '%032d\n' "$2" > /etc/machine-id
}
name=$(hostname); cp -a /etc/machine-id /tmp/machine-id 2> /dev/null || true
at_exit "hostname '$name'; rm -f /etc/machine-id; cp -a /tmp/machine-id /etc/ || true"
be here 1
run 0 import tank; fill tank
cut_power tank
run 0 import -n tank; has out 'host=[0-9a-f]{16}:here'
be there 2
changed
refused 3 other_host 'host here runs it, or did not stop it.*--takeover' import tank
refused 3 other_host 'host here' import -a
refused 3 other_host 'host here' import --boot /dev/a
run 0 import; has out 'host: here, last'
unchanged
be here2 1
run 0 import tank; settle tank
be there 2
refused 3 active . import tank
cut_power tank
run 0 import --takeover tank; fill tank
run 0 export tank
run 0 inspect /dev/b; has out 'host +there'
be here 1
run 0 import tank
run 0 export tank

echo "--- the last leg"
run 0 import tank
run 0 offline tank /dev/b
settle tank
changed
refused 3 last_leg 'vdev cannot be without it' offline tank /dev/a
refused 3 last_leg 'vdev cannot be without it' offline -n tank /dev/a
unchanged
stop tank

echo "--- a leg that cannot be opened"
run 0 import -d /dev/a tank
run 4 status tank; has out 'missing'
run 0 destroy tank
for d in a b; do run 0 labelclear -f /dev/$d; done
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
fill tank; run 0 export tank
held=$(mktemp -u)
"$_python" -c 'import os, sys, time; os.open("/dev/b", os.O_RDONLY | os.O_EXCL); open(sys.argv[1], "w"); time.sleep(600)' "$held" &
retry 60 test -e "$held"
changed
refused 3 held '/dev/b: .*holds it' import tank
run 0 import; has out '^refused: .*holds it'
unchanged
kill %1; wait %1 || true
blockdev --setro /dev/b
refused 3 read_only '/dev/b: it is read-only -- make it writable.*--readonly' import tank
run 0 import; has out '^refused: it is read-only'
run 0 import --readonly tank
run 0 export tank
blockdev --setrw /dev/b

echo "--- split brain"
run 0 import --degraded -d /dev/a tank; fill tank; stop tank
run 0 import --degraded -d /dev/b tank; fill tank; fill tank; stop tank
changed
refused 3 fork 'history.*--accept-fork' import tank
refused 3 fork 'history' import -n tank
run 0 import -j -d /dev/a -d /dev/b; expect_eq "$(json pools.0.refused.0.code)" fork
run 5 check -j /dev/a /dev/b; expect_eq "$(json check.result)" faulted
unchanged
run 0 import --accept-fork tank
run 4 status tank; has out 'stale'; has out 'advice: (leg /dev/a is stale: |leg /dev/b is stale: )'
run 0 export tank
# The leg that was given up is not part of the pool's history: it does not cause a
# refusal.
run 0 import tank
run 0 export tank

echo "--- labels that contradict themselves"
for d in a b; do run 0 labelclear -f /dev/$d; done
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
run 0 export tank
for at in 0 1; do
	dd if=/dev/urandom of=/dev/a bs=1M count=1 seek=$((at * 15)) oflag=direct status=none
done
changed
refused 3 missing_legs 'missing' import tank
refused 1 no_label . inspect /dev/a
refused 1 no_label . check /dev/a /dev/b
unchanged
check_json
