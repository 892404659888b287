# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: legs on LVM: they are extended, the disk below one fails, it is replaced; legs on LUKS: one disk is pulled out, one is closed by force
# kernels: 6.12
# timeout: 400
# long: the turns are full
# needs: gcc python3 fio lvm cryptsetup
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/legs.sh"
modprobe dm-crypt
export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm
cat > /tmp/lvm/lvm.conf <<-EOF
	devices { use_devicesfile=0 obtain_device_list_from_udev=0 filter=["a|^/dev/[abc]$|", "r|.*|"] }
	activation { udev_sync=0 udev_rules=0 monitoring=0 }
	global { locking_dir="/tmp/lvm" use_lvmpolld=0 }
	backup { backup=0 archive=0 }
EOF
for d in a b c; do mksim $d 160; done
for d in x y; do mksim $d 64; done
size() { blockdev --getsize64 $dev; }
as_written() { expect_eq "$(oracle show $dev 0 "$blocks")" "0 300 v$1"$'\n'"300 $((blocks - 300)) v1" "contents"; }

echo "--- legs on LVM: each in a group of its own"
for d in a b c; do
	lvm pvcreate -q /dev/$d
	lvm vgcreate -q vg$d /dev/$d
	lvm lvcreate -q -y -Wn -L 48M -n leg vg$d
done
leg=(/dev/mapper/vga-leg /dev/mapper/vgb-leg /dev/mapper/vgc-leg)
run 3 create -f -o log_size=4M tank mirror "${leg[0]}" /dev/b
run 0 create -f -o log_size=4M -o ram_cache=0 tank mirror "${leg[0]}" "${leg[1]}"
oracle write $dev 0 "$blocks" 1 fsync bs=32

echo "--- the volumes are extended under load, by a second piece, and the pool grows"
lvm lvcreate -q -y -Wn -L 8M -n between vga
was=$(size)
lvm lvextend -q -L 96M vga/leg
refused 3 too_small 'leg 1 of vdev 0' grow tank
begin_load
lvm lvextend -q -L 96M vgb/leg
expect_eq "$(dmsetup table vga-leg | wc -l)" 2 "pieces of the volume"
run 0 grow tank
[ "$(size)" -gt $((was + (40 << 20))) ] || fail "it has grown to $(size) only"
wait_more tank io.write_blocks 256
end=$(($(size) / 4096 - 500))
oracle write $dev $end 500 2 fsync bs=32

echo "--- the disk below one fails: the leg leaves, returns, and is replaced by another volume"
simset b faults "add write_error 0 $(sectors_of 160)"
oracle write $dev 0 300 2 fsync bs=8
wait_stat tank leg.1.state faulted
as_written 2
simset b faults clear
run 0 online --wait tank "${leg[1]}"
expect_eq "$(state 0 1)" online
lvm lvextend -q -L 96M vgc/leg
run 0 replace --wait tank "${leg[1]}" "${leg[2]}"
end_fio "$fio" /tmp/fio.log
run 0 clear tank
run 0 status -j tank
expect_eq "$(json pools.0.vdevs.0.legs.1.path)" "${leg[2]}"
sound
lvm lvremove -q -y vgb/leg
as_written 2

echo "--- a restart: the volumes are found again"
run 0 export tank
lvm vgchange -q -an vga vgc
lvm vgchange -q -ay vga vgc
run 0 import -d "${leg[0]}" -d "${leg[2]}" tank
as_written 2
expect_eq "$(oracle show $dev $end 500)" "$end 500 v2" "the new end"
run 0 destroy tank

echo "--- legs on LUKS"
head -c 32 /dev/urandom > /tmp/key
for d in x y; do
	cryptsetup -q luksFormat --type luks2 --luks2-keyslots-size 256k --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
		--key-file /tmp/key /dev/$d
	cryptsetup luksOpen --key-file /tmp/key /dev/$d l$d
done
run 0 create -f -o log_size=4M -o ram_cache=0 tank mirror /dev/mapper/lx /dev/mapper/ly
oracle write $dev 0 "$blocks" 1 fsync bs=32
begin_load

echo "--- the disk below one is pulled out, and comes back: it is opened anew, by another name"
simset y remove 1
oracle write $dev 0 300 2 fsync bs=8
wait_stat tank leg.1.state faulted
as_written 2
simset y power 1
cryptsetup luksOpen --key-file /tmp/key /dev/y lz
run 0 online --wait tank /dev/mapper/lz
expect_eq "$(state 0 1) $(json pools.0.vdevs.0.legs.1.path)" "online /dev/mapper/lz"
dmsetup remove --retry ly

echo "--- one is closed beneath the pool, by force: its requests fail, and the pool goes on"
expect_fail cryptsetup luksClose lx
expect_fail dmsetup remove --force lx # as the pool has it open; but it has a table of errors now
expect_eq "$(dmsetup table lx | cut -d ' ' -f 3)" error "the table of lx"
oracle write $dev 0 300 3 fsync bs=8
wait_stat tank leg.0.state faulted
wait_more tank io.write_blocks 256
end_fio "$fio" /tmp/fio.log
as_written 3
run 0 export tank
