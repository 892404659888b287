# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# test: a pool with a heartbeat stops when another host has it, or when no leg took one in time; an import watches first
# timeout: 400
# long: it waits for time limits of the heartbeat
# needs: python3
# kmsg-allow: I/O error|lost (a?sync )?page write
. "$KVPOOL_TOP/tests/vm/lib.sh"
. "$KVPOOL_TOP/tools/kvpoolctl/tests/vm-lib.bash"
load_modules
mksim a 16
mksim b 16
dev=/dev/mapper/tank

# The other host: a reader and writer of its own of the blocks, by docs/on-disk-format.md 2.5.
cat > /tmp/beat.py << 'END'
"""beat.py DEVICE claims | beat.py DEVICE write CLAIM COUNTER: the claims of all slots with their counters; write one."""
import os, struct, sys
def crc32c(data, c=0xFFFFFFFF):
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    return c
def slot(fd, s):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    raw = os.pread(fd, 512, (80 + s) * 4096)
    if raw[:16] != b"KVPOOL\r\n\x1abeat\0\0\0" or crc32c(raw[:16] + bytes(4) + raw[20:]) != struct.unpack_from("<I", raw, 16)[0]:
        return None
    return raw
fd = os.open(sys.argv[1], os.O_RDWR)
if sys.argv[2] == "claims":
    for s in range(4):
        raw = slot(fd, s)
        if raw:
            claim, _, counter = struct.unpack_from("<QQQ", raw, 40)
            print(claim, counter, raw[88:152].rstrip(b"\0").decode(), *struct.unpack_from("<II", raw, 80))
else:
    claim, counter = int(sys.argv[3]), int(sys.argv[4])
    raw = bytearray(512)
    raw[:16] = b"KVPOOL\r\n\x1abeat\0\0\0"
    raw[24:40] = next(filter(None, map(lambda s: slot(fd, s), range(4))))[24:40]
    struct.pack_into("<I", raw, 20, 1)
    struct.pack_into("<QQQQQII", raw, 40, claim, 4711, counter, 99, 0, 1, 15)
    raw[88:92] = b"beta"
    struct.pack_into("<I", raw, 16, crc32c(raw))
    os.pwrite(fd, bytes(raw) + bytes(4096 - 512), (80 + claim % 4) * 4096)
    os.fsync(fd)
END
beats() { blockdev --flushbufs "$1"; python3 /tmp/beat.py "$1" claims; }
newest() { beats "$1" | sort -n | tail -n 1; }
fill() { dd if=/dev/urandom of=$dev bs=4K count=64 oflag=direct conv=fsync status=none; }
be() { # HOST DIGIT: this machine gets that name, and an ID of those digits
	echo "$1" > /proc/sys/kernel/hostname
	printf '%032d\n' "$2" > /etc/machine-id
}
name=$(hostname); cp -a /etc/machine-id /tmp/machine-id 2> /dev/null || true
at_exit "hostname '$name'; rm -f /etc/machine-id; cp -a /tmp/machine-id /etc/ || true"
be alpha 1

echo "--- each leg has the heartbeat"
run 0 create -o log_size=4M tank mirror /dev/a /dev/b
expect_eq "$(beats /dev/a)" "" "blocks of a pool without a heartbeat"
run 0 set tank heartbeat=1
expect_stat tank features heartbeat,folded-sums
moves() { [ "$(newest /dev/b)" != "$1" ]; }
retry 30 moves ""
retry 30 moves "$(newest /dev/b)"
expect_eq "$(newest /dev/a | cut -d ' ' -f 1,3-)" "1 alpha 1 15" "claim, host, interval and limit"
fill
run 0 status tank
has out '^heartbeat: [0-9.]+ s ago; without another one, the pool stops in 1[0-9]\.'
run 0 status -j tank
has out '"heartbeat":\{"age_ms":[0-9]+,"left_ms":1[0-9]{4}\}'

echo "--- another host has taken over the pool: it stops, and says why"
python3 /tmp/beat.py /dev/b write 2 1
stopped() { [ "$(event_count tank taken_over)" = 1 ]; }
retry 30 stopped
expect_fail dd if=/dev/zero of=$dev bs=4K count=1 oflag=direct conv=fsync status=none
expect_fail dd if=$dev of=/dev/null bs=4K count=1 iflag=direct status=none
run 5 status tank
has out 'faulted'
has out '^heartbeat: .*; nothing is written any more'
has out 'advice: another host has taken over the pool'
expect_stat tank leg.0.err_write 0
expect_stat tank leg.1.err_write 0
run 0 events tank
has out 'taken_over'
has out 'suspended.*another host has taken over the pool: beta'
run 1 clear tank
has err 'still faulted'
expect_fail dd if=/dev/zero of=$dev bs=4K count=1 oflag=direct conv=fsync status=none
writes=$(simstat a writes)
udevadm settle
dmsetup remove --retry tank
expect_eq "$(simstat a writes)" "$writes" "writes to a leg by the stop"

echo "--- the other host is alive"
be gamma 2
( n=2; while :; do python3 /tmp/beat.py /dev/b write 2 $((n++)); sleep 1; done ) & other=$!
at_exit "kill $other 2> /dev/null || true"
run 0 import -n --takeover tank
cat /tmp/err >> /tmp/out
has out 'watch its legs for 40 s'
run 0 import -n -j --takeover tank
has out '"watch_seconds":40'
run 3 -j import --takeover tank
has out '"code":"other_host"'; has out 'host beta is alive'
expect_eq "$(newest /dev/a | cut -d ' ' -f 1)" 1 "claim on a leg after the refusal"

echo "--- it is not: the import claims the pool"
kill "$other"; wait "$other" || true
silent() { ! pgrep -f 'beat.py /dev/b write' > /dev/null; }
retry 60 silent # the last writer outlives its loop
run 0 import --takeover tank
retry 30 moves "$(newest /dev/b)"
expect_eq "$(newest /dev/b | cut -d ' ' -f 1,3)" "4 gamma" "claim and host: the import's was 3"
fill

echo "--- no leg takes a heartbeat in time"
simset a stall 1; simset b stall 1
sleep 20
simset a stall 0; simset b stall 0
late() { grep -q 'suspended.*no heartbeat was written in time' <<< "$(dmsetup message tank 0 events)"; }
retry 30 late
expect_fail dd if=/dev/zero of=$dev bs=4K count=1 oflag=direct conv=fsync status=none
dmsetup remove --retry tank
run 0 import tank
scrub tank
run 0 set tank heartbeat=0
expect_stat tank features folded-sums
run 0 export tank
