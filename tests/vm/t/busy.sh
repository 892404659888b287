# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: messages, scrub, suspend, reload and removal under load; events and tunables outlive power cuts
# timeout: 200
# turn: ram */target/message.c
# needs: fio gcc
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
mksim a 128; mksim b 128
dmsetup create p --table "0 $(sectors_of 96) kvpool - 3 format name=p log_size=8M mirror 2 /dev/a /dev/b"
table=$(dmsetup table p)
dev=/dev/mapper/p
oracle write $dev 0 2048 1 fsync bs=256
load() { # NAME [FIO OPTION]...: until it is killed
	local name=$1
	shift
	fio --name="$name" --filename=$dev --direct=1 --rw=randrw --bsrange=4k-512k --offset=16m --size=64m \
		--verify=crc32c --verify_backlog=32 --verify_fatal=1 --verify_state_save=0 --fdatasync=32 --ioengine=libaio --iodepth=8 \
		--time_based --runtime=86400 --output="/tmp/$name.log" "$@" &
	fio=$!
}
# A status that needs I/O or a lock would hang.
echo "--- status while the legs hang"
oracle write $dev 0 8 2 bs=1
for l in a b; do simset $l stall 1; done
oracle sync $dev & syncer=$!
retry 60 asks_disk $syncer
for i in 1 2 3; do patient 50 dmsetup status p > /tmp/status; done
patient 50 dmsetup message p 0 stats > /dev/null
asks_disk $syncer || fail "the legs did not hang"
for l in a b; do simset $l stall 0; done
wait $syncer || fail "sync after the stall"
expect_eq "$(awk '{ print $4, $5, $9, $10 }' /tmp/status)" "online rw 2/2 AA" "status"
expect_eq "$(awk '{ print NF }' /tmp/status)" 18 "fields of the status line: $(cat /tmp/status)"

echo "--- everything at once, under load"
load one
wait_more p io.write_blocks 256
dmsetup message p 0 set scrub_rate 256K # it takes half a minute, or more
for i in 1 2 3; do
	dmsetup status p > /dev/null
	dmsetup message p 0 stats > /tmp/stats
	dmsetup message p 0 poisoned
	dmsetup message p 0 events > /dev/null
	dmsetup message p 0 events 2 > /dev/null
	dmsetup message p 0 scrub start
	dmsetup message p 0 scrub pause
	expect_stat p scrub.state paused
	dmsetup message p 0 set write_buffer $((i * 8))M
	dmsetup message p 0 checkpoint
	dmsetup message p 0 flush
	dmsetup message p 0 drop_caches
	dmsetup message p 0 scrub resume
	dmsetup suspend p
	dmsetup status p > /dev/null
	dmsetup resume p
	dmsetup suspend --noflush p
	dmsetup load p --table "$table"
	dmsetup resume p
	dmsetup message p 0 scrub stop
	wait_stat p scrub.state stopped
done
dmsetup message p 0 set scrub_rate 0
wait_more p io.write_blocks 256
end_fio $fio /tmp/one.log
expect_eq "$(oracle show $dev 8 2040)" "8 2040 v1"
expect_stat p state online
for key in name uuid state mode size comment features epoch era checkpoint sequence written_blocks poisoned_blocks \
	losses_survivable vdev.0.kind vdev.0.state vdev.0.first_leg vdev.0.legs leg.0.uuid leg.0.path leg.0.state \
	leg.0.err_read leg.0.err_write leg.0.err_checksum leg.0.healed leg.0.in_sync_era leg.0.by_order log.size log.used log.commits \
	log.flushes log.lsn log.failed log.failed ram.write_buffer ram.dirty_blocks ram.table_budget ram.table_used \
	ram.read_cache ram.read_cache_used ram.hits ram.misses ram.fills ram.written ram.bypassed_long ram.bypassed_stream \
	ram.bypassed_ahead \
	table.page_reads table.page_writes table.leaf_writes table.checkpoints io.read_blocks io.write_blocks io.discard_blocks \
	io.zero_read_blocks io.coalesced_blocks log.data_blocks log.intent_blocks destage.blocks destage.ios destage.rate destage.drain_ms \
	read.retries read.rebuilt_blocks read.passed_blocks scrub.state scrub.done scrub.total scrub.healed scrub.unrepaired scrub.started scrub.finished \
	recovery.last_ms recovery.worst_case_ms recovery.replayed recovery.kept recovery.torn_accepted tunable.strict \
	tunable.write_buffer; do
	grep -q "^${key//./\\.}=" /tmp/stats || fail "stats lack $key"
done
scrub p

