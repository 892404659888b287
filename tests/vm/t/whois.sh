# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl whois names the file of a block that is lost, also through linear volumes in two pieces
# timeout: 300
# kernels: 6.12
# turn: tool-watch */cmd_whois.c */owner.c
# needs: python3 gcc mkfs.ext4 filefrag
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper leg
load_modules
for d in a b; do mksim $d 64; done
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
run 0 whois tank; has out 'no block of pool tank is poisoned'

echo "--- a volume in two pieces, as LVM makes them, and a partition above it"
pool=/dev/mapper/tank
dmsetup create vol --table "0 32768 linear $pool 36864
32768 32768 linear $pool 2048"
dmsetup create part --table "0 57344 linear /dev/mapper/vol 8192"
for d in vol part; do [ -b /dev/mapper/$d ] || dmsetup mknodes $d; done
mkfs.ext4 -q -b 4096 -O ^has_journal /dev/mapper/part
mkdir -p /tmp/mnt
mount /dev/mapper/part /tmp/mnt

# more than one piece has, so that each has a part of a file
mkdir /tmp/mnt/dir
head -c 14M /dev/urandom > /tmp/mnt/dir/one
head -c 4M /dev/urandom > /tmp/mnt/two
sync -f /tmp/mnt
settle tank
# lba_of FILE BLOCK: where the pool has a block of a file, by tables of our own
lba_of() {
	python3 -c 'import re, subprocess, sys
out = subprocess.run(["filefrag", "-v", sys.argv[1]], capture_output=True, text=True, check=True).stdout
at = int(sys.argv[2])
for m in re.finditer(r"^ *\d+: *(\d+)\.\. *(\d+): *(\d+)\.\.", out, re.M):
    first, last, block = map(int, m.groups())
    if first <= at <= last:
        vol = block + at - first + 1024
        print(vol + 4608 if vol < 4096 else vol - 4096 + 256)' "$1" "$2"
}
for file in dir/one two; do
	for block in 0 77 900; do
		lba=$(lba_of /tmp/mnt/$file $block)
		run 0 whois tank "$lba"
		has out "^lba $lba, 1 block.s.: file /tmp/mnt/$file, from byte $((block * 4096)) .*/dev/mapper/part"
	done
done
lba=$(lba_of /tmp/mnt/dir/one 77)
run 1 whois -j tank "$lba" 9216; expect_eq "$(json whois.answers.1.state) $(json whois.answers.1.lba)" "unknown 9216"

echo "--- the lost block is named"
run 0 status -j tank; [ "$(json pools.0.poisoned_total)" = 0 ] || fail "poisoned"
start=$(kvpoolctl inspect -j /dev/a > /tmp/out; json inspect.superblock.geometry.data_start)
for d in a b; do leg garble /dev/$d $((start + lba)) 1; done
run 4 scrub --wait tank; has out 'unrepaired 1'
run 4 status tank; has out 'kvpoolctl whois tank names their files'
run 0 whois tank; has out "^lba $lba, 1 block.s.: file /tmp/mnt/dir/one, from byte $((77 * 4096)) "
expect_eq "$(wc -l < /tmp/out)" 1

echo "--- a suspended pool does not hang it, and a driver that may put blocks anywhere is named"
dmsetup suspend tank
run 1 whois tank "$lba"; has out 'cannot tell.* the device is suspended'
dmsetup resume tank
umount /tmp/mnt
run 1 whois tank "$lba"; has out 'its file system .ext4. is not mounted'
dmsetup remove part
dmsetup create striped --table "0 65536 striped 1 128 /dev/mapper/vol 0"
run 1 whois tank "$lba"; has out 'striped .striped. is above it'
dmsetup remove striped
dmsetup remove vol
check_json
