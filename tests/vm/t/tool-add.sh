# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: vdevs are added under a mounted filesystem; with power cuts at many steps; to legs that fail
# turn: ssds-come-and-go */add.c */cmd_add.c
# timeout: 300
# needs: gcc python3 mkfs.ext4 resize2fs fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
for d in a b c d e f; do mksim $d 64; done
log=(-o log_size=8M)
blank() {
	for d; do
		dd if=/dev/zero of="/dev/$d" bs=1M count=1 oflag=direct status=none
		dd if=/dev/zero of="/dev/$d" bs=1M seek=63 count=1 oflag=direct conv=fsync status=none
	done
}
size() { blockdev --getsize64 /dev/mapper/tank; }

echo "--- what is refused, and changes nothing"
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
small=$(size)
refused 2 usage 'kind of its vdev' add tank /dev/c
refused 2 usage 'is missing' add tank
refused 2 usage 'must be added alone' add tank mirror /dev/c /dev/d cache /dev/e
refused 2 usage 'log_size=, size=, chunk= and cache_dirty_max=' add -o failmode=error tank mirror /dev/c /dev/d
refused 1 not_found 'no such pool' add nix mirror /dev/c /dev/d
refused 3 refused 'not of 1: all its vdevs are needed' add tank single /dev/c
refused 3 listed_twice 'same device' add tank mirror /dev/c /dev/c
refused 3 held 'tank' add tank mirror /dev/a /dev/c
mkfs.ext4 -q /dev/f
refused 3 signature ext4 add tank mirror /dev/c /dev/f # printed elsewhere: ext4
table=$(dmsetup table tank)
expect_fail dmsetup load tank --table "0 $((small / 512)) kvpool ${table#* * kvpool } mirror 2 /dev/c /dev/d"
has_refusal() { [[ $(last_refusal) = *"$1"* ]] || fail "refused, but: $(last_refusal)"; }
has_refusal 'names other vdevs'
words=${table/ 0 mirror/ 1 add mirror}
expect_fail dmsetup load tank --table "$words mirror 2 /dev/c /dev/d"
has_refusal 'the pool would be'
expect_eq "$(dmsetup table tank)" "$table"

echo "--- under a filesystem that is written to"
mkfs.ext4 -q -E nodiscard,resize=1G /dev/mapper/tank
mkdir -p /tmp/m; mount /dev/mapper/tank /tmp/m
fio --name=c --directory=/tmp/m --rw=randwrite --bs=4k --size=8m --fdatasync=8 --time_based --runtime=86400 \
	--verify=crc32c --do_verify=0 --output=/tmp/fio.log &
writer=$!
wait_more tank io.write_blocks 256
run 0 add -n tank parity1 /dev/c /dev/d /dev/e
has out 'would add to pool tank: parity1 of 3'; has out '^survives +loss of 1 leg.s., now 1$'
expect_eq "$(size)" "$small"
run 0 add -n -j tank parity1 /dev/c /dev/d /dev/e; large=$(json plan.size)
expect_eq "$(json plan.size_before)" "$small"
run 0 add -j tank parity1 /dev/c /dev/d /dev/e
expect_eq "$(size)" "$large" "the plan's size, and the device's"
resize2fs /dev/mapper/tank > /tmp/resize.log 2>&1 || fail "resize2fs: $(cat /tmp/resize.log)"
run 0 status tank; has out '^    mirror-0 +online'; has out '^    parity1-1 +online'; has out '/dev/e +online'
[[ $(dmsetup table tank) = *" 0 mirror 2 "*" parity1 3 "* ]] || fail "table line: $(dmsetup table tank)"
run 0 events tank; has out 'grown'
wait_more tank io.write_blocks 16
end_fio $writer /tmp/fio.log
dd if=/dev/urandom of=/tmp/m/large bs=1M count=96 conv=fsync status=none
sum=$(md5sum < /tmp/m/large)
dmsetup message tank 0 checkpoint; dmsetup message tank 0 drop_caches
expect_eq "$(dd if=/tmp/m/large bs=1M iflag=direct status=none | md5sum)" "$sum" "long reads, of the new vdev too"
umount /tmp/m
run 0 scrub --wait tank
run 0 export tank
run 0 import tank
expect_eq "$(size)" "$large"
e2fsck -fn /dev/mapper/tank > /tmp/fsck.log 2>&1 || fail "e2fsck: $(cat /tmp/fsck.log)"
mount /dev/mapper/tank /tmp/m
expect_eq "$(md5sum < /tmp/m/large)" "$sum"
umount /tmp/m
dmsetup message tank 0 checkpoint # so that no other write is pending
refused 3 refused 'not of 1' add tank single /dev/f
run 0 destroy tank

