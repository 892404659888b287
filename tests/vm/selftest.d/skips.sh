# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: is skipped, with its reason
. "$KVPOOL_TOP/tests/vm/lib.sh"

skip no such hardware
