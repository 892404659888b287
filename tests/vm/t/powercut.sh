# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: power cuts under concurrent I/O and during recovery lose nothing acknowledged, on a mirror
# turn: powercut */recovery/scan.c */recovery/apply.c */recovery/intents.c */log/commit.c */log/flush.c
# timeout: 300
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 1000 10 mirror 2 1500 log_size=16M write_buffer=4M
