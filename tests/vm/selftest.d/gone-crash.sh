# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: crashes the machine, and the rest goes on
. "$KVPOOL_TOP/tests/vm/lib.sh"

sync
echo c > /proc/sysrq-trigger
sleep 100
