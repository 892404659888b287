# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: every KUnit suite of tests/kunit passes inside a kernel with KASAN and lockdep
# kernels: debug
# timeout: 300
. "$KVPOOL_TOP/tests/vm/lib.sh"

shopt -s nullglob
modules=("$KVPOOL_BUILD"/tests/kunit/*.ko)
[ ${#modules[@]} -gt 0 ] || skip "no KUnit module is built"

modprobe kunit
for ko in "${modules[@]}"; do
	for dep in $(modinfo -F depends "$ko" | tr , ' '); do
		[ -d "/sys/module/${dep//-/_}" ] || modprobe "$dep" || insmod "$KVPOOL_BUILD/$dep.ko"
	done
	insmod "$ko"
	# the results vanish with the module
	results=(/sys/kernel/debug/kunit/*/results)
	[ ${#results[@]} -gt 0 ] || fail "no suite in ${ko##*/}"
	cat "${results[@]}"
	! grep -hE '^ *not ok' "${results[@]}" || fail "a test of ${ko##*/} failed"
	for suite in "${results[@]}"; do
		grep -qE '^ok [0-9]+ ' "$suite" || fail "no verdict in $suite"
	done
	rmmod "$(basename "$ko" .ko)"
done
