# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: passes: udevadm settle loses its connection once, and waits once more
. "$KVPOOL_TOP/tests/vm/lib.sh"

mkdir /tmp/bin
cat > /tmp/bin/udevadm <<'END'
#!/bin/sh
echo "$*" >> /tmp/settled
[ "$(wc -l < /tmp/settled)" != 1 ] || { echo 'Failed to wait for daemon to reply: Broken pipe' >&2; exit 1; }
exec /bin/udevadm "$@"
END
chmod +x /tmp/bin/udevadm
PATH=/tmp/bin:$PATH
udevadm settle
expect_eq "$(wc -l < /tmp/settled)" 2 "calls of udevadm"
