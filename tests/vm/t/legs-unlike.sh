# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: legs with sectors of 512 and of 4096 bytes and of unequal size make a mirror and a parity1 that stand losses and power cuts
# kernels: 6.12
# timeout: 400
# long: minutes where that is emulated, and the turns are full
# needs: gcc python3
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
no_udev
dev=/dev/mapper/tank
same() { expect_eq "$(oracle show $dev 0 "$1")" "0 $1 v$2" "contents${3:+: $3}"; }
size() { blockdev --getsize64 $dev; }

mksim a 48 logical_block_size=512 physical_block_size=512
mksim b 64 logical_block_size=4096
mksim c 104 logical_block_size=512
for kind in mirror parity1; do
	echo "--- $kind: sectors of 512, of 512 in blocks of 4096, and of 4096; 48, 64 and 104 MiB"
	run 0 create -f -o log_size=4M -o ram_cache=0 tank $kind /dev/a /dev/b /dev/c
	expect_eq "$(blockdev --getss --getpbsz $dev | tr '\n' ' ')" "4096 4096 "
	# The smallest leg decides, less its labels, table and log.
	case $kind in mirror) data=1 ;; parity1) data=2 ;; esac
	(($(size) > data * (32 << 20) && $(size) <= data * (48 << 20))) || fail "$kind of 48 MiB has $(size) bytes"
	oracle write $dev 0 4096 1 fsync bs=32
	simset all seed 7; simset all cut_mode torn
	# Without end: a load that has ended would not make the counter grow.
	(for ((v = 100; ; v++)); do oracle write $dev 4096 2048 $v bs=4 || exit 0; done) > /tmp/load.log 2>&1 & load=$!
	wait_more tank io.write_blocks 64
	simset all power_cut now
	wait $load || :
	dmsetup remove --retry tank
	simset all power_restore 1
	run 0 import tank
	same 4096 1 "after a power cut"
	for leg in a b c; do
		run 0 offline tank /dev/$leg
		dmsetup message tank 0 drop_caches
		same 4096 1 "without $leg"
		run 0 online --wait tank /dev/$leg
	done
	scrub tank
	run 0 destroy tank
done
