# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: as databases: etcd and RocksDB keep every key they acknowledged, over power cuts, rot on one leg and the loss of it
# timeout: 900
# needs: gcc python3 etcd mkfs.ext4 e2fsck
# kmsg-allow: I/O error|lost (a?sync )?page write|EXT4-fs (error|warning)|JBD2
# long: more power cuts
. "$KVPOOL_TOP/tests/vm/databases.sh"
databases 6
