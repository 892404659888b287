# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: clean blocks of a parity1 cache are read there again after a stop and a power cut; with one SSD missing, those of the others
# turn: full-cache */log/rows.c */stripes.c */logstripe.c
# timeout: 200
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/warm.sh"
for d in c d e; do mksim $d 34; done

echo "--- stopped, and started again"
known_after_a_stop mirror 2 /dev/a /dev/b cache-parity1 3 /dev/c /dev/d /dev/e

echo "--- the power goes: blocks in completed segments are known"
oracle write $dev 4096 1536 2 fsync bs=4
dmsetup message p 0 checkpoint
sealed
cut_power
start
restored 2500
reads=$(hits)
expect_eq "$(show 4096 1536)" "4096 1536 v2"
[ $(($(hits) - reads)) -ge 900 ] || fail "$(($(hits) - reads)) of 1536 blocks were read from the SSDs"
dmsetup remove --retry p

echo "--- an SSD is missing, and is there again"
whole=$table
table="${table% cache-parity1 *} cache-parity1 3 /dev/c - /dev/e"
start
restored 1600
known=$(stat_of p ssd.restored)
[ "$known" -le 2700 ] || fail "$known blocks are known again without one of three SSDs"
reads=$(hits)
expect_eq "$(show 0 2048)" "0 2048 v1"
[ $(($(hits) - reads)) -ge 1200 ] || fail "$(($(hits) - reads)) of 2048 blocks were read from two SSDs of three"
oracle write $dev 100 64 3 fsync bs=4
cut_power
table=$whole
start
expect_eq "$(show 0 2048)" "0 100 v1,100 64 v3,164 1884 v1"
expect_stat p ssd.mistrusted 0
scrub p
expect_stat p poisoned_blocks 0
dmsetup remove --retry p
