# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: 30 power cuts of a mirror, a log of 16 MiB
# timeout: 900
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
# long: 30 power cuts
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 2000 30 mirror 2 1500 log_size=16M write_buffer=4M
