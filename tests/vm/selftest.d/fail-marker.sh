# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: the end marker never gets into the kernel log
. "$KVPOOL_TOP/tests/vm/lib.sh"

# hides /dev/kmsg from the harness's mark; the next test has it back
mv /dev/kmsg /dev/kmsg.real
ln -s null /dev/kmsg
setsid sh -c 'sleep 3; mv /dev/kmsg.real /dev/kmsg' &
disown
