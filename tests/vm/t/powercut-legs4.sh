# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: power cuts while legs leave, return, are replaced and leave again lose nothing acknowledged: a mirror of three with a cache
# timeout: 1800
# needs: gcc
# kmsg-allow: I/O error|lost (a?sync )?page write
# long: 39 power cuts
. "$KVPOOL_TOP/tests/vm/comings.sh"
comings 400 26 2 "mirror 3" "mirror 2"
