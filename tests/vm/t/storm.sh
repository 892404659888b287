# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: random writes of four times a cache's capacity while the disks are slow, in every mode; all data is read back, also after a power cut; ext4 on it
# turn: full-cache */pacing.c */spill.c */elevator.c
# timeout: 420
# needs: fio,mkfs.ext4
. "$KVPOOL_TOP/tests/vm/storm.sh"
for d in c d; do mksim $d 12; done
storms 40 "writethrough writearound writeback" cache 2 /dev/c /dev/d

echo "--- a file system, with streams beside small writes"
mkfs.ext4 -q -F -E nodiscard $dev
mkdir -p /tmp/mnt
mount $dev /tmp/mnt
fio --directory=/tmp/mnt --ioengine=libaio --direct=1 --iodepth=8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --group_reporting \
	--name=small --rw=randrw --bs=4k --size=24m --fdatasync=64 \
	--name=stream --rw=write --bs=1m --size=40m > /tmp/fs.txt || fail "$(cat /tmp/fs.txt)"
umount /tmp/mnt
fsck.ext4 -fn $dev > /tmp/fsck.txt 2>&1 || fail "$(cat /tmp/fsck.txt)"

echo "--- quiet: all of it is written home"
quiet
