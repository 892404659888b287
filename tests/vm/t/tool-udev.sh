# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: under udev a leg is ID_FS_TYPE=kvpool_member as soon as it is one, and not any more when its label is cleared
# timeout: 200
# long: not yet part of every check
# needs: python3 udevadm mkfs.ext4
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
mkdir -p /etc/udev/rules.d
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
# udev asks libblkid about devices of known names only, and simdisk's are not.
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
mkfs.ext4 -q /dev/mapper/tank
udevadm trigger --settle /dev/mapper/tank
expect_eq "$(property /dev/mapper/tank ID_FS_TYPE)" ext4

echo "--- still a member when exported, destroyed, seen anew"
run 0 export tank
udevadm trigger --settle /dev/a /dev/b
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member
run 0 import tank
run 0 destroy tank
udevadm trigger --settle /dev/a /dev/b
expect_eq "$(property /dev/b ID_FS_TYPE)" kvpool_member

echo "--- cleared; somebody else's"
run 0 labelclear /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" ""
mkfs.ext4 -q -F /dev/a
udevadm trigger --settle /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" ext4
run 0 create -f -o log_size=4M pond single /dev/a
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member
expect_eq "$(property /dev/c ID_FS_TYPE)" ""

echo "--- a device that goes is no trouble"
run 0 export pond
simset a power 0
udevadm settle
simset a power 1
expect_eq "$(property /dev/a ID_FS_TYPE)" kvpool_member
