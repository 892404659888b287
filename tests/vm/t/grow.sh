# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a mirror and a parity1 grow in use: disks are enlarged, or others take their place; a file system follows; restarted
# kernels: 6.12
# timeout: 300
# turn: legs-replaced */pool/grow.c */pool/ahead.c */table/move.c *kvpoolctl/cmd_grow.c
# needs: gcc python3 fio
. "$KVPOOL_TOP/tests/vm/legs.sh"
for i in 0 1 2 3 4; do
	mksim "d$i" 160
	dmsetup create leg$i --table "0 $(sectors_of 48) linear /dev/d$i 0"
	legs[i]=/dev/mapper/leg$i
done
# enlarge LEG MIB
enlarge() {
	dmsetup reload "leg$1" --table "0 $(sectors_of "$2") linear /dev/d$1 0"
	dmsetup suspend "leg$1"
	dmsetup resume "leg$1"
}
size() { blockdev --getsize64 $dev; }

echo "--- refused in words"
run 0 create -f -o log_size=4M -o ram_cache=0 tank mirror "${legs[0]}" "${legs[1]}"
oracle write $dev 0 $blocks 1 fsync bs=32
was=$(size)
refused 3 too_small 'not enough to grow' grow tank
enlarge 0 96
refused 3 too_small 'leg 1 of vdev 0' grow tank
enlarge 1 100
run 0 offline tank "${legs[1]}"
refused 3 too_small 'not in sync' grow tank
run 0 online --wait tank "${legs[1]}"

echo "--- the disks are larger, under load"
begin_load
run 0 grow -n tank; has out 'would grow pool tank'; has out '1 grow mirror 2 '
expect_eq "$(size)" "$was"
run 0 grow -j tank
[ "$(stat_of tank grow.pages)" -gt 0 ] || fail "no page of the table was copied ahead"
expect_eq "$(json plan.action) $(json plan.size_before) $(json plan.size)" "grow $was $(size)"
[ "$(size)" -gt $((was + (40 << 20))) ] || fail "it has grown to $(size) only"
wait_more tank io.write_blocks 256
end_fio $fio /tmp/fio.log
run 0 events tank; has out 'legs_grown vdevs=1 '
expect_eq "$(stat_of tank features)" table-behind,folded-sums
oracle write $dev $(($(size) / 4096 - 1000)) 1000 2 fsync bs=32
expect_eq "$(oracle show $dev 0 $blocks)" "0 $blocks v1" "contents"
sound

echo "--- once more, after a restart"
sum=$(contents)
run 0 export tank
run 0 import -d "${legs[0]}" -d "${legs[1]}" tank
expect_eq "$(contents)" "$sum" "contents"
enlarge 0 160; enlarge 1 160
now=$(size)
run 0 grow tank; has out 'grown pool tank'
[ "$(size)" -gt "$now" ] || fail "it has not grown again"
oracle write $dev $((now / 4096)) 1000 3 fsync bs=32
expect_eq "$(oracle show $dev 0 $blocks)" "0 $blocks v1" "contents"
sound

echo "--- a leg leaves the larger pool, and returns; then the other one is missing"
run 0 offline tank "${legs[1]}"
oracle write $dev $((now / 4096)) 1000 4 fsync bs=32
run 0 online --wait tank "${legs[1]}"
sound
sum=$(contents)
run 0 export tank
run 0 import --degraded -d "${legs[1]}" tank
expect_eq "$(contents)" "$sum" "contents without leg 0"
run 0 export tank
run 0 import -d "${legs[0]}" -d "${legs[1]}" tank
run 0 wait tank
sound
run 0 export tank
run 0 check "${legs[0]}" "${legs[1]}"
run 0 labelclear -f "${legs[0]}"; run 0 labelclear -f "${legs[1]}"

echo "--- a parity1, with a file system"
run 0 create -f -o log_size=4M tank parity1 "${legs[2]}" "${legs[3]}" "${legs[4]}"
mkfs.ext4 -q $dev
mkdir -p /tmp/g
mount $dev /tmp/g
dd if=/dev/urandom of=/tmp/g/file bs=1M count=20 status=none
sum=$(md5sum < /tmp/g/file)
for i in 2 3 4; do enlarge $i 112; done
run 0 grow tank
resize2fs $dev
[ "$(df --output=size -m /tmp/g | tail -1)" -gt 100 ] || fail "the file system has not grown"
dd if=/dev/urandom of=/tmp/g/more bs=1M count=100 conv=fsync status=none
expect_eq "$(md5sum < /tmp/g/file)" "$sum"
umount /tmp/g
e2fsck -fn $dev
sound
run 0 export tank
