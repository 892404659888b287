# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: under load a single becomes a mirror, one leg more and one less, in use and pulled out; a leg is changed for another
# kernels: 6.12
# timeout: 300
# turn: legs-replaced */pool/attach.c *kvpoolctl/legs.c
# needs: gcc python3 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/legs.sh"
for d in a b c d; do mksim $d 48; done
mksim f 16

kind() { run "$1" status -j tank; json pools.0.vdevs.0.kind; }

echo "--- what is refused"
run 0 create -f -o log_size=4M -o ram_cache=0 tank single /dev/a
oracle write $dev 0 $blocks 1 fsync bs=32
refused 3 last_leg 'only leg' detach tank /dev/a
refused 3 too_small 'a leg of that vdev needs' attach tank /dev/a /dev/f
refused 3 held 'tank' attach tank /dev/a /dev/a
mkfs.ext4 -q /dev/b
refused 3 signature 'ext4' attach tank /dev/a /dev/b # printed elsewhere: ext4
run 0 attach -f -n tank /dev/a /dev/b; has out 'would attach /dev/b to /dev/a in pool tank'
has out '^survives  loss of 1 leg\(s\) then, now 0'
expect_eq "$(kind 0)" single

echo "--- a single becomes a mirror, under load"
begin_load
run 0 set tank resilver_rate=1M
run 0 attach -f -j tank /dev/a /dev/b
expect_eq "$(json plan.action) $(json plan.new) $(json plan.redundancy.after)" "attach /dev/b 1"
expect_eq "$(state 4 1) $(kind 4)" "resilvering mirror"
# not with refused(), which waits until nothing is written
run 3 detach tank /dev/a; has err 'is resilvering'
run 0 set tank resilver_rate=0
run 0 wait -t resilver tank
expect_eq "$(state 0 1)" online
run 0 events tank; has out 'leg_attached leg=1 uuid='

echo "--- a leg is changed for another: one more, and then one less"
run 0 attach --wait tank /dev/b /dev/c; has out '/dev/c is online; the pool survives the loss of 2 leg'
old=$(stat_of tank leg.0.uuid)
run 0 detach -n tank /dev/a; has out 'would detach /dev/a from pool tank'
has out '^survives  loss of 1 leg\(s\) then, now 2'
run 0 detach tank "$old"; has out 'is no leg of pool tank any more; the pool survives the loss of 1 leg'
expect_eq "$(blkid -p -o value -s TYPE /dev/a || true)" "" "the label of /dev/a"
pmbr() { blkid -p -o value -s PTTYPE "/dev/$1" || true; }
expect_eq "$(pmbr a)/$(pmbr b)/$(pmbr c)" /PMBR/PMBR "the protective MBRs"
run 0 events tank; has out "leg_detached leg=0 uuid=$old"
run 0 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.0.path)" /dev/b

echo "--- one is pulled out, and detached: the pool is healthy, as a single"
simset b remove 1
oracle write $dev 100 200 2 fsync bs=8
wait_stat tank leg.0.state faulted
run 3 detach tank /dev/c; has err 'is faulted'
run 0 detach tank "$(stat_of tank leg.0.uuid)"
expect_eq "$(kind 0)" single
wait_more tank io.write_blocks 256
end_fio $fio /tmp/fio.log
expect_eq "$(oracle show $dev 100 200)" "100 200 v2" "contents"
sound

echo "--- the disk that was pulled out is back: it is no leg"
sum=$(contents)
simset b power 1
run 0 export tank
run 0 import tank
expect_eq "$(kind 0) $(state 0 0)" "single online"
expect_eq "$(contents)" "$sum" "contents after import"
refused 3 member 'was a leg of pool tank, which runs without it' attach tank /dev/c /dev/b
run 0 labelclear -f /dev/b
run 0 attach --wait tank /dev/c /dev/b
expect_eq "$(kind 0)" mirror
simset c remove 1
dmsetup message tank 0 drop_caches
expect_eq "$(contents)" "$sum" "contents without /dev/c"

echo "--- a leg in use is replaced: the order outlives an export, and the old leg leaves by itself"
simset c power 1
run 0 detach tank /dev/c
run 0 set tank resilver_rate=1M
refused 3 refused 'no leg in use is being replaced' cancel tank replace
run 0 replace -f -n tank /dev/b /dev/d; has out 'would replace /dev/b by /dev/d in pool tank'
run 0 replace -f tank /dev/b /dev/d; has out 'kvpoolctl wait -t replace tank'
run 0 status tank; has out 'advice: leg /dev/d is resilvering, .* to replace another, which is in use until then'
expect_eq "$(state 0 0) $(state 0 1)" "online resilvering"
run 3 replace tank /dev/b /dev/a; has err 'is being replaced already'
run 0 cancel -n tank replace; has out 'would detach /dev/d'
run 0 cancel tank replace
expect_eq "$(kind 0) $(state 0 0)" "single online"
run 0 replace -f -j tank /dev/b /dev/d
expect_eq "$(json plan.action) $(json plan.redundancy.before) $(json plan.redundancy.after)" "replace 0 0"
run 0 export tank
run 0 import tank tonk
run 0 rename tonk tank
expect_eq "$(state 0 0) $(state 0 1)" "online resilvering"
run 0 set tank resilver_rate=0
run 0 wait -t replace tank
expect_eq "$(kind 0) $(state 0 0)" "single online"
run 0 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.0.path)" /dev/d
run 0 events tank; has out 'leg_left leg=0 uuid='; has out 'leg_detached leg=0 uuid='
expect_eq "$(blkid -p -o value -s TYPE /dev/b || true)" "" "the label of /dev/b"
expect_eq "$(pmbr b)/$(pmbr d)" /PMBR "the protective MBRs"
dmsetup message tank 0 drop_caches
expect_eq "$(contents)" "$sum" "contents on /dev/d"
run 0 replace --wait tank /dev/d /dev/b; has out '/dev/b took the place of /dev/d'
expect_eq "$(kind 0) $(contents)" "single $sum"

echo "--- nobody ends a replacement: the next import does"
run 0 replace -f tank /dev/b /dev/d
wait_stat tank leg.0.by_order 1 60
run 0 wait -n tank; has out '^detaches +/dev/b, and wipes its label: /dev/d has its place'
run 0 status tank; has out 'kvpoolctl wait -t replace tank'
run 0 export tank
run 0 import tank; has out 'detached /dev/b, whose place another leg has'
expect_eq "$(kind 0) $(contents)" "single $sum"
expect_eq "$(blkid -p -o value -s TYPE /dev/b || true)" "" "the label of /dev/b"
run 0 destroy tank
check_json
