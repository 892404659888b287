# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: the end marker never gets into the kernel log
. "$KVPOOL_TOP/tests/vm/lib.sh"

# Out of the way for the harness's mark, back for the next test.
mv /dev/kmsg /dev/kmsg.real
ln -s null /dev/kmsg
setsid sh -c 'sleep 3; mv /dev/kmsg.real /dev/kmsg' &
disown
