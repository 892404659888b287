# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: an SSD of a cache dies, and only a spare that does not rotate takes its place; one that was missing comes back
# timeout: 300
# turn: legs-replaced */pool/spare.c */pool/cachereplace.c *kvpoolctl/spare_*.c *kvpoolctl/returned.c */kvpool-monitor/*.c
# kernels: 6.12
# needs: python3 udevadm
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
install -m 755 "$KVPOOL_TOP/build/kvpool-monitor" /usr/local/sbin/kvpool-monitor
load_modules
mkdir -p /etc/udev/rules.d /tmp/state
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
udevadm control --reload
at_exit "rm /etc/udev/rules.d/64-kvpool.rules; udevadm control --reload"
for d in a b h; do mksim $d 80 rotational=1; done
for d in x y; do mksim $d 80; done
mksim s 96

ssd() { run 0 status -j tank; expect_eq "$(json "pools.0.cache.legs.$1.path")" "$2"; }

run 0 create -o log_size=4M tank mirror /dev/a /dev/b cache mirror /dev/x /dev/y spare /dev/h /dev/s
run 0 status -j tank
expect_eq "$(json pools.0.spares | grep -o '"rotates": *[a-z]*' | grep -o '[a-z]*$' | sort | xargs)" "false true"
dd if=/dev/urandom of=/dev/mapper/tank bs=1M count=4 oflag=direct status=none
sum=$(dd if=/dev/mapper/tank bs=1M count=4 iflag=direct status=none | sha256sum)

echo "--- the disk, not the SSD, is for a disk; the SSD, which is larger, for the cache"
run 0 replace -n -j --spare tank /dev/b
expect_eq "$(json plan.new)" /dev/h
run 0 replace -n -j --spare tank /dev/x
expect_eq "$(json plan.new)" /dev/s

echo "--- an SSD is pulled out: the monitor takes the spare for it"
udevadm settle
kvpool-monitor --state /tmp/state --spare-after 3 > /tmp/monitor.out 2>&1 &
monitor=$!
simset y remove 1
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=64 seek=1500 oflag=direct,dsync status=none
taken() { grep -q '"/dev/s"' <<< "$(kvpoolctl status -j tank)"; }
retry 120 taken
wait_stat tank state online 120
ssd 1 /dev/s
kill $monitor
wait $monitor || true
expect_eq "$(dd if=/dev/mapper/tank bs=1M count=4 iflag=direct status=none | sha256sum)" "$sum" "contents"
# the disk that is left waits for no SSD
refused 3 refused 'free and large enough, and does not rotate' replace --spare tank /dev/x
run 0 replace --spare --wait tank /dev/b
run 0 status -j tank
expect_eq "$(json pools.0.spares)" "[]"
expect_eq "$(stat_of tank state)" online
scrub tank

echo "--- an SSD that was missing at the start is plugged in: the monitor brings it back, empty"
run 0 export tank
simset x remove 1
run 0 import tank
run 4 status -j tank
uuid=$(json pools.0.cache.legs.0.uuid)
expect_eq "$(json pools.0.cache.legs.0.state)" missing
kvpool-monitor --state /tmp/state --spare-after 0 > /tmp/monitor.out 2>&1 &
monitor=$!
simset x power 1
wait_stat tank state online 120
kill $monitor
wait $monitor || true
ssd 0 /dev/x
[ "$(json pools.0.cache.legs.0.uuid)" != "$uuid" ] || fail 'it has its old UUID'
expect_eq "$(dd if=/dev/mapper/tank bs=1M count=4 iflag=direct status=none | sha256sum)" "$sum" "contents"
scrub tank
run 0 destroy tank
check_json
