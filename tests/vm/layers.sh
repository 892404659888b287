# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of what lies above or below a pool. Sourced after lib.sh.

. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle; helper leg
load_modules
no_udev

# same DEV BLOCKS VERSION [FROM]
same() { expect_eq "$(oracle show "$1" "${4:-0}" "$2")" "${4:-0} $2 v$3" "contents of $1"; }

# begin_writes DEV FROM COUNT: without end, not flushed; what it leaves there is not compared. The pool is tank.
begin_writes() {
	(for ((v = 100; ; v++)); do oracle write "$1" "$2" "$3" $v bs=8 || exit 0; done) > /tmp/load.log 2>&1 &
	load=$!
	wait_more tank io.write_blocks 64
}

# power_goes SEED: for all disks at once, under what begin_writes writes. All devices above are gone with it.
power_goes() {
	simset all seed "$1"; simset all cut_mode random; simset all power_cut now
	wait "$load" || :
	for _ in {1..20}; do
		for d in $(dmsetup ls | sed -n 's/\t.*//p'); do dmsetup remove "$d" 2> /dev/null || :; done
	done
	expect_eq "$(dmsetup ls)" "No devices found"
	simset all power_restore 1
}