echo "--- the power goes at a step of the add: the old pool, or the new one"
old=0 new=0 joining=0
for k in 1 5 8 11 17; do
	blank a b c d
	dmsetup create tank -u KVPOOL-7a5c3dd0-6a0e-4f0b-8f3d-0000000000$((10 + k)) --table \
		"0 $((small / 512)) kvpool 7a5c3dd0-6a0e-4f0b-8f3d-0000000000$((10 + k)) 3 format name=tank log_size=8M mirror 2 /dev/a /dev/b"
	oracle write /dev/mapper/tank 0 256 $k fsync
	dmsetup message tank 0 checkpoint
	table=$(dmsetup table tank)
	run 0 add -n -j tank mirror /dev/c /dev/d
	grown=$(json plan.size)
	json plan.table > /tmp/table
	quiet
	dmsetup load tank < /tmp/table
	simset all seed $k; simset all cut_mode random; simset all power_cut in $k
	dmsetup resume tank 2> /dev/null || true
	simset all power_cut now 2> /dev/null || true
	udevadm settle
	dmsetup remove --retry --force tank
	simset all power_cut none
	simset all power_restore 1
	if grep -q '"joining":true' <<< "$(kvpoolctl inspect -j /dev/c 2> /dev/null)"; then
		joining=$((joining + 1))
		refused 3 missing_legs 'unfinished add' import -d /dev/c -d /dev/d tank
		refused 3 missing_legs 'unfinished add' check /dev/c
	fi
	run 0 import tank
	expect_eq "$(oracle show /dev/mapper/tank 0 256)" "0 256 v$k"
	case $(size) in
	"$small") old=$((old + 1)) ;;
	"$grown") new=$((new + 1))
		oracle write /dev/mapper/tank $((small / 4096)) 64 $k fsync ;;
	*) fail "cut $k: $(size) bytes" ;;
	esac
	dmsetup remove --retry tank
done
echo "the old pool $old times, the grown one $new times, labels left behind $joining times"
[ $((old * new * joining)) -gt 0 ] || fail "there was no cut of some kind"

echo "--- a leg that another pool has taken meanwhile"
blank a b c d
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
oracle write /dev/mapper/tank 0 256 80 fsync
table=$(dmsetup table tank)
run 0 add -n -j tank mirror /dev/c /dev/d
json plan.table | dmsetup load tank
dmsetup create pond --table "0 $(sectors_of 40) kvpool - 3 format name=pond log_size=8M single 1 /dev/d"
oracle write /dev/mapper/pond 0 256 81 fsync
expect_fail dmsetup resume tank
has_refusal "in use by the pool 'pond'"
dmsetup load tank --table "$table"
dmsetup resume tank
expect_eq "$(size)" "$small"
expect_eq "$(oracle show /dev/mapper/tank 0 256)" "0 256 v80"
expect_eq "$(oracle show /dev/mapper/pond 0 256)" "0 256 v81"
run 0 destroy tank
dmsetup remove --retry pond

echo "--- a new leg that fails: the pool goes on unchanged, and takes others, or the same ones later"
blank a b c d
run 0 create "${log[@]}" tank mirror /dev/a /dev/b
oracle write /dev/mapper/tank 0 256 90 fsync
simset d fail_after 400
run 1 add tank mirror /dev/c /dev/d
has err 'nothing was added'
expect_eq "$(size)" "$small"
expect_eq "$(oracle show /dev/mapper/tank 0 256)" "0 256 v90"
oracle write /dev/mapper/tank 0 256 91 fsync
simset d fail_after -1; simset d dead 0
run 0 import
hasnt out /dev/c
run 0 add tank mirror /dev/c /dev/d
expect_eq "$(size)" "$grown"
expect_eq "$(oracle show /dev/mapper/tank 0 256)" "0 256 v91"
run 0 export tank
run 4 check -q /dev/a /dev/c
check_json
