# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: under udev a leg has ID_FS_TYPE=kvpool_member while it is a leg, and the unit that systemd then starts imports its pool
# timeout: 300
# turn: tool-udev */*.rules*
# needs: python3 udevadm mkfs.ext4
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
mkdir -p /etc/udev/rules.d
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
# udev asks libblkid only about devices with known names, and simdisk's are not known.
echo 'SUBSYSTEM=="block", KERNEL=="[abc]", IMPORT{builtin}="blkid"' > /etc/udev/rules.d/60-kvpool-test.rules
udevadm control --reload
at_exit "rm /etc/udev/rules.d/6[04]-kvpool*.rules; udevadm control --reload"
for d in a b c; do mksim $d 16; done
udevadm settle
property() { # DEVICE KEY
	udevadm settle
	udevadm info -q property "$1" | sed -n "s/^$2=//p"
}

echo "--- blank, a member, a pool"
expect_eq "$(property /dev/a ID_FS_TYPE)" ""
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
uuid=$(stat_of tank uuid)
for d in a b; do
	expect_eq "$(property /dev/$d ID_FS_TYPE)" kvpool_member "/dev/$d"
	expect_eq "$(property /dev/$d ID_FS_UUID)" "$uuid"
	expect_eq "$(property /dev/$d ID_FS_LABEL)" tank
	expect_eq "$(property /dev/$d ID_FS_USAGE)" raid
done
expect_eq "$(property /dev/a ID_FS_UUID_SUB)" "$(stat_of tank leg.0.uuid)"
expect_eq "$(property /dev/mapper/tank ID_FS_TYPE)" ""
expect_eq "$(lsblk -dno FSTYPE /dev/a)" kvpool_member "lsblk"
# What asks libblkid itself finds a partition table, and asks before it writes. The kernel makes no partition of it, and
# udev shows none.
pmbr() { blkid -p -o value -s PTTYPE "/dev/$1" || true; }
for d in a b; do
	expect_eq "$(pmbr $d)" PMBR "/dev/$d"
	blockdev --rereadpt /dev/$d 2> /dev/null || true
	expect_eq "$(lsblk -rno NAME /dev/$d | head -n 2 | xargs)" "$d tank" "/dev/$d"
	expect_eq "$(property /dev/$d ID_PART_TABLE_TYPE)" "" "/dev/$d"
done
expect_eq "$(pmbr c)" ""
run 0 upgrade tank; has out 'nothing was changed'
dd if=/dev/zero of=/dev/a bs=4096 count=1 conv=fsync status=none
expect_eq "$(pmbr a)" "" "a leg of an older kvpoolctl"
run 0 upgrade -n tank; has out 'would write the protective MBR on 1 leg'
expect_eq "$(pmbr a)" ""
run 0 upgrade tank; has out 'wrote the protective MBR on 1 leg'
expect_eq "$(pmbr a)" PMBR
mkfs.ext4 -q /dev/mapper/tank
udevadm trigger --settle /dev/mapper/tank
expect_eq "$(property /dev/mapper/tank ID_FS_TYPE)" ext4

echo "--- still a member when exported, destroyed, probed again"
run 0 export tank
udevadm trigger --settle /dev/a /dev/b
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member
run 0 import tank
run 0 destroy tank
expect_eq "$(pmbr a)$(pmbr b)" "" "destroyed"
run 0 import --destroyed tank
expect_eq "$(pmbr a)$(pmbr b)" PMBRPMBR "not destroyed any more"
run 0 destroy tank
udevadm trigger --settle /dev/a /dev/b
expect_eq "$(property /dev/b ID_FS_TYPE)" kvpool_member

echo "--- cleared; with another program's data"
run 0 labelclear /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" ""
mkfs.ext4 -q -F /dev/a
udevadm trigger --settle /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" ext4
run 0 create -f -o log_size=4M pond single /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member
expect_eq "$(property /dev/c ID_FS_TYPE)" ""

echo "--- a device that disappears does no harm"
run 0 export pond
udevadm settle
simset a power 0
udevadm settle
simset a power 1
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member

echo "--- the unit that systemd starts when a leg appears"
run 0 create -f -o log_size=4M lake mirror /dev/b /dev/c
numbers=$(lsblk -dno MAJ:MIN /dev/b | tr -d ' ')
expect_eq "$(property /dev/b SYSTEMD_WANTS)" "kvpool-import@$numbers.service"
expect_eq "$(property /dev/b SYSTEMD_ALIAS)" "/dev/block/$numbers"
expect_eq "$(property /dev/mapper/lake SYSTEMD_WANTS)" ""
# appears LEG [OPTION...]: run the command of the unit that the leg's properties name.
appears() {
	local unit words
	unit=$(property "$1" SYSTEMD_WANTS)
	unit=${unit#kvpool-import@}
	words=$(sed -n 's/^ExecStart=@SBIN_DIR@.kvpoolctl //p' "$KVPOOL_TOP/packaging/kvpool-import@.service")
	# shellcheck disable=SC2086 # words
	kvpoolctl ${words//%i/${unit%.service}} "${@:2}"
}
running() { kvpoolctl list -H -o name | xargs; }
appears /dev/b | grep 'it is active'
run 0 export lake
appears /dev/b | grep 'it was exported'
expect_eq "$(running)" ""
run 0 import lake
stop lake
echo "--- the last leg starts the pool; the other one had to wait"
simset c power 0
udevadm settle
appears /dev/b --wait 600 > /tmp/first 2>&1 &
first=$!
retry 60 waits_in $first nanosleep kvpoolctl
expect_eq "$(running)" ""
simset c power 1
udevadm settle
expect_status 0 appears /dev/c
expect_status 0 wait $first
expect_eq "$(running)" lake
run 0 status lake
echo "--- two at once run one after the other"
lock=/run/kvpoolctl-$(stat_of lake uuid).lock
stop lake
[ -e "$lock" ] || fail "an import had no lock: $lock"
flock "$lock" sleep 1000 &
holder=$!
until [ -n "$(pgrep -P $holder)" ]; do sleep 0.1; done
appears /dev/b > /tmp/first 2>&1 &
first=$!
appears /dev/c > /tmp/second 2>&1 &
second=$!
for pid in $first $second; do retry 60 waits_in "$pid" flock kvpoolctl; done
expect_eq "$(running)" ""
pkill -P $holder
wait $holder || true
expect_status 0 wait $first
expect_status 0 wait $second
expect_eq "$(running)" lake
expect_eq "$(cat /tmp/first /tmp/second | grep -c '^imported pool lake')" 1 "$(cat /tmp/first /tmp/second)"
echo "--- a leg that does not come"
stop lake
simset c power 0
expect_status 3 appears /dev/b --wait 1
expect_eq "$(running)" ""
simset c power 1
run 0 import lake
run 0 set lake degraded_start=auto
stop lake
simset c power 0
expect_status 0 appears /dev/b --wait 1
run 4 status lake
stop lake
simset c power 1
echo "--- autoimport=0"
run 0 import lake
run 0 set lake autoimport=0
stop lake
appears /dev/b | grep 'autoimport is 0'
run 0 import -a; has out 'left pool lake alone'; has out 'imported pool pond'
expect_eq "$(running)" pond
run 0 import -j; check_json
run 0 import lake
