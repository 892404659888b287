# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: while memory runs out and requests fail, a mirror starts or refuses, its data stays right, nothing leaks
# timeout: 280
# kernels: debug
# needs: gcc size
# kmsg-allow: I/O error|lost (a?sync )?page write|vmalloc error|kmem_cache_create|page allocation failure
. "$KVPOOL_TOP/tests/vm/lib.sh"
helper oracle; helper leg
load_modules
no_udev
mksim a 96; mksim b 96
legs="mirror 2 /dev/a /dev/b"
line="0 $(sectors_of 64) kvpool - 4 format name=p log_size=8M write_buffer=4M $legs"
dev=/dev/mapper/p
state=/tmp/state
memory="failslab fail_page_alloc"
set_faults() { # CAPABILITY KEY=VALUE...
	local dir=/sys/kernel/debug/$1 kv
	shift
	for kv; do echo "${kv#*=}" > "$dir/${kv%%=*}"; done
}

# Only allocations with a function of the module on the stack fail, in any task. Those of
# the disk below are spared: without memory it fails its writes, and the pool loses it.
text_of() { # MODULE FILE: from, to
	local from bytes
	from=$(cat "/sys/module/$1/sections/.text")
	bytes=$(size -A "$2" | awk '$1 == ".text" { print $2 }')
	printf '%#x %#x\n' "$from" $((from + bytes))
}
read -r from to < <(text_of dm_kvpool "$KVPOOL_BUILD/dm-kvpool.ko")
read -r not_from not_to < <(text_of simdisk "$KVPOOL_BUILD/tests/simdisk/simdisk.ko")
for c in $memory; do
	set_faults "$c" probability=0 verbose=0 ignore-gfp-wait=N times=-1 stacktrace-depth=32 \
		require-start="$from" require-end="$to" reject-start="$not_from" reject-end="$not_to"
done
set_faults fail_page_alloc ignore-gfp-highmem=N min-order=0
set_faults fail_make_request verbose=0 times=-1 probability=0
memory_fails() { # INTERVAL: each INTERVALth allocation; 0: none
	local c
	for c in $memory; do
		set_faults "$c" interval="$1" probability=$(($1 ? 100 : 0))
	done
}
at_exit 'memory_fails 0; set_faults fail_make_request probability=0'

# with_fault N COMMAND...: the Nth allocation of the command fails. Counts in $injected if
# there was one.
with_fault() {
	local n=$1 status=0 c
	shift
	for c in $memory; do set_faults "$c" times=1000; done
	# shellcheck disable=SC2016 # for the inner shell
	bash -c 'echo "$0" > /proc/self/fail-nth; exec "$@"' "$n" "$@" || status=$?
	for c in $memory; do
		injected=$((injected + 1000 - $(cat /sys/kernel/debug/"$c"/times)))
		set_faults "$c" times=-1
	done
	return $status
}

# each_allocation TABLE PREPARE: starts in which one allocation fails, a later one each
# time, up to a start without a failure. PREPARE restores the legs.
each_allocation() {
	local n=1 tries=0 refused=0 injected=1
	while [ $injected -gt 0 ]; do
		injected=0
		$2
		if with_fault $n dmsetup create p --table "$1" 2> /tmp/create.err; then
			dmsetup remove p
		else
			refused=$((refused + 1))
			[ -n "$(last_refusal)" ] || fail "allocation $n: refused without a reason"
			! dmsetup info p > /dev/null 2>&1 || dmsetup remove p
		fi
		tries=$((tries + 1))
		n=$((n + 1 + n / 5))
	done
	echo "$tries starts, $refused refused, the last with $n allocations to go"
	[ $refused -gt 10 ] || fail "only $refused starts met a failed allocation"
}

echo "--- a new pool"
blank() { blkdiscard /dev/a; blkdiscard /dev/b; }
each_allocation "$line" blank

echo "--- a pool with a log to recover"
blank
dmsetup create p --table "$line"
table=$(dmsetup table p)
oracle new $state 12288 1 12288 1
oracle run $state $dev 1 4 60 4
simset all cut_mode random; simset all power_cut now
dmsetup remove --retry p
simset all power_restore 1
for l in a b; do leg save /dev/$l /tmp/$l.saved; done
as_saved() { for l in a b; do leg restore /dev/$l /tmp/$l.saved; done; }
each_allocation "$table" as_saved
as_saved
dmsetup create p --table "$table"
oracle check $state $dev

echo "--- I/O"
# A request that needs a page of the table may fail without memory, with an error. Data is
# never wrong.
run_may_stop() { # SEED PROFILE WHAT
	local status=0
	oracle run $state $dev "$1" 4 60 "$2" || status=$?
	case $status in 0 | 3) ;; *) fail "$3: $status" ;; esac
}
for every in 2 7 29; do
	memory_fails $every
	run_may_stop $every 4 "writes and reads, every ${every}th allocation"
	run_may_stop $((every + 1)) 0 "with discards, every ${every}th allocation"
	for m in checkpoint flush drop_caches "set write_buffer 8M" stats; do
		# shellcheck disable=SC2086 # words
		dmsetup message p 0 $m > /dev/null || echo "refused: $m"
	done
	dmsetup suspend p && dmsetup resume p
	oracle check $state $dev eio-ok keep
	memory_fails 0
	oracle check $state $dev
done

echo "--- three seconds without any memory"
run_may_stop 99 4 "without memory" & pid=$!
wait_more p io.write_blocks
kill -0 $pid || fail "it is over already"
memory_fails 1
sleep 3
memory_fails 0
wait $pid || fail "without memory"
oracle check $state $dev
for l in 0 1; do
	expect_stat p leg.$l.state online
	expect_eq "$(stat_of p leg.$l.err_read)/$(stat_of p leg.$l.err_write)/$(stat_of p leg.$l.err_checksum)" \
		0/0/0 "errors of leg $l"
done
scrub p

echo "--- requests to one leg"
echo 1 > "/sys/block/$(basename "$(readlink -f /dev/a)")/make-it-fail"
set_faults fail_make_request interval=9 probability=100
oracle run $state $dev 5 4 60 4
oracle check $state $dev
set_faults fail_make_request probability=0
expect_stat p leg.1.state online
oracle check $state $dev
dmsetup remove p
dmsetup create p --table "$table" || fail "not started: $(last_refusal)"
oracle check $state $dev
