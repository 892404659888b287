# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: LVM thin volumes and snapshots on a pool, and LUKS above and below one, keep what is durable over power cuts; discards pass
# kernels: 6.12
# timeout: 400
# long: minutes where that is emulated, and the turns are full
# needs: gcc python3 lvm thin_check cryptsetup
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle; helper leg
load_modules
no_udev
for m in dm-thin-pool dm-snapshot dm-crypt; do modprobe $m; done
export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm
cat > /tmp/lvm/lvm.conf <<-END
	devices { use_devicesfile=0 obtain_device_list_from_udev=0 issue_discards=1 filter=["a|^/dev/mapper/tank$|", "r|.*|"] }
	activation { udev_sync=0 udev_rules=0 monitoring=0 }
	global { thin_check_executable="$(command -v thin_check)" locking_dir="/tmp/lvm" use_lvmpolld=0 }
	backup { backup=0 archive=0 }
END
# same DEV BLOCKS VERSION [FROM]
same() { expect_eq "$(oracle show "$1" "${4:-0}" "$2")" "${4:-0} $2 v$3" "contents of $1"; }
# power_goes: for all disks at once, under whatever is written; all devices above are gone with it.
power_goes() {
	simset all seed "$1"; simset all cut_mode random; simset all power_cut now
	wait "$load" || :
	for _ in {1..20}; do
		for d in $(dmsetup ls | sed -n 's/\t.*//p'); do dmsetup remove "$d" 2> /dev/null || :; done
	done
	expect_eq "$(dmsetup ls)" "No devices found"
	simset all power_restore 1
}
# begin_writes DEV FROM COUNT: without end, not flushed; what it leaves there is not compared.
begin_writes() {
	(for ((v = 100; ; v++)); do oracle write "$1" "$2" "$3" $v bs=8 || exit 0; done) > /tmp/load.log 2>&1 &
	load=$!
	wait_more tank io.write_blocks 64
}

echo "--- LVM on a mirror with a cache: a thin volume, a thin snapshot, and a snapshot of the older kind"
mksim a 192; mksim b 192; mksim c 32
run 0 create -f -o log_size=8M -o ram_cache=0 tank mirror /dev/a /dev/b cache /dev/c
lvm pvcreate -q /dev/mapper/tank
lvm vgcreate -q vg /dev/mapper/tank
lvm lvcreate -q -y -L 64M --chunksize 64k --poolmetadatasize 4M -Z y --discards passdown --type thin-pool -n thin vg
lvm lvcreate -q -y -V 48M --thinpool vg/thin -n origin
lvm lvcreate -q -y -L 16M -n thick vg
oracle write /dev/mapper/vg-origin 0 4096 1 fsync bs=32
oracle write /dev/mapper/vg-thick 0 2048 1 fsync bs=32
lvm lvcreate -q -y -s -kn -n snap vg/origin
lvm lvcreate -q -y -s -L 12M -n old vg/thick
oracle write /dev/mapper/vg-origin 1024 1024 2 fsync bs=32
oracle write /dev/mapper/vg-thick 512 512 2 fsync bs=32
oracle write /dev/mapper/vg-snap 3072 512 3 fsync bs=32
as_it_was() {
	same /dev/mapper/vg-origin 1024 1; same /dev/mapper/vg-origin 1024 2 1024; same /dev/mapper/vg-origin 2048 1 2048
	same /dev/mapper/vg-snap 3072 1; same /dev/mapper/vg-snap 512 3 3072
	same /dev/mapper/vg-thick 512 1; same /dev/mapper/vg-thick 512 2 512
	same /dev/mapper/vg-old 2048 1
}
as_it_was
refused 3 busy 'held by dm-' export tank

echo "--- the power goes while more is written"
begin_writes /dev/mapper/vg-origin 6144 2048
power_goes 1
run 0 import tank
lvm vgchange -q -ay -K vg
as_it_was
echo "--- a leg rots beneath: healed, and nobody above sees it"
run 0 set tank cache_mode=writethrough
dmsetup message tank 0 drop_caches
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
leg garble /dev/a "$home" 4096
as_it_was
run 0 scrub --wait tank; hasnt out 'healed 0,'; has out 'unrepaired 0'
as_it_was
echo "--- a discard passes LVM"
dmsetup message tank 0 checkpoint
before=$(stat_of tank written_blocks)
lvm lvremove -q -y vg/snap
blkdiscard /dev/mapper/vg-origin
lvm lvremove -q -y vg/old vg/thick
dmsetup message tank 0 checkpoint
after=$(stat_of tank written_blocks)
[ "$after" -le $((before - 4096 - 2048)) ] || fail "$before blocks before, $after after"
lvm vgchange -q -an vg
run 0 destroy tank

echo "--- LUKS on a pool"
head -c 32 /dev/urandom > /tmp/key
format() { cryptsetup -q luksFormat --type luks2 --luks2-keyslots-size 256k --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /tmp/key "$1"; }
unlock() { cryptsetup luksOpen --allow-discards --key-file /tmp/key "$1" "$2"; }
run 0 create -f -o log_size=8M -o ram_cache=0 tank mirror /dev/a /dev/b cache /dev/c
format /dev/mapper/tank
unlock /dev/mapper/tank secret
oracle write /dev/mapper/secret 0 4096 1 fsync bs=32
begin_writes /dev/mapper/secret 4096 2048
power_goes 2
run 0 import tank
unlock /dev/mapper/tank secret
same /dev/mapper/secret 4096 1
dmsetup message tank 0 checkpoint
before=$(stat_of tank written_blocks)
blkdiscard -l 8M /dev/mapper/secret
dmsetup message tank 0 checkpoint
[ "$(stat_of tank written_blocks)" -le $((before - 2000)) ] || fail "the discard did not pass LUKS"
same /dev/mapper/secret 2048 1 2048
refused 3 busy 'held by dm-' export tank
cryptsetup luksClose secret
run 0 destroy tank

echo "--- a pool on LUKS"
for d in a b; do
	dd if=/dev/zero of=/dev/$d bs=1M count=1 conv=fsync status=none
	format /dev/$d
done
refused 3 signature 'crypto_LUKS' create -o log_size=8M tank mirror /dev/a /dev/b # printed elsewhere: crypto_LUKS
for d in a b; do unlock /dev/$d l$d; done
run 0 create -f -o log_size=8M -o ram_cache=0 tank mirror /dev/mapper/la /dev/mapper/lb
oracle write /dev/mapper/tank 0 4096 1 fsync bs=32
expect_fail cryptsetup luksClose la
begin_writes /dev/mapper/tank 4096 2048
power_goes 3
for d in a b; do unlock /dev/$d l$d; done
run 0 import tank
same /dev/mapper/tank 4096 1
