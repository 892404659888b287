# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl wait and trim --wait end when what they wait for has ended, not before; they can be killed, and draw a bar
# kernels: 6.12
# timeout: 400
# long: the turns are full
# needs: gcc script
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
helper oracle
load_modules
no_udev
for d in a b; do mksim $d 64; done
for d in c d; do mksim $d 80; done
slow() { for d in a b; do simset $d delay_us "$1"; done; }
# begin COMMAND...: sets waiter, which waits.
begin() {
	kvpoolctl "$@" tank > /tmp/waited 2>&1 &
	waiter=$!
	retry 60 waits_in $waiter nanosleep
}
ends() { expect_status "$1" wait $waiter; }
still() { kill -0 $waiter 2> /dev/null || fail "it did not wait for $1: $(cat /tmp/waited)"; }
killed() {
	kill "$waiter"
	ends 143
}
# bar WORD COMMAND...: on a terminal, the command draws a bar.
bar() {
	local word=$1
	shift
	TERM=dumb script -qec "kvpoolctl $* tank" /tmp/bar > /dev/null < /dev/null &
	local screen=$!
	retry 60 grep -aqE "$word.* \[[# ]{40}\] +[0-9]+ %" /tmp/bar
	pkill -P $screen || :
	wait $screen || :
}
# begin_drain VERSION US: a drain has so much to do that the log does not move at once, and each request takes so long.
begin_drain() {
	oracle write /dev/mapper/tank 0 6144 "$1" fsync bs=8
	slow "$2"
	kvpoolctl set tank cache_mode=writethrough > /tmp/set 2>&1 &
	setter=$!
	wait_stat tank drain.state running
}
# At this rate a scrub takes hours.
run 0 create -f -o log_size=8M -o destage_idle_ms=86400000 -o scrub_rate=4K -o leg_timeout=3600 tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
expect_stat tank log.on cache

echo "--- nothing to wait for; no such pool, no such kind"
run 0 wait tank
run 0 wait -t scrub,resilver,drain,trim,replace tank
[ ! -s /tmp/err ] || fail "$(cat /tmp/err)"
run 1 wait -t drain nobody; has err '^kvpoolctl: nobody: .+ -- .+'
run 1 trim --wait nobody; has err '^kvpoolctl: nobody: .+ -- .+'
run 2 wait -t drain,sleep tank; has err 'scrub, resilver, drain, trim, replace'
run 2 wait; run 2 trim --wait

echo "--- a scrub: also while it is paused; others do not wait for it"
oracle write /dev/mapper/tank 0 4096 1 fsync bs=32
dmsetup message tank 0 checkpoint
run 0 scrub tank
begin wait -t scrub
run 0 wait -t resilver,drain,trim,replace tank
run 0 scrub --pause tank
sleep 1
still "a paused scrub"
run 0 scrub --resume tank
bar scrub wait -t scrub
killed
expect_stat tank scrub.state running

echo "--- a trim beside it: a wait for several kinds ends when all have ended"
slow 10000000
run 0 trim tank
wait_stat tank trim.state running
begin wait -t scrub,resilver,drain,trim
run 0 wait -t resilver,drain,replace tank
bar trim trim --wait
slow 0
wait_stat tank trim.state finished
sleep 1
still "a scrub, after the trim"
run 0 set tank scrub_rate=0
ends 0
expect_stat tank scrub.state finished
[ ! -s /tmp/waited ] || fail "wait: $(cat /tmp/waited)"

echo "--- a trim: until it ends, or is stopped; a wait that is killed leaves it"
for how in ended stopped; do
	slow 10000000
	run 0 trim tank
	wait_stat tank trim.state running
	begin trim --wait
	killed
	begin wait -t trim
	killed
	expect_stat tank trim.state running
	begin wait -t trim
	[ $how = ended ] || run 0 trim --stop tank
	slow 0
	ends 0
	[ ! -s /tmp/waited ] || fail "wait: $(cat /tmp/waited)"
done
run 0 trim --wait tank; has out 'trim finished: [0-9]+ MiB'
expect_stat tank trim.state finished

echo "--- a drain: until it ends"
begin_drain 2 10000000
begin wait -t drain
run 0 wait -t scrub,resilver,trim,replace tank
bar drain wait -t drain
killed
expect_stat tank drain.state running
begin wait -t drain
slow 0
ends 0
expect_status 0 wait $setter
expect_stat tank log.on legs

echo "--- a drain that is cancelled; without -t"
run 0 set tank cache_mode=writeback
expect_stat tank log.on cache
begin_drain 3 60000000
begin wait
run 0 cancel tank drain
ends 1
grep -q 'the drain was cancelled' /tmp/waited || fail "wait: $(cat /tmp/waited)"
expect_fail wait $setter
slow 0
expect_stat tank log.on cache
run 1 wait -t drain tank; has err 'the drain was cancelled'
expect_eq "$(oracle show /dev/mapper/tank 0 6144)" "0 6144 v3"

echo "--- the pool goes away meanwhile"
run 0 set tank scrub_rate=4K
run 0 scrub tank
begin wait -t scrub
run 0 export tank
ends 1
grep -qE '^kvpoolctl: tank: .+ -- .+' /tmp/waited || fail "wait: $(cat /tmp/waited)"
run 0 import tank
run 0 destroy tank
