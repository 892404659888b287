# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: some hundred more damaged and forged images
# timeout: 1500
# needs: gcc
# kmsg-allow: I/O error
# long: 400 images
. "$KVPOOL_TOP/tests/vm/hostile.sh"
hostile 10000 400
