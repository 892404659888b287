# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: 30 power cuts of a mirror of three, a small log that wraps all the time
# timeout: 900
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
# long: 30 power cuts
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 3000 30 mirror 3 2500 log_size=4M write_buffer=4M
