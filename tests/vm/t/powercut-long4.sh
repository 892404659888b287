# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: 30 power cuts of a mirror with strict=1
# timeout: 900
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
# long: 30 power cuts
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 5000 30 mirror 2 4000 log_size=32M strict=1 seq_cutoff_write=64K
