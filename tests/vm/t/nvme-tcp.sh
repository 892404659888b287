# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool is exported over NVMe/TCP, and a pool has legs over NVMe/TCP: one is cut off under load, and returns
# kernels: 6.12
# timeout: 300
# long: the turns are full
# needs: gcc python3 fio
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/legs.sh"
for m in nvmet-tcp nvme-tcp; do modprobe $m || skip "this kernel has no $m"; done
mksim a 48; mksim b 48
nvmet=/sys/kernel/config/nvmet
port=$nvmet/ports/1
mkdir $port
at_exit "rmdir $port"
echo tcp > $port/addr_trtype; echo ipv4 > $port/addr_adrfam
echo 127.0.0.1 > $port/addr_traddr; echo 4420 > $port/addr_trsvcid

# offer NAME DEV: as a subsystem of that name.
offer() {
	local s=$nvmet/subsystems/$1
	mkdir "$s"; echo 1 > "$s/attr_allow_any_host"
	mkdir "$s/namespaces/1"
	echo -n "$2" > "$s/namespaces/1/device_path"
	echo 1 > "$s/namespaces/1/enable"
	ln -s "$s" "$port/subsystems/$1"
	at_exit "withdraw $1"
}
withdraw() {
	local s=$nvmet/subsystems/$1
	[ -d "$s" ] || return 0
	rm -f "$port/subsystems/$1"
	echo 0 > "$s/namespaces/1/enable"
	rmdir "$s/namespaces/1" "$s"
}
# connect NAME [OPTIONS]: sets disk to its device. The controller is given up after two seconds without a target.
connect() {
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=$1,reconnect_delay=1,ctrl_loss_tmo=2,fast_io_fail_tmo=1" \
		> /dev/nvme-fabrics
	retry 60 connected "$1"
	disk=/dev/$(connected "$1")
	retry 60 test -b "$disk"
}
# connected NAME: the name of its block device.
connected() {
	local d
	for d in /sys/block/nvme*; do
		# nvme0c0n1 is a path to nvme0n1
		[[ ${d##*/} =~ ^nvme[0-9]+n[0-9]+$ ]] || continue
		[ "$(cat "$d/device/subsysnqn")" != "$1" ] || { basename "$d"; return 0; }
	done
	return 1
}
disconnect_all() {
	local c
	for c in /sys/class/nvme/nvme*; do [ ! -e "$c/delete_controller" ] || echo 1 > "$c/delete_controller"; done
}
at_exit disconnect_all

echo "--- a pool exported over NVMe/TCP"
run 0 create -f -o log_size=4M -o ram_cache=0 tank mirror /dev/a /dev/b
offer kvpool-tank $dev
connect kvpool-tank
expect_eq "$(blockdev --getss "$disk") $(blockdev --getsize64 "$disk")" "4096 $(blockdev --getsize64 $dev)"
oracle write "$disk" 0 $blocks 1 fsync bs=32
simset b faults "add write_error 0 98304"
oracle write "$disk" 0 1024 2 fsync bs=32
wait_stat tank state degraded
simset b faults clear
run 0 online --wait tank /dev/b
wait_stat tank state online
expect_eq "$(oracle show "$disk" 0 $blocks)" "0 1024 v2"$'\n'"1024 $((blocks - 1024)) v1" "over NVMe/TCP"
expect_eq "$(oracle show $dev 0 $blocks)" "0 1024 v2"$'\n'"1024 $((blocks - 1024)) v1" "on the pool"
written=$(stat_of tank written_blocks)
blkdiscard -l 4M "$disk"
dmsetup message tank 0 checkpoint
[ "$(stat_of tank written_blocks)" -le $((written - 1024)) ] || fail "the discard did not pass NVMe/TCP"
refused 3 busy 'open' export tank
disconnect_all
withdraw kvpool-tank
run 0 export tank
run 0 import tank
expect_eq "$(oracle show $dev 1024 $((blocks - 1024)))" "1024 $((blocks - 1024)) v1" "after a restart"
scrub tank
run 0 destroy tank

echo "--- legs over NVMe/TCP: the target of one is gone under load, and comes back"
offer leg-a /dev/a; offer leg-b /dev/b
connect leg-a; a=$disk
connect leg-b; b=$disk
run 0 create -f -o log_size=4M -o ram_cache=0 -o leg_timeout=20 tank mirror "$a" "$b"
oracle write $dev 0 $blocks 1 fsync bs=32
begin_load
withdraw leg-b
wait_stat tank state degraded 120
oracle write $dev 0 1024 2 fsync bs=32
expect_eq "$(oracle show $dev 0 $blocks)" "0 1024 v2"$'\n'"1024 $((blocks - 1024)) v1" "without the leg"
wait_more tank io.write_blocks 256
is_gone() { ! connected leg-b > /dev/null; }
retry 120 is_gone
offer leg-b /dev/b
connect leg-b
run 0 online --wait tank "$disk"
wait_stat tank state online
end_fio "$fio" /tmp/fio.log
