# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a suspend beside a scrub whose only leg hangs, with and without a flush: it can be killed, and the scrub goes on and ends once
# kernels: 6.12
# timeout: 240
# long: a leg hangs, again and again
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
dev=/dev/mapper/p
mksim a 96
dmsetup create p --table "0 $(sectors_of 40) kvpool - 4 format name=p log_size=8M ram_cache=0 single 1 /dev/a"
oracle write $dev 0 8000 1 bs=32 fsync
dmsetup message p 0 checkpoint
ended() { ! kill -0 "$1" 2> /dev/null; }
scrub_waits() { [ "$(simstat a reads)" -gt "$1" ]; }
finished=0
beside() { # FLAGS
	local suspender reader before
	echo "--- suspend $1 beside a scrub"
	dmsetup message p 0 drop_caches
	dmsetup message p 0 set scrub_rate 1M
	dmsetup message p 0 scrub start
	simset a stall read
	before=$(simstat a reads)
	retry 60 scrub_waits "$before"
	# so that device-mapper gives the suspend up when it is killed
	dd if=$dev of=/dev/null bs=4k count=1 skip=5000 iflag=direct status=none & reader=$!
	retry 60 waits_in $reader blkdev_
	# shellcheck disable=SC2086 # no word, or one
	dmsetup suspend $1 p & suspender=$!
	retry 60 waits_in $suspender kvp_order_wait_killable
	kill $suspender
	retry 20 ended $suspender
	expect_eq "$(dmsetup info -c --noheadings -o suspended p)" Active
	simset a stall 0
	wait $reader
	dmsetup message p 0 set scrub_rate 0
	wait_stat p scrub.state finished
	expect_status 143 wait $suspender
}
for flags in "" --noflush; do
	beside "$flags"
	expect_eq "$(event_count p scrub_finished)" $((finished += 1)) "ends of scrubs"
done
expect_eq "$(oracle show $dev 0 8000)" "0 8000 v1"
dmsetup remove --retry p
