# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fio finds what it wrote, also after a restart; SQLite keeps every commit over power cuts
# timeout: 200
# turn: programs */target/read*.c */target/write.c
# needs: fio sqlite3 mkfs.ext4 e2fsck
# kmsg-allow: I/O error|lost (a?sync )?page write|EXT4-fs (error|warning)
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
mksim a 300; mksim b 300; mksim c 300
dmsetup create p --table "0 $(sectors_of 240) kvpool - 3 format name=p log_size=16M mirror 3 /dev/a /dev/b /dev/c"
table=$(dmsetup table p)
dev=/dev/mapper/p

echo "--- fio"
verify() { # OPTION...
	fio --filename=$dev --direct=1 --bsrange=4k-1m --blockalign=4k --ioengine=libaio --iodepth=16 \
		--verify=crc32c --verify_state_save=0 --size=48m --randrepeat=1 --output=/tmp/fio.log "$@" \
		--name=j1 --offset=0 --rw=randwrite --name=j2 --offset=64m --rw=write \
		--name=j3 --offset=128m --rw=randrw --bsrange=4k-16k ||
		fail "fio: $(cat /tmp/fio.log)"
}
verify --do_verify=1 --fsync=64
dmsetup remove --retry p
dmsetup create p --table "$table"
verify --verify_only=1
scrub p
blkdiscard $dev

echo "--- SQLite"
mkdir -p /tmp/mnt
mkfs.ext4 -q $dev
base=0
enough() { [ "$(grep -c "done" /tmp/acked)" -ge 40 ]; }
for journal in wal delete; do
	mount $dev /tmp/mnt
	[ "$base" != 0 ] || sqlite3 /tmp/mnt/db "create table t(i integer primary key, s text);"
	# Prints a number once its commit has returned. "extra", because "full" does not
	# sync the directory after the journal is deleted; that deletion is the commit.
	{
		echo "pragma journal_mode=$journal; pragma synchronous=extra;"
		for ((i = base + 1; i < base + 3000; i++)); do
			echo "insert into t values($i, hex(randomblob(700))); select 'done', $i;"
		done
	} | stdbuf -oL sqlite3 -bail /tmp/mnt/db > /tmp/acked 2> /tmp/sqlite.err & pid=$!
	retry 100 enough
	kill -0 $pid || fail "SQLite ended by itself: $(cat /tmp/sqlite.err)"
	simset all seed "$base"; simset all cut_mode random; simset all power_cut now
	wait $pid || true
	umount /tmp/mnt
	dmsetup remove --retry p
	simset all power_restore 1
	dmsetup create p --table "$table"
	last=$(awk -F'|' '$1 == "done" { n = $2 } END { print n + 0 }' /tmp/acked)
	[ "$last" -gt $((base + 3)) ] || fail "SQLite committed next to nothing: $last, $(cat /tmp/sqlite.err)"
	mount $dev /tmp/mnt
	expect_eq "$(sqlite3 /tmp/mnt/db 'pragma integrity_check')" ok "integrity_check"
	count=$(sqlite3 /tmp/mnt/db "select count(*) from t where i <= $last")
	expect_eq "$count" "$last" "rows of $last commits"
	base=$(sqlite3 /tmp/mnt/db "select max(i) from t")
	echo "$journal: $last commits acknowledged, $base found"
	umount /tmp/mnt
	e2fsck -fn $dev
done
scrub p
