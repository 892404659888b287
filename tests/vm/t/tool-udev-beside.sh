# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: beside the udev rules of LVM: a leg that was a PV is only a leg, LVM on a pool starts with the pool, a pool on a volume with that, its images are no legs, and nothing reads a suspended device
# timeout: 400
# kernels: 6.12
# long: minutes where that is emulated, and the turns are full
# needs: python3 udevadm lvm mdadm
. "$KVPOOL_TOP/tests/vm/beside.sh"
modprobe dm-raid
for d in k l m n; do mksim vd$d 40; done
contents() { dd if=/dev/vg/lv bs=1M iflag=direct status=none | md5sum; }

echo "--- a disk that was a PV: a leg, and nothing but a leg"
lvm pvcreate -q /dev/vdk
udevadm trigger --settle /dev/vdk # it may have looked too early
no_leg /dev/vdk LVM2_member
run 0 create -f -o log_size=4M tank mirror /dev/vdk /dev/vdl
is_leg /dev/vdk tank; is_leg /dev/vdl tank
expect_eq "$(volumes)" ""

echo "--- LVM on the pool: the legs appear, the unit of one starts the pool, and with the pool comes the volume"
lvm pvcreate -q /dev/mapper/tank
lvm vgcreate -q vg /dev/mapper/tank
lvm lvcreate -q -y -L 8M -n lv vg
dd if=/dev/urandom of=/dev/vg/lv bs=1M count=8 oflag=direct status=none
sum=$(contents)
lvm vgchange -q -an vg
stop tank
unplug vdk vdl; plug vdk vdl
is_leg /dev/vdk tank; is_leg /dev/vdl tank
expect_eq "$(volumes)" ""
[ ! -e /dev/vg/lv ] || fail "the volume started without the pool"
starts /dev/vdk tank
retry 60 there /dev/vg/lv
on_the_pool() {
	no_leg /dev/mapper/tank LVM2_member
	expect_eq "$(below /dev/vg/lv)" "$(kernel_name /dev/mapper/tank)"
	expect_eq "$(volumes)" /dev/mapper/tank
	expect_eq "$(contents)" "$sum"
}
on_the_pool

echo "--- the table of the pool changes, under the volume"
run 0 detach tank /dev/vdl
no_leg /dev/vdl ""
on_the_pool
run 0 attach --wait tank /dev/vdk /dev/vdl
is_leg /dev/vdl tank
on_the_pool

echo "--- the pool is suspended: no rule reads it or the volume, and kvpoolctl does not wait for them"
dmsetup suspend tank
patient 60 udevadm trigger --settle /dev/mapper/tank /dev/vdk
patient 60 udevadm trigger --settle --action=add /dev/mapper/tank
is_leg /dev/vdk tank
patient 60 kvpoolctl import > /tmp/out
dmsetup resume tank
on_the_pool
lvm vgchange -q -an vg
stop tank

echo "--- a pool on a volume that LVM mirrors: its leg is the volume, and not the images, which show the same label"
lvm pvcreate -q /dev/vdm /dev/vdn
lvm vgcreate -q under /dev/vdm /dev/vdn
lvm lvcreate -q -y --type raid1 -m 1 --nosync -L 24M -n leg under
run 0 create -o log_size=4M deep single /dev/under/leg
only_the_volume() {
	is_leg /dev/under/leg deep
	for i in 0 1; do no_leg /dev/mapper/under-leg_rimage_$i ""; done
	for d in m n; do no_leg /dev/vd$d LVM2_member; done
}
only_the_volume
udevadm trigger --settle --action=add /dev/mapper/under-*
only_the_volume
stop deep

echo "--- the volume is suspended: it is still known as a leg"
dmsetup suspend under-leg
patient 60 udevadm trigger --settle /dev/mapper/under-leg
is_leg /dev/under/leg deep
patient 60 kvpoolctl import > /tmp/out
hasnt out deep
dmsetup resume under-leg
is_leg /dev/under/leg deep
lvm vgchange -q -an under

echo "--- one of its disks appears, and the other one: the volume starts, and its unit starts the pool"
unplug vdm vdn; plug vdm
run 0 import; hasnt out deep
[ ! -e /dev/under/leg ] || fail "the volume started with one of its disks"
plug vdn
retry 60 there /dev/under/leg
only_the_volume
starts /dev/under/leg deep
expect_stat deep state online
expect_eq "$(below /dev/mapper/deep)" "$(kernel_name /dev/under/leg)"
stop deep
lvm vgchange -q -an under
