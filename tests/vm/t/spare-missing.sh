# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a spare that has gone is missed by status, metrics, import and kvpool-monitor, until it is back or removed
# timeout: 300
# long: the turns are full
# kernels: 6.12
# needs: python3 udevadm
# kmsg-allow: I/O error
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
install -m 755 "$KVPOOL_TOP/build/kvpool-monitor" /usr/local/sbin/kvpool-monitor
load_modules
mkdir -p /etc/udev/rules.d /tmp/state /tmp/hook.d
sed 's|@SBIN_DIR@|/usr/local/sbin|' "$KVPOOL_TOP/packaging/64-kvpool.rules" > /etc/udev/rules.d/64-kvpool.rules
udevadm control --reload
at_exit "rm /etc/udev/rules.d/64-kvpool.rules; udevadm control --reload"
for d in a b c d; do mksim $d 16; done

# uuid_of DEV: of a spare.
uuid_of() {
	run 0 status -j tank
	json pools.0.spares | tr -d ' \n' | grep -o "$1\",\"uuid\":\"[0-9a-f-]*" | cut -d '"' -f 5
}
all_there() {
	run 0 status -x; has out 'all pools are healthy'
	run 0 metrics; hasnt out '^kvpool_spare_missing\{'
}

echo "--- one is pulled out, and comes back"
run 0 create -o log_size=4M tank mirror /dev/a /dev/b spare /dev/d
run 0 add tank spare /dev/c
d=$(uuid_of /dev/d)
all_there
simset d remove 1
run 0 status tank; has out "^ *$d +missing"; has out "advice: spare $d is missing: .*kvpoolctl remove tank $d"
run 0 status -x; has out "spare $d is missing"
run 0 metrics; has out "^kvpool_spare_missing\{pool=\"tank\",uuid=\"$d\"\} 1\$"
run 0 status -j tank
expect_eq "$(json pools.0.state) $(json pools.0.spares | grep -c '"missing"')" "online 1"
simset d power 1
udevadm settle
all_there

echo "--- the monitor tells of it"
cat > /tmp/hook.d/note <<'END2'
#!/bin/sh
echo "$1 $2" >> /tmp/alarms
END2
chmod +x /tmp/hook.d/note
alarm() { grep -qs -- "$1" /tmp/alarms; }
kvpool-monitor --hooks /tmp/hook.d --state /tmp/state > /tmp/monitor.out 2>&1 &
monitor=$!
retry 60 waits_in $monitor poll
simset d remove 1
retry 60 alarm "^spare_missing tank"
simset d power 1
udevadm settle
kill $monitor
wait $monitor || true

echo "--- one that is taken is not missed"
run 0 offline tank /dev/b
run 0 replace --wait tank /dev/b /dev/d
all_there

echo "--- one has gone for good"
c=$(uuid_of /dev/c)
run 0 export tank
run 0 labelclear -f /dev/c
run 0 import -j
expect_eq "$(json pools.0.spares.0.uuid) $(json pools.0.spares.0.state)" "$c missing"
run 0 import; has out 'spare: missing'
run 0 import tank
refused 3 refused 'is no spare of pool' remove tank "${c//[1-8]/9}"
run 0 remove -n -j tank "$c"
expect_eq "$(json plan.path)" null
run 0 status tank; has out "spare $c is missing"
run 0 remove tank "$c"
all_there

echo "--- by UUID, while it is there; no more than eight"
run 0 add tank spare /dev/c
run 0 remove tank "$(uuid_of /dev/c)"
all_there
for i in 1 2 3 4 5 6 7 8; do dmsetup message tank 0 spare add 00000000-0000-4000-8000-00000000000$i; done
refused 3 refused 'as many spares as it can' add tank spare /dev/c
run 0 destroy tank
check_json
