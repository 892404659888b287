# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests of tests/vm/t, which begin with:
#
#	# SPDX-License-Identifier: GPL-2.0-only
#	# test: what it proves, in one line
#	# timeout: 60                 seconds; default 120
#	# kernels: 6.1 6.12 debug     default: any
#	# needs: fio etcd             programs; skipped where one is missing
#	# kmsg-allow: REGEX           kernel log lines of I/O errors meant to happen
#	# long: why                   runs only in check-long
#	# host: COMMAND               the runner runs it on the host first, in the work tree
#	# turn: GROUP [FILE]...       it overlaps with others of the group; a change of FILE (a pattern) adds it to a run
#	. "$KVPOOL_TOP/tests/vm/lib.sh"
#
# tests/vm/seconds says how long the test takes, and so how often it comes: see docs/testing.md.
#
# A test fails on the first command that fails. It runs as root in a guest of
# its own kernel; /tmp is writable, and lost afterwards.

set -euo pipefail
# without it the trap misses a failure inside a function or $(...)
set -E
shopt -s inherit_errexit

: "${KVPOOL_TOP:?run this through tests/vm/run}"
KVPOOL_BUILD=${KVPOOL_BUILD:-$KVPOOL_TOP/build/$(uname -r)}
KVPOOL_TEST=${KVPOOL_TEST:-test}

_exit_commands=()
_reached_the_end=
_skipped=
_failed=0

# Verdicts --------------------------------------------------------------------

