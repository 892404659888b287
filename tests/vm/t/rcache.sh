# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: the RAM cache: hits without a read, written blocks enter once they are home, never stale, streams, size at run time and over restarts, memory given back
# timeout: 300
# turn: ram */ram/rcache.c */ram/wbuf.c
# needs: gcc fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
# Pages of earlier tests in the page cache would make the kernel ask for memory back in
# the middle of this one.
sync; echo 1 > /proc/sys/vm/drop_caches
mksim a 96; mksim b 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 5 format name=p log_size=8M ram_cache=8M seq_cutoff_read=1G mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
restart_pool() { dmsetup remove --retry p; dmsetup create p --table "$table"; }
show() { # FIRST COUNT: a block a request, on one line
	local seen
	seen=$(oracle show $dev "$1" "$2" bs=1)
	echo "${seen//$'\n'/,}"
}
# look: all counters at once, in st[KEY], and the reads of both legs in st[reads].
declare -A st
look() {
	local key value leg
	while IFS='=' read -r key value; do st[$key]=$value; done <<< "$(dmsetup message p 0 stats)"
	st[reads]=0
	for leg in a b; do
		while read -r key value _; do
			[ "$key" != reads ] || st[reads]=$((st[reads] + value))
		done < "$_sim/$leg/stats"
	done
}
is() { # KEY VALUE, by the last look
	expect_eq "${st[$1]}" "$2" "$1"
}
# cached FIRST COUNT VERSION: read from the cache. Each block is a hit, none a miss, and
# the legs are not read. Another program in this machine may read a disk meanwhile: a few
# reads are allowed.
cached() {
	local reads hits misses key
	look
	reads=${st[reads]} hits=${st[ram.hits]} misses=${st[ram.misses]}
	for key in "${!st[@]}"; do was[$key]=${st[$key]}; done
	[ ! -e "$bios" ] || : > $tracing/trace
	expect_eq "$(show "$1" "$2")" "$1 $2 $3"
	look
	reads=$((st[reads] - reads))
	[ "${st[ram.misses]} ${st[ram.hits]} $reads" = "$misses $((hits + $2)) 0" ] || who_read "$2"
	is ram.misses "$misses"
	is ram.hits $((hits + $2))
	[ $reads -le $(($2 / 32)) ] || fail "$reads reads of the legs for $2 blocks that are cached"
}
# For the log: the counters that differ, and the programs that sent requests.
who_read() { # COUNT
	local key
	for key in "${!st[@]}"; do
		[ "${st[$key]}" = "${was[$key]-}" ] || echo "$key: ${was[$key]-} ${st[$key]}"
	done
	[ ! -e "$bios" ] || tail -n $(($1 + 200)) $tracing/trace | grep -vE '^#| oracle' | head -n 60 || :
}
declare -A was
tracing=/sys/kernel/tracing bios=$tracing/events/block/block_bio_queue/enable
mountpoint -q $tracing || mount -t tracefs none $tracing 2> /dev/null || :
if [ -e $bios ]; then
	echo 1 > $bios
	at_exit "echo 0 > $bios"
fi

echo "--- written blocks are there once they are home, except streams"
oracle write $dev 0 1024 1 fsync bs=16
dmsetup message p 0 checkpoint
look
is ram.read_cache $((8 << 20))
is ram.fills 0
[ "${st[ram.read_cache_used]}" = $((${st[ram.written]} * 4096)) ] || fail "${st[ram.written]} blocks take ${st[ram.read_cache_used]} bytes"
oracle write $dev 1100 50 1 fsync bs=1
dmsetup message p 0 checkpoint
cached 1100 50 v1
for i in 2 3; do
	oracle write $dev 1110 20 $i fsync bs=1
	dmsetup message p 0 checkpoint
	cached 1110 20 v$i
done
look; written=${st[ram.written]}
oracle write $dev 1024 512 1 fsync bs=256
dmsetup message p 0 checkpoint
look
is ram.written "$written"
blkdiscard -o $((1024 * 4096)) -l $((512 * 4096)) $dev
dmsetup message p 0 checkpoint

echo "--- blocks that were read once are there"
dmsetup message p 0 drop_caches
look
is ram.read_cache_used 0
misses=${st[ram.misses]} hits=${st[ram.hits]}
expect_eq "$(show 0 512)" "0 512 v1"
look
is ram.misses $((misses + 512))
is ram.fills 512
is ram.read_cache_used $((512 * 4096))
memory=${st[memory.ram_cache]}
[ "$memory" -gt $((512 * 4096)) ] || fail "it takes $memory bytes, and holds as much"
[ "$memory" -lt $((1024 * 4096)) ] || fail "to know 2048 blocks takes $((memory - 512 * 4096)) bytes"
cached 0 512 v1
expect_eq "$(oracle show $dev 0 512 bs=16)" "0 512 v1"
look
is ram.hits $((hits + 1024))

echo "--- written, discarded or lost blocks are never stale"
oracle write $dev 100 50 2 fsync
expect_eq "$(show 90 70)" "90 10 v1,100 50 v2,150 10 v1"
dmsetup message p 0 checkpoint
cached 100 50 v2
expect_eq "$(show 90 70)" "90 10 v1,100 50 v2,150 10 v1"
blkdiscard -o $((120 * 4096)) -l $((10 * 4096)) $dev
expect_eq "$(show 110 30)" "110 10 v2,120 10 zero,130 10 v2"
dmsetup message p 0 checkpoint
expect_eq "$(show 110 30)" "110 10 v2,120 10 zero,130 10 v2"
# large writes go home directly
oracle write $dev 0 512 3 fsync bs=256
expect_eq "$(show 0 512)" "0 512 v3"
dmsetup message p 0 checkpoint
expect_eq "$(show 0 512)" "0 512 v3"
cached 0 512 v3
for l in a b; do simset $l corrupt "$(((home + 200) * 8)) 16 9"; done
cached 200 2 v3
dmsetup message p 0 scrub start; wait_stat p scrub.state finished
look
is scrub.unrepaired 2
expect_eq "$(show 199 4)" "199 1 v3,200 2 EIO,202 1 v3"
oracle write $dev 200 2 3 fsync
dmsetup message p 0 checkpoint
expect_eq "$(show 0 512)" "0 512 v3"
cached 0 512 v3

