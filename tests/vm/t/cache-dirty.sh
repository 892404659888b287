# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache with a limit of 2 GiB of dirty data: more than 1 GiB is dirty, and survives a power cut; then the limit changes
# timeout: 600
# long: several minutes where that is emulated
# needs: fio
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
# In RAM: what is dirty, the same at home, and some more must fit into the machine's memory.
mksim a 3000; mksim c 3072
dev=/dev/mapper/p
dmsetup create p --table "0 $(sectors_of 2800) kvpool - 8 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G write_buffer=16M destage_idle_ms=86400000 cache_dirty_max=2147483648 single 1 /dev/a cache 1 /dev/c"
expect_stat p features vdevs,cache,log-window,folded-sums
table=$(dmsetup table p)
expect_stat p log.size $((2 << 30))
# The disk answers after a long time, or at once. So destage has only one round in hand at
# first. On a busy host the writes below take minutes; each round that ends meanwhile
# leaves less on the SSD.
slow() { simset a delay_us 20000000; }
fast() { simset a delay_us 0; }
# data VERSION FIO-OPTIONS...: every block holds its own address, and the version
data() {
	fio --name=f --filename=$dev --ioengine=libaio --direct=1 --bs=256k --iodepth=8 --size=1100m --verify=pattern \
		--verify_pattern="%o0x0000000$1" --verify_fatal=1 --verify_state_save=0 "${@:2}" > /tmp/fio.txt 2>&1 || fail "$*: $(cat /tmp/fio.txt)"
}
write() { data "$1" --rw=write --do_verify=0 --end_fsync=1 "${@:2}"; }
# What the slow disk has in hand ends first.
cut_and_start() {
	simset all power_cut now
	fast
	dmsetup remove --retry p
	simset all power_cut none
	simset all power_restore 1
	dmsetup create p --table "$table"
	slow
	echo "recovery: $(stat_of p recovery.kept) blocks, $(stat_of p recovery.last_ms) ms"
}
used_is_over() { stat_over p log.used "$1" || fail "only $(stat_of p log.used) bytes of the log are in use"; }
kept_is_over() { stat_over p recovery.kept "$1" || fail "only $(stat_of p recovery.kept) blocks were kept"; }

echo "--- 1100 MiB are on the SSD, and nearly nothing at home; the power goes"
slow
# in two runs: a run of more than 1 GiB would bypass the cache
write 7 --offset=550m --size=550m
write 7 --size=550m
used_is_over $((1 << 30))
simset all cut_mode random
cut_and_start
expect_stat p log.size $((2 << 30))
kept_is_over 262144
data 7 --rw=read

echo "--- a larger limit, then a smaller one than is dirty"
dmsetup message p 0 set cache_dirty_max 2560M
expect_stat p cache.dirty_max $((2560 << 20))
used_is_over $((1 << 30))
fast
dmsetup message p 0 set cache_dirty_max 1G
expect_stat p cache.dirty_max $((1 << 30))
[[ $(stat_of p features) != *log-window* ]] || fail "features: $(stat_of p features)"
used=$(stat_of p log.used)
[ "$used" -le $((1 << 30)) ] || fail "$used bytes of the log are in use"
data 7 --rw=read

echo "--- newer data is dirty within the smaller limit; the power goes"
slow
write 8 --size=160m
used_is_over $((128 << 20))
cut_and_start
fast
expect_stat p log.size $((1 << 30))
kept_is_over 32768
all_data() {
	data 8 --rw=read --size=160m
	data 7 --rw=read --offset=160m --size=940m
}
all_data

echo "--- it is written home"
dmsetup message p 0 checkpoint
expect_stat p log.used 0
expect_stat p poisoned_blocks 0
dmsetup remove --retry p
dmsetup create p --table "${table% cache *} cache 1 -"
all_data
