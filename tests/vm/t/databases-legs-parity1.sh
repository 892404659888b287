# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: etcd keeps every key, and fio reads back all that it wrote, while their pool loses legs, gets them back, has them replaced, grows, gets a vdev and a cache, and gives the cache away: a parity1
# timeout: 1500
# kernels: 6.12
# needs: gcc python3 etcd mkfs.ext4 e2fsck resize2fs fio
# kmsg-allow: I/O error
# long: all changes of a pool, one after the other
. "$KVPOOL_TOP/tests/vm/changes.sh"
changes parity1 a b c
