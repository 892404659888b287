# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: every command of kvpoolctl as a new user would use it, from create to labelclear
# timeout: 300
# needs: python3 mkfs.ext4 mkswap
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
for d in a b c; do mksim $d 32; done

echo "--- first help"
run 0 version; has out '^kvpoolctl [0-9]'; has out '^module +[0-9]'
run 0 version -j; [[ $(json module) == [0-9]* ]] || fail "no module in version"
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups kvpoolctl "$@"; }
expect_eq "$(nobody version)" "$(kvpoolctl version)" "the version, as told to somebody else"
for c in status list 'get tank' import events; do
	# shellcheck disable=SC2086 # words
	expect_status 1 nobody $c 2> /tmp/err
	has err '(Permission denied|only root may use device-mapper) -- run as root$'
done
run 0 --help; has out '^  create '; has out '^  online '
run 0 list; has out '^NAME'
run 0 status; has out 'no pool is active'

echo "--- a device that does not answer is left out"
dmsetup create mute --table "0 2048 linear /dev/c 0"
dmsetup suspend mute
run 0 import; has out 'no pool was found'
dmsetup resume mute
dmsetup remove --retry mute

echo "--- create: the plan, then the same for good"
run 0 create -n -o log_size=4M -o scrub_rate=64M tank mirror /dev/a /dev/b
has out 'would create pool tank: mirror of 2'; has out '^usable'; has out '^survives +loss of 1 leg'
expect_eq "$(checksums /dev/a | uniq)" "$(head -c 32M /dev/zero | md5sum)" "a leg after create -n"
run 0 create -n -j -o log_size=4M -o scrub_rate=64M -o "comment=my two disks" tank mirror /dev/a /dev/b
sed -E 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g' /tmp/out > /tmp/plan
run 0 create -j -o log_size=4M -o scrub_rate=64M -o "comment=my two disks" tank mirror /dev/a /dev/b
uuid=$(json plan.uuid); size=$(json plan.size)
expect_eq "$(sed "s/$uuid/UUID/g" /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
expect_eq "$(json plan.vdevs.0.legs.1.path)" /dev/b
[[ $(json plan.table) == *" mirror 2 /dev/a /dev/b" ]] || fail "the table names no paths: $(json plan.table)"
expect_eq "$(blockdev --getsize64 /dev/mapper/tank)" "$size"
expect_eq "$(dmsetup info -c --noheadings -o uuid tank)" "KVPOOL-$uuid"
expect_stat tank log.size "$(json plan.log_size)"

echo "--- use it"
mkfs.ext4 -q /dev/mapper/tank
mkdir -p /tmp/m
mount /dev/mapper/tank /tmp/m
dd if=/dev/urandom of=/tmp/m/file bs=64K count=64 status=none
sync
md5sum < /tmp/m/file > /tmp/sum

echo "--- look at it"
run 0 list; has out '^tank +2[0-9.]+ MiB '; has out ' online '
run 0 list -H -o name,size,state,comment; has out "^tank	.*	online	my two disks$"
run 0 list -p -H -o size; has out "^$size$"
run 0 list -j; expect_eq "$(json pools.0.name)" tank
run 0 status; has out '^ +pool: tank'; has out '/dev/a +online'; has out '/dev/b +online'; hasnt out advice
run 0 status -v tank; has out "comment: my two disks"
run 0 status "$uuid"; has out '^ +pool: tank'
run 0 status -x; has out 'all pools are healthy'
run 0 status -j tank; expect_eq "$(json pools.0.losses_survivable)" 1; expect_eq "$(json pools.0.uuid)" "$uuid"
expect_eq "$(json pools.0.vdevs.0.legs.0.path)" /dev/a
run 0 -q status -x; expect_eq "$(cat /tmp/out)" ""

