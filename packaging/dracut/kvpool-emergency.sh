#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# dracut sources this before it starts a shell. It prints what kept pools from starting.

/sbin/kvpool-panic
