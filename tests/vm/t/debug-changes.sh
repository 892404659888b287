# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: under KASAN, lockdep and kmemleak: each change of a pool once, under writes, and a power cut after them
# timeout: 400
# kernels: debug
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b c d; do mksim $d 48; done
for d in e f; do mksim $d 24; done
dev=/dev/mapper/tank
ctl() {
	echo "+ kvpoolctl $*"
	kvpoolctl "$@" || fail "kvpoolctl $*: status $?"
}
message() { dmsetup message tank 0 "$@" > /dev/null; }

# What the last round has written is in /tmp/state.
begin_load() {
	rm -f /tmp/end
	for ((i = 1; ; i++)); do
		oracle run /tmp/state $dev $i 2 8 > /tmp/load.log 2>&1 || exit
		[ ! -e /tmp/end ] || exit 0
	done & load=$!
	wait_more tank io.write_blocks 4
}
end_load() {
	touch /tmp/end
	wait "$load" || fail "load: $(cat /tmp/load.log)"
}
new() { # KIND LEG...
	for d in a b c d e f; do kvpoolctl labelclear -f /dev/$d > /dev/null 2>&1 || true; done
	oracle new /tmp/state 3072 1 3072 7
	ctl create -f -o log_size=4M tank "$@"
	begin_load
}

# A leg leaves and returns; it is replaced while it is in use; and what else goes on beside writes.
changes() { # LEG NEW
	ctl scrub --wait tank
	ctl offline tank "/dev/$1"
	wait_more tank io.write_blocks 8
	ctl online --wait tank "/dev/$1"
	ctl replace -f --wait tank "/dev/$1" "/dev/$2"
	message checkpoint
	message drop_caches
	message flush
	ctl trim tank
	dmsetup suspend tank
	dmsetup resume tank
	message stats
	message events
}
cut_and_end() {
	end_load
	simset all cut_mode random
	simset all power_cut now
	dmsetup remove --retry tank
	simset all power_cut none
	simset all power_restore 1
	ctl import tank
	oracle check /tmp/state $dev
	ctl scrub --wait tank
	ctl export tank
	ctl import tank
	ctl destroy tank
}

echo "--- a mirror with two SSDs, of which one leaves and returns; its cache leaves; it gets another, and a vdev"
new mirror /dev/a /dev/b cache mirror /dev/e /dev/f
ctl set -f tank cache_mode=writethrough
ctl set -f tank cache_mode=writeback
changes b c
ctl offline tank /dev/f
ctl online --wait tank /dev/f
ctl remove tank cache
ctl add -f tank cache /dev/e
ctl add -f tank mirror /dev/b /dev/d
cut_and_end

echo "--- a parity1, which gets a cache"
new parity1 /dev/a /dev/b /dev/c
changes b d
ctl add -f tank cache /dev/e
ctl set -f tank cache_mode=writeback
cut_and_end

echo "--- a leg rots, and the other dies"
new mirror /dev/a /dev/b cache /dev/e
end_load
message checkpoint
message drop_caches
simset a corrupt 16384 40000 9
oracle check /tmp/state $dev
ctl scrub --wait tank
begin_load
simset b dead 1
wait_stat tank leg.1.state faulted
end_load
oracle check /tmp/state $dev