echo "--- it stays over a suspend"
dmsetup suspend p
dmsetup resume p
cached 0 512 v3

echo "--- given back: by message, to the kernel"
dmsetup message p 0 drop_caches
look
is ram.read_cache_used 0
expect_eq "$(show 0 512)" "0 512 v3"
look
is ram.read_cache_used $((512 * 4096))
echo 2 > /proc/sys/vm/drop_caches
look; used=${st[ram.read_cache_used]}
[ "$used" -lt $((512 * 4096 / 4)) ] || fail "the kernel asked for memory, and $used bytes are still used"
expect_eq "$(show 0 512)" "0 512 v3"

echo "--- streams pass it by"
dmsetup message p 0 drop_caches
dmsetup message p 0 set seq_cutoff_read 64K
look; fills=${st[ram.fills]} bypassed=${st[ram.bypassed_stream]}
expect_eq "$(show 0 512)" "0 512 v3"
look
is ram.fills $((fills + 16))
is ram.bypassed_stream $((bypassed + 496))
dmsetup message p 0 set seq_cutoff_read 1G

echo "--- long reads bypass the cache, and blocks read ahead"
dmsetup message p 0 drop_caches
look; fills=${st[ram.fills]} bypassed=${st[ram.bypassed_long]}
expect_eq "$(oracle show $dev 0 512 bs=256)" "0 512 v3"
look
is ram.fills "$fills"
is ram.bypassed_long $((bypassed + 512))
ahead=${st[ram.bypassed_ahead]}
dd if=$dev of=/dev/null bs=4K count=1 status=none
look
[ "${st[ram.bypassed_ahead]}" -gt "$ahead" ] || fail "what the kernel reads ahead is kept twice"

echo "--- its size: at run time, none, over a restart, more than there is"
dmsetup message p 0 set ram_cache 0
look
is ram.read_cache 0
is ram.read_cache_used 0
[ "${st[memory.ram_cache]}" -lt 65536 ] || fail "none takes ${st[memory.ram_cache]} bytes"
look; reads=${st[reads]}
expect_eq "$(show 0 64)" "0 64 v3"
expect_eq "$(show 0 64)" "0 64 v3"
look
[ $((st[reads] - reads)) -ge 128 ] || fail "no cache, and only $((st[reads] - reads)) reads of 128"
dmsetup message p 0 set ram_cache 1M
expect_eq "$(show 0 1024)" "0 512 v3,512 512 v1"
look; used=${st[ram.read_cache_used]}
[[ $used -gt 0 && $used -le $((1 << 20)) ]] || fail "$used bytes used of 1 MiB"
dmsetup message p 0 set ram_cache 4M
cached 1023 1 v1
restart_pool
look
is tunable.ram_cache $((4 << 20))
is ram.read_cache $((4 << 20))
is ram.read_cache_used 0
expect_refusal "out of memory" dmsetup message p 0 set ram_cache 1024G
look
is tunable.ram_cache $((4 << 20))
is ram.read_cache $((4 << 20))

echo "--- readers, writers and discards at once, and a small cache that changes"
state=/tmp/state
blkdiscard $dev	# begin with nothing written
oracle new $state 2048 1 2048 7
load() { # until /tmp/enough exists
	local seed=7
	until [ -e /tmp/enough ]; do
		oracle run $state $dev $((seed++)) 4 150 1 || return
	done
}
load & run=$!
for size in 256K 1M 0 512K 64K 2M 256K; do
	dmsetup message p 0 set ram_cache $size
	wait_more p io.write_blocks 16
	wait_more p io.read_blocks 16
	echo 2 > /proc/sys/vm/drop_caches
	dmsetup message p 0 drop_caches
done
touch /tmp/enough
wait $run || fail "oracle: $?"
oracle check $state $dev keep
look; echo "hits: ${st[ram.hits]}, fills: ${st[ram.fills]}"
dmsetup message p 0 checkpoint
oracle check $state $dev keep
oracle check $state $dev
fio --name=v --filename=$dev --direct=1 --rw=randrw --bsrange=4k-64k --offset=16m --size=4m --io_size=6m \
	--verify=crc32c --verify_backlog=32 --ioengine=libaio --iodepth=8 --output=/tmp/fio.log || fail "fio: $(cat /tmp/fio.log)"
# Blocks that were just written came from the buffer. Now they come from the cache, or
# from home and then from the cache.
dd if=/dev/urandom of=$dev bs=4k seek=4096 count=64 oflag=direct conv=notrunc status=none
dmsetup message p 0 checkpoint
dmsetup message p 0 set ram_cache 2M
look; hits=${st[ram.hits]}
for _ in 1 2; do dd if=$dev of=/tmp/read bs=4k skip=4096 count=64 iflag=direct status=none; done
look
hits=$((${st[ram.hits]} - hits))
[ $hits -ge 32 ] || fail "64 blocks read twice, and $hits hits"
scrub p