echo "--- tunables"
run 0 get tank; has out '^scrub_rate +64M +0 '; has out '^comment +my two disks'
run 0 get tank scrub_rate; expect_eq "$(cat /tmp/out)" 64M
run 0 get -p tank scrub_rate; expect_eq "$(cat /tmp/out)" 67108864
run 0 set tank scrub_rate=0
run 0 set -j tank failmode=wait
run 0 set tank failmode=error
run 0 get -j tank; expect_eq "$(json tunables.scrub_rate.value)" 0; expect_eq "$(json comment)" "my two disks"
run 0 get -j tank write_buffer; expect_eq "$(json tunables.write_buffer.value)" 67108864
run 0 set tank fill_dwpd=0.25
run 0 get -j tank seq_cutoff_write; expect_eq "$(json tunables.seq_cutoff_write.default) $(json tunables.seq_cutoff_write.zero)" "0 true"
run 0 get tank; has out '^seq_cutoff_write +0 +0 +0, 64'
run 0 get -j tank fill_dwpd; expect_eq "$(json tunables.fill_dwpd.value)" 0.25
run 0 get -j tank comment
run 0 get tank comment; expect_eq "$(cat /tmp/out)" "my two disks"
run 0 get tank; has out '^log_size +4M +- +at create'; has out '^size +32M +- +at create'
run 0 get tank chunk; expect_eq "$(cat /tmp/out)" -
run 0 get -j tank chunk; expect_eq "$(json tunables.chunk.value)" null
run 0 get tank cache_dirty_max; expect_eq "$(cat /tmp/out)" -
run 0 get -j tank; expect_eq "$(json tunables.cache_dirty_max.value)" null
run 0 get tank log_size; expect_eq "$(cat /tmp/out)" 4M
run 0 get -p tank size; expect_eq "$(cat /tmp/out)" 33554432
run 0 get -j tank log_size; expect_eq "$(json tunables.log_size)" '{"unit":"bytes","value":4194304,"fixed":true,"meaning":"of the log on each leg"}'
run 0 set tank comment=; expect_stat tank comment ""
run 0 set tank "comment=my two disks"

echo "--- another name, while it is mounted"
run 0 rename -n -j tank lake; cp /tmp/out /tmp/plan
[ -e /dev/mapper/tank ] || fail "a dry run has renamed it"
run 0 rename -j tank lake; expect_eq "$(cat /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
[ -b /dev/mapper/lake ] || fail "there is no device of that name"
[ ! -e /dev/mapper/tank ] || fail "the device has both names"
run 0 list -H -o name; expect_eq "$(cat /tmp/out)" lake
run 0 inspect -j /dev/b; expect_eq "$(json inspect.superblock.name)" lake
expect_eq "$(md5sum < /tmp/m/file)" "$(cat /tmp/sum)"
run 0 rename lake tank; has out 'renamed pool lake: it is tank'; has out 'what has it open goes on'
run 0 history tank; has out '^20.*Z [^ ]+ (root|0) created '; has out ' set key=failmode .*value=wait$'; hasnt out recovered
run 0 history -j tank
run 0 events; has out ' tank renamed old=tank name=lake( |$)'; has out ' tank renamed old=lake name=tank( |$)'; has out ' uid=0$'

echo "--- scrub, events"
run 0 scrub --wait tank; has out '^scrub finished: healed 0, unrepaired 0'
run 0 scrub --wait -j tank; expect_eq "$(json pools.0.scrub.state)" finished
run 0 events tank; has out '^20.*Z tank scrub_started( |$)'; has out ' tank scrub_finished healed=0 unrepaired=0$'
run 0 events -j
expect_eq "$(grep -c '"event":"scrub_finished","fields":{"healed":"0","unrepaired":"0"}' /tmp/out)" 2

echo "--- take it elsewhere"
umount /tmp/m
settle tank
# a mounted filesystem may write at any time
refused 2 usage 'only when a pool is made' set tank size=16M
refused 2 usage 'only when a pool is made' set tank chunk=16K
refused 3 refused 'the pool has no cache' set -n tank cache_dirty_max=2G
run 0 export -n tank; has out 'would export pool tank'; has out /dev/b
run 0 export -n -j tank; cp /tmp/out /tmp/plan
run 0 export -j tank; expect_eq "$(cat /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
[ ! -e /dev/mapper/tank ] || fail "the device is still there"
run 0 inspect /dev/a; has out 'exported +true'; has out '\(this one\)' # printed elsewhere: true
run 0 inspect -j /dev/b; expect_eq "$(json inspect.superblock.comment)" "my two disks"
run 0 check /dev/a /dev/b; has out 'result: sound'
run 0 check -j /dev/b /dev/a
run 0 import; has out 'pool: tank'; has out 'state: exported'; has out 'import: kvpoolctl import tank'
run 0 import -j; expect_eq "$(json pools.0.importable)" true
run 0 import -n tank; has out "would import pool tank"; has out '/dev/b, online'; has out '^survives +loss of 1'
run 0 import -n -j tank; cp /tmp/out /tmp/plan
run 0 import -j tank; expect_eq "$(cat /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
mount /dev/mapper/tank /tmp/m
expect_eq "$(md5sum < /tmp/m/file)" "$(cat /tmp/sum)"
umount /tmp/m
run 0 get tank comment; expect_eq "$(cat /tmp/out)" "my two disks"
run 0 import; has out 'refused: it is active as tank'

