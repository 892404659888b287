# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: 30 power cuts of a single leg, with frequent commits by themselves
# timeout: 900
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
# long: 30 power cuts
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 4000 30 single 1 1500 log_size=8M commit_interval_ms=20
