#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# dracut sources this about twice a second while the device of the root file system, or another
# that it needs, is missing. rd.retry=SECONDS says how long, with dracut's default of minutes. A
# pool that lacks a leg is tried as it is 25 seconds after a leg of it came, or later if rd.retry
# is given.

ROOTDELAY=$(getarg rd.retry=) /sbin/kvpool-local-block
