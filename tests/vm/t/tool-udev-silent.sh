# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl waits a limited time for a udev that does not answer, reports it, and leaves nothing behind
# timeout: 400
# long: two minutes of patience, twice
# needs: python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
mksim a 32
udevadm settle
udevadm control --stop-exec-queue
at_exit "udevadm control --start-exec-queue"
run 1 create -j -o log_size=4M tank single /dev/a
has err 'udev has not answered for 120 s .*-- look after udev'
has out '"code":"kernel"'
[ "$(dmsetup ls)" = "No devices found" ] || fail "left behind: $(dmsetup ls)"
[ "$(dmsetup udevcookies | wc -l)" -le 1 ] || fail "left behind: $(dmsetup udevcookies)"
udevadm control --start-exec-queue
udevadm settle
run 0 import -j; run 0 list
check_json
