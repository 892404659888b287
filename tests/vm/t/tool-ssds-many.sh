# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a cache of 16 SSDs in a pool of 48 legs: a change without room is refused before the cache is drained, and one can leave
# timeout: 300
# long: it has 49 disks
# needs: python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
no_udev
for ((i = 0; i < 49; i++)); do mksim d$i 32; done
disks() { local i; for ((i = $1; i < $1 + 16; i++)); do echo /dev/d$i; done; }
mode() { kvpoolctl status -j tank > /tmp/out || :; expect_eq "$(json pools.0.cache.mode) $(json pools.0.log.on)" "$1"; }

echo "--- no room"
# shellcheck disable=SC2046 # words
run 0 create -f -o log_size=4M tank mirror $(disks 0) mirror $(disks 16) cache mirror $(disks 32)
mode 'writeback cache'
refused 3 refused 'at most 16 SSDs' attach tank /dev/d32 /dev/d48
refused 3 refused 'has 48 legs, and no room' replace tank /dev/d32 /dev/d48
run 0 offline tank /dev/d33
refused 3 refused 'has 48 legs, and no room' online tank /dev/d33
mode 'writeback cache'
run 0 detach tank /dev/d33
mode 'writeback cache'
run 0 replace tank /dev/d32 /dev/d48
mode 'writeback cache'
run 0 destroy tank
check_json
