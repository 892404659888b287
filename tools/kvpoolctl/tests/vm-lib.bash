# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests of the tool in virtual machines (tests/vm/t/tool-*.sh), which source it
# after tests/vm/lib.sh. It keeps every object that a command prints with -j, and every
# error. check_json, at the end, checks all of them against docs/json-schema.md and
# docs/kvpool.schema.json.

install -m 755 "$KVPOOL_TOP/build/kvpoolctl" /usr/local/sbin/kvpoolctl ||
	fail "not built: kvpoolctl (make tool)"
PATH=/usr/local/sbin:$PATH
_records=/tmp/json-records
# The interpreter that starts fastest: under emulation each start takes seconds.
_python=$(PATH=/usr/bin:$PATH command -v python3)
: > $_records

# run STATUS ARG...: kvpoolctl ends with STATUS; its output is in /tmp/out and
# /tmp/err.
run() {
	local want=$1 got=0
	shift
	# udev probes a written pool at some later time; these commands wait only a second
	# for it.
	case " $* " in
	*' destroy '* | *' export '*) udevadm settle ;;
	esac
	kvpoolctl "$@" > /tmp/out 2> /tmp/err || got=$?
	if [ "$got" != "$want" ]; then
		cat /tmp/out /tmp/err
		fail "kvpoolctl $*: status $got, expected $want"
	fi
	case " $* " in
	*' -j '*) _record "$got" "$*" ;;
	esac
}

_record() { # STATUS COMMAND
	local line
	[ -s /tmp/out ] || fail "kvpoolctl $2 printed no object"
	while IFS= read -r line; do
		printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$line" "$(cat /tmp/err)" >> $_records
	done < /tmp/out
}

# has out|err PATTERN, hasnt out|err PATTERN: what the last run printed.
has() {
	grep -Eq -- "$2" "/tmp/$1" || { cat "/tmp/$1"; fail "no '$2' in std$1"; }
}
hasnt() {
	grep -Eq -- "$2" "/tmp/$1" || return 0
	cat "/tmp/$1"
	fail "'$2' in std$1"
}

# refused STATUS CODE PATTERN ARG...: the command is refused with that status and code.
# The one line on standard error has reason and mend, and matches. No disk of simdisk was
# written. A running pool may write meanwhile, for instance what its cache admits: then it
# is tried once more, when that has ended.
refused() {
	local status=$1 code=$2 pattern=$3 before after
	shift 3
	for _ in 1 2 3; do
		before=$(_write_counters)
		run "$status" -j "$@"
		after=$(_write_counters)
		[ "$after" != "$before" ] || break
		echo "(something was written during the refused 'kvpoolctl $*')"
		quiet
	done
	[ "$(wc -l < /tmp/err)" = 1 ] || { cat /tmp/err; fail "kvpoolctl $*: not one line on stderr"; }
	grep -Eq '^kvpoolctl: .+: .+ -- .+' /tmp/err || { cat /tmp/err; fail "kvpoolctl $*: not what, why, mend"; }
	has err "$pattern"
	has out "^\{\"version\":1,\"error\":\{\"code\":\"$code\","
	expect_eq "$after" "$before" "writes by the refused 'kvpoolctl $*'"
}

_write_counters() {
	awk '/^(writes|discards|write_zeroes) / { n += $2 } END { print n + 0 }' \
		/sys/kernel/config/simdisk/*/stats
}

# checksums DEV...: of all their bytes, read past the caches.
checksums() {
	local dev
	for dev; do
		dd if="$dev" bs=1M iflag=direct status=none | md5sum
	done
}

# json PATH [FILE]: the value at PATH in the last object, as JSON; a text without quotes.
helper json -ljson-c

# check_json: every object printed so far matches docs/json-schema.md.
check_json() {
	"$_python" -IS "$KVPOOL_TOP/tools/kvpoolctl/tests/schema.py" "$KVPOOL_TOP/docs/json-schema.md" $_records
}

# settle POOL: write everything home, so that nothing is written later without a cause.
settle() {
	dmsetup message "$1" 0 checkpoint
	udevadm settle
	quiet
}

# quiet: wait until nothing is written; events reach the legs in their own time.
quiet() {
	local before=
	until [ "$before" = "$(_write_counters)" ]; do
		before=$(_write_counters)
		sleep 0.5
	done
}

# stop POOL: remove it without a mark in the labels, as a careless user would.
stop() {
	udevadm settle
	dmsetup remove --retry "$1"
}

# cut_power POOL: cut the power, remove the device, and restore the power.
cut_power() {
	simset all power_cut now
	udevadm settle
	dmsetup remove --retry "$1"
	simset all power_restore 1
}
