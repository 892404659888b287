# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: SSDs of a cache that drop off the bus, and pools that go on without them; interrupted commands that replace SSDs
# turn: ssds-come-and-go */cachereplace.c */cacheremove.c */ssds.c */returned.c
# timeout: 300
# needs: gcc python3
# kmsg-allow: I/O error|Buffer I/O
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
mksim x 64; mksim y 64
ssd() { json "pools.0.cache.legs.$1.$2"; }
ssds() { run "$1" status -j tank; expect_eq "$(ssd 0 path) $(ssd 0 state) $(ssd 1 path) $(ssd 1 state)" "$2"; }
goes_on() {
	expect_eq "$(dmsetup info -c --noheadings -o suspended tank)" Active
	mode_is_degraded writeback cache
	oracle write /dev/mapper/tank 0 512 $((++generation)) fsync bs=4
	all_is v$generation
}
mode_is_degraded() {
	kvpoolctl status -j tank > /tmp/out || :
	expect_eq "$(json pools.0.cache.mode) $(json pools.0.log.on)" "$1 $2"
}
blank_ssd() { dd if=/dev/zero of="/dev/$1" bs=1M count=32 oflag=direct conv=fsync status=none; }
is_out() { mode_is_degraded writeback cache; [ "$(ssd "$1" state)" = faulted ]; }
# drops NUMBER NAME: SSD NAME is pulled out and put in again, and then has other numbers.
drops() {
	local before
	before=$(stat -c %t:%T "/dev/$2")
	simset "$2" remove 1
	oracle write /dev/mapper/tank 0 512 $((++generation)) fsync bs=4
	retry 60 is_out "$1"
	simset "$2" power 1
	udevadm settle
	[ "$(stat -c %t:%T "/dev/$2")" != "$before" ] || fail "/dev/$2 is back as it was"
}

echo "--- it is back under the name of the device that has gone, which the pool lets go of"
ln -s c /dev/first
generation=1
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/first /dev/d
oracle write /dev/mapper/tank 0 512 1 fsync bs=4
drops 0 c
uuid=$(ssd 0 uuid)
[ -e "/sys/block/$(basename "$(readlink -f /dev/mapper/tank)")/slaves/c" ] || fail "it is not held"
run 0 online -n tank "$uuid"; has out '^would bring .* online, empty'
run 0 online tank /dev/first
ssds 0 '/dev/first online /dev/d online'
goes_on
drops 0 c
uuid=$(ssd 0 uuid)
goes_on

echo "--- another one joins beside it, and leaves"
run 0 attach tank /dev/d /dev/e
goes_on
run 0 detach tank /dev/e; has err 'note: the cache is write-through'
run 0 set -f tank cache_mode=writeback
blank_ssd e

echo "--- a new one fails its label write: back to the old SSDs"
for d in a b e; do simset $d delay_us 30000; done
kvpoolctl replace tank "$uuid" /dev/e 2> /tmp/err &
replacer=$!
until is_suspended || ! kill -0 $replacer 2> /dev/null; do :; done
simset e dead 1
expect_status 1 wait $replacer
for d in a b e; do simset $d delay_us 0; done
has err 'tank: .*(label|superblock|failed|cannot be read).*the cache has its old SSDs'
hasnt err 'suspended'
simset e dead 0
blank_ssd e
goes_on

echo "--- the SSD that came back takes its old place"
run 0 online -n tank /dev/first; has out 'would bring /dev/first online, empty'
run 0 online tank /dev/first
run 0 status -j tank
[ "$(ssd 0 uuid)" != "$uuid" ] || fail 'it has its old UUID'
ssds 0 '/dev/first online /dev/d online'
goes_on
scrub tank

echo "--- a path that may name another device later"
blank_ssd e
cd /dev
run 0 replace tank first e
cd - > /dev/null
ssds 0 '/dev/e online /dev/d online'
ln -s c '/dev/with blank'
blank_ssd c
run 0 replace tank /dev/e '/dev/with blank'
ssds 0 '/dev/c online /dev/d online'
goes_on
echo "--- interrupted while the log is written home: the log and the cache are unchanged"
blank_ssd e
table=$(dmsetup table tank)
is_draining() { [ "$(stat_of tank drain.state)" = running ]; }
for command in "replace tank /dev/c /dev/e" "attach tank /dev/c /dev/e" "detach tank /dev/c" "add tank mirror /dev/x /dev/y"; do
	oracle write /dev/mapper/tank 0 512 $((++generation)) fsync bs=4
	simset a stall write; simset b stall write
	# shellcheck disable=SC2086 # words
	kvpoolctl $command 2> /tmp/err &
	worker=$!
	until is_draining; do kill -0 $worker; done
	refused 3 refused 'is being drained.*kvpoolctl cancel' set tank cache_mode=writearound
	kill -TERM $worker
	expect_status 1 wait $worker
	simset a stall 0; simset b stall 0
	cat /tmp/err
	has err 'interrupted; nothing has changed, and the cache is in use as before'
	expect_eq "$(dmsetup table tank)" "$table" "$command"
	goes_on
done

echo "--- interrupted later: it goes on to its end"
simset a delay_us 30000; simset b delay_us 30000
kvpoolctl replace tank /dev/c /dev/e > /tmp/out 2> /tmp/err &
worker=$!
until is_suspended || ! kill -0 $worker 2> /dev/null; do :; done
kill -HUP $worker 2> /dev/null || :
wait $worker
simset a delay_us 0; simset b delay_us 0
ssds 0 '/dev/e online /dev/d online'
goes_on

echo "--- an idle cache of unknown cause gets a note"
run 0 set tank cache_mode=writethrough
blank_ssd c
run 0 replace tank /dev/e /dev/c; has err "note: the cache is write-through, as before; 'kvpoolctl set tank cache_mode=writeback'"
run 0 set tank cache_mode=writeback
goes_on

run 0 export tank
run 0 import tank
all_is v$generation
run 0 destroy tank
check_json
