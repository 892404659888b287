# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: without a leg a parity1 rebuilds its blocks, many at once, for any part of stripes and with any fault
# timeout: 300
# turn: parity */home/row.c */home/stripe_read.c
# needs: gcc python3
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules fault_injection=1
no_udev
dev=/dev/mapper/p legs=(/dev/a /dev/b /dev/c /dev/d) out=1
for d in a b c d; do mksim $d 64; done
dmsetup create p --table "0 $(sectors_of 96) kvpool - 5 format name=p log_size=8M ram_cache=0 chunk=16384 parity1 4 ${legs[*]}"
home=$(leg label /dev/a | sed -n 's/^data_start=//p')
table=$(dmsetup table p)
oracle write $dev 0 4096 1 fsync bs=64
dmsetup message p 0 checkpoint
dmsetup remove --retry p
start() { dmsetup create p --table "$(awk -v leg=$out '{ $(NF - 3 + leg) = "-"; print }' <<< "$table")" || fail "$(last_refusal)"; }
start
expect_stat p state degraded

# Stripes have 12 blocks of data, in chunks of 4. The parity of stripe s is on leg s mod
# 4.
leg_of() { echo $(((1 + $1 % 12 / 4 + $1 / 12) % 4)); }
missing() { # FIRST COUNT: the number of those blocks on the leg that is out
	local b n=0
	for ((b = $1; b < $1 + $2; b++)); do n=$((n + ((1 + b % 12 / 4 + b / 12) % 4 == out))); done
	echo $n
}
rot() { # LEG BLOCK: in the row of that block
	local row=$((($2 - $2 % 12) / 3 + $2 % 4))
	simset "$(tr 0123 abcd <<< "$1")" corrupt "$(((home + row) * 8)) 8 9"
}
rot_block() { rot "$(leg_of "$1")" "$1"; }
rot_parity() { rot $(($1 / 12 % 4)) "$1"; }
requests() { local d n=0; for d in a b c d; do n=$((n + $(simstat $d reads))); done; echo $n; }
reads() { # FIRST COUNT WHAT [MADE]: as one request that rebuilds MADE blocks at once; default: all that are missing
	local before
	before=$(stat_of p read.rebuilt_blocks)
	expect_eq "$(oracle show $dev "$1" "$2" bs="$2")" "$3"
	expect_eq $(($(stat_of p read.rebuilt_blocks) - before)) "${4:-$(missing "$1" "$2")}" "blocks made of $2 from $1 on"
}

echo "--- whole stripes and parts of them, across leaves, one chunk and one block"
for range in "0 240" "7 230" "300 200" "379 10" "3 6" "4 4" "0 4" "8 1" "9 3" "1000 256"; do
	read -r first count <<< "$range"
	reads "$first" "$count" "$first $count v1"
done
expect_stat p read.retries 0
before=$(requests)
reads 0 240 "0 240 v1"
expect_eq $(($(requests) - before)) 3 "requests to the legs"

echo "--- into memory that is not aligned"
cat > /tmp/unaligned.py <<-'END'
	import mmap, os, sys
	fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
	size = 230 * 4096
	def read(shift):
	    memory = mmap.mmap(-1, size + 4096)
	    view = memoryview(memory)[shift:shift + size]
	    assert os.preadv(fd, [view], 7 * 4096) == size
	    return bytes(view)
	assert read(0) == read(512) == read(1536)
END
before=$(stat_of p read.rebuilt_blocks)
python3 /tmp/unaligned.py $dev || fail "what was read differs"
expect_eq $(($(stat_of p read.rebuilt_blocks) - before)) $((3 * $(missing 7 230)))
expect_stat p read.retries 0

echo "--- unwritten blocks in between"
blkdiscard -o $((36 * 4096)) -l $((30 * 4096)) $dev
dmsetup message p 0 checkpoint
reads 0 240 "0 36 v1
36 30 zero
66 174 v1" $(($(missing 0 36) + $(missing 66 174)))
oracle write $dev 36 30 1 fsync bs=1
dmsetup message p 0 checkpoint
reads 0 240 "0 240 v1"

echo "--- blocks in the buffer, and rows beside them"
oracle write $dev 100 1 2 fsync
expect_eq "$(oracle show $dev 0 240 bs=240)" "0 100 v1
100 1 v2
101 139 v1"
dmsetup message p 0 checkpoint
oracle write $dev 100 1 1 fsync
dmsetup message p 0 checkpoint
reads 0 240 "0 240 v1"

echo "--- a leg that does not answer once"
dmsetup message p 0 clear
retries=$(stat_of p read.retries)
dmsetup message p 0 inject "$(dmsetup table p | awk '{ print $(NF - 3) }')" read 1
expect_eq "$(oracle show $dev 0 240 bs=240)" "0 240 v1"
expect_eq $(($(stat_of p read.retries) - retries)) 1 "reads done once more"
reads 0 240 "0 240 v1"

echo "--- rot on the remaining legs: only blocks that need the rotten ones are lost"
# In the row of 96, a block of the leg that is out, the parity rots. In the row of 128,
# also a block of that leg, block 120 rots.
expect_eq "$(leg_of 96) $(leg_of 128) $((128 % 4 == 120 % 4))" "$out $out 1" "the test is what it says"
rot_parity 96; rot_block 120
lost="96 120 128"
holes() { # the result of a read of 0 to 240, with EIO at those blocks
	local from=0 b
	for b in $lost; do
		[ "$b" = "$from" ] || echo "$from $((b - from)) v1"
		echo "$b 1 EIO"
		from=$((b + 1))
	done
	echo "$from $((240 - from)) v1"
}
expect_fail dd if=$dev of=/dev/null bs=960K count=1 iflag=direct status=none
expect_eq "$(oracle show $dev 0 240 bs=1)" "$(holes)"
expect_stat p poisoned_blocks 3
# the parity of both rows is unknown now; that must not make a read trust other data
expect_eq "$(oracle show $dev 0 240 bs=1)" "$(holes)"
oracle write $dev 96 36 1 fsync bs=36
dmsetup message p 0 checkpoint
expect_stat p poisoned_blocks 0
reads 0 240 "0 240 v1"

echo "--- a reader that changes its buffer in flight harms no data"
dmsetup message p 0 clear
oracle scribble-read $dev 0 4096 3 240
expect_stat p poisoned_blocks 0
expect_eq "$(stat_of p leg.0.err_checksum) $(stat_of p leg.3.err_checksum)" "0 0"

echo "--- reads while others write"
blkdiscard $dev
dmsetup message p 0 checkpoint
oracle new /tmp/state 4096 1 4096 1
before=$(stat_of p read.rebuilt_blocks)
oracle run /tmp/state $dev 1 4 150
dmsetup message p 0 checkpoint
oracle check /tmp/state $dev
[ "$(stat_of p read.rebuilt_blocks)" -gt "$before" ] || fail "nothing was made at once"
expect_stat p poisoned_blocks 0
echo "made $(($(stat_of p read.rebuilt_blocks) - before)) blocks, $(stat_of p read.retries) retries"
