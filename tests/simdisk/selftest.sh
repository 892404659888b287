#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Proves what simdisk promises. Runs as root in a test machine:
#   selftest.sh [simdisk.ko]       loads the module, and unloads it at the end
#   selftest.sh --model            the model of service times alone: anywhere with a C compiler
# Prints one TAP line a check; last line "N passed, N failed"; exit 1 unless
# every planned check ran and passed.
set -u
PLAN=114
HERE=$(dirname "$(readlink -f "$0")")
if [ "${1:-}" = --model ]; then
	out=$(mktemp -d) status=1
	if "${CC:-cc}" -std=gnu11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		-o "$out/model_test" "$HERE/model_test.c" "$HERE/model.c"; then
		"$out/model_test"
		status=$?
	fi
	rm -rf "$out"
	exit $status
fi
C=/sys/kernel/config/simdisk
TRACE=/sys/kernel/debug/simdisk/trace
WORK=$(mktemp -d)
passed=0 failed=0

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $3"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $3"
		echo "# got '$1', want '$2'"
	fi
}

# yes NAME COMMAND...: the command succeeds
yes() { local n=$1 s=true; shift; "$@" >/dev/null 2>&1 || s=false; is $s true "$n"; }
no() { local n=$1 s=true; shift; "$@" >/dev/null 2>&1 || s=false; is $s false "$n"; }

io() { python3 "$HERE/simio.py" "$@"; }
w() { io write "/dev/$1" "${@:2}"; }
r() { io read "/dev/$1" "$2" "$3"; }
flush() { io flush "/dev/$1"; }
put() { w "$@" >/dev/null && flush "$1" >/dev/null; }	# stable
dirty() { w "$@" >/dev/null; }				# cached
set_() { echo "$3" > "$C/$1/$2"; }
stat_() { awk -v k="$2" '$1 == k { print $2 }' "$C/$1/stats"; }
root() { echo "$2" > "$C/$1"; }

# mk NAME [attribute=value...]: create and activate
mk() {
	local name=$1 a
	shift
	mkdir "$C/$name"
	for a; do echo "${a#*=}" > "$C/$name/${a%%=*}"; done
	echo 1 > "$C/$name/power"
}
rm_() { local d; for d; do rmdir "$C/$d"; done; }

# cut MODE [SEED]: power cut now, and restore
cut() {
	root cut_mode "$1"
	root seed "${2:-1}"
	root power_cut now
	root power_restore 1
}

# A harness that cannot fail proves nothing.
test_harness() {
	is "$(is a b x | head -c 6)" "not ok" "the harness can fail"
	no "yes/no see failure" false
}

test_cache() {
	mk sda1x
	put sda1x 0 8 A; dirty sda1x 0 8 B
	is "$(r sda1x 0 8)" "B*8" "a cached write is read back"
	cut drop_all
	is "$(r sda1x 0 8)" "A*8" "an unflushed overwrite is lost"
	dirty sda1x 0 8 B; cut keep_all
	is "$(r sda1x 0 8)" "B*8" "keep_all keeps an unflushed write"
	put sda1x 0 8 C; cut drop_all
	is "$(r sda1x 0 8)" "C*8" "a flushed write is kept"
	dirty sda1x 0 8 D; dirty sda1x 0 8 E; cut keep_all
	is "$(r sda1x 0 8)" "E*8" "of two kept writes the later wins"
	dirty sda1x 3 2 F; cut drop_all
	is "$(r sda1x 0 8)" "E*8" "an unflushed part of a block is lost"
	dirty sda1x 3 2 F; cut keep_all
	is "$(r sda1x 0 8)" "E*3 F*2 E*3" "a kept part of a block is merged"
	rm_ sda1x
}

# O_DSYNC is a FUA write and a flush; the cut takes the flush.
test_fua() {
	mk fua
	put fua 0 128 A
	dirty fua 0 8 B
	root cut_mode drop_all; root power_cut "in 2"
	is "$(w fua 64 8 C dsync)" EIO "the cut meets the flush after FUA"
	root power_restore 1
	is "$(r fua 0 8)" "A*8" "FUA does not keep other writes"
	is "$(r fua 64 8)" "C*8" "a FUA write is kept"
	dirty fua 64 8 D
	root cut_mode keep_all; root power_cut "in 2"
	w fua 64 8 E dsync >/dev/null
	root power_restore 1
	is "$(r fua 64 8)" "E*8" "an older cached write never covers FUA"
	is "$(stat_ fua fua)" 2 "stats count FUA"
	rm_ fua
}

