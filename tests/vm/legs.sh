# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests in which legs of the pool tank leave and return, or are replaced, under load.
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
no_udev
dev=/dev/mapper/tank
# the oracle's blocks; fio has 6 MiB behind them
# shellcheck disable=SC2034 # for the tests
blocks=4096
load=$((20 << 20))

# state STATUS LEG: the state of that leg; kvpoolctl status must end with STATUS.
state() { run "$1" status -j tank; json "pools.0.vdevs.0.legs.$2.state"; }
contents() { dd if=$dev bs=1M iflag=direct status=none | md5sum; }
# A scrub compares all legs in sync.
sound() {
	run 0 scrub --wait tank; has out 'healed 0, unrepaired 0'
	run 0 status -x tank; has out healthy
}
# Not as fast as it can be: that would take all processors until end_fio "$fio" /tmp/fio.log ends it.
begin_load() {
	fio --name=load --filename=$dev --direct=1 --rw=randrw --bsrange=4k-128k --offset=$load --size=6m \
		--time_based --runtime=86400 --verify=crc32c --verify_backlog=64 --verify_state_save=0 \
		--rate_iops=100 --fdatasync=16 --ioengine=libaio --iodepth=4 --output=/tmp/fio.log &
	# shellcheck disable=SC2034 # for the tests
	fio=$!
	wait_more tank io.write_blocks 256
}
