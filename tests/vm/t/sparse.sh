# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a mirror of 100 TiB with little in it: made, imported and resilvered at the cost of that little, in time, I/O and memory
# kernels: 6.12
# timeout: 300
# long: the turns are full
# needs: gcc python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
no_udev
tib=$((1 << 40))
mib=$((1 << 20))
dev=/dev/mapper/tank
mksim a $((100 << 20)); mksim b $((100 << 20))
available() { awk '$1 == "MemAvailable:" { printf "%d", $2 * 1024 }' /proc/meminfo; }
# io KEY: what both disks have counted, in bytes or requests (tests/simdisk/README.md).
io() { echo $(($(simstat a "$1") + $(simstat b "$1"))); }
# costs WHAT MIB KEY BEFORE: at most that much I/O since.
costs() {
	local n=$(($(io "$3") - $4))
	echo "$1: $n sectors of $3"
	[ $n -le $(($2 * 2048)) ] || fail "$1: $n sectors of $3, more than $2 MiB"
}
# the blocks that are written: 64 at each 10 TiB
places=(0 10 20 30 40 50 60 70 80 90)
put() { for t in "${places[@]}"; do oracle write $dev $((t * tib / 4096)) 64 "$1" bs=64; done; oracle sync $dev; }
are() { for t in "${places[@]}"; do expect_eq "$(oracle show $dev $((t * tib / 4096)) 64)" "$((t * tib / 4096)) 64 v$1" "at $t TiB"; done; }

echo "--- made"
sync; echo 3 > /proc/sys/vm/drop_caches
memory=$(available)
w=$(io write_sectors) r=$(io read_sectors)
run 0 create -f -o log_size=64M -o ram_cache=0 tank mirror /dev/a /dev/b
costs create 256 write_sectors "$w"
costs create 256 read_sectors "$r"
# the table takes 2 GiB for each TiB
[ "$(blockdev --getsize64 $dev)" -gt $((99 * tib)) ] || fail "it has only $(blockdev --getsize64 $dev) bytes"
run 0 status -j tank
expect_eq "$(json pools.0.vdevs.0.legs.1.state)" online
put 1
are 1
dmsetup message tank 0 checkpoint
[ "$(stat_of tank written_blocks)" -le $((10 * 64)) ] || fail "$(stat_of tank written_blocks) blocks are written"
gone=$((memory - $(available)))
echo "$((gone / mib)) MiB of memory, $(stat_of tank memory.table) bytes for the table"
[ $gone -le $((384 * mib)) ] || fail "$((gone / mib)) MiB of memory are gone"

echo "--- imported"
run 0 export tank
r=$(io read_sectors)
run 0 import tank
costs import 256 read_sectors "$r"
are 1

echo "--- a leg was away: only what changed is copied; then a new leg, with all that is written"
run 0 offline tank /dev/b
for t in 30 90; do oracle write $dev $((t * tib / 4096)) 64 2 bs=64 fsync; done
copied=$(stat_of tank resilver.copied)
run 0 online --wait tank /dev/b
copied=$(($(stat_of tank resilver.copied) - copied))
echo "$copied bytes copied"
[ $copied -ge $((2 * 64 * 4096)) ] || fail "only $copied bytes were copied"
[ $copied -le $((8 * mib)) ] || fail "$copied bytes were copied"
mksim c $((100 << 20))
r=$(io read_sectors)
run 0 offline tank /dev/b
run 0 replace --wait tank /dev/b /dev/c
costs replace 512 read_sectors "$r"
wait_stat tank state online
run 0 offline tank /dev/a
dmsetup message tank 0 drop_caches
for t in 30 90; do expect_eq "$(oracle show $dev $((t * tib / 4096)) 64)" "$((t * tib / 4096)) 64 v2" "at $t TiB"; done
expect_eq "$(oracle show $dev 0 64)" "0 64 v1"
expect_eq "$(oracle show $dev $((5 * tib / 4096)) 64)" "$((5 * tib / 4096)) 64 zero"
run 0 online --wait tank /dev/a

echo "--- a scrub, and what is discarded as a whole"
r=$(io read_sectors)
scrub tank
costs scrub 512 read_sectors "$r"
run 0 status tank; has out 'state: online'
check_json