# The number of different tags, and whether both A and B are among them.
tag_set() { tr ' ' '\n' | sed 's/\*.*//' | sort -u | tr '\n' ' '; }

test_torn() {
	local out
	mk torn
	put torn 0 256 A; dirty torn 0 256 B; cut torn 3
	out=$(r torn 0 256)
	is "$(tag_set <<< "$out")" "A B " "a torn write leaves old and new sectors"
	yes "it tears inside 4 KiB" grep -qE '[AB]\*[1357]( |$)' <<< "$out"
	rm_ torn
	mk torn tear_bytes=4096
	put torn 0 256 A; dirty torn 0 256 B; cut torn 3
	out=$(r torn 0 256)
	is "$(tag_set <<< "$out")" "A B " "tear_bytes=4096 tears"
	is "$(tr ' ' '\n' <<< "$out" | awk -F'*' '$2 % 8' | wc -l)" 0 \
		"and never inside 4 KiB"
	rm_ torn
}

# That all commands come back from the queue, with their data, also when the disk loses its power meanwhile. What they
# take is for selftest.sh --model.
test_model() {
	local kind
	for kind in disk flash; do
		mk model size_mib=64 model=$kind
		no "$kind: the model of a running disk stays" set_ model model none
		yes "$kind: more commands than tags come back, with their data" fio --name=x --filename=/dev/model --rw=randwrite \
			--bs=4k --iodepth=48 --ioengine=libaio --direct=1 --size=2m --verify=crc32c --verify_state_save=0
		fio --name=x --filename=/dev/model --rw=randwrite --bs=4k --iodepth=48 --ioengine=libaio --direct=1 --size=2m \
			> "$WORK/fio.txt" 2>&1 &
		root power_cut "in 200"
		wait $!
		root power_restore 1
		yes "$kind: and again after a power cut" fio --name=x --filename=/dev/model --rw=randread --bs=4k --iodepth=48 \
			--ioengine=libaio --direct=1 --size=2m
		rm_ model
	done
}

# One fixed sequence of cached ops, cut with a seed: md5 of the result.
cut_md5() {
	mk det size_mib=1
	root op 0
	put det 0 1024 A
	dirty det 0 64 B; dirty det 32 64 C; dirty det 100 9 D; dirty det 256 128 E
	blkdiscard -o 163840 -l 32768 /dev/det
	dirty det 300 40 F
	cut random "$1"
	dd if=/dev/det bs=1M count=1 iflag=direct status=none | md5sum
	rm_ det
}

test_seed() {
	local a b i differ=0
	a=$(cut_md5 7)
	b=$(cut_md5 7)
	is "$a" "$b" "same ops, same seed: same bytes"
	for i in 8 9 10; do [ "$(cut_md5 "$i")" = "$a" ] || differ=$((differ + 1)); done
	is "$((differ > 0))" 1 "other seeds: other bytes"
	# shellcheck disable=SC2016 # fields of awk
	yes "last_cut adds up to all six ops" awk \
		'{ exit !($6 + $8 + $10 == 6) }' "$C/last_cut"
}

# Every write is two ops: itself and its flush. Op 7 is the fourth write.
test_order() {
	local i d out=""
	mk oa; mk ob
	root cut_mode drop_all; root op 0; root power_cut "at 7"
	is "$(cat "$C/power_cut")" "at 7" "a planned cut can be read"
	for i in 1 2 3 4 5 6; do
		d=$([ $((i % 2)) = 1 ] && echo oa || echo ob)
		out+="$(w "$d" "$i" 1 "t$i") "
		flush "$d" >/dev/null
	done
	is "$out" "ok ok ok EIO EIO EIO " "op 7 of both devices is the first to fail"
	is "$(cat "$C/power_cut")" off "the power is off"
	is "$(r oa 0 1)" EIO "reads fail without power"
	root power_restore 1
	is "$(r oa 0 6)" "0*1 t1*1 0*1 t3*1 0*2" "device one as of op 7"
	is "$(r ob 0 6)" "0*2 t2*1 0*3" "device two as of op 7"
	rm_ oa ob
}

