# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpool-monitor sees a leg that is pulled, runs a hook, writes the journal, and brings the leg back when it is plugged in
# timeout: 300
# turn: tool-udev */kvpool-monitor/*.c */*.rules*
# kernels: 6.12
# needs: python3 udevadm
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
install -m 755 "$KVPOOL_TOP/build/kvpool-monitor" /usr/local/sbin/kvpool-monitor
load_modules
mkdir -p /etc/udev/rules.d /tmp/hook.d /tmp/state
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
udevadm control --reload
at_exit "rm /etc/udev/rules.d/64-kvpool.rules; udevadm control --reload"
for d in a b; do mksim $d 16; done
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
uuid=$(stat_of tank uuid)
leg=$(stat_of tank leg.1.uuid)

# A journal: it writes each entry to a file of its own.
cat > /tmp/journal.py <<'END'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/tmp/journal")
n = 0
while True:
    entry = s.recv(65536)
    with open(f"/tmp/entry.{n:03}", "wb") as f:
        f.write(entry)
    n += 1
END
"$_python" -IS /tmp/journal.py &
until [ -S /tmp/journal ]; do sleep 0.1; done
cat > /tmp/hook.d/note <<'END'
#!/bin/sh
echo "$1 $2 $KVPOOL_UUID $KVPOOL_PATH" >> /tmp/alarms
END
chmod +x /tmp/hook.d/note

kvpool-monitor --hooks /tmp/hook.d --state /tmp/state --journal /tmp/journal > /tmp/monitor.out 2>&1 &
monitor=$!
entry() { grep -lqs -- "$1" /tmp/entry.*; }
alarm() { grep -qs -- "$1" /tmp/alarms; }

echo "--- it sleeps"
retry 60 entry '^MESSAGE=watching pool tank$'
retry 60 waits_in $monitor poll
echo "--- a leg is pulled out, and a write notices that"
simset b remove 1
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=1 oflag=direct,dsync status=none
retry 60 alarm "^leg_lost tank $leg /dev/b$"
retry 60 entry '^KVPOOL_EVENT=leg_lost$'
file=$(grep -l '^KVPOOL_EVENT=leg_lost$' /tmp/entry.*)
for line in 'PRIORITY=3' 'KVPOOL_POOL=tank' "KVPOOL_POOL_UUID=$uuid" "KVPOOL_UUID=$leg" 'KVPOOL_PATH=/dev/b'; do
	grep -qx "$line" "$file" || fail "no $line in: $(cat "$file")"
done
expect_eq "$(stat_of tank leg.1.state)" faulted
echo "--- it is plugged in, and returns by itself"
simset b power 1
wait_stat tank leg.1.state online 120
retry 60 alarm "^resilver_finished tank $leg "
expect_eq "$(stat_of tank state)" online
scrub tank
kill $monitor
expect_status 0 wait $monitor
# It says on its output what the journal did not take.
expect_fail grep kvpool-monitor: /tmp/monitor.out

echo "--- taken out by order, it stays out: also if it is missing at the next start, and at the one after that"
expect_eq "$(stat_of tank leg.1.by_order)" 0
run 0 offline tank /dev/b
run 0 export tank
simset b remove 1
run 0 import -d /dev/a tank
expect_eq "$(stat_of tank leg.1.state) $(stat_of tank leg.1.by_order)" "missing 1"
run 4 status -j tank; expect_eq "$(json pools.0.vdevs.0.legs.1.by_order)" true
run 0 export tank
simset b power 1
run 0 import -d /dev/a -d /dev/b tank
expect_eq "$(stat_of tank leg.1.state) $(stat_of tank leg.1.by_order)" "offline 1"
expect_eq "$(stat_of tank leg.0.by_order)" 0

echo "--- an SSD of a cache that was lost before a start, and is connected then, comes back as a new one"
run 0 destroy tank
for d in c d; do mksim $d 64; done
run 0 create -f -o log_size=4M tank mirror /dev/a /dev/b cache mirror /dev/c /dev/d
simset d remove 1
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=1 oflag=direct,dsync status=none
wait_stat tank leg.3.state faulted 60
run 0 export tank
simset d power 1
run 0 import -d /dev/a -d /dev/b -d /dev/c -d /dev/d tank
ssd=$(stat_of tank leg.3.uuid)
expect_eq "$(stat_of tank leg.3.state)" faulted
kvpool-monitor --hooks /tmp/hook.d --state /tmp/state --journal /tmp/journal > /tmp/monitor.out 2>&1 &
monitor=$!
wait_stat tank leg.3.state online 120
[ "$(stat_of tank leg.3.uuid)" != "$ssd" ] || fail "the SSD has its old UUID"
retry 60 alarm "^ssd_returned tank .* /dev/d$"
scrub tank
kill $monitor
expect_status 0 wait $monitor
