# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: random writes of four times a parity1 cache's capacity while the disks are slow, with the log on it and without; all data is read back, also after a power cut and without one SSD
# turn: full-cache */log/rows.c */stripes.c */logstripe.c
# timeout: 420
# needs: fio
. "$KVPOOL_TOP/tests/vm/storm.sh"
for d in c d e; do mksim $d 8; done
storms 72 "writethrough writeback" cache-parity1 3 /dev/c /dev/d /dev/e

echo "--- one SSD less in the middle of a storm"
# More than the cache takes: the storm ends only after much was written home, a second for
# each request.
slow 1000000
before=$(stat_of p io.write_blocks)
written 7 24 &
writer=$!
at_work() { [ "$(stat_of p io.write_blocks)" -gt $((before + 256)) ]; }
retry 60 at_work
dmsetup message p 0 offline "$(stat_of p leg.3.uuid)"
kill -0 $writer || fail "it is over already"
slow 300
wait $writer
is_there 7 24
expect_fail storm 8 24 --verify_only

echo "--- quiet: all of it is written home"
quiet
