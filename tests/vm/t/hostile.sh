# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: damaged and forged labels, tables and logs: refused with a reason, or right data; never a crash or a wrong byte
# timeout: 600
# turn: labels */format/*.c */pool/labels.c */pool/choose.c */pool/places.c
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/hostile.sh"
hostile 330 32
