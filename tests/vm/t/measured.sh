# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: what a pool tells of itself: IMA measures each table with its legs; hints for stripes; a leg that begins inside a block is named
# kernels: 6.12
# timeout: 120
# long: it sets the machine's IMA policy, once for all tests
# needs: python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
PATH=$KVPOOL_TOP/build:$PATH
load_modules
no_udev
ima=/sys/kernel/security/ima
mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
[ -d $ima ] || skip "the kernel has no IMA"
# The file is gone once there is a policy.
[ ! -e $ima/policy ] || echo "measure func=CRITICAL_DATA label=device-mapper" > $ima/policy
for d in a b c d; do mksim $d 96; done
numbers() { lsblk -dno MAJ:MIN "/dev/$1" | tr -d ' '; }
# measured EVENT: the text of the last such measurement
measured() {
	local hex
	hex=$(awk -v e="$1" '$5 == e { x = $6 } END { print x }' $ima/ascii_runtime_measurements)
	python3 -c 'import sys; print(bytes.fromhex(sys.argv[1]).decode())' "$hex"
}
expect_measured() { # EVENT TEXT
	local got
	got=$(measured "$1")
	[[ $got == *"$2" ]] || fail "measured: '$got', expected at its end '$2'"
}
queue() { cat "/sys/dev/block/$(numbers mapper/p)/queue/$1"; }

echo "--- tables"
dmsetup create p --table "0 $(sectors_of 64) kvpool - 2 format log_size=8M parity1 3 /dev/a /dev/b /dev/c"
version=$(dmsetup targets | sed -n 's/^kvpool *v//p')
legs="vdev_0=parity1,vdev_0_legs=3,leg_0=$(numbers a),leg_1=$(numbers b),leg_2="
begin="target_len=131072,target_name=kvpool,target_version=$version,uuid="
expect_measured dm_table_load "$begin-,mode=rw,$legs$(numbers c);"
expect_measured dm_device_resume ';current_device_capacity=131072;'

echo "--- hints, also after a reload"
uuid=$(dmsetup table p | awk '{ print $4 }')
hints() {
	expect_eq "$(queue minimum_io_size) $(queue optimal_io_size)" "65536 131072" "hints"
	[ "$(queue read_ahead_kb)" -ge 256 ] || fail "reads $(queue read_ahead_kb) KiB ahead"
}
hints
dmsetup load p --table "$(dmsetup table p)"
expect_measured dm_table_load "$begin$uuid,mode=rw,$legs$(numbers c);"
dmsetup suspend p; dmsetup resume p
hints
before=$(measured dm_table_load)
expect_refusal 'lacks the leg' dmsetup load p --table "0 131072 kvpool $uuid 0 parity1 3 /dev/a /dev/b /dev/d"
expect_eq "$(measured dm_table_load)" "$before" "a refused table is not measured"
dmsetup remove p
expect_measured dm_device_remove 'remove_all=n;current_device_capacity=131072;'
dmsetup create p --readonly --table "0 131072 kvpool $uuid 2 degraded readonly parity1 3 /dev/a /dev/b -"
expect_measured dm_table_load "$begin$uuid,mode=ro,$legs-;"
dmsetup remove p

echo "--- a leg that begins inside a block, of a disk that says that it has small ones"
mksim e 96 physical_block_size=512
mksim f 96
# linear NAME MIB DEVICE FIRST-SECTOR, and what the tool says of a pool on it
linear() {
	dmsetup create "$1" --table "0 $(sectors_of "$2") linear $3 $4"
	kvpoolctl create -n tank mirror "/dev/mapper/$1" /dev/f 2> /tmp/err
}
note="begins inside a block of its disk"
linear odd 80 /dev/e 1
expect_eq "$(cat "/sys/dev/block/$(numbers mapper/odd)/alignment_offset")" 0 "the kernel calls it aligned"
grep -q "note: /dev/mapper/odd $note" /tmp/err || fail "odd: $(cat /tmp/err)"
linear upper 70 /dev/mapper/odd 0
grep -q "note: /dev/mapper/upper $note" /tmp/err || fail "upper: $(cat /tmp/err)"
dmsetup remove upper
linear even 70 /dev/mapper/odd 7
! grep "$note" /tmp/err || fail "both offsets together are a block"