test_latent() {
	mk bad
	put bad 0 32 A
	set_ bad faults "add bad 8 8"
	is "$(r bad 8 8)" EIO "a latent error fails reads"
	is "$(r bad 15 2)" EIO "also of a range that touches it"
	is "$(r bad 0 8)" "A*8" "its neighbours read well"
	dirty bad 8 4 B
	is "$(r bad 8 4)" "B*4" "a rewrite cures it"
	is "$(cat "$C/bad/faults")" "add bad 12 4" "only where it was rewritten"
	cut drop_all
	is "$(r bad 8 4)" EIO "a rewrite that was lost did not"
	put bad 8 8 C; cut drop_all
	is "$(r bad 8 8)" "C*8" "a flushed one did"
	set_ bad faults "add read_error 8 8"
	put bad 8 8 D
	is "$(r bad 8 8)" EIO "a read error survives a rewrite"
	set_ bad faults "clear read_error"
	is "$(r bad 8 8)" "D*8" "until it is cleared"
	set_ bad faults "add write_error 20 1"
	is "$(w bad 16 8 E)" EIO "a write error fails writes"
	is "$(r bad 16 8)" "A*8" "and stores nothing"
	mk enodata medium_status=1
	set_ enodata faults "add bad 8 8"
	is "$(r enodata 8 8)" ENODATA "medium_status=1: the status of a real disk"
	rm_ enodata
	no "a bad range is refused" set_ bad faults "add bad 2097152 1"
	rm_ bad
}

test_rot() {
	local a
	mk rot
	put rot 0 16 A; dirty rot 8 8 B
	set_ rot corrupt "4 8 5"
	is "$(r rot 0 16)" "A*4 ?*8 B*4" "bit rot in stable and cached sectors"
	a=$(dd if=/dev/rot bs=8192 count=1 iflag=direct status=none | md5sum)
	set_ rot corrupt "4 8 5"
	is "$(r rot 0 16)" "A*8 B*8" "the same seed undoes it"
	set_ rot corrupt "4 8 5"
	flush rot >/dev/null; cut drop_all
	is "$(dd if=/dev/rot bs=8192 count=1 iflag=direct status=none | md5sum)" \
		"$a" "a flush and a cut change nothing"
	put rot 4 8 C
	is "$(r rot 4 8)" "C*8" "a rewrite does"
	set_ rot corrupt "4 8 9 3"
	is "$(io diff /dev/rot 4 8 C)" 24 "3 bits in each of 8 sectors"
	rm_ rot
}

test_lost() {
	mk lost
	put lost 0 64 A
	set_ lost faults "add lost"
	is "$(w lost 0 8 B)" ok "a lost write is acknowledged"
	is "$(r lost 0 8)" "A*8" "and not stored"
	is "$(w lost 0 8 B; r lost 0 8)" "ok
B*8" "only once"
	set_ lost faults "add lost 40 1"
	put lost 0 8 C; put lost 40 8 C
	is "$(r lost 0 48)" "C*8 A*40" "only the write that touches the range"
	set_ lost faults "add misdirect 16 0 8"
	put lost 48 8 D
	is "$(w lost 0 8 E)" ok "a misdirected write is acknowledged"
	is "$(r lost 0 8)" "C*8" "its place keeps the old data"
	is "$(io diff /dev/lost 16 8 A > "$WORK/d"; r lost 16 8)" "?*8" \
		"it lands on a victim"
	is "$(dd if=/dev/lost bs=512 skip=16 count=1 iflag=direct status=none |
		head -c 4)" "E 0;" "with the right bytes"
	is "$(stat_ lost injected)" 3 "faults are counted"
	rm_ lost
}

test_flush_faults() {
	mk ff
	put ff 0 8 A
	set_ ff flush_fault "fail 2"
	dirty ff 0 8 B
	is "$(flush ff; flush ff; flush ff)" "EIO
EIO
ok" "two flushes fail, the third does not"
	cut drop_all
	is "$(r ff 0 8)" "B*8" "and makes the write stable"
	set_ ff flush_fault fail; dirty ff 0 8 C
	is "$(flush ff; flush ff)" "EIO
EIO" "flush fails for ever"
	cut drop_all
	is "$(r ff 0 8)" "B*8" "a failed flush makes nothing stable"
	set_ ff flush_fault lie; dirty ff 0 8 D
	is "$(flush ff)" ok "a lying flush is acknowledged"
	cut drop_all
	is "$(r ff 0 8)" "B*8" "and makes nothing stable"
	rm_ ff
}

test_dead() {
	mk dead
	put dead 0 8 A
	set_ dead dead 1
	is "$(r dead 0 8; w dead 0 8 B; flush dead)" "EIO
EIO
EIO" "a dead device fails everything"
	set_ dead dead 0
	is "$(r dead 0 8)" "A*8" "and can be revived"
	set_ dead fail_after 2
	is "$(r dead 0 8; r dead 0 8; r dead 0 8)" "A*8
A*8
EIO" "fail_after 2"
	rm_ dead
}

