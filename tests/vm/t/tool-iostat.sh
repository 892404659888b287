# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: kvpoolctl iostat and metrics count the work of a pool
# timeout: 300
# turn: tool-watch */cmd_iostat.c */cmd_metrics.c */cmd_top.c */top_view.c */sample.c
# needs: fio python3
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
for d in a b; do mksim $d 64; done
run 0 create -o log_size=4M tank mirror /dev/a /dev/b

write_fua() { # COUNT: blocks, each made durable
	fio --name=w --filename=/dev/mapper/tank --rw=write --bs=4k --size="$(($1 * 4))k" --direct=1 \
		--fdatasync=1 --ioengine=psync --output=/dev/null
}

echo "--- an idle pool"
run 0 iostat tank
expect_eq "$(wc -l < /tmp/out)" 3
has out '^tank .* - +- +- '
run 0 iostat -j tank
expect_eq "$(json flush.count)" 0
expect_eq "$(json flush.p99_us)" null

echo "--- the counters match the work"
write_fua 40
# A read is split where a block is still being written home, and counted by its parts.
dmsetup message tank 0 checkpoint
dd if=/dev/mapper/tank of=/dev/null bs=64K count=2 iflag=direct status=none
dd if=/dev/mapper/tank of=/dev/null bs=128K count=1 iflag=direct status=none
run 0 iostat -j -v tank
[ "$(json ram.bypassed.long)" -ge 32 ] || fail "blocks of a long read: $(json ram.bypassed.long)"
expect_eq "$(json cache.written.data) $(json cache.amplification)" "0 0"
[ "$(json flush.count)" -ge 39 ] || fail "flushes: $(json flush.count)"
[ "$(json flush.p50_us)" -gt 0 ] || fail "they took no time"
[ "$(json flush.p50_us)" -le "$(json flush.p999_us)" ] || fail "half took longer than all"
[ "$(json io.writes)" -ge 40 ] || fail "writes: $(json io.writes)"
[ "$(json io.write_bytes)" -ge $((40 * 4096)) ] || fail "bytes written: $(json io.write_bytes)"
[ "$(json io.read_bytes)" -ge 131072 ] || fail "bytes read: $(json io.read_bytes)"
expect_eq "$(json legs.1.path)" /dev/b
[ "$(json legs.0.io.writes)" -ge 40 ] || fail "writes of a leg: $(json legs.0.io.writes)"

echo "--- top, in a pipe"
run 0 top tank
has out '^tank  online  '; has out '^  io +[0-9]+ reads/s'; has out '^    /dev/b +online .*% +0$'
has out '^EVENTS$'; has out ' tank created '
run 0 top; has out '^tank  online  '
run 1 top nosuch; has err 'no such pool is active'

echo "--- line by line, each about its own time"
# udev reads the device that fio has closed
udevadm settle
run 0 iostat -j tank 0.1 3
expect_eq "$(wc -l < /tmp/out)" 3
sed -n 3p /tmp/out > /tmp/last
expect_eq "$(json flush.count /tmp/last)" 0
expect_eq "$(json io.writes /tmp/last)" 0
expect_eq "$(json ram.bypassed.long /tmp/last)" 0
[ "$(json milliseconds /tmp/last)" -ge 100 ] || fail "too early"
run 0 iostat -v tank 0.1 2
expect_eq "$(grep -c '^  /dev/[ab] ' /tmp/out)" 4
expect_eq "$(grep -c '^tank ' /tmp/out)" 2
refused_usage() { run 2 -j "$@"; has out '"code":"usage"'; }
refused_usage iostat tank 0
refused_usage iostat tank 1 0
refused_usage iostat tank 1x
refused_usage iostat
refused_usage metrics
run 1 iostat nothing

echo "--- metrics"
# data written home between two commands would be in the second only
dmsetup message tank 0 checkpoint
run 0 metrics
cp /tmp/out /tmp/metrics
run 0 status -j tank
"$_python" -ISc '
import json, re, sys
pool = json.load(open("/tmp/out"))["pools"][0]
values, types, order = {}, {}, []
line = re.compile(r"""(kvpool_\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$""")
for text in open("/tmp/metrics"):
    if m := re.match(r"# TYPE (\w+) (gauge|counter|histogram)$", text):
        assert m[1] not in types, text
        types[m[1]] = m[2]
    elif not re.match(r"# HELP \w+ \S", text):
        m = line.match(text)
        assert m, text
        family = re.sub(r"_(bucket|sum|count)$", "", m[1])
        assert m[1] in types or types.get(family) == "histogram", text
        assert (m[1], m[2]) not in values, text
        values[m[1], m[2]] = float(m[3])
tank = "pool=\"tank\""
def of(name, more=""): return values["kvpool_" + name, tank + more]
assert of("size_bytes") == pool["size"]
assert of("written_bytes") == pool["written"] > 0
assert of("pool_state", ",state=\"online\"") == 1
assert of("pool_state", ",state=\"faulted\"") == 0
assert of("log_commits_total") == pool["log"]["commits"] > 0
assert of("written_bytes_total") >= 40 * 4096
assert of("ram_cache_bypassed_long_total") >= 32
assert of("ssd_cache_write_amplification") == 0
assert not any(n in ("kvpool_ssd_cache_mode", "kvpool_ssd_cache_state", "kvpool_drain_state", "kvpool_log_on_cache") for n, _ in values)
assert of("memory_table_bytes") > 0
# a rate is the only metric with a time in its unit
rates = {n for n, _ in values if "_rate_" in n}
assert rates == {"kvpool_drain_rate_bytes_per_second", "kvpool_destage_rate_bytes_per_second"}, rates
buckets = [v for (n, _), v in values.items() if n == "kvpool_flush_seconds_bucket"]
assert buckets == sorted(buckets) and buckets[-1] == of("flush_seconds_count") >= 39, buckets
assert 0 < of("flush_seconds_sum") < 300
legs = [l for (n, l), v in values.items() if n == "kvpool_leg_state" and v == 1]
assert len(legs) == 2 and all("state=\"online\"" in l for l in legs), legs
assert sum(n == "kvpool_leg_errors_total" for n, _ in values) == 6
' || fail "metrics are not what they should be"
run 0 destroy tank
run 0 metrics
grep -qv '^#' /tmp/out && fail "metrics of a pool that is not there"
check_json
