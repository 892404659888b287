# SPDX-License-Identifier: GPL-2.0-only
"""The examples of docs/on-disk-format.md, and the golden superblock, read by the reader."""
import os
import re
import struct

import kvread

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LABEL = 64 * 1024 + 5 * 16384


def document():
    with open(TOP + "/docs/on-disk-format.md", encoding="utf-8") as f:
        return f.read()


def vdev(**fields):
    names = ("kind first_leg leg_count levels table_start log_start segments segment_blocks data_start data_blocks "
             "chunk own_window table_copy").split()
    raw = struct.pack("<IIIIQQIIQQIIQ", *(fields.get(name, 0) for name in names)).ljust(128, b"\0")
    return kvread.Vdev(raw, fields.get("index", 0), 1 << 18)


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got}, the document has {want}")


def sums(text):
    want = re.search(r"start 0xffffffff\s+it gives (\w+)", text)[1]
    expect(hex(kvread.crc32c(0xFFFFFFFF, b"123456789")), want, "crc")


# --- 1.1 --------------------------------------------------------------------------------------

def levels_for(v):
    v.levels = 1
    while v.levels < 3 and v.pages(v.levels - 1) > 1024:
        v.levels += 1
    return v.levels


def lay_out(usable):
    """A mirror by the steps of 1.1: levels, table blocks, segments and their size, data_start, data_blocks."""
    mib = 256
    log = min(max(usable // 32, 32 * mib), 1024 * mib)
    while log > 4 * mib and log > usable // 4:
        log //= 2
    size = 512 if log // 512 >= 8 else 256
    segments = log // size
    log = kvread.ceil(segments * size, mib) * mib
    v = vdev(kind=kvread.MIRROR, leg_count=2)
    space = v.data_blocks = usable - 512 - log
    while True:
        levels_for(v)
        table = 32 * v.groups_before(v.levels)
        need = kvread.ceil(table, mib) * mib + v.data_blocks
        if need <= space:
            break
        v.data_blocks -= need - space
    return v.levels, table, segments, size, 256 + kvread.ceil(table, mib) * mib + log, v.data_blocks


def layout(text):
    rows = re.findall(r"^\| (\d+) ([MGT])iB \| (\d) \| (\d+) \| "
                      r"(\d+) (?:×|segments of) (\d+) .*?\| (\d+) \| (\d+) \|$", text, re.M)
    expect(len(rows), 5, "rows of the table")
    for size, unit, *numbers in rows:
        usable = int(size) << {"M": 8, "G": 18, "T": 28}[unit]
        expect(lay_out(usable), tuple(map(int, numbers)), f"{size} {unit}iB")


# --- 3.1, 4.5, 4.7, 4.8, 4.9 --------------------------------------------------------------------

def places(text):
    v = vdev(kind=kvread.MIRROR, leg_count=2, levels=2, table_start=256, data_start=147200, data_blocks=4046592)
    block = 1280000
    leaf, word = v.entry_at(block)
    expect((leaf, word, v.pages(0), v.pages(1)), (2500, 0, 7904, 16), "leaf")
    for name, level, index, slot in (("leaf 2500, slot 0", 0, leaf, 0), ("leaf 2500, slot 1", 0, leaf, 1),
                                     ("(1, 4), slot 0", 1, leaf >> 9, 0), ("(1, 4), slot 1", 1, leaf >> 9, 1)):
        want = int(re.search(re.escape(name) + r":.*?(\d+)$", text, re.M)[1])
        expect(v.page_places(level, index, slot)[0][1], want, name)


class Fake:
    """The fields of a log that Entry uses."""
    def __init__(self, nonce):
        self.v = vdev(kind=kvread.MIRROR, leg_count=2, segments=16, segment_blocks=512)
        self.sb = type("Sb", (), {"nonce": nonce, "incompat": 4096, "pool_blocks": 1 << 20, "vdevs": [self.v]})


def entry(text):
    part = text[text.index("### 4.5"):text.index("### 4.6")]
    raw = bytearray(kvread.BLOCK)
    for at, line in re.findall(r"^([0-9a-f]{5})  ((?:[0-9a-f]{2} ){15}[0-9a-f]{2})", part, re.M):
        raw[int(at, 16):int(at, 16) + 16] = bytes.fromhex(line)
    nonce = 0x0123456789ABCDEF
    e = kvread.Entry(bytes(raw), Fake(nonce), 0xFEDCBA9876543210, 8705)
    seed = kvread.seed_of(Fake(nonce).sb, 0)
    blocks = {block: bytes(n % m for n in range(kvread.BLOCK)) for block, m in ((1000, 251), (7, 241))}
    folds = [kvread.fold(data) for data in blocks.values()]
    a, b = (kvread.block_sum(seed, block, data) for block, data in blocks.items())
    expect(all(f"{x:#x}" in part for x in (seed.crc, a, b, *folds)), True, "sums")
    expect(e.records, [(kvread.DATA, 1000, 0, 1, a), (kvread.INTENT, 7, 0, 1, b),
                       (kvread.DISCARD, 2048, 0, 512, 0)], "records")
    expect((e.epoch, e.lsn, e.prev_lsn, e.prev_csum, e.blocks, e.durable),
           (3, 8705, 8704, 0x11223344, 2, 8704), "header")
    leaf = struct.pack("<512Q", *(0x4000000000000000 | 5 << 32 | a if i == 1000 % 512 else 0 for i in range(512)))
    expect(f"page sum is {kvread.page_sum(seed, 0, 1, leaf):#x}" in part, True, "page sum")


def log_places(_):
    v = vdev(kind=kvread.CACHE_PARITY1, leg_count=3)
    e = kvread.Entry.__new__(kvread.Entry)
    e.hdr_blocks, e.payload, e.blocks = 1, 3, 7
    expect([e.payload_at(v, i) for i in range(3)], [(3, [2, 4]), (6, [5]), (4, [2, 3])], "full stripes")
    log = kvread.Log.__new__(kvread.Log)
    log.carriers = [0, 1, 2]
    expect([log.carrier(lsn) for lsn in (0, 2, 16, 512)], [0, 1, 2, 2], "turns")
    kinds = kvread.CACHE, kvread.CACHE_PARITY1
    expect([8 * (288 + vdev(kind=kind, leg_count=3).kept) for kind in kinds], [2320, 2344], "T")


# --- the golden superblock -------------------------------------------------------------------------

def golden():
    """tests/sim/golden_data.h: made by golden.py, and compared with the engine's codec."""
    with open(TOP + "/tests/sim/golden_data.h", encoding="ascii") as f:
        text = f.read()
    text = text[text.index("golden_superblock"):text.index("golden_log_entry")]
    raw = bytearray(16384)
    for at, line in re.findall(r"\{\s*(\d+), \{ (.*?) \} \}", text):
        raw[int(at):int(at) + 16] = bytes(int(x, 16) for x in line.split(","))
    return bytes(raw)


def superblock(_):
    sb = kvread.Superblock(golden(), LABEL, 2304)
    v = sb.vdevs[0]
    expect((sb.name, sb.comment, sb.host_name), ("pool", "comment", "host"), "texts")
    expect((sb.epoch, sb.sequence, sb.era, sb.log_tail, sb.log_commit, sb.pool_blocks),
           (7, 21, 12, 2048, 2100, 500), "numbers")
    expect((v.kind, v.leg_count, v.levels, v.data_start, v.data_blocks, v.table_copy),
           (2, 2, 1, 1536, 512, 288), "vdev")
    expect(([leg.state for leg in sb.legs], sb.tunables), ([1, 2], {0: 1 << 22, 2: 1 << 23}), "lists")


def history(text):
    uuid, fork, discards, want = re.search(r"`pool_uuid` ([0-9a-f-]+), the fork 0x(\w+) and (\d+) `log_discards` it is (\w+)",
                                           text).groups()
    got = kvread.history_tag(bytes.fromhex(uuid.replace("-", "")), (1, int(fork, 16)), int(discards))
    expect(f"{got:08x}", want, "tag")
    raw = bytearray(golden())
    raw[3580] = 5
    struct.pack_into("<I", raw, 16, kvread.without_sum(bytes(raw), 16))
    expect(kvread.Superblock(bytes(raw), LABEL, 2304).log_discards, 5, "log_discards")


def refusals(_):
    """2.1: the decoder refuses faults even if the sum matches."""
    lies = (("version", 20, "I", 2), ("feature", 40, "Q", 1), ("place", 80, "Q", LABEL + 16384), ("legs", 212, "I", 49),
            ("window", 1024 + 60, "I", 16384), ("kind", 1024, "I", 6), ("first_leg", 1024 + 4, "I", 1),
            ("log_vdev", 3556, "I", 1), ("redo_state", 3583, "B", 1), ("pool_blocks", 200, "Q", 513),
            ("log_commit", 168, "Q", 2048 + 1025))
    for what, at, fmt, value in lies:
        raw = bytearray(golden())
        struct.pack_into("<" + fmt, raw, at, value)
        struct.pack_into("<I", raw, 16, kvread.without_sum(bytes(raw), 16))
        try:
            kvread.Superblock(bytes(raw), LABEL, 2304)
        except kvread.Refused:
            continue
        raise AssertionError(f"{what} is not refused")


def run():
    """[(name, fault or None)]"""
    text, results = document(), []
    for test in (sums, layout, places, entry, log_places, superblock, history, refusals):
        try:
            test(text)
            results.append((test.__name__, None))
        except (AssertionError, kvread.Refused, TypeError) as why:
            results.append((test.__name__, str(why) or repr(why)))
    return results


if __name__ == "__main__":
    for name, fault in run():
        print(name, fault or "ok")
