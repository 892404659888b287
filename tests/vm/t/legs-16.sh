# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a parity1 of 16 legs under load: one is pulled out and comes back, one is replaced in use, another is missing at a start
# kernels: 6.12
# timeout: 400
# long: the turns are full
# needs: gcc python3 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/legs.sh"
disks=()
for i in {0..16}; do mksim "d$i" 16; [ "$i" = 16 ] || disks+=("/dev/d$i"); done
# v2 FROM COUNT: as_written compares with these blocks.
v2() { oracle write $dev "$1" "$2" 2 fsync bs=8; from=$1 count=$2; }
as_written() {
	expect_eq "$(oracle show $dev 0 "$blocks")" \
		"0 $from v1"$'\n'"$from $count v2"$'\n'"$((from + count)) $((blocks - from - count)) v1" "contents"
}

echo "--- 16 legs, and no more"
refused 2 usage 'a parity1 has 3 to 16 legs, not 17' create -f -o log_size=4M tank parity1 "${disks[@]}" /dev/d16
run 0 create -f -o log_size=4M -o ram_cache=0 tank parity1 "${disks[@]}"
run 0 status -j tank
expect_eq "$(json pools.0.losses_survivable) $(json pools.0.vdevs.0.legs.15.path)" "1 /dev/d15"
oracle write $dev 0 "$blocks" 1 fsync bs=32

echo "--- one is pulled out under load: all is there; it comes back, and is whole"
begin_load
simset d7 remove 1
v2 1000 500
wait_stat tank leg.7.state faulted
expect_eq "$(state 4 7) $(json pools.0.losses_survivable)" "faulted 0"
dmsetup message tank 0 drop_caches
as_written
simset d7 power 1
run 0 online --wait tank /dev/d7
expect_eq "$(state 0 7) $(json pools.0.losses_survivable)" "online 1"
wait_more tank io.write_blocks 256

echo "--- another one is replaced while it is in use"
run 0 replace --wait tank /dev/d15 /dev/d16
expect_eq "$(state 0 15) $(json pools.0.vdevs.0.legs.15.path)" "online /dev/d16"
wait_more tank io.write_blocks 256
end_fio "$fio" /tmp/fio.log
run 0 clear tank
as_written
sound

echo "--- a start without the first leg: the others have all, that of the last one, too"
run 0 export tank
simset d0 remove 1
run 0 import --degraded tank
expect_eq "$(state 4 0) $(json pools.0.losses_survivable)" "missing 0"
as_written
v2 1000 500
run 0 export tank
simset d0 power 1
run 0 import tank
run 0 wait -t resilver tank
expect_eq "$(state 0 0)" online
as_written
sound
run 0 export tank
run 0 check "${disks[@]:0:15}" /dev/d16
