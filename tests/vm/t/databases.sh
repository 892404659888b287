# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: etcd and RocksDB keep every key they acknowledged, over power cuts, rot on one leg and the loss of it
# timeout: 400
# turn: programs */log/commit.c */target/write.c
# needs: gcc python3 etcd mkfs.ext4 e2fsck
# kmsg-allow: I/O error|lost (a?sync )?page write|EXT4-fs (error|warning)|JBD2
. "$KVPOOL_TOP/tests/vm/databases.sh"
databases 2
