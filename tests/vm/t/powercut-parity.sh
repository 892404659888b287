# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: power cuts under concurrent I/O and during recovery lose nothing acknowledged, on a parity1
# turn: powercut */home_row.c */row.c */log/parity.c */chain.c */recovery/rows.c */format/stripe.c
# timeout: 300
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/campaign.sh"
campaign 4000 8 parity1 3 1500 log_size=16M write_buffer=4M chunk=16384