echo "--- an event ends a wait"
number=$(dmsetup info -c --noheadings -o events p)
dmsetup wait p "$number" & waiter=$!
retry 60 waits_in $waiter dm_wait_event
dmsetup message p 0 scrub start
wait $waiter || fail "dmsetup wait: $?"
wait_stat p scrub.state finished

echo "--- events and tunables over a power cut"
dmsetup suspend p; dmsetup resume p # writes the events so far to the legs
dmsetup message p 0 set strict 1
dmsetup message p 0 set scrub_rate 123M
finished=$(event_count p scrub_finished)
[ "$finished" -ge 2 ] || fail "events scrub_finished: $finished"
simset all cut_mode drop_all; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
dmsetup create p --table "$table"
expect_stat p tunable.strict 1
expect_stat p tunable.scrub_rate $((123 << 20))
expect_eq "$(event_count p scrub_finished)" "$finished" "events scrub_finished after the restart"
[ "$(event_count p recovered)" -ge 1 ] || fail "no event 'recovered'"
dmsetup message p 0 events | awk 'NR > 1 && $1 <= last { exit 1 } { last = $1 }' || fail "events out of order"
seq=$(dmsetup message p 0 events | tail -n 1 | cut -d' ' -f1)
expect_eq "$(dmsetup message p 0 events "$seq" | awk '{ print $1 }')" "$seq" "events from the last on"
before=$(stat_of p log.intent_blocks)
oracle write $dev 0 2048 3 fsync bs=256
expect_stat p log.intent_blocks "$before"
dmsetup message p 0 set strict 0

echo "--- renamed by its table"
dmsetup remove --retry p
dmsetup create p --table "${table/ 0 mirror/ 1 name=other mirror}"
expect_stat p name other
dmsetup remove --retry p
dmsetup create p --table "$table"
expect_stat p name other

echo "--- removed with I/O in flight"
oracle write $dev 0 2048 4 fsync bs=256
for l in a b; do simset $l delay_us 2000; done
before=$(stat_of p io.write_blocks)
load two 2> /tmp/two.err
at_work() { [ "$(stat_of p io.write_blocks)" -gt $((before + 256)) ]; }
retry 60 at_work
# the error table takes its place at once
dmsetup remove --force p || true
wait $fio && fail "fio noticed nothing"
for l in a b; do simset $l delay_us 0; done
[ ! -e $dev ] || dmsetup remove --retry p
dmsetup create p --table "$table"
expect_eq "$(oracle show $dev 0 2048)" "0 2048 v4"
expect_stat p state online
scrub p

echo "--- a suspend does not wait for messages, and a killed process does not wait for its message"
mksim d 96; mksim c 128
dmsetup create q --table "0 $(sectors_of 64) kvpool - 6 format name=q log_size=8M ram_cache=0 seq_cutoff_write=1G destage_idle_ms=86400000 single 1 /dev/d cache 1 /dev/c"
expect_stat q log.on cache
dirty() { # OPTION...
	fio --name=dirty --filename=/dev/mapper/q --direct=1 --rw=randwrite --bs=4k --size=48m --io_size=24m --ioengine=libaio \
		--iodepth=32 --randrepeat=1 --verify=crc32c --verify_state_save=0 --output=/tmp/dirty.log "$@" || { cat /tmp/dirty.log; fail "fio"; }
}
simset d delay_us 1500000
dirty --do_verify=0 --end_fsync=1
goes_home() { [ "$(simstat d writes)" -gt "$before" ]; }
much_is_left() { [ "$(stat_of q ram.dirty_blocks)" -gt 1000 ] || fail "$1: $(stat_of q ram.dirty_blocks) blocks are not home"; }
for order in checkpoint "set cache_mode writethrough"; do
	before=$(simstat d writes)
	# shellcheck disable=SC2086 # words
	dmsetup message q 0 $order & message=$!
	[ "$order" = checkpoint ] || wait_stat q drain.state running
	retry 60 goes_home
	dmsetup suspend q
	! wait $message || fail "$order: said to be done"
	much_is_left "a suspend beside $order"
	expect_stat q log.on cache
	dmsetup resume q
done
expect_stat q drain.state cancelled
before=$(simstat d writes)
dmsetup message q 0 checkpoint & message=$!
retry 60 goes_home
kill -KILL $message
expect_status 137 wait $message
much_is_left "a checkpoint whose sender was killed"
simset d delay_us 0
dmsetup message q 0 drain start writethrough
wait_stat q drain.state "done"
expect_stat q log.on legs
dmsetup message q 0 drain start writeback force
wait_stat q drain.state "done"
expect_stat q log.on cache
dirty --verify_only=1
dmsetup remove --retry q
