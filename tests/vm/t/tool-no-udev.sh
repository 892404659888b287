# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl makes, stops and starts pools without udev, as in a rescue shell, and does not wait for udev
# turn: tool-udev */boot.c
# needs: python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
for d in a b; do mksim $d 16; done
no_udev
rm -f /run/udev/control	# the socket of a udev that was ended; where udev never ran there is none
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
[ -b /dev/mapper/tank ] || fail "there is no node of the pool"
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=16 oflag=direct conv=fsync status=none
run 0 export tank
[ ! -e /dev/mapper/tank ] || fail "the node of the pool stayed"
run 0 import tank
run 0 status tank; has out 'state: online'
run 0 destroy tank
