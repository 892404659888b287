# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: under udev a leg over nbd has ID_FS_TYPE=kvpool_member while it is connected, and its unit imports the pool
# timeout: 300
# kmsg-allow: I/O error
# kernels: 6.12
# long: the turns are full
# turn: tool-udev */*.rules*
# needs: python3 udevadm qemu-storage-daemon
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
modprobe nbd nbds_max=3
at_exit "rmmod nbd"
mkdir -p /etc/udev/rules.d
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
udevadm control --reload
at_exit "rm /etc/udev/rules.d/64-kvpool.rules; udevadm control --reload"
property() { # DEVICE KEY
	udevadm settle
	udevadm info -q property "$1" | sed -n "s/^$2=//p"
}
is_connected() { [ -e "/sys/block/nbd$1/pid" ] && [ "$(cat "/sys/block/nbd$1/size")" != 0 ]; }
is_cut() { [ ! -e "/sys/block/nbd$1/pid" ]; }
listens() { grep -q "0100007F:$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; }
for n in 0 1; do
	truncate -s 32M "/tmp/leg$n"
	qemu-storage-daemon --blockdev "driver=file,node-name=leg,filename=/tmp/leg$n" \
		--nbd-server "addr.type=inet,addr.host=127.0.0.1,addr.port=1080$n,max-connections=0" \
		--export type=nbd,id=leg,node-name=leg,name=leg,writable=on &
	retry 60 listens "1080$n"
done
clients=()
connect() { # NUMBER
	"$_python" "$KVPOOL_TOP/tests/hosts/nbd.py" "/dev/nbd$1" 127.0.0.1 "1080$1" leg &
	clients[$1]=$!
	retry 60 is_connected "$1"
}
cut() { # NUMBER
	kill "${clients[$1]}"
	wait "${clients[$1]}" || true
	retry 60 is_cut "$1"
}

echo "--- connected, and a leg"
connect 0; connect 1
expect_eq "$(property /dev/nbd0 ID_FS_TYPE)" ""
run 0 create -o log_size=4M tank mirror /dev/nbd0 /dev/nbd1
for n in 0 1; do expect_eq "$(property "/dev/nbd$n" ID_FS_TYPE)" kvpool_member "nbd$n"; done
expect_eq "$(property /dev/nbd2 ID_FS_TYPE)" "" "one that is not connected"
stop tank

echo "--- it is cut off, and connected again: its unit imports the pool"
cut 0; cut 1
for n in 0 1; do
	udevadm trigger --settle "/dev/nbd$n"
	expect_eq "$(property "/dev/nbd$n" ID_FS_TYPE)$(property "/dev/nbd$n" SYSTEMD_WANTS)" "" "nbd$n"
done
connect 0; connect 1
numbers=$(lsblk -dno MAJ:MIN /dev/nbd1 | tr -d ' ')
expect_eq "$(property /dev/nbd1 SYSTEMD_WANTS)" "kvpool-import@$numbers.service"
run 0 import --boot "/dev/block/$numbers" --wait 60
expect_eq "$(stat_of tank state)" online
run 0 destroy tank
cut 0; cut 1
