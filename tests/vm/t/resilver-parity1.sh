# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: legs of a parity1 that were out come back, and have it all: by order, after an error, a pull, a power cut, a restart
# timeout: 400
# turn: legs-return *resilver.c *resilver_copy.c */pool/online.c */pool/reconnect.c
# needs: gcc python3 fio
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/resilver.sh"
legs_return parity1 1
