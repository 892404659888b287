# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool is stopped while its cache has dirty data: a mirror leaves it there; a parity1 writes it home, but not for a suspend in haste, and nothing looks hung
# kernels: 6.12
# timeout: 300
# long: slow disks are waited for
# needs: gcc
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle
load_modules
no_udev
for d in a b c; do mksim $d 64 rotational=1; done
mksim s 160; mksim t 160 # with one SSD the log would stay on the legs
dev=/dev/mapper/p
blocks=4096
options="name=p log_size=8M ram_cache=0 seq_cutoff_write=1G destage_idle_ms=86400000"
slow() { for d in a b c; do simset $d delay_us "$1"; done; }
# dirty VERSION: all blocks, each of them a row of its own, are on the SSD alone.
dirty() {
	oracle write $dev 0 $blocks "$1" fsync bs=1
	[ "$(stat_of p ssd.dirty)" -gt $((blocks * 2048)) ] || fail "only $(stat_of p ssd.dirty) bytes are dirty"
}
writes() { echo $(($(simstat a writes) + $(simstat b writes) + $(simstat c writes))); }

echo "--- a mirror: what is dirty stays on the SSD, however slow the disks are"
dmsetup create p --table "0 $(sectors_of 40) kvpool - 6 format $options mirror 2 /dev/a /dev/b cache 2 /dev/s /dev/t"
table=$(dmsetup table p)
dirty 1
before=$(writes)
slow 200000
dmsetup remove --retry p
slow 0
[ $(($(writes) - before)) -lt $((blocks / 16)) ] || fail "the stop wrote $(($(writes) - before)) times to the disks"
dmsetup create p --table "$table"
[ "$(stat_of p ssd.dirty)" -gt 0 ] || fail "nothing is dirty after the restart"
expect_eq "$(oracle show $dev 0 $blocks)" "0 $blocks v1"
dmsetup remove --retry p
for d in a b s t; do blkdiscard -f /dev/$d; done

# The kernel reports a task that has slept so long, and the runner fails the test for that. No request takes
# so long; all of them take several times as long.
limit=$((4 * KVPOOL_SLOWNESS))
hung=/proc/sys/kernel/hung_task_timeout_secs
was=$(cat $hung)
at_exit "echo $was > $hung"
echo $limit > $hung
# long_stop COMMAND...: it takes more than three times that limit.
long_stop() {
	local begin=$SECONDS
	"$@"
	echo "$* took $((SECONDS - begin)) s, the limit is $limit s"
	[ $((SECONDS - begin)) -gt $((3 * limit)) ] || fail "it took only $((SECONDS - begin)) s: nothing was shown"
}
dmsetup create p --table "0 $(sectors_of 80) kvpool - 6 format $options parity1 3 /dev/a /dev/b /dev/c cache 2 /dev/s /dev/t"
table=$(dmsetup table p)
all_is() { expect_eq "$(oracle show $dev 0 $blocks)" "0 $blocks v$1"; expect_stat p ssd.dirty 0; }
request=$((1000000 * KVPOOL_SLOWNESS))

# stays COMMAND...: the pool is suspended, and most is left in the log. A round that is under way ends first.
stays() {
	local begin=$SECONDS
	"$@"
	echo "$* took $((SECONDS - begin)) s, the limit is $limit s"
	[ $((SECONDS - begin)) -lt $((3 * limit)) ] || fail "it wrote all home"
	expect_eq "$(dmsetup info -c --noheadings -o suspended p)" Suspended
	slow 0
	dmsetup resume p
	[ "$(stat_of p ssd.dirty)" -gt 0 ] || fail "nothing is dirty after the resume"
}

echo "--- a parity1 is suspended without a flush: what is dirty stays on the SSD"
dirty 2
slow $request
stays dmsetup suspend --noflush p
dmsetup message p 0 checkpoint
all_is 2

echo "--- who suspends is killed: the same"
dirty 3
slow $request
killed() {
	local pid
	dmsetup suspend p & pid=$!
	retry 60 waits_in $pid kvp_order_wait
	kill -KILL $pid
	wait $pid || :
}
stays killed
dmsetup message p 0 checkpoint
all_is 3

echo "--- a suspend with a flush writes all home"
dirty 4
slow $request
long_stop dmsetup suspend p
slow 0
dmsetup resume p
all_is 4

echo "--- a stop, also of a pool that is suspended without a flush"
dirty 5
dmsetup suspend --noflush p
slow $request
long_stop dmsetup remove --retry p
slow 0
dmsetup create p --table "$table"
all_is 5
scrub p
