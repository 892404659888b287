# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: SSDs of a cache are replaced, attached, detached, and brought online, under a mounted filesystem in use; with power cuts; new ones that fail
# turn: ssds-come-and-go */cachereplace.c */ssds.c
# timeout: 500
# needs: gcc python3 mkfs.ext4 fio
# kmsg-allow: I/O error|EXT4-fs|JBD2|Buffer I/O
. "$KVPOOL_TOP/tests/vm/cachevdev.sh"
mksim f 16
blank_ssds() { for d; do dd if=/dev/zero of="/dev/$d" bs=1M count=32 oflag=direct conv=fsync status=none; done; }
ssds() { run 0 status -j tank; expect_eq "$(json pools.0.cache.legs.0.path) $(json pools.0.cache.legs.1.path 2> /dev/null)" "$1"; }
# as_planned BEFORE AFTER COMMAND ARG...: the losses that the pool survives, by the plan
# of -n, and afterwards.
as_planned() {
	local before=$1 after=$2 command=$3
	shift 3
	run 0 "$command" -n -j "$@"
	expect_eq "$(json plan.redundancy)" "{\"before\":$before,\"after\":$after}" "$command $*: planned"
	run 0 "$command" -n "$@"; has out "^survives  loss of $after leg\(s\), now $before\$"
	run 0 "$command" "$@"
	expect_stat tank losses_survivable "$after"
}
is_degraded() { ! kvpoolctl status -j tank > /tmp/degraded && grep -q faulted /tmp/degraded; }

echo "--- refused in words"
run 0 create -f "${log[@]}" tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
refused 3 refused 'it is in use, and a spare takes its place only with --spare' replace tank /dev/a
refused 3 too_small 'smaller than the space that the cache uses' replace tank /dev/c /dev/f
refused 3 held 'tank' attach tank /dev/c /dev/d
refused 3 refused 'no spare of pool tank was found' replace --spare tank /dev/c
run 0 replace -n tank /dev/c /dev/e; has out 'would replace /dev/c by /dev/e'; has out '^survives  loss of 1 leg.*now 1'
has out '^log +on the cache, which is write-back$'
table=$(dmsetup table tank)
expect_fail dmsetup load tank --table "${table/ 0 mirror/ 1 replace mirror}"
[[ $(last_refusal) = *'own SSDs'* ]] || fail "refused, but: $(last_refusal)"
expect_eq "$(dmsetup table tank)" "$table"

echo "--- one in use, one that is dead, one more and one less, under load"
mkfs.ext4 -q -E nodiscard /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
dd if=/dev/urandom of=/tmp/m/kept bs=1M count=8 conv=fsync status=none
sum=$(sha256sum < /tmp/m/kept)
begin_load
run 0 replace -j tank /dev/c /dev/e
mode_is writeback cache
ssds '/dev/e /dev/d'
run 1 inspect /dev/c
simset d dead 1
retry 60 is_degraded
run 4 status -j tank; uuid=$(json pools.0.cache.legs.1.uuid)
as_planned 0 1 replace tank "$uuid" /dev/c
simset d dead 0
mode_is writeback cache
ssds '/dev/e /dev/c'
expect_eq "$(json pools.0.cache.state) $(json pools.0.losses_survivable)" "online 1"
run 0 offline tank /dev/e; has out 'offline; .* survives the loss of 0 leg.*, not of 1;'
as_planned 0 1 online tank /dev/e
mode_is writeback cache
ssds '/dev/e /dev/c'
expect_eq "$(json pools.0.cache.state) $(json pools.0.losses_survivable)" "online 1"
run 0 detach -n tank /dev/e; has out '^log +moves to the legs'
as_planned 1 1 detach tank /dev/e; has err 'note: the cache is write-through'
ssds '/dev/c '
as_planned 1 1 attach tank /dev/c /dev/e
ssds '/dev/c /dev/e'
run 0 set tank cache_mode=writeback
mode_is writeback cache
end_load
echo 3 > /proc/sys/vm/drop_caches
expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
expect_eq "$(event_count tank cache_exchanged)" 5 "events cache_exchanged"
run 0 detach tank /dev/e
sync
refused 3 last_leg 'only SSD' detach tank /dev/c
run 0 attach tank /dev/c /dev/e
run 0 set tank cache_mode=writeback

echo "--- a new one that fails: the cache is unchanged"
blank_ssds d
simset d fail_after 300
begin_load
run 1 replace tank /dev/c /dev/d; has err 'its old SSDs'
mode_is writeback cache
ssds '/dev/c /dev/e'
end_load
simset d fail_after -1; simset d dead 0
blank_ssds d

echo "--- the power goes during the change: the old SSDs, or the new ones"
for pause in 0 1 3 6 suspended; do
	begin_load
	kvpoolctl replace tank /dev/c /dev/d > /dev/null 2>&1 &
	replacer=$!
	case $pause in
	suspended) until is_suspended || ! kill -0 $replacer 2> /dev/null; do :; done ;;
	*) sleep 0.$pause ;;
	esac
	cut_power_mounted $replacer
	run 0 import tank
	mount /dev/mapper/tank /tmp/m
	expect_eq "$(sha256sum < /tmp/m/kept)" "$sum"
	run 0 status -j tank
	case $(json pools.0.cache.legs.0.path) in
	/dev/d) blank_ssds c; run 0 replace tank /dev/d /dev/c; blank_ssds d ;;
	/dev/c) blank_ssds d ;;
	*) fail "the cache has $(json pools.0.cache.legs.0.path)" ;;
	esac
	run 0 set tank cache_mode=writeback
done
umount /tmp/m
fsck.ext4 -fn /dev/mapper/tank > /tmp/fsck.log 2>&1 || fail "fsck: $(cat /tmp/fsck.log)"
scrub tank

echo "--- an SSD that left is not taken for a leg; one that joined has the acknowledged data"
run 0 replace tank /dev/c /dev/d
oracle write /dev/mapper/tank 0 512 5 fsync bs=4
simset e dead 1
cut_power
run 0 import tank
all_is v5
run 0 destroy tank
check_json
