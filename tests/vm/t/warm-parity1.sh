# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: what is clean on a cache of kind parity1 is read there again after a stop and after a power cut, and with one SSD missing what the others have
# timeout: 200
# needs: gcc
. "$KVPOOL_TOP/tests/vm/warm.sh"
for d in c d e; do mksim $d 34; done

echo "--- stopped, and started again"
dmsetup create p --table "0 $(sectors_of 64) kvpool - 6 format name=p log_size=8M ram_cache=0 seq_cutoff_write=1G destage_idle_ms=86400000 mirror 2 /dev/a /dev/b cache-parity1 3 /dev/c /dev/d /dev/e"
table=$(dmsetup table p)
for b in 0 1024; do oracle write $dev $b 1024 1 fsync bs=4; done
dmsetup message p 0 checkpoint
from_ssd "before" 0 2048 "0 2048 v1"
dmsetup remove --retry p
start
restored 2048
from_ssd "after a stop" 0 2048 "0 2048 v1"

echo "--- the power goes: what lies in segments that were left is known"
oracle write $dev 4096 1536 2 fsync bs=4
dmsetup message p 0 checkpoint
sleep 3
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
