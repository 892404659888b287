# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg of a parity1 in use is replaced under load, beside a lost leg, over an export, cancelled, and lost itself
# kernels: 6.12
# timeout: 400
# needs: gcc python3 fio
# kmsg-allow: I/O error
# long: its turn would take longer than a turn may
. "$KVPOOL_TOP/tests/vm/legs.sh"
for d in a b c d e; do mksim $d 48; done
mksim f 16

label_of() { blkid -p -o value -s TYPE "/dev/$1" || true; }
# Of the leg in use, and of the device that is to take its place; and what the pool survives.
pair() { run "$1" status -j tank; echo "$(json "pools.0.vdevs.0.legs.$2.state") $(json pools.0.vdevs.0.legs.3.state) $(json pools.0.losses_survivable)"; }

echo "--- it begins under load: nothing is lost by it"
run 0 create -f -o log_size=4M -o ram_cache=0 tank parity1 /dev/a /dev/b /dev/c
oracle write $dev 0 $blocks 1 fsync bs=32
refused 3 too_small 'a leg of that vdev needs' replace tank /dev/b /dev/f
refused 3 held 'tank' replace tank /dev/b /dev/a
mkfs.ext4 -q /dev/d
refused 3 signature 'ext4' replace tank /dev/b /dev/d # printed elsewhere: ext4
run 0 replace -f -n tank /dev/b /dev/d; has out 'would replace /dev/b by /dev/d in pool tank'
has out '^survives  loss of 1 leg\(s\) then, now 1'
# So slow that the device is not ready before a test has looked, however busy the machine's host is.
run 0 set tank resilver_rate=64K
begin_load
run 0 replace -f -j tank /dev/b /dev/d
expect_eq "$(json plan.action) $(json plan.new) $(json plan.redundancy.after)" "replace /dev/d 1"
expect_eq "$(pair 0 1)" "online resilvering 1"
run 0 status tank; has out 'state: online'
has out 'advice: leg /dev/d is resilvering, .* to replace another, which is in use until then'
run 0 metrics; has out 'replacement_state.*,state="resilvering"} 1'

echo "--- what is refused meanwhile"
run 3 replace tank /dev/a /dev/f; has err 'is being replaced'
run 3 add -f tank single /dev/f; has err 'is being replaced'
run 3 offline tank /dev/d; has err 'it is no leg of pool tank yet'
run 3 create -f other single /dev/d; has err 'tank'
table=$(dmsetup table tank)
[[ $table = *' 1 shadow='* ]] || fail "the table is $table"
expect_fail dmsetup load tank --table "$(sed -E 's/ 1 shadow=[0-9:]+/ 0/' <<< "$table")"
[[ $(last_refusal) = *'the new table lacks '*'to take the place'* ]] || fail "refused, but: $(last_refusal)"
# A longer device would take requests for blocks that the pool has not.
read -r _ length _ uuid _ <<< "$table"
b=$(lsblk -dno MAJ:MIN /dev/b | tr -d " ") d=$(lsblk -dno MAJ:MIN /dev/d | tr -d " ")
for change in "1 replace ${table#* shadow=* }" "2 replace shadow=- ${table#* shadow=* }"; do
	[[ $change = 2* ]] || change=${change/ $b / $d }
	expect_fail dmsetup load tank --table "0 $((length + 8)) kvpool $uuid $change"
	[[ $(last_refusal) = *'the table is not as long as the pool'* ]] || fail "refused, but: $(last_refusal)"
done

echo "--- it is cancelled, and begins again; another leg is pulled out"
run 0 cancel -n tank replace; has out 'would detach /dev/d'
run 0 cancel tank replace
expect_eq "$(label_of d)" "" "the label of /dev/d"
run 0 status -x tank; has out healthy
run 3 cancel tank replace; has err 'no leg in use is being replaced'
run 0 replace tank /dev/b /dev/d; has out 'kvpoolctl wait -t replace tank'
simset c remove 1
oracle write $dev 100 200 2 fsync bs=8
wait_stat tank leg.2.state faulted
expect_eq "$(pair 4 1)" "online resilvering 0"
wait_more tank io.write_blocks 256
end_fio $fio /tmp/fio.log
expect_eq "$(oracle show $dev 100 200)" "100 200 v2" "contents"
sum=$(contents)

