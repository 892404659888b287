# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: the packages are installed, upgraded, removed and purged while a pool is in use: it goes on, and keeps its data
# kernels: 6.12
# timeout: 400
# long: minutes where that is emulated: a root of its own
# host: scripts/deb build/deb-vm 9.8.7
# needs: dpkg fio gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
new=9.8.7
old=9.8.6
debs=$KVPOOL_TOP/build/deb-vm
[ -n "$(find "$debs" -name "kvpool-utils_${new}_*.deb")" ] || fail "there are no packages: the runner says why"
dkms=$(find "$KVPOOL_CACHE/debs" -name 'dkms_*.deb' 2> /dev/null | head -n 1)
[ -n "$dkms" ] || skip "there is no package dkms: scripts/setup"

# The machine's root is the host's, and read-only. The packages go into an overlay of it, in memory. It has
# no headers of this kernel, so DKMS takes the sources and builds nothing: tests/dkms builds.
root=/tmp/root
mkdir -p /tmp/over $root
mount -t tmpfs none /tmp/over
mkdir /tmp/over/{upper,work}
mount -t overlay -o xino=off,lowerdir=/,upperdir=/tmp/over/upper,workdir=/tmp/over/work none $root
at_exit "umount -R $root && umount /tmp/over"
for d in proc sys dev run; do mount --rbind /$d $root/$d; done
mount --make-rprivate $root
mkdir -p $root/tmp/debs $root/usr/sbin
printf '#!/bin/sh\nexit 101\n' > $root/usr/sbin/policy-rc.d
chmod 755 $root/usr/sbin/policy-rc.d
inside() { chroot $root env -i LC_ALL=C HOME=/ DEBIAN_FRONTEND=noninteractive DM_DISABLE_UDEV=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
cp "$dkms" $root/tmp/debs/dkms.deb
rm -f $root/var/lib/man-db/auto-update # an index of all manuals takes an emulated machine long
# The same packages, and the programs in them, under a lower version of the same length.
for name in kvpool-dkms kvpool-utils; do
	cp "$debs/$name"_${new}_*.deb $root/tmp/debs/$name-$new.deb
	dpkg-deb -R $root/tmp/debs/$name-$new.deb /tmp/$name
	[ ! -d /tmp/$name/usr/src ] || mv /tmp/$name/usr/src/dm-kvpool-{$new,$old}
	grep -rlF $new /tmp/$name | xargs sed -i "s/${new//./\\.}/$old/g"
	dpkg-deb -Znone -b /tmp/$name $root/tmp/debs/$name-$old.deb
done

# installed VERSION: of both packages, "" for none.
installed() {
	local name got
	for name in kvpool-utils kvpool-dkms; do
		# shellcheck disable=SC2016 # dpkg's own fields
		got=$(inside dpkg-query -W -f '${db:Status-Status} ${Version}' $name 2> /dev/null || :)
		case $got in
		"installed "*) got=${got#* } ;;
		*) got= ;;
		esac
		expect_eq "$got" "$1" "version of $name"
	done
}
# goes_on: the pool serves the load, is whole, and was not stopped or started anew.
goes_on() {
	kill -0 "$fio" || fail "fio ended: $(cat /tmp/fio.log)"
	wait_more tank io.write_blocks 64
	expect_stat tank state online
	expect_eq "$(dmsetup table tank)" "$table" "the table"
	expect_eq "$(event_count tank imported)" "$starts" "starts"
	expect_eq "$(oracle show /dev/mapper/tank 0 2048)" "0 2048 v1" "contents"
	[ -d /sys/module/dm_kvpool ] || fail "the module is gone"
}

echo "--- installed"
inside dpkg -i /tmp/debs/dkms.deb
inside dpkg -i /tmp/debs/kvpool-{dkms,utils}-$old.deb
installed $old
inside dkms status > /tmp/dkms
grep -q "^dm-kvpool/$old: added" /tmp/dkms || fail "DKMS has: $(cat /tmp/dkms)" # printed elsewhere: added
[ ! -d /sys/module/dm_kvpool ] || fail "the installation loaded the module"

echo "--- a pool in use"
load_modules
no_udev
rm -f /run/udev/control
mksim a 64; mksim b 64; mksim c 32
inside kvpoolctl create -f -o log_size=8M -o cache_mode=writeback tank mirror /dev/a /dev/b cache /dev/c
oracle write /dev/mapper/tank 0 2048 1 fsync bs=32
fio --name=load --filename=/dev/mapper/tank --direct=1 --rw=randrw --bsrange=4k-64k --offset=16m --size=6m \
	--time_based --runtime=86400 --verify=crc32c --verify_backlog=64 --verify_state_save=0 \
	--rate_iops=100 --fdatasync=16 --ioengine=libaio --iodepth=4 --output=/tmp/fio.log &
fio=$!
table=$(dmsetup table tank)
starts=$(event_count tank imported)
goes_on

echo "--- upgraded"
grep -qx "kvpoolctl $old" <<< "$(inside kvpoolctl --version)"
inside dpkg -i /tmp/debs/kvpool-{dkms,utils}-$new.deb
installed $new
grep -qx "kvpoolctl $new" <<< "$(inside kvpoolctl --version)"
inside dkms status > /tmp/dkms
grep -q "^dm-kvpool/$new: added" /tmp/dkms || fail "DKMS has: $(cat /tmp/dkms)" # printed elsewhere: added
! grep -q "$old" /tmp/dkms || fail "DKMS still has: $(cat /tmp/dkms)"
goes_on
expect_eq "$(inside kvpoolctl get tank cache_mode)" writeback

echo "--- removed"
inside mkdir -p /var/lib/kvpool-monitor
inside dpkg -r kvpool-utils kvpool-dkms
installed ""
[ ! -e $root/usr/sbin/kvpoolctl ] || fail "the tool is still there"
[ -e $root/etc/default/kvpool-monitor ] || fail "the configuration is gone before the purge"
[ -d $root/var/lib/kvpool-monitor ] || fail "what the monitor knows is gone before the purge"
[ -z "$(inside dkms status)" ] || fail "DKMS still has: $(inside dkms status)"
goes_on

echo "--- purged"
inside dpkg -P kvpool-utils kvpool-dkms
[ ! -e $root/etc/default/kvpool-monitor ] || fail "the configuration is still there"
[ ! -e $root/var/lib/kvpool-monitor ] || fail "what the monitor knows is still there"
goes_on
end_fio "$fio" /tmp/fio.log
dmsetup remove --retry tank

echo "--- installed again: the pool is there"
inside dpkg -i /tmp/debs/kvpool-{dkms,utils}-$new.deb
inside kvpoolctl import tank
expect_stat tank state online
expect_eq "$(oracle show /dev/mapper/tank 0 2048)" "0 2048 v1" "contents"
scrub tank
inside kvpoolctl export tank