test_stall() {
	mk stall
	put stall 0 8 A
	set_ stall stall 1
	w stall 0 8 B > "$WORK/out" & pid=$!
	sleep 3
	yes "stalled I/O does not complete" kill -0 $pid
	set_ stall stall 0
	wait $pid
	is "$(cat "$WORK/out")" ok "released I/O does"
	set_ stall stall write
	is "$(r stall 0 8)" "B*8" "reads pass a stall of writes"
	w stall 0 8 C > "$WORK/out" & pid=$!
	sleep 3
	cut drop_all
	wait $pid
	is "$(cat "$WORK/out")" EIO "a cut ends stalled I/O"
	is "$(r stall 0 8)" "A*8" "which was in flight, and is lost"
	rm_ stall
}

# Without a cache a write is durable when it completes, not before.
test_inflight() {
	mk wt cache=0
	put wt 0 8 A; cut drop_all
	is "$(r wt 0 8)" "A*8" "no cache: completed means stable"
	set_ wt delay_us 6000000
	w wt 0 8 B > "$WORK/out" & pid=$!
	sleep 4
	cut drop_all
	wait $pid
	set_ wt delay_us 0
	is "$(cat "$WORK/out")" EIO "a delayed write is in flight at the cut"
	is "$(r wt 0 8)" "A*8" "and can be lost"
	rm_ wt
}

test_hang() {
	mk hang
	root cut_hang 1; root cut_mode drop_all; root power_cut now
	r hang 0 8 > "$WORK/out" & pid=$!
	sleep 3
	yes "cut_hang: I/O does not end without power" kill -0 $pid
	root power_restore 1
	wait $pid
	is "$(cat "$WORK/out")" EIO "and ends with an error when it is back"
	is "$(r hang 0 8)" "0*8" "new I/O works"
	root cut_hang 0
	rm_ hang
}

test_delay() {
	local t0 t1
	mk delay delay_us=100000
	t0=$(date +%s%N)
	dd if=/dev/delay of=/dev/null bs=4096 count=20 iflag=direct status=none
	t1=$(date +%s%N)
	is "$(((t1 - t0) / 1000000 >= 2000))" 1 "20 reads of 100 ms take 2 s"
	is "$(((t1 - t0) / 1000000 < 6000))" 1 "and not much more"
	rm_ delay
}

test_remove() {
	local i
	mk rem delay_us=3000
	put rem 0 64 A; dirty rem 0 8 B
	fio --name=x --filename=/dev/rem --rw=randrw --bs=4k --iodepth=32 \
		--ioengine=libaio --direct=1 --offset=1m --size=64m \
		--time_based --runtime=300 --allow_file_create=0 \
		> "$WORK/fio" 2>&1 & pid=$!
	for i in $(seq 60); do
		[ "$(stat_ rem writes)" -le 50 ] || break
		sleep 1
	done
	is $(($(stat_ rem writes) > 50)) 1 "fio is writing"
	root cut_mode drop_all
	set_ rem remove 1
	no "the node is gone" test -e /dev/rem
	wait $pid
	is $(($? != 0)) 1 "fio fails"
	yes "with EIO" grep -qiE 'error=(Input|No such dev)' "$WORK/fio"
	is "$(cat "$C/rem/power")" 0 "power reads 0"
	set_ rem delay_us 0; set_ rem power 1
	is "$(r rem 0 64)" "A*64" "the disk comes back without unflushed writes"
	dirty rem 0 8 B; set_ rem power 0; set_ rem power 1
	is "$(r rem 0 8)" "B*8" "an orderly power-off stores the cache"
	rm_ rem
}

test_discard() {
	mk disc
	put disc 0 64 A
	blkdiscard -o 8192 -l 8192 /dev/disc
	is "$(r disc 0 64)" "A*16 0*16 A*32" "a discard reads as zeroes"
	cut drop_all
	is "$(r disc 0 64)" "A*64" "an unflushed one can be undone"
	blkdiscard -z -o 8704 -l 1024 /dev/disc; flush disc >/dev/null
	cut drop_all
	is "$(r disc 0 64)" "A*17 0*2 A*45" "a flushed write-zeroes is kept"
	is $(($(stat_ disc write_zeroes) > 0)) 1 "stats count it"
	rm_ disc
	mk disc discard=0 write_zeroes=0
	no "a disk need not offer discard" blkdiscard /dev/disc
	is "$(cat /sys/block/disc/queue/write_zeroes_max_bytes)" 0 "nor write-zeroes"
	rm_ disc
}

