# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a FLUSH while a direct write supersedes acknowledged blocks, beside a checkpoint, cut at every operation
# turn: flush */log/flush.c */direct.c
# timeout: 240
# needs: gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 96; mksim b 96
dmsetup create p --table "0 $(sectors_of 64) kvpool - 3 format name=p log_size=8M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
simset all cut_mode drop_all
modes=(drop_all random torn)
for ((k = 1; k <= ${KVPOOL_CUTS:-10}; k++)); do
	old=$((k * 2)) new=$((k * 2 + 1))
	oracle write $dev 0 1024 $old fsync bs=32
	[ $((k % 3)) != 0 ] || dmsetup message p 0 checkpoint
	simset all cut_mode "${modes[k % 3]}"; simset all seed $k
	# slow writes, so that the flush meets them
	for l in a b; do simset $l delay_us $((k % 2 * 3000)); done
	simset all power_cut in $((2 * k))
	oracle write $dev 0 1024 $new bs=256 2>/dev/null & writer=$!
	acked=0
	oracle write $dev 2000 1 $new fsync 2>/dev/null && acked=1
	[ $((k % 4)) != 0 ] || dmsetup message p 0 checkpoint 2>/dev/null || true
	all=0; wait $writer || all=$?
	durable=0
	[ "$all" != 0 ] || { oracle sync $dev 2>/dev/null && durable=1; }
	simset all power_cut now 2>/dev/null || true
	for l in a b; do simset $l delay_us 0; done
	dmsetup remove --retry p
	simset all power_restore 1
	dmsetup create p --table "$table" || fail "cut $k: $(last_refusal)"
	# by sectors of 512 bytes: a torn block is "bad" for show, and right here
	oracle sectors $dev 0 1024 > /tmp/seen
	echo "cut $k: acked $acked durable $durable: $(tr '\n' ' ' < /tmp/seen)"
	if [ $durable = 1 ]; then
		expect_eq "$(cat /tmp/seen)" "v$new 8192" "cut $k: after a successful flush"
	else
		expect_eq "$(grep -vE "^v($old|$new) " /tmp/seen || true)" "" "cut $k: neither old nor new"
	fi
	[ $acked = 0 ] || expect_eq "$(oracle show $dev 2000 1)" "2000 1 v$new" "cut $k: acknowledged block"
	[ $((k % 6)) != 0 ] || scrub p
done
