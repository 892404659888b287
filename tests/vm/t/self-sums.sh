# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a leg lost a write of an ext4 block that ends with its own crc32c, or of a directory: reads, scrub and a start find it
# kernels: 6.12
# turn: heal */format/sum.c
# needs: gcc python3 mkfs.ext4 e2fsck debugfs
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper leg
load_modules
no_udev
mksim a 96; mksim b 96
dev=/dev/mapper/p m=/tmp/m
dmsetup create p --table "0 $(sectors_of 64) kvpool - 4 format name=p log_size=8M ram_cache=0 mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
expect_stat p features folded-sums
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
mkdir -p $m
mkfs.ext4 -q -b 4096 -O metadata_csum,extent,^inline_data -E nodiscard $dev

# version N: each version has more extents than fit into an inode, and more names in the directory. Then all is at home.
version() {
	local i
	mount $dev $m
	mkdir -p $m/dir
	for i in 0 1 2 3 4; do
		dd if=/dev/urandom of=$m/file bs=4096 count=1 seek=$((20 * i + 2 * $1)) conv=notrunc status=none
		: > "$m/dir/version-$1-$i"
	done
	find $m/dir | sort | sha256sum > /tmp/names
	sha256sum < $m/file > /tmp/contents
	umount $m
	dmsetup message p 0 checkpoint
}
# home_of LEG BLOCK, put LEG BLOCK FILE: at home, behind the pool's back
home_of() { dd if="/dev/$1" iflag=direct bs=4096 skip=$((home + $2)) count=1 status=none; }
put() { dd if="$3" of="/dev/$1" oflag=direct bs=4096 seek=$((home + $2)) count=1 conv=notrunc status=none; }
lose() { local i; for i in "${!block[@]}"; do put "$1" "${block[i]}" "/tmp/1.$i"; done; }
keep() { local i; for i in "${!block[@]}"; do home_of a "${block[i]}" > "/tmp/$1.$i"; done; }
newest_on() { local i; for i in "${!block[@]}"; do home_of "$1" "${block[i]}" | cmp - "/tmp/2.$i"; done; }
files_are_right() {
	mount -o ro,noload $dev $m
	expect_eq "$(find $m/dir | sort | sha256sum)" "$(cat /tmp/names)" "names in the directory"
	expect_eq "$(sha256sum < $m/file)" "$(cat /tmp/contents)" "contents of the file"
	umount $m
}
# Each block so often that both legs are asked for it.
reads_are_right() {
	local i
	for i in "${!block[@]}"; do
		for _ in 1 2 3 4 5 6; do
			dd if=$dev iflag=direct bs=4096 skip="${block[i]}" count=1 status=none | cmp - "/tmp/2.$i"
		done
	done
}
# old_sum FILE...: sums without a fold, from any start: what is alike from one is so from all
old_sum() {
	python3 - "$@" <<-'END'
		import sys
		table = []
		for crc in range(256):
		    for _ in range(8):
		        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
		    table.append(crc)
		for name in sys.argv[1:]:
		    crc = 0xFFFFFFFF
		    for byte in open(name, "rb").read():
		        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
		    print(f"{crc:08x}")
	END
}
said() { debugfs -R "$1" $dev 2> /tmp/err || fail "debugfs: $(cat /tmp/err)"; }

echo "--- two versions of the superblock, a block of extents, and a directory"
version 1
extents=$(said "stat /file" | grep -o '(ETB0):[0-9]*') directory=$(said "blocks /dir")
block=(0 "${extents#*:}" "${directory%% *}")
keep 1
version 2
keep 2
expect_eq "(ETB0):${block[1]} ${block[2]} " "$(said "stat /file" | grep -o '(ETB0):[0-9]*') $(said "blocks /dir")" "places"
newest_on b
for i in 0 1 2; do
	expect_fail cmp -s /tmp/1.$i /tmp/2.$i
done
mapfile -t sum < <(old_sum /tmp/[12].[01])
expect_eq "${sum[*]:0:2}" "${sum[*]:2:2}" "what a superblock and extents sum themselves to"

echo "--- leg a lost the second one: a scrub finds it"
lose a
scrub p 3
expect_stat p leg.0.err_checksum 3
newest_on a
scrub p

echo "--- and so do reads"
dmsetup message p 0 clear
lose b
reads_are_right
files_are_right
scrub p "$((3 - $(stat_of p leg.1.healed)))"
newest_on b

echo "--- and a start"
dmsetup message p 0 clear
dmsetup remove --retry p
lose a
dmsetup create p --table "$table"
files_are_right
e2fsck -fn $dev > /tmp/out || fail "e2fsck: $(cat /tmp/out)"
scrub p "$((3 - $(stat_of p leg.0.healed)))"
newest_on a