test_geometry() {
	mk big size_mib=4194304
	is "$(blockdev --getsize64 /dev/big)" 4398046511104 "a disk of 4 TiB"
	put big 8589934584 8 A; cut drop_all
	is "$(r big 8589934584 8)" "A*8" "stores its last block"
	no "geometry is fixed while powered" set_ big size_mib 1
	is "$(blkdiscard /dev/big && r big 8589934584 8)" "0*8" \
		"a discard of 4 TiB"
	rm_ big
	mk g4k logical_block_size=4096 rotational=1 cache=0
	is "$(blockdev --getss /dev/g4k)" 4096 "logical blocks of 4096"
	is "$(r g4k 1 1)" EINVAL "no smaller I/O"
	is "$(cat /sys/block/g4k/queue/rotational)" 1 "rotational"
	is "$(cat /sys/block/g4k/queue/write_cache)" "write through" "no cache"
	rm_ g4k
	mk ro read_only=1
	no "read_only refuses writes" w ro 0 8 A
	is "$(cat /sys/block/ro/queue/rotational)" 0 "not rotational"
	is "$(cat /sys/block/ro/queue/write_cache)" "write back" "cache"
	rm_ ro
}

# A journalling file system depends on PREFLUSH, FUA and the order of both.
test_fs() {
	local seed i bad=0 lost=0 preflush
	mk fs size_mib=64
	mkfs.ext4 -q -O ^lazy_itable_init -E lazy_itable_init=0,lazy_journal_init=0 \
		/dev/fs 2>/dev/null || mkfs.ext4 -q /dev/fs
	mkdir "$WORK/m"
	for seed in 1 2 3 4 5 6; do
		mount -t ext4 /dev/fs "$WORK/m" || bad=$((bad + 1))
		echo "precious $seed" > "$WORK/m/f$seed"; sync "$WORK/m/f$seed"
		root seed $seed; root cut_mode random
		root power_cut "in $((10 + seed * 7))"
		for i in $(seq 40); do
			dd if=/dev/zero of="$WORK/m/x$i" bs=8k count=1 conv=fsync || break
		done > /dev/null 2>&1
		grep -q off "$C/power_cut" || bad=$((bad + 1))
		umount "$WORK/m"
		root power_restore 1
		mount -t ext4 /dev/fs "$WORK/m" || bad=$((bad + 1))
		grep -qx "precious $seed" "$WORK/m/f$seed" || lost=$((lost + 1))
		umount "$WORK/m"
		e2fsck -fn /dev/fs >/dev/null 2>&1 || bad=$((bad + 1))
	done
	preflush=$(stat_ fs preflush)
	is $bad 0 "ext4 recovers from 6 power cuts"
	is $lost 0 "and keeps what was synced"
	is $((preflush > 0)) 1 "its PREFLUSH was seen"
	yes "the trace shows PREFLUSH with FUA" grep -qE '^[0-9]+ fs write .* FP$' $TRACE
	is "$(grep -c power_cut $TRACE)" 6 "and the cuts"
	rm_ fs
}

test_end() {
	is "$(find "$C" -mindepth 1 -maxdepth 1 -regextype egrep -not -regex '.*/(op|seed|cut_|power_|last_)[^/]*' | wc -l)" \
		0 "no device is left"
	yes "the module can be unloaded" rmmod simdisk
	is "$(dmesg | grep -cE 'WARNING:|BUG:|Oops|general protection|blocked for more')" \
		0 "the kernel did not complain"
}

prepare() {
	modprobe configfs 2>/dev/null
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
	dmesg -C
	[ $# = 0 ] || insmod "$1" || exit 1
	[ -d "$C" ] || { echo "simdisk is not loaded"; exit 1; }
}

prepare "$@"
echo "1..$PLAN"
for t in harness cache fua torn seed order latent rot lost flush_faults dead \
	stall inflight hang delay model remove discard geometry fs end; do
	# The trace holds 4096 ops: start every test with an empty one.
	[ ! -e $TRACE ] || echo > $TRACE
	echo "# $t"
	test_$t
done
[ $((passed + failed)) = $PLAN ] || {
	echo "# planned $PLAN checks, ran $((passed + failed))"
	failed=$((failed + 1))
}
rm -rf "$WORK"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