echo "--- the order outlives an export, and an import without the new disk"
simset c power 1
simset d remove 1
run 0 export tank
run 0 import tank; has out 'which is to replace another leg, is missing'
run 0 set tank resilver_rate=0
run 0 wait -t resilver tank
expect_eq "$(pair 0 1)" "online missing 1"
run 1 wait -t replace tank; has err 'it is missing, and /dev/b, which it is to replace, stays in use'
run 0 events tank; has out 'shadow_missing leg=1'
simset d power 1
run 0 set tank resilver_rate=64K
run 0 export tank
run 0 import -n tank; has out 'shadow='
run 0 import tank
expect_eq "$(pair 0 1)" "online resilvering 1"
run 0 inspect /dev/a; has out 'to replace a leg'

echo "--- the new disk takes the place"
run 0 set tank resilver_rate=0
run 0 wait -t replace tank
expect_eq "$(state 0 1)" online
expect_eq "$(json pools.0.vdevs.0.legs.1.path)" /dev/d
run 0 events tank; has out 'leg_replaced leg=1 uuid='
expect_eq "$(label_of b)" "" "the label of /dev/b"
dmsetup message tank 0 drop_caches
expect_eq "$(contents)" "$sum" "contents with /dev/d"
run 0 clear tank
sound

echo "--- the old disk goes, and then the new one, which waits: the order can be cancelled"
run 0 set tank resilver_rate=64K
run 0 replace tank /dev/c /dev/b
simset c remove 1
oracle write $dev 100 200 2 fsync bs=8
wait_stat tank leg.2.state faulted
expect_eq "$(stat_of tank shadow.state)" stale
simset b remove 1
run 0 cancel tank replace
expect_eq "$(stat_of tank shadow.uuid)" "" "the order"
simset c power 1
simset b power 1
run 0 labelclear -f /dev/b
run 0 export tank
run 0 import tank
run 0 set tank resilver_rate=0
run 0 wait -t resilver tank
expect_eq "$(state 0 2)" online
run 0 set tank resilver_rate=64K

echo "--- the old disk is lost meanwhile: the new one takes its place at once"
run 0 replace tank /dev/c /dev/b
simset c remove 1
oracle write $dev 100 200 3 fsync bs=8
wait_stat tank leg.2.state faulted
run 4 status tank; has out 'advice: leg .* is faulted, and /dev/b, which is to replace it, has part'
run 3 replace tank "$(stat_of tank leg.2.uuid)" /dev/f; has err 'is being replaced'
run 0 set tank resilver_rate=0
run 0 wait -t replace tank
expect_eq "$(state 0 2)" online
expect_eq "$(json pools.0.vdevs.0.legs.2.path)" /dev/b
oracle write $dev 100 200 2 fsync bs=8
run 0 clear tank
sound

echo "--- it fails, and the old disk is lost: a spare takes the place, and the order ends"
simset c power 1
run 0 labelclear -f /dev/c
run 0 add tank spare /dev/e
run 0 set tank resilver_rate=64K
run 0 replace tank /dev/b /dev/c
begin_load
simset c remove 1
wait_stat tank shadow.state faulted
simset b remove 1
wait_stat tank leg.2.state faulted
end_fio "$fio" /tmp/fio.log
oracle write $dev 0 $blocks 1 fsync bs=32
oracle write $dev 100 200 2 fsync bs=8
lost=$(stat_of tank leg.2.uuid)
refused 3 too_small 'a leg of that vdev needs' replace tank "$lost" /dev/f
expect_eq "$(stat_of tank shadow.state)" faulted
run 0 replace -n tank "$lost"; has out 'cancels +the order that another device replaces it'
run 0 set tank resilver_rate=0
run 0 replace --wait tank "$lost"
expect_eq "$(stat_of tank shadow.uuid)" "" "the order"
expect_eq "$(state 0 2)" online
expect_eq "$(json pools.0.vdevs.0.legs.2.path)" /dev/e
run 0 clear tank
sum=$(contents)
sound

echo "--- another leg is lost then"
simset a remove 1
dmsetup message tank 0 drop_caches
expect_eq "$(contents)" "$sum" "contents without /dev/a"
run 0 destroy tank
check_json