echo "--- all at once, and under another name"
run 0 create -q -o log_size=4M pond single /dev/c; expect_eq "$(cat /tmp/out)" ""
run 0 list -H -o name; expect_eq "$(xargs < /tmp/out)" "pond tank"
run 0 export -a
run 0 list -H; expect_eq "$(cat /tmp/out)" ""
run 0 import -a; has out 'imported pool tank at /dev/mapper/tank'; has out 'pond'
run 0 export --drain pond
run 0 import pond lake
run 0 list -H -o name; expect_eq "$(xargs < /tmp/out)" "lake tank"
run 0 export lake
run 0 import -d /dev/c; has out 'pool: lake'; hasnt out 'pool: tank'
run 0 import -d /dev/c "$(sed -n 's/^ *uuid: //p' /tmp/out)"

echo "--- a leg goes"
run 0 offline -n tank /dev/b; has out 'would take /dev/b out of pool tank'; has out 'loss of 0 leg.*now 1'
run 0 offline -n -j tank /dev/b; cp /tmp/out /tmp/plan
run 0 status tank
run 0 offline -j tank /dev/b; expect_eq "$(cat /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
expect_eq "$(json plan.redundancy)" '{"before":1,"after":0}'
run 4 status tank; has out '/dev/b +offline'
grep -q 'advice: leg /dev/b is offline: ' <<< "$(tail -n 1 /tmp/out)" || fail "no advice: $(tail -n 1 /tmp/out)"
truncate -s 1M /tmp/swap
mkswap /tmp/swap > /dev/null
dd if=/tmp/swap of=/dev/b bs=512 skip=2 seek=2 count=6 oflag=direct status=none
refused 3 signature 'signature of swap: it may have got another use while it was out' online tank /dev/b
run 0 labelclear --foreign /dev/b
run 0 online -n tank /dev/b
run 0 clear tank
run 0 clear -j tank /dev/a

echo "--- away with it, and back"
run 0 destroy -n tank; has out 'would destroy pool tank'
run 0 destroy -n -j tank; cp /tmp/out /tmp/plan
run 0 destroy -j tank; expect_eq "$(cat /tmp/out)" "$(cat /tmp/plan)" "the plan and what was done"
run 0 import -d /dev/a -d /dev/b; has out 'state: destroyed'; has out 'refused: it was destroyed -- --destroyed'
run 0 import --destroyed tank
run 4 status tank
mount /dev/mapper/tank /tmp/m
expect_eq "$(md5sum < /tmp/m/file)" "$(cat /tmp/sum)"
umount /tmp/m
run 0 export tank
run 0 import tank pond
run 0 destroy pond
# The leg that was out knows neither the new name nor the end; the other one does.
run 0 create -n -j -o log_size=4M tank mirror /dev/a /dev/b
expect_eq "$(json plan.vdevs.0.legs.1.former_pool)" tank
run 0 labelclear -n /dev/b; has out 'pool tank'
run 0 labelclear /dev/a; has out 'cleared'
refused 3 member 'pool tank, which was not destroyed as far as the labels here say -- -f' labelclear /dev/b
run 0 labelclear -j -f /dev/b
refused 1 no_label 'no kvpool label' inspect /dev/a
run 0 import -d /dev/a -d /dev/b; has out 'no pool was found'
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
cmp -n 1M /dev/mapper/tank /dev/zero
run 0 destroy lake
run 0 create -j -o log_size=4M lake single /dev/c
expect_eq "$(json plan.vdevs.0.legs.0.former_pool)" lake
check_json
