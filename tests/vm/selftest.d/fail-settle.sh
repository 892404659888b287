# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: fails: udevadm settle fails, and udev has ended
. "$KVPOOL_TOP/tests/vm/lib.sh"

no_udev
mkdir /tmp/bin
printf '#!/bin/sh\nexit 1\n' > /tmp/bin/udevadm
chmod +x /tmp/bin/udevadm
gone() { ! pgrep -x systemd-udevd > /dev/null; }
retry 20 gone
(PATH=/tmp/bin:$PATH; udevadm settle)
