#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# dracut sources this about twice a second while the device of the root file system, or another
# that it needs, is missing. rd.retry=SECONDS says how long, with dracut's default of minutes. A
# pool that lacks a leg is tried as it is 25 seconds after the first look, or later if rd.retry
# is given. dracut counts its rounds: the last one waits until no import is left.

# shellcheck disable=SC2154 # dracut sets these
if [ "${main_loop:-0}" -ge "${RDRETRY:-1}" ]; then kvpool_last=yes; else kvpool_last=no; fi
KVPOOL_LAST=$kvpool_last ROOTDELAY=$(getarg rd.retry=) /sbin/kvpool-local-block
