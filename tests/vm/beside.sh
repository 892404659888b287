# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of the udev rule beside those of LVM and mdadm. Sourced instead of lib.sh. A disk is on simdisk, and has a
# name by which the rules take it for a real one: vdk, vdl...
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
modprobe raid1

# The rules have the paths of an installation. What scripts/setup has unpacked lies elsewhere.
_rules=/etc/udev/rules.d
mkdir -p $_rules /etc/lvm
for _tool in lvm mdadm; do
	install -m 755 "$(command -v $_tool)" /usr/local/sbin/$_tool
	at_exit "rm /usr/local/sbin/$_tool"
done
for _name in 01-md-raid-creating 56-lvm 63-md-raid-arrays 64-md-raid-assembly 69-lvm; do
	[ ! -e /lib/udev/rules.d/$_name.rules ] || continue
	_file=$(find "$KVPOOL_CACHE/tools" -path "*/udev/rules.d/$_name.rules" -print -quit)
	[ -n "$_file" ] || skip "no $_name.rules: run scripts/setup vm"
	sed 's,/sbin/\(lvm\|mdadm\) ,/usr/local/sbin/\1 ,' "$_file" > $_rules/$_name.rules
	at_exit "rm $_rules/$_name.rules"
done
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > $_rules/64-kvpool.rules
at_exit "rm $_rules/64-kvpool.rules; udevadm control --reload; rm -rf /run/lvm /run/mdadm /etc/lvm/lvm.conf"
cat > /etc/lvm/lvm.conf <<-END
	activation { monitoring=0 }
	backup { backup=0 archive=0 }
	global { use_lvmpolld=0 }
END
export LVM_SUPPRESS_FD_WARNINGS=1
udevadm control --reload

# look DEVICE: what udev knows of it, in of[], once all events are done.
declare -A of
look() {
	local line all
	udevadm settle
	all=$(udevadm info -q property "$1")
	of=()
	while IFS= read -r line; do of[${line%%=*}]=${line#*=}; done <<< "$all"
}

# is_leg DEVICE POOL: for udev, and its unit is to start that pool.
is_leg() {
	local numbers
	look "$1"
	numbers=${of[MAJOR]}:${of[MINOR]}
	expect_eq "${of[ID_FS_TYPE]:-} ${of[ID_FS_LABEL]:-} ${of[SYSTEMD_ALIAS]:-}" \
		"kvpool_member $2 /dev/block/$numbers" "$1"
	[[ " ${of[SYSTEMD_WANTS]:-} " == *" kvpool-import@$numbers.service "* ]] ||
		fail "$1 starts '${of[SYSTEMD_WANTS]:-}'"
}

# no_leg DEVICE TYPE: udev takes it for that, and it starts no pool.
no_leg() {
	look "$1"
	expect_eq "${of[ID_FS_TYPE]:-}" "$2" "$1"
	[[ ${of[SYSTEMD_WANTS]:-} != *kvpool* ]] || fail "$1 starts '${of[SYSTEMD_WANTS]}'"
}

# starts DEVICE POOL: the command of the leg's unit starts its pool.
starts() {
	look "$1"
	kvpoolctl import --boot "/dev/block/${of[MAJOR]}:${of[MINOR]}" --wait 60 > /tmp/out
	has out "^imported pool $2 "
}

# unplug NAME..., plug NAME...: disks go and appear, as at a boot: what LVM noted of those that appeared is gone.
unplug() {
	local name
	udevadm settle
	for name; do simset "$name" power 0; done
	udevadm settle
	rm -rf /run/lvm/*_online
}
plug() {
	local name
	for name; do simset "$name" power 1; done
	udevadm settle
}

kernel_name() { basename "$(realpath "$1")"; } # DEVICE
below() { find "/sys/class/block/$(kernel_name "$1")/slaves" -mindepth 1 -printf '%f\n' | xargs; } # DEVICE
there() { udevadm settle; [ -b "$1" ]; } # DEVICE
volumes() { lvm pvs --noheadings -o pv_name | xargs; } # the PVs that LVM finds
arrays() { sed -n 's/^\(md[^ ]*\) :.*/\1/p' /proc/mdstat | xargs; }
assembled() { udevadm settle; grep -q '^md.* : active' /proc/mdstat; }
# The last event of a disk may have mdadm assemble its array once more.
all_stopped() { udevadm settle; mdadm --stop --scan --quiet; udevadm settle; [ -z "$(arrays)" ]; }
at_exit "mdadm --stop --scan --quiet"
