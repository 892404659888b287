# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the tests of the tool in virtual machines (tests/vm/t/tool-*.sh), which
# source it after tests/vm/lib.sh. Every object that a command prints with -j,
# and every error, is kept; check_json, at the end, holds them all against
# docs/json-schema.md and docs/kvpool.schema.json.

install -m 755 "$KVPOOL_TOP/build/kvpoolctl" /usr/local/sbin/kvpoolctl ||
	fail "not built: kvpoolctl (make tool)"
PATH=/usr/local/sbin:$PATH
_records=/tmp/json-records
# The quickest to start: under emulation it is seconds each time.
_python=$(PATH=/usr/bin:$PATH command -v python3)
: > $_records

# run STATUS ARG...: kvpoolctl ends with STATUS; its output is in /tmp/out and
# /tmp/err.
run() {
	local want=$1 got=0
	shift
	# udev looks at a pool that was written to whenever it comes to that, and a second is all that these wait for it.
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

# refused STATUS CODE PATTERN ARG...: refused with that status and code; the one
# line on standard error says what, why and the mend, and matches; and nothing
# was sent to any disk of simdisk. A pool that runs may write something meanwhile,
# such as what its cache is to have: then once more, when that has ended.
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

# checksums DEV...: of all that lies on them, read past the caches.
checksums() {
	local dev
	for dev; do
		dd if="$dev" bs=1M iflag=direct status=none | md5sum
	done
}

# json PATH [FILE]: the value there in the last object, as JSON; a text bare.
helper json -ljson-c

# check_json: every object printed so far is as docs/json-schema.md says.
check_json() {
	"$_python" -IS "$KVPOOL_TOP/tools/kvpoolctl/tests/schema.py" "$KVPOOL_TOP/docs/json-schema.md" $_records
}

# settle POOL: everything home, so that nothing is written without a reason.
settle() {
	dmsetup message "$1" 0 checkpoint
	udevadm settle
	quiet
}

# quiet: until nothing is written any more; events go to the legs in their own time.
quiet() {
	local before=
	until [ "$before" = "$(_write_counters)" ]; do
		before=$(_write_counters)
		sleep 0.5
	done
}

# stop POOL: as if by a careless hand, without a mark in the labels.
stop() {
	udevadm settle
	dmsetup remove --retry "$1"
}

# cut_power POOL: and its device is removed; the power is back then.
cut_power() {
	simset all power_cut now
	udevadm settle
	dmsetup remove --retry "$1"
	simset all power_restore 1
}
