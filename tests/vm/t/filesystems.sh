# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: ext4 and XFS on a pool keep what was fsynced over power cuts, are consistent, and trim
# timeout: 240
# needs: mkfs.ext4 mkfs.xfs e2fsck xfs_repair gcc fio
# kmsg-allow: I/O error|lost (a?sync )?page write|EXT4-fs (error|warning)|XFS .*([Cc]orruption|error|[Ss]hut)
. "$KVPOOL_TOP/tests/vm/lib.sh"
load_modules
no_udev
mksim a 420; mksim b 420
mkdir -p /tmp/mnt
len="0 $(sectors_of 360)"

# A file with a sum in its name is added to the list only once it is durable.
writer() { # DIR LIST
	local i
	for ((i = 0; ; i++)); do
		[ ! -e /tmp/enough ] || return 0
		head -c $((1 + RANDOM * 7)) /dev/urandom > "$1/new" || return 0
		local sum
		sum=$(md5sum < "$1/new") || return 0
		sync "$1/new" || return 0
		mv "$1/new" "$1/$i.${sum%% *}" || return 0
		sync "$1" || return 0
		echo "$i.${sum%% *}" >> "$2"
	done
}
check_files() { # DIR LIST
	local name sum n=0
	while read -r name; do
		[ -e "$1/$name" ] || fail "$name was fsynced and is gone"
		sum=$(md5sum < "$1/$name")
		expect_eq "${sum%% *}" "${name#*.}" "content of $name"
		n=$((n + 1))
	done < "$2"
	[ "$n" -gt 3 ] || fail "only $n files were written"
	echo "$n files intact"
}
# some_more N: wait until N more files are durable.
some_more() {
	local lines
	lines=$(wc -l < /tmp/list)
	retry 100 test_lines $((lines + $1))
}
test_lines() { [ "$(wc -l < /tmp/list)" -ge "$1" ]; }
fsck_clean() {
	case $1 in
	ext4) e2fsck -fn /dev/mapper/p ;;
	xfs) xfs_repair -n /dev/mapper/p ;;
	esac
}

for fs in ext4 xfs; do
	echo "--- $fs"
	dmsetup create p --table "$len kvpool - 3 format name=p log_size=16M mirror 2 /dev/a /dev/b"
	table=$(dmsetup table p)
	mkfs.$fs -q /dev/mapper/p
	: > /tmp/list
	for cut in 1 2; do
		mount /dev/mapper/p /tmp/mnt
		rm -f /tmp/mnt/new
		[ $cut = 1 ] || { check_files /tmp/mnt /tmp/list; rm -rf /tmp/mnt/*; : > /tmp/list; }
		writer /tmp/mnt /tmp/list 2> /tmp/writer.err & pid=$!
		some_more $((4 + cut * 3))
		kill -0 $pid || fail "nobody wrote when the power went: $(cat /tmp/writer.err)"
		simset all seed $cut; simset all cut_mode random; simset all power_cut now
		wait $pid || true
		umount /tmp/mnt
		dmsetup remove --retry p
		simset all power_restore 1
		dmsetup create p --table "$table"
	done
	# a mount replays the journal; then the file system must be consistent
	mount /dev/mapper/p /tmp/mnt
	check_files /tmp/mnt /tmp/list
	umount /tmp/mnt
	fsck_clean $fs
	echo "--- $fs: trim"
	mount /dev/mapper/p /tmp/mnt
	rm -f /tmp/mnt/*
	fio --name=big --filename=/tmp/mnt/big --size=48m --rw=write --bs=1m --end_fsync=1 --verify=crc32c \
		--output=/tmp/fio.log || fail "fio: $(cat /tmp/fio.log)"
	dmsetup message p 0 checkpoint
	full=$(stat_of p written_blocks)
	rm /tmp/mnt/big; sync
	fstrim -v /tmp/mnt
	dmsetup message p 0 checkpoint
	[ "$(stat_of p written_blocks)" -le $((full - 11000)) ] || fail "trim: $full before, $(stat_of p written_blocks) after"
	umount /tmp/mnt
	fsck_clean $fs
	scrub p
	dmsetup remove --retry p
	blkdiscard /dev/a; blkdiscard /dev/b
done

echo "--- ext4 over legs that fail for a while: what fsync acknowledged is there"
dmsetup create p --table "$len kvpool - 3 format name=p log_size=16M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
mkfs.ext4 -q /dev/mapper/p
mount -o errors=remount-ro /dev/mapper/p /tmp/mnt
: > /tmp/list
writer /tmp/mnt /tmp/list 2> /tmp/writer.err & pid=$!
some_more 6
kill -0 $pid || fail "nobody wrote when the legs failed: $(cat /tmp/writer.err)"
for l in a b; do simset $l faults "add write_error 0 860160"; done
has_failed() { [ "$(simstat "$1" injected)" -gt 0 ]; }
for l in a b; do retry 60 has_failed $l; done
for l in a b; do simset $l faults clear; done
# until one more file is durable, or an error has ended the writer
at=$(wc -l < /tmp/list)
has_gone_on() { ! kill -0 $pid 2> /dev/null || test_lines $((at + 1)); }
retry 60 has_gone_on
touch /tmp/enough # a killed writer would leave a program with an open file
wait $pid || true
umount /tmp/mnt
dmsetup message p 0 clear || true
simset all cut_mode drop_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$table" || fail "not started: $(last_refusal)"
status=0
e2fsck -fy /dev/mapper/p || status=$?
[ $status -lt 4 ] || fail "e2fsck: $status"
mount /dev/mapper/p /tmp/mnt
check_files /tmp/mnt /tmp/list
umount /tmp/mnt
