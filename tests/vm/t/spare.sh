# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: spares are made, shown and removed; a disk dies, kvpool-monitor puts a spare in its place, and the pool is whole again
# timeout: 300
# turn: legs-replaced */pool/spare.c */pool/legreplace.c *kvpoolctl/spare_devices.c */kvpool-monitor/*.c */*.rules*
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
for d in a b c; do mksim $d 16; done
mksim d 24
mksim e 9

# spares PATH...: those that status shows
spares() {
	run 0 status -j tank
	expect_eq "$(json pools.0.spares | grep -o '"path": *"[^"]*"' | cut -d '"' -f 4 | sort | xargs)" "$*"
}
leg_path() { run 0 status -j tank; expect_eq "$(json "pools.0.vdevs.0.legs.$1.path")" "$2"; }

echo "--- create, add, remove"
run 0 create -n -j -o log_size=4M tank mirror /dev/a /dev/b spare /dev/d
expect_eq "$(json plan.spares.0.path)" /dev/d
run 0 create -o log_size=4M tank mirror /dev/a /dev/b spare /dev/d
run 0 status -v tank; has out '^ *spares'; has out '^ */dev/d +available'
pmbr() { blkid -p -o value -s PTTYPE "/dev/$1" || true; }
expect_eq "$(pmbr a)/$(pmbr c)/$(pmbr d)" PMBR//PMBR "the protective MBRs"
refused 3 too_small 'a leg of this pool needs' add tank spare /dev/e
refused 3 member 'it is a spare of pool tank' add tank spare /dev/d
refused 3 member 'it is a spare of pool tank' create lake single /dev/d
refused 3 member 'it is a spare of pool tank' attach tank /dev/a /dev/d
refused 3 held 'leg of pool tank' add tank spare /dev/a
refused 3 member 'it is a spare of pool tank' labelclear /dev/d
refused 3 refused 'is no spare of pool' remove tank /dev/c
run 0 add -n -j tank spare /dev/c
run 0 add tank spare /dev/c
spares /dev/c /dev/d
run 0 remove -n -j tank /dev/c
run 0 remove -j tank /dev/c
spares /dev/d
run 0 add tank spare /dev/c
refused 3 refused 'it is in use, and a spare takes its place only with --spare' replace tank /dev/b
refused 2 usage 'give NEW or --spare, not both' replace --spare tank /dev/b /dev/c
run 0 replace -n -j --spare tank /dev/b
expect_eq "$(json plan.new)" /dev/c
spares /dev/c /dev/d
# a leg in use: the spare gets everything, and then the leg leaves
run 0 replace --spare --wait tank /dev/b
leg_path 1 /dev/c
spares /dev/d
run 0 replace --wait tank /dev/c /dev/b
run 0 add tank spare /dev/c
# a start does not need them, and takes none for a leg
run 0 export tank
run 0 import -j
expect_eq "$(json pools.0.importable) $(json pools.0.spares.1.path)" "true /dev/d"
run 0 import tank
expect_eq "$(stat_of tank state)" online

echo "--- a disk is pulled out: the smallest spare takes its place"
cat > /tmp/hook.d/note <<'END'
#!/bin/sh
echo "$1 $2 $KVPOOL_UUID" >> /tmp/alarms
END
chmod +x /tmp/hook.d/note
alarm() { grep -qs -- "$1" /tmp/alarms; }
dd if=/dev/urandom of=/dev/mapper/tank bs=1M count=4 oflag=direct status=none
contents() { dmsetup message tank 0 drop_caches; dd if=/dev/mapper/tank bs=1M count=4 iflag=direct status=none | sha256sum; }
sum=$(contents)
leg=$(stat_of tank leg.1.uuid)
udevadm settle
kvpool-monitor --hooks /tmp/hook.d --state /tmp/state --spare-after 3 > /tmp/monitor.out 2>&1 &
monitor=$!
# by order: no spare is taken
run 0 offline tank /dev/b
sleep 5
expect_eq "$(stat_of tank leg.1.uuid)" "$leg"
run 0 online --wait tank /dev/b
simset b remove 1
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=1 seek=1500 oflag=direct,dsync status=none
retry 60 alarm "^spare_taken tank $leg$"
wait_stat tank leg.1.state online 120
leg_path 1 /dev/c
expect_eq "$(stat_of tank state)" online
spares /dev/d
kill $monitor
wait $monitor || true
scrub tank

echo "--- the other one is pulled out"
# by hand: the spare that is left
simset a remove 1
expect_eq "$(contents)" "$sum" "what the new leg has"
dd if=/dev/urandom of=/dev/mapper/tank bs=4K count=1 seek=1500 oflag=direct,dsync status=none
wait_stat tank leg.0.state faulted
run 0 replace --wait tank "$(stat_of tank leg.0.uuid)"
leg_path 0 /dev/d
expect_eq "$(stat_of tank state)" online
expect_eq "$(contents)" "$sum" "contents at the end"
run 0 offline tank /dev/c
refused 3 refused 'no spare of pool tank was found' replace tank /dev/c
run 0 online --wait tank /dev/c

echo "--- another tool was run on a spare"
simset a power 1
refused 3 member 'was a leg of pool tank, which runs without it -- to free it' add tank spare /dev/a
refused 3 member 'was a leg of pool tank, which runs without it -- to free it' labelclear /dev/a
run 0 labelclear -f /dev/a
run 0 add tank spare /dev/a
mkswap /dev/a > /dev/null
run 0 status tank; ends_in() { grep -q "$1" <<< "$(tail -n 1 /tmp/out)" || fail "last line: $(tail -n 1 /tmp/out)"; }
ends_in 'advice: spare /dev/a carries a signature of swap .*kvpoolctl labelclear --foreign /dev/a'
run 0 status -x; has out 'pool: tank'
run 0 status -j tank; expect_eq "$(json pools.0.spares.0.foreign)" swap
run 0 offline tank /dev/c
run 4 status tank; has out 'note: spare /dev/a carries a signature of swap'
refused 3 refused 'carries a signature of another tool' replace tank /dev/c
run 0 labelclear --foreign /dev/a
# what mkswap wrote beside its magic is still there
run 0 replace --wait tank /dev/c
leg_path 1 /dev/a
run 0 clear tank
run 0 events tank; has out 'leg_replaced leg=1 .*path=/dev/a '; has out ' cleared '
run 0 history tank; has out ' cleared'

echo "--- destroy frees the spares"
simset b power 1
run 0 labelclear -f /dev/b
run 0 add tank spare /dev/b
run 0 destroy tank
run 0 create -o log_size=4M lake single /dev/b
run 0 destroy lake
check_json
