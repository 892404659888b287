# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What one run of `make check` leaves to the next ones. Sourced; docs/testing.md.
#
# A run has a turn, the count of commits, so that any N runs in a row have every turn of N. KVPOOL_TURN=K chooses
# another one, KVPOOL_TURN=all leaves nothing out.
#
# What the change touches is never left to another run. The change is all commits of the four hours before the newest
# one, and what is not committed; KVPOOL_SINCE=COMMIT says where it begins.

turn=${KVPOOL_TURN:-$(git rev-list --count HEAD 2> /dev/null || echo all)}
case $turn in
all) ;;
*[!0-9]*) echo "KVPOOL_TURN is a number or all" >&2; exit 2 ;;
esac

# its_turn K N: whether what comes in turn K of N is part of this run.
its_turn() {
	[ "$turn" = all ] || [ $((turn % $2)) = $(($1 % $2)) ]
}

# turn_of NAME N: its turn of N, by name alone, so that it stays when others come and go.
turn_of() {
	local sum
	sum=$(cksum <<< "$1")
	echo $((${sum%% *} % $2))
}

# changed_files: those that the change touches, from the top of the tree.
changed_files() {
	local top since newest
	top=$(git rev-parse --show-toplevel 2> /dev/null) || return 0
	newest=$(git log -1 --format=%ct)
	since=${KVPOOL_SINCE:-$(git rev-list -1 --before="$((newest - 4 * 3600))" HEAD)}
	{
		git -C "$top" diff --name-only "${since:-$(git hash-object -t tree /dev/null)}" HEAD
		git -C "$top" status --porcelain | cut -c 4-
	} | sort -u
}
