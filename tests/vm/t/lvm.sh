# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: LVM thin volumes, their snapshots, and snapshots of the older kind on a pool: a power cut takes nothing that is durable, discards pass
# kernels: 6.12
# timeout: 400
# long: minutes where that is emulated, and the turns are full
# needs: gcc python3 lvm thin_check
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/layers.sh"
for m in dm-thin-pool dm-snapshot; do modprobe $m; done
export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm
cat > /tmp/lvm/lvm.conf <<-END
	devices { use_devicesfile=0 obtain_device_list_from_udev=0 issue_discards=1 filter=["a|^/dev/mapper/tank$|", "r|.*|"] }
	activation { udev_sync=0 udev_rules=0 monitoring=0 }
	global { thin_check_executable="$(command -v thin_check)" locking_dir="/tmp/lvm" use_lvmpolld=0 }
	backup { backup=0 archive=0 }
END

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
