# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: beside the udev rules of mdadm: a leg that was of an array is only a leg, an array on a pool starts with the pool, a pool on an array with that, the disks of it are no legs, and no path of multipath is
# timeout: 400
# kernels: 6.12
# long: minutes where that is emulated, and the turns are full
# needs: python3 udevadm lvm mdadm
. "$KVPOOL_TOP/tests/vm/beside.sh"
for d in k l m; do mksim vd$d 40; done
make_array() { # METADATA ARRAY DISK...: and udev looks at the disks once more, as it may have looked too early
	mdadm --create "$2" --run --quiet --level=1 --force --assume-clean --metadata="$1" \
		--raid-devices=$(($# - 2)) "${@:3}"
	udevadm trigger --settle "${@:3}"
}

echo "--- a disk that was mdadm's: a leg, and nothing but a leg"
make_array 1.0 /dev/md5 /dev/vdk
no_leg /dev/vdk linux_raid_member
retry 60 all_stopped
run 0 create -f -o log_size=4M pond single /dev/vdk
is_leg /dev/vdk pond

echo "--- md on the pool: the leg appears, its unit starts the pool, and with the pool comes the array"
make_array 1.2 /dev/md7 /dev/mapper/pond
retry 60 all_stopped
stop pond
unplug vdk; plug vdk
is_leg /dev/vdk pond
expect_eq "$(arrays)" ""
starts /dev/vdk pond
retry 60 assembled
no_leg /dev/mapper/pond linux_raid_member
expect_eq "$(below "/dev/$(arrays)")" "$(kernel_name /dev/mapper/pond)"
retry 60 all_stopped
stop pond

echo "--- a path of multipath, also before the multipath device is there: no leg"
path=/etc/udev/rules.d/60-multipath.rules
at_exit "rm -f $path"
echo 'KERNEL=="vdk", ENV{DM_MULTIPATH_DEVICE_PATH}="1"' > $path
udevadm control --reload
unplug vdk; plug vdk
no_leg /dev/vdk ""
run 0 import; hasnt out pond
rm $path
udevadm control --reload
udevadm trigger --settle /dev/vdk
is_leg /dev/vdk pond
run 0 import; has out 'pool: pond'

echo "--- a pool on an array: its leg is the array, and not the disks, which show the same label"
make_array 1.0 /dev/md5 /dev/vdl /dev/vdm
udevadm settle
run 0 create -o log_size=4M deep single /dev/md5
udevadm trigger --settle /dev/vdl /dev/vdm /dev/md5
is_leg /dev/md5 deep
for d in l m; do no_leg /dev/vd$d linux_raid_member; done
stop deep
retry 60 all_stopped

echo "--- one of its disks appears: it is held for the array, and no leg; neither when that is stopped"
unplug vdl vdm; plug vdl
no_leg /dev/vdl linux_raid_member
expect_fail assembled
run 0 import; hasnt out deep
retry 60 all_stopped
run 0 import; hasnt out 'pool: deep'
has out '^unusable: /dev/vdl: it is a part of another device, which has the leg: linux_raid_member'

echo "--- both appear: the array starts, and its unit starts the pool"
unplug vdl; plug vdl vdm
retry 60 assembled
array=$(arrays)
is_leg "/dev/$array" deep
for d in l m; do no_leg /dev/vd$d linux_raid_member; done
starts "/dev/$array" deep
expect_stat deep state online
expect_eq "$(below /dev/mapper/deep)" "$array"
stop deep
retry 60 all_stopped
