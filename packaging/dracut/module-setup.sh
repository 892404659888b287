#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Puts into an initramfs of dracut what starts pools: the tool, the module, the ID of this host,
# and the scripts that initramfs-tools runs, too. The installation fills in the path of kvpoolctl.

# is_pool MAJOR:MINOR
is_pool() {
	grep -qs '^KVPOOL-' "/sys/dev/block/$1/dm/uuid"
}

# An image for this host alone has it if a file system that the boot needs lies on a pool.
check() {
	require_binaries @SBIN_DIR@/kvpoolctl || return 1
	# shellcheck disable=SC2154 # dracut sets these
	if [[ $hostonly ]] || [[ $mount_needs ]]; then
		for_each_host_dev_and_slaves is_pool || return 255
	fi
	return 0
}

# its udev rules make the nodes in /dev/mapper
depends() {
	echo dm
}

# A kernel that the module was not built for yet has none. libcrc32c asks for the others by
# alias, so no list of modules that depend on others has them.
installkernel() {
	hostonly='' instmods -c -s dm_kvpool
	hostonly='' instmods crc32c_generic crc32c_intel
	return 0
}

install() {
	inst_multiple @SBIN_DIR@/kvpoolctl cat grep mkdir modprobe sed sleep
	# shellcheck disable=SC2154 # dracut sets it
	inst_script "$moddir/local-block" /sbin/kvpool-local-block
	inst_script "$moddir/panic" /sbin/kvpool-panic
	inst_hook initqueue/settled 50 "$moddir/kvpool-start.sh"
	inst_hook emergency 50 "$moddir/kvpool-emergency.sh"
	# Labels name the host that has a pool, and the host is the same before and after the root
	# is mounted.
	if grep -Eqsx '[0-9a-f]{32}' /etc/machine-id; then
		inst_simple /etc/machine-id
	fi
	dracut_need_initqueue
}