# _where FRAME: "lib.sh:100 test.sh:10", from FRAME callers up.
_where() {
	local i file where=
	for ((i = $1; i < ${#BASH_SOURCE[@]}; i++)); do
		file=${BASH_SOURCE[i]##*/}
		# the harness gives bash the test itself as /dev/fd/NUMBER
		[[ $file != [0-9]* ]] || file=$KVPOOL_TEST.sh
		where+=" $file:${BASH_LINENO[i - 1]}"
	done
	echo "${where# }"
}

# fail WHY...
fail() {
	trap - ERR
	echo "FAIL $(_where 2): $*" >&2
	exit 1
}

# skip REASON...: ends the test, which counts as skipped.
skip() {
	_skipped=1
	echo "kvpool-skip ${KVPOOL_TOKEN:-} $*"
	exit 0
}

# The harness appends a call of this function to every test.
reached_the_end() {
	_reached_the_end=1
	exit 0
}

# Expectations ----------------------------------------------------------------

# expect_eq GOT EXPECTED [WHAT]
expect_eq() {
	[ "$1" = "$2" ] || fail "${3:-value}: got '$1', expected '$2'"
}

# expect_status STATUS COMMAND...: the command ends with exactly this status.
# (Inside it set -e does not hold, as in any condition: name one command.)
expect_status() {
	local want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] || fail "status $got, expected $want: $*"
}

# expect_fail COMMAND...: the command fails, not by a signal and not because it is
# missing. Use this: under set -e, "! command" asserts nothing.
expect_fail() {
	local got=0
	"$@" || got=$?
	[ "$got" != 0 ] || fail "succeeded, expected failure: $*"
	[ "$got" -lt 126 ] || fail "status $got, expected an ordinary failure: $*"
}

# _end SECONDS: the end of that time, longer on a slow host.
_end() {
	echo $((SECONDS + $1 * ${KVPOOL_SLOWNESS:-1}))
}

# retry SECONDS COMMAND...: repeat the command until it succeeds.
retry() {
	local end
	end=$(_end "$1")
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || fail "never succeeded: $*"
		sleep 0.2
	done
}

# patient SECONDS COMMAND...: the command ends within that time, which is longer on a slow
# host.
patient() {
	local seconds=$(($1 * ${KVPOOL_SLOWNESS:-1}))
	shift
	timeout "$seconds" "$@" || fail "status $? within $seconds s: $*"
}

# waits_in PID FUNCTION [COMMAND]: the process, or a child of it called COMMAND, sleeps in
# the kernel inside a function with FUNCTION in its name. "It still waits" proves nothing
# about a program that has not reached its wait yet: so first retry 60 waits_in PID
# FUNCTION.
waits_in() {
	local pid
	for pid in "$1" $(pgrep -P "$1" || :); do
		[ -z "${3:-}" ] || [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = "$3" ] || continue
		! grep -q " [^ ]*$2" "/proc/$pid/stack" 2> /dev/null || return 0
	done
	return 1
}

# asks_disk PID: the process waits for the answer of a block device.
asks_disk() {
	waits_in "$1" blkdev_
}

# end_fio PID LOG: end a fio that would run for ever, and check that it has seen no error.
end_fio() {
	kill -0 "$1" || fail "fio ended by itself: $(cat "$2")"
	# fio ignores signals until it is at work
	kill -INT "$1"
	wait "$1" || [ $? -le 130 ] || fail "fio: $(cat "$2")"
	grep -q 'err= 0' "$2" || fail "fio: $(cat "$2")" # printed elsewhere: err
	! grep -qE 'verify:|rror' "$2" || fail "fio: $(cat "$2")"
}

# Setting up ------------------------------------------------------------------

# at_exit COMMAND: run the command when the test ends, the last one first. Background
# jobs, mounts, swap and device-mapper devices are removed before, by themselves; loop
# devices and the modules afterwards.
at_exit() {
	_exit_commands+=("$*")
}

# load_modules [PARAMETER]...: load dm-kvpool with the parameters, and simdisk where it is
# built.
load_modules() {
	local ko dep
	for ko in simdisk dm-kvpool; do
		ko=$KVPOOL_BUILD/$ko.ko
		[ -e "$ko" ] || { [ "${ko##*/}" = simdisk.ko ] && continue; fail "not built: $ko"; }
		for dep in $(modinfo -F depends "$ko" | tr , ' '); do
			[ -d "/sys/module/${dep//-/_}" ] || modprobe "$dep"
		done
		case $ko in
		*/dm-kvpool.ko) insmod "$ko" "$@" ;;
		*) insmod "$ko" ;;
		esac
	done
}

# mknull NAME SIZE_MIB [KEY=VALUE]...: make /dev/NAME, kept in RAM by null_blk. KEY is an
# attribute of null_blk's configfs folder.
mknull() {
	local name=$1 dir=/sys/kernel/config/nullb/$1 attr
	modprobe null_blk nr_devices=0
	mkdir "$dir"
	at_exit "rmdir $dir"
	echo "$2" > "$dir/size"
	echo 1 > "$dir/memory_backed"
	echo 4096 > "$dir/blocksize"
	shift 2
	for attr; do
		echo "${attr#*=}" > "$dir/${attr%%=*}"
	done
	echo 1 > "$dir/power"
	at_exit "rm -f /dev/$name"
	# older kernels name the device by number
	[ -b "/dev/$name" ] || ln -s "nullb$(cat "$dir/index")" "/dev/$name"
}

# Disks that lose power, and pools on them -------------------------------------

_sim=/sys/kernel/config/simdisk

# mksim NAME SIZE_MIB [KEY=VALUE]...: make a new, blank /dev/NAME on simdisk. KEY is an
# attribute of its folder (tests/simdisk/README.md).
mksim() {
	local dir=$_sim/$1 attr
	mkdir "$dir"
	at_exit "echo 1 > $_sim/power_restore; rmdir $dir"
	echo "$2" > "$dir/size_mib"
	shift 2
	for attr; do
		echo "${attr#*=}" > "$dir/${attr%%=*}"
	done
	echo 1 > "$dir/power"
}

# simset NAME KEY VALUE..., simget NAME KEY. NAME "all" means the power of all disks.
simset() {
	local name=$1 key=$2
	shift 2
	[ "$name" = all ] && name= || name=/$name
	echo "$*" > "$_sim$name/$key"
}
simget() {
	if [ "$1" = all ]; then cat "$_sim/$2"; else cat "$_sim/$1/$2"; fi
}

# simstat NAME KEY: print one of the counters.
simstat() {
	awk -v k="$2" '$1 == k { print $2 }' "$_sim/$1/stats"
}

# udevadm ARG...: as the program, but a settle that fails goes on waiting. It may lose its connection to udev
# ("Failed to wait for daemon to reply: Broken pipe"). Without a udev it would succeed at once: a test whose udev has
# ended is told so.
udevadm() {
	local status=0
	command udevadm "$@" || status=$?
	[ "$status" != 0 ] && [ "${1:-}" = settle ] || return "$status"
	echo "udevadm $*: status $status"
	pgrep -x systemd-udevd > /dev/null || fail "udev has ended: $(dmesg | tail -n 20)"
	command udevadm "$@"
}

# no_udev: stop udev, which probes every new device. That costs more time than most tests
# have. It also reads a device while its power is off, and keeps it from being removed.
no_udev() {
	local i
	# A busy udev does not take the order ("Resource temporarily unavailable").
	for ((i = 0; i < 60; i++)); do
		! udevadm control --exit || break
		sleep 1
	done
	[ "$i" -lt 60 ] || fail "udev does not take the order to end"
	# A new udev does not know what it missed. With a stopped queue it would make up
	# for it later, during other tests.
	at_exit "/lib/systemd/systemd-udevd --daemon"
	export DM_DISABLE_UDEV=1
}

# helper NAME [LIBRARY]...: build tests/vm/NAME.c, once for all machines and runs, and
# define a command of that name.
helper() {
	local src=$KVPOOL_TOP/tests/vm/$1.c sum bin
	sum=$(cat "$src" "$KVPOOL_TOP/include/kvpool_format.h" | sha256sum | cut -c1-16)
	bin=${KVPOOL_OUT:-/tmp}/$1.$sum
	if [ ! -x "$bin" ]; then
		gcc -O2 -Wall -pthread -o "/tmp/$1.new" "$src" "${@:2}"
		cp "/tmp/$1.new" "$bin.$$"
		mv "$bin.$$" "$bin"
	fi
	cp "$bin" "/tmp/$1.bin"
	eval "$1() { /tmp/$1.bin \"\$@\"; }"
}

# stat_of POOL KEY: a value of the pool's message "stats".
stat_of() {
	local all
	all=$(dmsetup message "$1" 0 stats)
	sed -n "s/^$2=//p" <<< "$all"
}

# expect_stat POOL KEY VALUE
expect_stat() {
	expect_eq "$(stat_of "$1" "$2")" "$3" "$1: $2"
}

# wait_stat POOL KEY VALUE [SECONDS]: wait until the key has that value.
wait_stat() {
	local end
	end=$(_end "${4:-60}")
	until [ "$(stat_of "$1" "$2")" = "$3" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "$1: $2 is '$(stat_of "$1" "$2")', never became '$3'"
		sleep 0.1
	done
}

# stat_over POOL KEY VALUE: the key's value is more than VALUE.
stat_over() {
	[ "$(stat_of "$1" "$2")" -gt "$3" ]
}

# wait_more POOL KEY [N]: wait until the counter has grown by N, or 1, from now on. A load
# that was started may not be at work yet, or may have ended.
wait_more() {
	local now
	now=$(stat_of "$1" "$2")
	retry 60 stat_over "$1" "$2" $((now + ${3:-1} - 1))
}

# scrub POOL [HEALED [UNREPAIRED]]: run a whole scrub, and compare its results.
scrub() {
	dmsetup message "$1" 0 scrub start
	wait_stat "$1" scrub.state finished 120
	expect_stat "$1" scrub.healed "${2:-0}"
	expect_stat "$1" scrub.unrepaired "${3:-0}"
}

last_refusal() {
	cat /sys/module/dm_kvpool/parameters/last_refusal
}

# expect_refusal PATTERN COMMAND...: the command fails, and last_refusal has three parts:
# what, why, mend. The whole text matches the pattern.
expect_refusal() {
	local pattern=$1 got
	shift
	expect_fail "$@" 2> /tmp/refused
	got=$(last_refusal)
	echo "refused: $got"
	[[ $got == *?' | '?*' | '?* ]] || fail "refusal is not 'what | why | mend': $got"
	grep -Eiq -- "$pattern" <<< "$got" || fail "refusal does not match '$pattern': $got"
}

# start POOL TABLE: a failed start leaves no device.
start() {
	dmsetup create "$1" --table "$2" && return 0
	[ ! -e "/dev/mapper/$1" ] || dmsetup remove --retry "$1"
	return 1
}

# sectors_of MIB
sectors_of() {
	echo $(($1 * 2048))
}

# event_count POOL NAME: number of events of that name in the ring.
event_count() {
	local all
	all=$(dmsetup message "$1" 0 events)
	awk -v n="$2" '$3 == n { c++ } END { print c + 0 }' <<< "$all"
}

# Cleaning up, and finding devices that cannot be removed -----------------------

_complain() {
	echo "FAIL $KVPOOL_TEST, cleaning up: $*" >&2
	_dirty=1
}

_unmount_all() {
	local source target result=0
	swapoff -a
	while read -r source target; do
		case $source in
		/dev/root) ;;
		/dev/*) umount "$target" || result=1 ;;
		esac
	done < <(findmnt -rno SOURCE,TARGET | tac)
	return "$result"
}

# Devices stack, so removal takes several rounds.
_remove_dm_devices() {
	local round name
	[ -d /sys/module/dm_mod ] || return 0
	for round in 1 2 3 4 5; do
		[ "$round" = 1 ] || sleep 0.5
		[ "$(dmsetup ls)" != "No devices found" ] || return 0
		while read -r name _; do
			dmsetup remove --retry "$name"
		done < <(dmsetup ls)
	done
	[ "$(dmsetup ls)" = "No devices found" ]
}

_unload() { # MODULE
	[ -d "/sys/module/$1" ] || return 0
	udevadm settle # udev may hold a disk that is gone open
	rmmod "$1"
}

# The scan never reports objects younger than five seconds. Its results go to the kernel
# log, which fails the test.
_scan_for_leaks() {
	local kmemleak=/sys/kernel/debug/kmemleak
	[ -e "$kmemleak" ] || return 0
	sleep 6
	echo scan > "$kmemleak"
	cat "$kmemleak"
	echo clear > "$kmemleak"
}

_clean_up() {
	local i
	# shellcheck disable=SC2046 # a list
	kill $(jobs -p) 2>/dev/null
	_unmount_all || _complain "cannot unmount"
	_remove_dm_devices || _complain "cannot remove $(dmsetup ls)"
	for ((i = ${#_exit_commands[@]} - 1; i >= 0; i--)); do
		eval "${_exit_commands[i]}" || _complain "${_exit_commands[i]}"
	done
	losetup -D || _complain "cannot detach loop devices"
	_unload dm_kvpool || _complain "cannot unload dm-kvpool"
	_unload simdisk || _complain "cannot unload simdisk"
	_scan_for_leaks
}

_on_exit() {
	local status=$?
	trap - ERR EXIT
	set +e
	_dirty=
	_clean_up
	[ -z "$_dirty" ] || exit 99
	if [ "$status" = 0 ] && [ -z "$_skipped" ]; then
		[ -n "$_reached_the_end" ] || { echo "FAIL $KVPOOL_TEST: ended early" >&2; exit 98; }
		echo "kvpool-pass ${KVPOOL_TOKEN:-}"
	fi
	exit "$status"
}

# $? is kept first: $(_where) would change it
trap '_failed=$?; echo "FAIL $(_where 1): $BASH_COMMAND (status $_failed)" >&2' ERR
trap _on_exit EXIT
