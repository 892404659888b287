#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads a pool from images of its legs, by docs/on-disk-format.md and by nothing else.

    kvread.py [-o FILE] [--window BLOCKS] LEG...

Prints the pool as JSON. With -o it writes the pool's contents to FILE: every block as after
a recovery, and 4096 bytes 0xee for each lost block. It shares no code with the module or the
tool, and only reads. Numbers in comments are sections of the document. --window is the
default window of a cache's log (1.2), which the simulator builds smaller than the format's.
"""
import argparse
import itertools
import json
import os
import struct
import sys
from collections import namedtuple

BLOCK = 4096
ZEROS = bytes(BLOCK)
LOST = b"\xee" * BLOCK
SINGLE, MIRROR, PARITY1, CACHE, CACHE_PARITY1 = 1, 2, 3, 4, 5
DATA, INTENT, DISCARD, PARITY, CLEAN = 1, 2, 3, 4, 5
UNWRITTEN, VALID, POISONED = 0, 1, 2
IN_SYNC = 1
REDO_BEGUN = 1
REDO_BEGUN_ANEW = 3	# in place of a complete one that is damaged
FLAG_LAST = 1
FEATURES = {2: "cache", 4: "vdevs", 16: "generations", 32: "log turns", 64: "cache parity1", 128: "log window",
            256: "resilver", 512: "table-behind", 2048: "heartbeat", 4096: "folded sums"}
LOST_POINTER = 0xBFFFFFFF00000001


class Refused(Exception):
    """The pool cannot be read, or must not be."""


# --- sums --------------------------------------------------------------------------------

def _bytes_table():
    table = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


ONE = _bytes_table()
TWO = [ONE[(i >> 8 ^ ONE[i & 255]) & 255] ^ ONE[i & 255] >> 8 for i in range(65536)]


def crc32c(crc, data):
    """Conventions: not inverted at either end."""
    if len(data) & 1:
        crc = crc >> 8 ^ ONE[(crc ^ data[0]) & 255]
        data = data[1:]
    for word in struct.unpack("<%dH" % (len(data) // 2), data):
        crc = TWO[(crc ^ word) & 0xFFFF] ^ crc >> 16
    return crc


def _zeros_table():
    """The effect of a block of zeros on each value of each byte of a crc: the sum is linear."""
    bits = [crc32c(1 << i, ZEROS) for i in range(32)]
    table = []
    for byte in range(4):
        row = [0] * 256
        for value in range(1, 256):
            low = value & -value
            row[value] = row[value ^ low] ^ bits[8 * byte + low.bit_length() - 1]
        table.append(row)
    return table


BEHIND_ZEROS = _zeros_table()
_seen = {ZEROS: 0}


def crc_block(crc, data):
    """crc32c of a block. The part that depends only on the data is computed once."""
    if data not in _seen:
        _seen[data] = crc32c(0, data)
    z = BEHIND_ZEROS
    return _seen[data] ^ z[0][crc & 255] ^ z[1][crc >> 8 & 255] ^ z[2][crc >> 16 & 255] ^ z[3][crc >> 24]


Seed = namedtuple("Seed", "crc folded")
_folds = {ZEROS: 0}


def rotate(x, bits, width):
    return (x << bits | x >> (width - bits)) & ((1 << width) - 1)


def fold(data):
    """Sums: the fold of a block. As one number, 252 words at a time: seven words of them are a group."""
    if data not in _folds:
        r = 0
        for part in range(3):
            words, groups = int.from_bytes(data[part * 2016:part * 2016 + 2016], "little"), 0
            while words:
                groups ^= words & (1 << 7 * 64) - 1
                words >>= 7 * 64
            for j in range(7):
                r ^= rotate(groups >> 64 * j & (1 << 64) - 1, (12 * j + 11 * part) % 64, 64)
        low, high = r & 0xFFFFFFFF, r >> 32
        _folds[data] = low ^ rotate(low, 1, 32) ^ rotate(high, 25, 32) ^ rotate(high, 27, 32)
    return _folds[data]


def seed_of(sb, vdev):
    return Seed(crc32c(0xFFFFFFFF, struct.pack("<QI", sb.nonce, vdev)), bool(sb.incompat & 4096))


def place(seed, address):
    return seed.crc ^ address * 0x61C8864680B583EB >> 32 & 0xFFFFFFFF


def block_sum(seed, address, data):
    if seed.folded:
        return crc_block(0, data) ^ fold(data) ^ place(seed, address)
    return crc_block(crc32c(seed.crc, struct.pack("<Q", address)), data)


def page_sum(seed, level, index, page):
    return crc_block(crc32c(seed.crc, struct.pack("<Q", index | level + 1 << 56)), page) or 1


def without_sum(data, at, start=0xFFFFFFFF):
    """The sum of a structure; its own field at @at counts as zero."""
    data = data[:at] + b"\0\0\0\0" + data[at + 4:]
    for i in range(0, len(data), BLOCK):
        part = data[i:i + BLOCK]
        start = crc_block(start, part) if len(part) == BLOCK else crc32c(start, part)
    return start


def xor(blocks):
    total = 0
    for block in blocks:
        total ^= int.from_bytes(block, "little")
    return total.to_bytes(BLOCK, "little")


def ceil(a, b):
    return -(-a // b)


def text(raw):
    return raw.split(b"\0")[0].decode("utf-8", "replace")


# --- a leg --------------------------------------------------------------------------------

class Leg:
    """A device, or an image of one."""

    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_RDONLY)
        self.blocks = os.lseek(self.fd, 0, os.SEEK_END) // BLOCK
        self.sb = None

    def read(self, block, count=1):
        """@count blocks, or None: they cannot be read."""
        try:
            data = os.pread(self.fd, count * BLOCK, block * BLOCK)
        except OSError:
            return None
        return data if len(data) == count * BLOCK else None

    def close(self):
        os.close(self.fd)


# --- geometry: 1 ----------------------------------------------------------------------------

class Vdev:
    def __init__(self, raw, index, default_window):
        (self.kind, self.first_leg, self.leg_count, self.levels, self.table_start, self.log_start, self.segments,
         self.segment_blocks, self.data_start, self.data_blocks, self.chunk, self.own_window,
         self.table_copy) = struct.unpack_from("<IIIIQQIIQQIIQ", raw)
        (self.shadow_uuid, self.shadow_cursor, self.shadow_era,
         self.shadow_of) = struct.unpack_from("<16s8xQIB", raw, 72)
        self.index = index
        self.behind = not self.is_cache and self.table_start > self.data_start
        self.default_window = default_window
        self.legs = []          # as many as leg_count; None: not here, or not in sync
        self.first_root = 0

    @property
    def is_cache(self):
        return self.kind in (CACHE, CACHE_PARITY1)

    @property
    def striped(self):
        return self.kind == CACHE_PARITY1

    @property
    def parity1(self):
        return self.kind == PARITY1

    @property
    def log_blocks(self):
        return self.segments * self.segment_blocks

    @property
    def window(self):
        """1.2"""
        return min(self.log_blocks, self.own_window or self.default_window) if self.is_cache else self.log_blocks

    @property
    def kept(self):
        """4.7: blocks at the end of a segment that belong to no entry."""
        return 0 if not self.is_cache else 2 + (self.leg_count if self.striped else 0)

    def segment_end(self, lsn):
        return lsn - lsn % self.segment_blocks + self.segment_blocks

    def needed(self):
        """The number of legs that suffice for all its contents."""
        return self.leg_count - 1 if self.parity1 or self.striped else 1

    # table: 3 and 1.3

    @property
    def stripe(self):
        return (self.leg_count - 1) * self.chunk

    @property
    def leaf_blocks(self):
        return 512 // (self.leg_count * self.chunk) * self.stripe if self.parity1 else 512

    def pages(self, level):
        return ceil(self.data_blocks, self.leaf_blocks << 9 * level)

    def groups_before(self, level):
        return sum(ceil(self.pages(l), 16) for l in range(level))

    def page_places(self, level, index, slot):
        """3.1: (leg, block) of each copy."""
        group = self.groups_before(level) + index // 16
        within = 16 * slot + index % 16
        n = self.leg_count
        if self.parity1:
            return [((group + copy) % n, self.table_start + 32 * (2 * (group // n) + copy) + within)
                    for copy in (0, 1)]
        starts = [self.table_start] + ([self.table_copy] if self.table_copy else [])
        return [(leg, start + 32 * group + within) for start in starts for leg in range(n)]

    def entry_at(self, block):
        """Leaf and word of a block of the vdev."""
        return block // self.leaf_blocks, block % self.leaf_blocks

    # rows: 1.3

    def row_of(self, block):
        return block // self.stripe * self.chunk + block % self.chunk

    def piece_of(self, block):
        return 1 + block % self.stripe // self.chunk

    def row_block(self, row, piece):
        return row // self.chunk * self.stripe + (piece - 1) * self.chunk + row % self.chunk

    def parity_entry_at(self, row):
        leaf = self.row_block(row, 1) // self.leaf_blocks
        return leaf, self.leaf_blocks + row % (self.leaf_blocks // (self.leg_count - 1))

    def piece_leg(self, row, piece):
        return (piece + row // self.chunk) % self.leg_count

    # log: 4.1, 1.3 and 4.9

    def log_places(self, lsn):
        """(leg, block) of each copy of the block at @lsn."""
        at = lsn % self.log_blocks
        n = self.leg_count
        if self.striped:
            return [(lsn % n, self.log_start + at // n)]
        if not self.parity1:
            return [(leg, self.log_start + at) for leg in range(n)]
        segment, rest = divmod(at, self.segment_blocks)
        return [((segment + copy) % n, self.log_start + (2 * (segment // n) + copy) * self.segment_blocks + rest)
                for copy in (0, 1)]

    def log_read(self, lsn, count=1):
        """[(leg, blocks)] of each leg that has them; of full stripes only one block at a time."""
        found = []
        for leg, at in self.log_places(lsn):
            data = self.legs[leg].read(at, count) if self.legs[leg] else None
            if data is not None:
                found.append((leg, data))
        return found

    # 1.2

    def check(self, leg_blocks):
        legs = {SINGLE: (1, 1), MIRROR: (2, 16), PARITY1: (3, 16), CACHE: (1, 16), CACHE_PARITY1: (3, 16)}
        low, high = legs.get(self.kind, (1, 0))
        if not low <= self.leg_count <= high:
            return "kind or number of legs"

        def inside(start, blocks):
            return 256 <= start and start + blocks <= leg_blocks - 256

        if self.segment_blocks not in (256, 512) or self.segments < 4 or self.log_blocks > 1 << 31:
            return "log"
        n = self.leg_count
        area = self.log_blocks
        if self.striped:
            area //= n
        elif self.parity1:
            area = 2 * ceil(self.segments, n) * self.segment_blocks
        if not inside(self.log_start, area):
            return "log area"
        if self.is_cache:
            if self.data_start or self.data_blocks or self.levels or self.table_copy or self.chunk:
                return "table or data of a cache"
            if self.striped and self.segments % n:
                return "segments"
            if self.table_start and not (self.table_start >= self.log_start + area and
                                         inside(self.table_start, area // 64)):
                return "place for copies of the table"
            if self.own_window and (self.own_window % self.segment_blocks or self.own_window > self.log_blocks or
                                    not min(1 << 14, self.default_window // 2) <= self.own_window <= 1 << 24):
                return "window"
            return None
        if self.own_window:
            return "window"
        if self.parity1 and (not self.chunk or self.chunk & self.chunk - 1 or n * self.chunk > 512 or
                             self.data_blocks % self.stripe):
            return "chunk"
        if not self.data_blocks or not inside(self.data_start, self.data_blocks // (n - 1) if self.parity1 else
                                              self.data_blocks):
            return "data area"
        if not 1 <= self.levels <= 3 or self.pages(self.levels - 1) > 1024:
            return "table levels"
        groups = self.groups_before(self.levels)
        table = 64 * ceil(groups, n) if self.parity1 else 32 * groups
        if self.log_start + area > self.data_start or not inside(self.table_start, table):
            return "order of the areas"
        end = self.log_start
        if self.behind:
            if self.table_start < self.data_start + (self.data_blocks // (n - 1) if self.parity1 else self.data_blocks):
                return "order of the areas"
            end = leg_blocks - 256
        elif self.table_start + table > end:
            return "order of the areas"
        if self.table_copy and (self.parity1 or
                                not self.table_start + table <= self.table_copy <= end - table):
            return "second copy of the table"
        return None


# --- superblock: 2 --------------------------------------------------------------------------

def history_tag(pool_uuid, forks, log_discards):
    """2.1: it tells the pool, and how often that went back."""
    return crc32c(0xFFFFFFFF, pool_uuid + struct.pack("<QB", forks[-1] if forks else 0, log_discards))


Generation = namedtuple("Generation", "nonce next_lsn last_lsn last_csum")
LegInfo = namedtuple("LegInfo", "uuid state in_sync_era size_blocks cursor in_sync_epoch cursor_era replaces out")
MAGIC = b"KVPOOL\r\n\x1asblk\0\0\0"


class Superblock:
    def __init__(self, raw, offset, leg_blocks, default_window=1 << 18):
        """Decodes and validates (2.1); raises Refused."""
        if raw[:16] != MAGIC:
            raise Refused("no label here")
        csum, version, self.compat, self.ro_compat, self.incompat = struct.unpack_from("<IIQQQ", raw, 16)
        if csum != without_sum(raw, 16):
            raise Refused("sum")
        if version != 1:
            raise Refused("version")
        if self.incompat & ~sum(FEATURES):
            raise Refused("features")
        self.pool_uuid, self.leg_uuid = raw[48:64], raw[64:80]
        (self_offset, self.epoch, self.sequence, self.write_time, self.create_time, self.leg_index, self.flags,
         self.nonce, self.log_nonce, self.log_tail, self.log_prev_lsn, self.log_prev_csum, self.era,
         self.log_commit, self.checkpoint, self.written, self.poisoned, self.pool_blocks, vdev_count, leg_count,
         fork_count, root_count) = struct.unpack_from("<QQQQQIIQQQQIIQQQQQIIII", raw, 80)
        if self_offset != offset:
            raise Refused("place")
        region_count, self.log_vdev, self.cache_lsn, self.log_others, self.behind = \
            struct.unpack_from("<IIQII", raw, 3552)
        self.log_discards, self.redo_state = raw[3580], raw[3583]
        self.log_resolved = int.from_bytes(b"".join(raw[at:at + 3] for at in (3669, 3765, 3861))[:8], "little")
        if not 1 <= vdev_count <= 16 or not 1 <= leg_count <= 48 or fork_count > 16 or root_count > 1024 or \
           region_count > 12 or self.log_vdev >= vdev_count or self.leg_index >= leg_count:
            raise Refused("counts")
        self.forks = struct.unpack_from("<%dQ" % fork_count, raw, 224)
        self.tunables = {i: value for i, value in enumerate(struct.unpack_from("<32Q", raw, 360))
                         if struct.unpack_from("<Q", raw, 352)[0] >> i & 1}
        self.name, self.comment, self.host_name = text(raw[664:728]), text(raw[728:856]), text(raw[864:928])
        self.redo_nonce, self.redo_lsn = struct.unpack_from("<QQ", raw, 928)
        self.generations = []
        for i in range(3):
            nonce, next_lsn, back, last_csum = struct.unpack_from("<QQII", raw, 952 + 24 * i)
            if not next_lsn:
                break
            self.generations.append(Generation(nonce, next_lsn, next_lsn - back, last_csum))
        self.vdevs = [Vdev(raw[1024 + 128 * i:], i, default_window) for i in range(vdev_count)]
        self.regions = [(struct.unpack_from("<Q16H", raw, 3072 + 40 * i)) for i in range(region_count)]
        self.legs = [LegInfo(raw[at:at + 16], *struct.unpack_from("<IIQ", raw, at + 16),
                             *struct.unpack_from("<QQIB3xQ", raw, at + 64))
                     for at in range(3584, 3584 + 96 * leg_count, 96)]
        self.roots = struct.unpack_from("<%dQ" % root_count, raw, 8192)
        self._check(leg_blocks)
        self.parts = self._lay_regions()
        if not 0 < self.pool_blocks <= (self.parts[-1].end if self.parts else 0):
            raise Refused("size of the pool")

    def _check(self, leg_blocks):
        next_leg = roots = 0
        for v in self.vdevs:
            sizes = [leg_blocks if i == self.leg_index else self.legs[i].size_blocks
                     for i in range(next_leg, min(next_leg + v.leg_count, len(self.legs)))]
            fault = v.check(leg_blocks if len(self.vdevs) == 1 else min(sizes, default=0))
            if fault:
                raise Refused("geometry: " + fault)
            if v.first_leg != next_leg:
                raise Refused("legs of the vdev")
            next_leg += v.leg_count
            v.first_root = roots
            roots += 0 if v.is_cache else v.pages(v.levels - 1)
        caches = [v for v in self.vdevs if v.is_cache]
        log = self.vdevs[self.log_vdev]
        wanted = (2 if caches else 0) | (64 if caches and caches[0].striped else 0) | \
            (128 if caches and caches[0].own_window else 0)
        if next_leg != len(self.legs) or roots != len(self.roots):
            raise Refused("legs or roots")
        if len(caches) > 1 or self.vdevs[0].is_cache or self.incompat & 0xC2 != wanted:
            raise Refused("caches")
        if bool(self.regions) != bool(self.incompat & 4) or bool(self.generations) != bool(self.incompat & 16) or \
           bool(self.log_others) != bool(self.incompat & 32) or \
           any(leg.state == 5 for leg in self.legs) != bool(self.incompat & 256) or \
           any(v.behind for v in self.vdevs) != bool(self.incompat & 512) or \
           (1 <= self.tunables.get(20, 0) <= 60) != bool(self.incompat & 2048):
            raise Refused("features")
        if self.log_tail < log.log_blocks or \
           not self.log_tail <= self.log_commit <= self.log_tail + log.window or self.log_resolved > self.log_commit:
            raise Refused("log position")
        if self.redo_state > 3 or self.redo_state and not self.redo_nonce:
            raise Refused("redo_state")
        if self.leg_uuid != self.legs[self.leg_index].uuid:
            raise Refused("UUID of this leg")
        for v in self.vdevs:
            self._check_legs(v)
        self._check_shadow([v for v in self.vdevs if v.shadow_of])

    def _check_shadow(self, having):
        for v in having:
            if len(having) > 1 or v.kind != 3 or v.shadow_of > v.leg_count or v.shadow_cursor > v.data_blocks or \
               v.shadow_era > self.era or v.shadow_era and not v.shadow_cursor or \
               any(leg.uuid == v.shadow_uuid for leg in self.legs):
                raise Refused("device that is to take a place")

    def _check_legs(self, v):
        for leg in self.legs[v.first_leg:v.first_leg + v.leg_count]:
            end = 0 if v.is_cache or leg.state == IN_SYNC else v.data_blocks
            if not 1 <= leg.state <= 5 or leg.in_sync_era > self.era or v.is_cache and leg.state == 5:
                raise Refused("state of a leg")
            if leg.cursor > end or leg.cursor_era > self.era or leg.cursor_era and not leg.cursor:
                raise Refused("cursor of a leg")
            if leg.in_sync_epoch > self.epoch and not self.flags & 8:
                raise Refused("epoch of a leg")
            if leg.out > 1 << 62 or leg.out and leg.state == IN_SYNC:
                raise Refused("superblock that called a leg out")

        replaced = [leg.replaces for leg in self.legs[v.first_leg:v.first_leg + v.leg_count] if leg.replaces]
        if len(replaced) != len(set(replaced)) or any(
                leg.replaces > v.leg_count or leg.replaces == i + 1 or leg.replaces and v.kind not in (1, 2)
                for i, leg in enumerate(self.legs[v.first_leg:v.first_leg + v.leg_count])):
            raise Refused("leg that another replaces")

    def _lay_regions(self):
        """1.4: regions as [Region]."""
        parts, start, used = [], 0, [0] * 16
        for blocks, *share in self.regions or [(self.vdevs[0].data_blocks, 1)]:
            turns, at = [], 0
            for vdev, n in enumerate(share):
                if not n:
                    continue
                if vdev >= len(self.vdevs) or self.vdevs[vdev].is_cache:
                    raise Refused("region")
                v = self.vdevs[vdev]
                width = n * extent(v)
                turns.append(Turn(v, at, width, ceil(used[vdev], v.leaf_blocks) * v.leaf_blocks))
                at += width
            if not turns or not blocks:
                raise Refused("region")
            for t in turns:
                used[t.vdev.index] = t.first + (blocks // at * t.width if len(turns) > 1 else blocks)
                if used[t.vdev.index] > t.vdev.data_blocks:
                    raise Refused("region")
            parts.append(Region(start, start + blocks, at, turns))
            start += blocks
        return parts

    def locate(self, block):
        """(vdev, its block) of a block of the pool."""
        region = next(r for r in self.parts if block < r.end)
        i = block - region.start
        if len(region.turns) == 1:
            return region.turns[0].vdev, region.turns[0].first + i
        t, j = divmod(i, region.round)
        turn = next(x for x in region.turns if j < x.at + x.width)
        return turn.vdev, turn.first + t * turn.width + j - turn.at

    def pool_block(self, vdev, own):
        """The pool's block for block @own of the vdev; None: none."""
        for region in self.parts:
            for turn in region.turns:
                if turn.vdev is not vdev or own < turn.first:
                    continue
                i = own - turn.first
                if len(region.turns) > 1:
                    i = i // turn.width * region.round + turn.at + i % turn.width
                if i < region.end - region.start:
                    return region.start + i
        return None


Turn = namedtuple("Turn", "vdev at width first")
Region = namedtuple("Region", "start end round turns")


def extent(v):
    """1.4"""
    if not v.parity1:
        return 64
    m = 512 // (v.leg_count * v.chunk)
    return next(m // k * v.stripe for k in range(m, 0, -1) if not m % k and (m // k * v.stripe >= 64 or k == 1))


# --- which superblock and which legs count: 2.2 -------------------------------------------------

def larger(raw, block, blocks, window):
    """2.1, 7: the superblock is valid, but of when the device was larger."""
    index = struct.unpack_from("<I", raw, 120)[0]
    size = struct.unpack_from("<Q", raw, 3584 + 96 * index + 24)[0] if index < 48 else 0
    try:
        return size > blocks and bool(Superblock(raw, block * BLOCK, size, window))
    except Refused:
        return False


def read_label(leg, window):
    """A leg's newest valid superblock: the first valid one in order of claimed age."""
    found, leg.all_read, torn = [], True, set()
    for ring in (0, leg.blocks - 256):
        for slot in range(16):
            block = ring + 16 + 4 * slot
            raw = leg.read(block, 4)
            if raw and raw[:16] == MAGIC:
                found.append((struct.unpack_from("<QQ", raw, 88), block, raw))
                if struct.unpack_from("<I", raw, 16)[0] != without_sum(raw, 16):
                    torn.add((ring, slot))
            leg.all_read &= bool(raw)
    for _, block, raw in sorted(found, reverse=True):
        try:
            leg.sb = sb = Superblock(raw, block * BLOCK, leg.blocks, window)
            # Two in a row that are torn: one of them may have been whole.
            leg.all_read &= not any({(ring, (sb.sequence + i) % 16) for i in (1, 2)} <= torn
                                    for ring in (0, leg.blocks - 256))
            return
        except Refused:
            if larger(raw, block, leg.blocks, window):
                raise Refused(leg.path + ": too small")
    raise Refused(leg.path + ": no label")


def shape(sb):
    return (sb.pool_uuid, sb.forks, sb.log_discards, sb.flags & 8, [(v.kind, v.leg_count) for v in sb.vdevs],
            [leg.uuid for leg in sb.legs])


def is_passed_by(leg, best):
    """2.2: nothing was done in the history of @leg without the legs that @best has in sync."""
    own, at = leg.sb, leg.sb.leg_index
    if not leg.all_read or shape(own) != shape(best) or own.flags & 8 or own.legs[at].state != IN_SYNC or \
       best.legs[best.leg_index].state != IN_SYNC or not best.legs[at].out or best.legs[at].state == 5 or \
       own.legs[at].in_sync_epoch != best.legs[at].in_sync_epoch:
        return False
    called = best.legs[at].out - 1 if best.legs[at].out > 1 else best.sequence
    if called + max(own.behind, 1) - 1 < own.sequence:
        return False
    pairs = [(mine, theirs) for mine, theirs in zip(own.legs, best.legs) if theirs.state == IN_SYNC]
    return all(mine.in_sync_epoch == theirs.in_sync_epoch and (mine.state == IN_SYNC or mine.out == 1)
               for mine, theirs in pairs) and any(mine.state != IN_SYNC for mine, _ in pairs)


def age(sb):
    return sb.epoch, sb.sequence


def winner(legs):
    """2.2: the newest superblock, but for those that are passed by for it."""
    newest = sorted((leg.sb for leg in legs), key=age, reverse=True)
    for best in newest:
        if all(is_passed_by(leg, best) for leg in legs
               if age(leg.sb) > age(best) or has_forked(leg.sb, best, True)):
            return best
    return newest[0]


def has_forked(own, best, from_any=False):
    """2.2: the leg of @own was in use after it parted from the winner."""
    def has_data(sb, i):
        return any(v.first_leg <= i < v.first_leg + v.leg_count and v.kind not in (CACHE, CACHE_PARITY1)
                   for v in sb.vdevs)

    def went_on_without(i):
        if i >= len(own.legs) or best.legs[i].state != IN_SYNC or best.legs[i].in_sync_epoch > own.epoch:
            return False
        if own.legs[i].uuid == best.legs[i].uuid:
            return own.legs[i].state != IN_SYNC
        return has_data(own, i) and has_data(best, i) and \
            (own.legs[i].state != IN_SYNC or own.legs[i].in_sync_epoch > 0)

    if own.forks and own.forks[-1] not in best.forks:
        return True
    if own.legs[own.leg_index].state != IN_SYNC:
        return False
    if best.legs[best.leg_index].state == IN_SYNC and not from_any:
        return went_on_without(best.leg_index)
    return any(went_on_without(i) for i in range(len(best.legs)))


def choose(legs):
    """The winning superblock; its vdevs have the legs that count."""
    best = winner(legs)
    if best.flags & 8:
        raise Refused("only legs that were about to join")
    for v in best.vdevs:
        v.legs = [None] * v.leg_count
    for leg in legs:
        sb = leg.sb
        if sb.pool_uuid != best.pool_uuid:
            raise Refused("legs of several pools")
        place = next((i for i, info in enumerate(best.legs) if info.uuid == sb.leg_uuid), None)
        if place is None:
            raise Refused(leg.path + ": not of this pool")
        if has_forked(sb, best) and not is_passed_by(leg, best):
            raise Refused(leg.path + ": has forked")
        lag = best.sequence - sb.sequence
        stale = lag < 0 or best.behind and lag > best.behind
        if best.legs[place].state == IN_SYNC and not stale:
            v = next(v for v in best.vdevs if v.first_leg <= place < v.first_leg + v.leg_count)
            v.legs[place - v.first_leg] = leg
    return best


# --- table: 3 ---------------------------------------------------------------------------------

class Table:
    def __init__(self, sb, vdev):
        self.sb, self.vdev = sb, vdev
        self.seed = seed_of(sb, vdev.index)
        self.pages = {}
        self.lost = 0

    def pointer(self, level, index):
        if level == self.vdev.levels - 1:
            return self.sb.roots[self.vdev.first_root + index]
        return self.page(level + 1, index >> 9)[index & 511]

    def page(self, level, index):
        """Its 512 words. A null, given up or damaged page becomes words with that meaning."""
        if (level, index) not in self.pages:
            self.pages[level, index] = self.load(level, index)
        return self.pages[level, index]

    def load(self, level, index):
        pointer = self.pointer(level, index)
        if pointer == ~0:
            return [~0] * 512
        if not pointer & 0xFFFFFFFF:
            return [pointer & 0x3FFFFFFF00000000] * 512
        if pointer == LOST_POINTER:
            return [LOST_POINTER if level else POISONED << 62] * 512
        for leg, block in self.vdev.page_places(level, index, pointer >> 62 & 1):
            raw = self.vdev.legs[leg].read(block) if self.vdev.legs[leg] else None
            if raw and page_sum(self.seed, level, index, raw) == pointer & 0xFFFFFFFF:
                return struct.unpack("<512Q", raw)
        self.lost += 1
        return [~0] * 512

    def entry(self, leaf, word):
        """(state, crc, birth); state 3: unknown."""
        e = self.page(0, leaf)[word]
        return e >> 62 & 3, e & 0xFFFFFFFF, e >> 32 & 0x3FFFFFFF


# --- log: 4 -----------------------------------------------------------------------------------

Record = namedtuple("Record", "kind block vdev count crc")


class Entry:
    """A header that validates: 4.3, all but the payload."""

    def __init__(self, raw, log, nonce, lsn):
        v, sb = log.v, log.sb
        magic, csum, self.nonce, self.epoch, self.lsn, self.prev_lsn, self.prev_csum, self.blocks, self.durable, \
            self.hdr_blocks, count, open_count, self.flags = struct.unpack_from("<IIQQQQIIQIIII", raw)
        if magic != 0x4C50564B or nonce is not None and self.nonce != nonce:
            raise Refused("none")
        size = 256 + 16 * count
        if count > 65536 or self.hdr_blocks != ceil(size, BLOCK) or self.hdr_blocks > len(raw) // BLOCK:
            raise Refused("header length")
        self.csum = csum
        if csum != without_sum(raw[:size], 4, crc32c(0xFFFFFFFF, struct.pack("<QQ", sb.nonce, self.nonce))):
            raise Refused("sum")
        if nonce is None:
            return
        if self.lsn != lsn:
            raise Refused("position")
        if self.blocks > 256 or lsn + self.blocks > v.segment_end(lsn):
            raise Refused("length")
        if open_count > 16 or self.durable > lsn or self.prev_lsn >= lsn:
            raise Refused("order")
        self.open = struct.unpack_from("<%dQ" % open_count, raw, 72)
        self.limit = struct.unpack_from("<QI", raw, 208)
        self.records = [self.record(sb, *struct.unpack_from("<QII", raw, 256 + 16 * i)) for i in range(count)]
        self.payload = sum(r.kind in (DATA, PARITY, CLEAN) for r in self.records)
        rows = ceil(self.payload, v.leg_count - 1) if v.striped else 0
        if self.blocks != (2 * self.hdr_blocks + self.payload + rows if v.striped else
                           self.hdr_blocks + self.payload):
            raise Refused("length")

    @staticmethod
    def record(sb, addr, count, crc):
        kind, block, vdev = addr >> 56, addr & (1 << 56) - 1, 0
        if kind == PARITY:
            vdev, block = block >> 48, block & (1 << 48) - 1
            if count != 1 or vdev >= len(sb.vdevs) or not sb.vdevs[vdev].parity1 or \
               block >= sb.vdevs[vdev].data_blocks // (sb.vdevs[vdev].leg_count - 1):
                raise Refused("row")
        elif kind not in (DATA, INTENT, DISCARD, CLEAN) or not count or block + count > sb.pool_blocks or \
                kind != DISCARD and count != 1:
            raise Refused("record")
        return Record(kind, block, vdev, count, crc)

    def payload_at(self, v, i):
        """Place of payload block @i after the lsn; in full stripes also the places of the rest of
        its row (4.9)."""
        if not v.striped:
            return self.hdr_blocks + i, None
        n, s = v.leg_count, self.payload
        rows = ceil(s, n - 1)
        full = s % (n - 1) or n - 1
        if i < full * rows:
            piece, row = 1 + i // rows, i % rows
        else:
            piece, row = 1 + full + (i - full * rows) // (rows - 1), (i - full * rows) % (rows - 1)
        first = 2 * self.hdr_blocks + row * n
        at = first + piece
        return at, [x for x in range(first, min(first + n, self.blocks)) if x != at]


Version = namedtuple("Version", "lsn rec kind crc data")
LoggedParity = namedtuple("LoggedParity", "limit crc data")


class Log:
    """Walks the log, and keeps its contents."""

    def __init__(self, sb):
        self.sb = sb
        self.v = sb.vdevs[sb.log_vdev]
        self.carriers = [v for v in sb.vdevs if v.index == sb.log_vdev or sb.log_others >> v.index & 1]
        self.seeds = [seed_of(sb, v.index) for v in sb.vdevs]
        self.limit = sb.log_tail + self.v.window
        self.versions = {}          # block: [Version], oldest first
        self.discards = []          # (lsn, rec, block, count), oldest first
        self.rows = {}              # (vdev, row): LoggedParity, the newest
        self.entries = 0
        self.counts = {DATA: 0, INTENT: 0, DISCARD: 0, PARITY: 0, CLEAN: 0}
        self.last = None
        self.by_header = 0
        self.settled = sb.generations[-1].next_lsn if sb.generations else 0
        self.newest_epoch = 0
        parity = any(v.parity1 for v in sb.vdevs)
        self.headers_do = self.v.kind == CACHE and not parity
        self.known = 0
        self.end = sb.log_tail
        self.watermark, self.resolved = sb.log_commit, sb.log_resolved
        clean = sb.flags & 4
        if sum(leg is not None for leg in self.v.legs) < self.v.needed() and not clean:
            self.state = "unread"
            return
        if not clean:
            self.walk()
        self.log_end = (self.end, 0)
        self.chain()
        self.state = "newer" if self.newest_epoch > sb.epoch else "sound"
        if self.end < self.watermark:
            self.state = "damaged"

    def carrier(self, lsn):
        """4.8"""
        n = len(self.carriers)
        return self.carriers[(lsn // 2 + 3 * (lsn // 16) + lsn // 512) % n if n > 1 else 0]

    # one entry

    def headers(self, lsn, v):
        """Possible headers at @lsn: (leg, raw)."""
        room = v.segment_end(lsn) - lsn
        if v.striped:
            yield from self.striped_headers(lsn, v, room)
            return
        for leg, raw in v.log_read(lsn):
            if raw[:4] != b"KVPL":
                continue
            blocks = min(struct.unpack_from("<I", raw, 56)[0], room, 16)
            if blocks > 1:
                at = dict(v.log_places(lsn))[leg]
                raw = v.legs[leg].read(at, blocks) or raw
            yield leg, raw

    def striped_headers(self, lsn, v, room):
        """4.9: either copy of each block."""
        def copies(i):
            return list(dict.fromkeys(raw for at in (lsn + 2 * i, lsn + 2 * i + 1) for _, raw in v.log_read(at)))

        if room < 2:
            return
        for first in copies(0):
            blocks = struct.unpack_from("<I", first, 56)[0]
            if first[:4] != b"KVPL" or not 1 <= blocks <= min(16, room // 2):
                continue
            for rest in itertools.islice(itertools.product(*(copies(i) for i in range(1, blocks))), 64):
                yield None, b"".join((first,) + rest)

    def payload(self, e, v, leg=None):
        """The payload: for each record the data with its sum, or None. From one leg, or from any."""
        found, n = [], 0
        for r in e.records:
            if r.kind not in (DATA, PARITY, CLEAN):
                found.append(None)
                continue
            at, others = e.payload_at(v, n)
            n += 1
            candidates = [data for where, data in v.log_read(e.lsn + at) if leg is None or where == leg]
            if others is not None:
                rest = [v.log_read(e.lsn + x) for x in others]
                if all(rest):
                    candidates.append(xor(x[0][1] for x in rest))
            found.append(next((data for data in candidates if self.record_sum(r, data) == r.crc), None))
        return found

    def record_sum(self, r, data):
        if r.kind == PARITY:
            return block_sum(self.seeds[r.vdev], r.block | 1 << 55, data)
        return block_sum(self.seeds[0], r.block, data)

    def entry_at(self, lsn, nonce, prev):
        """The entry that counts at @lsn and follows @prev: (entry, payload), or None."""
        v = self.carrier(lsn)
        sound = []
        for leg, raw in self.headers(lsn, v):
            try:
                e = Entry(raw, self, nonce, lsn)
            except Refused:
                continue
            if (e.prev_lsn, e.prev_csum) != prev:
                continue
            sound.append(e)
            payload = self.payload(e, v, leg)
            if all(p is not None for p, r in zip(payload, e.records) if r.kind in (DATA, PARITY)):
                return e, payload
        # 4.4: the header alone, which all legs have
        legs = sum(x is not None for x in v.legs)
        if sound and len(sound) == legs and len({e.csum for e in sound}) == 1 and \
           lsn + sound[0].blocks <= self.known:
            self.by_header += 1
            return sound[0], self.payload(sound[0], v)
        return None

    # the chain of entries

    def places(self, limit):
        """4.4: places where the next entry may begin."""
        after = self.v.segment_end(self.end)
        if self.end < limit:
            yield self.end
        if self.end % self.v.segment_blocks and after < limit:
            yield after

    def step(self, nonce, prev, limit):
        for lsn in self.places(limit):
            found = self.entry_at(lsn, nonce, prev)
            if found:
                self.end = lsn + found[0].blocks
                return found
        return None

    def walk(self):
        sb, generation = self.sb, 0
        prev = sb.log_prev_lsn, sb.log_prev_csum
        if self.headers_do:
            self.find_known()
        while True:
            # 4.6
            while generation < len(sb.generations) and prev == sb.generations[generation][2:]:
                self.end = sb.generations[generation].next_lsn
                generation += 1
            old = sb.generations[generation] if generation < len(sb.generations) else None
            found = self.step(old.nonce if old else sb.log_nonce, prev, old.next_lsn if old else self.limit)
            if not found:
                break
            e, payload = found
            prev = e.lsn, e.csum
            self.last = e
            self.entries += 1
            self.newest_epoch = max(self.newest_epoch, e.epoch)
            self.note(e, payload)
        self.look_beyond(old.nonce if old else sb.log_nonce)

    def find_known(self):
        """4.4: the watermark, by the first headers of segments."""
        sb = self.sb
        lsn = self.settled or self.v.segment_end(sb.log_tail)
        self.known = self.settled
        for lsn in range(lsn, self.limit, self.v.segment_blocks):
            for _, raw in self.headers(lsn, self.v):
                try:
                    self.known = max(self.known, Entry(raw, self, sb.log_nonce, lsn).durable)
                except Refused:
                    pass

    def look_beyond(self, nonce):
        """4.4: signs that more was durable, or that the superblock is old."""
        for v in self.carriers:
            for lsn in range(self.end, self.limit):
                for _, raw in self.headers(lsn, v):
                    try:
                        self.newest_epoch = max(self.newest_epoch, Entry(raw, self, None, lsn).epoch)
                        self.watermark = max(self.watermark, Entry(raw, self, nonce, lsn).durable)
                    except Refused:
                        pass

    def chain(self):
        """4.11: parity that an unfinished recovery has logged."""
        sb, end, prev, entries = self.sb, self.end, (0, 0), []
        if not sb.redo_nonce or sb.redo_state in (REDO_BEGUN, REDO_BEGUN_ANEW):
            return
        self.end = sb.redo_lsn
        while not entries or not entries[-1][0].flags & FLAG_LAST:
            found = self.step(sb.redo_nonce, prev, self.limit)
            if not found:
                break
            entries.append(found)
            prev = found[0].lsn, found[0].csum
        self.end = end
        if entries and entries[-1][0].flags & FLAG_LAST:
            for e, payload in entries:
                self.note(e, payload, False)
            self.log_end = entries[-1][0].limit

    def note(self, e, payload, count=True):
        for i, (r, data) in enumerate(zip(e.records, payload)):
            self.counts[r.kind] += count
            if r.kind == DISCARD:
                self.discards.append((e.lsn, i, r.block, r.count))
            elif r.kind == PARITY:
                self.rows[r.vdev, r.block] = LoggedParity(e.limit, r.crc, data)
            elif r.kind != CLEAN:
                self.versions.setdefault(r.block, []).append(Version(e.lsn, i, r.kind, r.crc, data))

    # what it says

    def history(self, block, limit=(1 << 64, 0)):
        """Versions of a block before @limit, newest first."""
        all_of_it = [Version(lsn, rec, DISCARD, 0, None) for lsn, rec, first, count in self.discards
                     if first <= block < first + count]
        all_of_it = sorted(all_of_it + self.versions.get(block, []), key=lambda v: (v.lsn, v.rec), reverse=True)
        return [v for v in all_of_it if (v.lsn, v.rec) < limit]

    def is_settled(self, v):
        return v.lsn < self.settled and v.kind != DATA or v.lsn < self.resolved and v.kind == INTENT

    def is_open(self, lsn):
        """4.10: may intents of the entry at @lsn have been cut short?"""
        return self.last is not None and (lsn >= self.last.lsn or lsn in self.last.open)


    def has_twin(self, version, older):
        """4.10: does data below an open intent have its sum? @older: newest first."""
        if version.kind != INTENT or not self.is_open(version.lsn):
            return False
        below = next((v for v in older if not (v.kind == INTENT and self.is_open(v.lsn))), None)
        return below is not None and below.kind == DATA and below.crc == version.crc


# --- what the pool holds: 4.10 -------------------------------------------------------------------

class Pool:
    def __init__(self, paths, window=1 << 18):
        self.legs = []
        try:
            for path in paths:
                self.legs.append(Leg(path))
                read_label(self.legs[-1], window)
            self.sb = choose(self.legs)
            self.tables = {v.index: Table(self.sb, v) for v in self.sb.vdevs if not v.is_cache}
            self.log = Log(self.sb)
            self.seed = seed_of(self.sb, 0)
        except BaseException:
            self.close()
            raise
        self.rows_done = {}

    def close(self):
        for leg in self.legs:
            leg.close()

    def readable(self):
        return self.log.state != "unread" and \
            all(sum(leg is not None for leg in v.legs) >= v.needed() for v in self.sb.vdevs if not v.is_cache)

    def block(self, block):
        """(state, contents): contents None for an unwritten or lost block."""
        v, own = self.sb.locate(block)
        if v.parity1:
            row = v.row_of(own)
            if (v.index, row) not in self.rows_done:
                self.rows_done[v.index, row] = Row(self, v, row).resolve()
            return self.rows_done[v.index, row][v.piece_of(own)]
        return self.plain(v, own, block)

    def homes(self, v, own):
        return [data for data in (leg.read(v.data_start + own) for leg in v.legs if leg) if data is not None]

    def plain(self, v, own, block):
        """A block of a single or a mirror."""
        homes, newest = None, None

        def home(crc):
            nonlocal homes
            homes = self.homes(v, own) if homes is None else homes
            return next((d for d in homes if block_sum(self.seed, block, d) == crc), None)

        def mixture():
            if newest is not None and self.log.is_open(newest) and homes:
                return "torn", homes[0]
            return "unrepaired", None

        history = self.log.history(block)
        for i, version in enumerate(history):
            if self.log.is_settled(version):
                break
            if version.kind == DISCARD:
                return "unwritten", None
            if version.kind == DATA:
                if version.data is not None:
                    return "in_log", version.data
                data = home(version.crc)
                return ("valid", data) if data is not None else ("unrepaired", None)
            newest = version.lsn if newest is None else newest
            if self.log.has_twin(version, history[i + 1:]):
                continue
            data = home(version.crc)
            if data is not None:
                return "valid", data
            if not self.log.is_open(version.lsn):
                return mixture()
        state, crc, _ = self.tables[v.index].entry(*v.entry_at(own))
        if state == UNWRITTEN:
            return "unwritten", None
        if state == POISONED:
            return "poisoned", None
        data = home(crc) if state == VALID else None
        return ("valid", data) if data is not None else mixture()

    # 4.7

    def clean(self):
        """Blocks that summaries call clean, and the rotten ones among them."""
        sb = self.sb
        v = next((v for v in sb.vdevs if v.is_cache), None)
        if not v or not any(v.legs):
            return 0, 0
        here = v.index == sb.log_vdev
        written = (self.log.end if self.log.state == "sound" else 0) if here else sb.cache_lsn
        if not written:
            return 0, 0
        doubt = written
        if here:
            window_end = sb.log_tail - sb.log_tail % v.segment_blocks + v.window
            most = written + 8 * (288 + v.kept)
            doubt = max(written, window_end if any(x.parity1 for x in sb.vdevs) else min(window_end, most))
        good = bad = 0
        ring, step = v.log_blocks, v.segment_blocks
        lsn = ceil(written, step) * step - step
        while lsn >= written - ring and lsn >= ring and lsn + ring >= doubt:
            for leg, raw in self.summaries(v, lsn):
                era = struct.unpack_from("<I", raw, 16)[0]
                if not self.summary_counts(v, leg, raw, lsn, era):
                    continue
                for at in range(step - v.kept):
                    result = self.clean_block(v, leg, raw, lsn, at, era)
                    good += result is True
                    bad += result is False
                if v.striped:
                    break
            lsn -= step
        return good, bad

    def summaries(self, v, lsn):
        end = v.segment_end(lsn)
        for copy in range(2 if v.striped else v.leg_count):
            leg, at = v.log_places(end - v.kept + copy)[0] if v.striped else v.log_places(end - v.kept)[copy]
            raw = v.legs[leg].read(at, 2) if v.legs[leg] else None
            if raw:
                yield leg, raw

    def summary_counts(self, v, leg, raw, lsn, era):
        magic, csum, its_lsn = struct.unpack_from("<IIQ", raw)
        if magic != 0x5350564B or its_lsn != lsn or era > self.sb.era + 1:
            return False
        start = crc32c(0xFFFFFFFF, struct.pack("<Q", self.sb.nonce) + self.sb.legs[v.first_leg + leg].uuid)
        return csum == without_sum(raw, 4, start)

    def clean_block(self, v, leg, raw, lsn, at, era):
        """True: clean; False: rotten; None: no summary names it, or not any more."""
        addr, crc = struct.unpack_from("<QI", raw, 32 + 16 * at)
        block = addr & (1 << 48) - 1
        if not addr >> 63 or block >= self.sb.pool_blocks:
            return None
        home, own = self.sb.locate(block)
        state, its_crc, birth = self.tables[home.index].entry(*home.entry_at(own))
        if state != VALID or its_crc != crc or birth >= era:
            return None
        places = v.log_places(lsn + at)
        where, block_at = places[0] if v.striped else places[leg]
        if not v.legs[where]:
            return None
        data = v.legs[where].read(block_at)
        return data is not None and block_sum(self.seed, block, data) == crc


class Row:
    """A row of a parity1."""

    def __init__(self, pool, v, row):
        self.pool, self.v, self.row = pool, v, row
        self.log, self.table = pool.log, pool.tables[v.index]
        n = v.leg_count
        self.blocks = [None] + [pool.sb.pool_block(v, v.row_block(row, i)) for i in range(1, n)]
        self.homes = {}
        self.in_flight = False

    def home(self, piece):
        if piece not in self.homes:
            leg = self.v.legs[self.v.piece_leg(self.row, piece)]
            self.homes[piece] = leg.read(self.v.data_start + self.row) if leg else None
        return self.homes[piece]

    def sum(self, piece, data):
        if piece:
            return block_sum(self.pool.seed, self.blocks[piece], data)
        return block_sum(self.table.seed, self.row | 1 << 55, data)

    def entry(self, piece):
        at = self.v.entry_at(self.v.row_block(self.row, piece)) if piece else self.v.parity_entry_at(self.row)
        return self.table.entry(*at)

    def home_is(self, piece, crc):
        data = self.home(piece)
        return data is not None and self.sum(piece, data) == crc

    def history(self, piece, limit):
        return self.log.history(self.blocks[piece], limit) if self.blocks[piece] is not None else []

    def passed_over(self, piece, version):
        """True for an open intent that home has not got, or may not have."""
        return version.kind == INTENT and self.log.is_open(version.lsn) and \
            (self.has_twin(piece, version) or not self.home_is(piece, version.crc))

    def has_twin(self, piece, version):
        return self.log.has_twin(version, self.history(piece, (version.lsn, version.rec)))

    def counted(self, piece, limit, by_found):
        """The contents of a piece that the parity counts; None: unknown."""
        version = next((v for v in self.history(piece, limit) if not (by_found and self.passed_over(piece, v))), None)
        if version and version.kind == DISCARD:
            return ZEROS
        if version and version.kind == DATA:
            return version.data
        state, crc, _ = self.entry(piece)
        if not version and state in (UNWRITTEN, POISONED):
            return ZEROS
        crc = version.crc if version else crc
        return self.home(piece) if self.home_is(piece, crc) else None

    def parity_for(self, piece, version):
        """Parity that counts @version of a piece, or with None the table's version, and its limit."""
        logged = self.log.rows.get((self.v.index, self.row))
        if logged and logged.limit > (self.pool.sb.log_tail, 0):
            newest = next(iter(self.history(piece, logged.limit)), None)
            same = (newest.lsn, newest.rec) == (version.lsn, version.rec) if newest and version else \
                newest is version
            if same:
                return logged.data, logged.limit
        if version:
            return self.home(0), (version.lsn + 1, 0)
        state, crc, _ = self.entry(0)
        return self.home(0) if state == VALID and self.home_is(0, crc) else None, (0, 0)

    def parity_that_found(self, piece, version):
        """Parity of a recovery that found @version of a piece under open intents, and its limit."""
        logged = self.log.rows.get((self.v.index, self.row))
        if not logged or logged.limit <= (self.pool.sb.log_tail, 0):
            return None, (0, 0)
        at = (version.lsn, version.rec) if version else (0, 0)
        newer = [v for v in self.history(piece, logged.limit) if (v.lsn, v.rec) > at]
        open_only = all(v.kind == INTENT and self.log.is_open(v.lsn) for v in newer)
        return logged.data if open_only else None, logged.limit

    def rebuilt(self, piece, version, crc):
        for by_found in (False, True):
            parity, limit = self.parity_that_found(piece, version) if by_found else self.parity_for(piece, version)
            if parity is None:
                continue
            blocks = [parity] + [self.counted(i, limit, by_found) for i in range(1, self.v.leg_count) if i != piece]
            data = xor(blocks) if None not in blocks else None
            if data is not None and self.sum(piece, data) == crc:
                return data
        return self.rebuilt_by_table(piece, crc)

    def rebuilt_by_table(self, piece, crc):
        """From what the table names, if home has all of it."""
        entries = [self.entry(i) for i in range(self.v.leg_count)]
        others = [i for i in range(self.v.leg_count) if i != piece and (not i or entries[i][0] == VALID)]
        if entries[piece][1] != crc or entries[0][0] != VALID or not all(self.home_is(i, entries[i][1]) for i in others):
            return None
        data = xor([self.home(i) for i in others])
        return data if self.sum(piece, data) == crc else None

    def at_home(self, piece, version):
        """A version that only home can have."""
        state, crc, _ = self.entry(piece)
        if not version and state == UNWRITTEN:
            return "unwritten", None
        if not version and state == POISONED:
            return "poisoned", None
        if not version and state != VALID:
            return None
        crc = version.crc if version else crc
        data = self.home(piece) if self.home_is(piece, crc) else self.rebuilt(piece, version, crc)
        return ("valid", data) if data is not None else None

    def piece(self, piece):
        for version in self.history(piece, self.log.log_end) + [None]:
            if version and version.kind == DISCARD:
                return "unwritten", None
            if version and version.kind == DATA:
                return "in_log", version.data
            found = self.at_home(piece, version)
            if found and not (version and self.has_twin(piece, version)):
                return found
            is_open = version is not None and self.log.is_open(version.lsn)
            self.in_flight |= is_open
            if not is_open:
                break
        if self.in_flight and self.home(piece) is not None:
            return "torn", self.home(piece)
        return "unrepaired", None

    def resolve(self):
        return [None] + [self.piece(i) for i in range(1, self.v.leg_count)]


# --- the command ---------------------------------------------------------------------------------

STATES = ("valid", "unwritten", "in_log", "torn", "poisoned", "unrepaired")


def report(pool, out=None):
    """The pool's report; contents to @out, a file."""
    sb, log = pool.sb, pool.log
    answer = {
        "pool": sb.name, "uuid": sb.pool_uuid.hex(),
        "tag": f"{history_tag(sb.pool_uuid, sb.forks, sb.log_discards):08x}", "epoch": sb.epoch, "sequence": sb.sequence, "era": sb.era,
        "blocks_of_pool": sb.pool_blocks, "features": [name for bit, name in FEATURES.items() if sb.incompat & bit],
        "legs": [{"uuid": info.uuid.hex(), "state": info.state,
                  "read": any(leg and leg.sb.leg_uuid == info.uuid for v in sb.vdevs for leg in v.legs)}
                 for info in sb.legs],
        "log": {"state": log.state, "entries": log.entries, "end": log.end, "watermark": log.watermark,
                "data": log.counts[DATA], "intents": log.counts[INTENT], "discards": log.counts[DISCARD],
                "parity": log.counts[PARITY], "clean": log.counts[CLEAN]},
    }
    if not pool.readable():
        return answer
    counts = dict.fromkeys(STATES, 0)
    for block in range(sb.pool_blocks):
        state, data = pool.block(block)
        counts[state] += 1
        if out and (data or state in ("poisoned", "unrepaired")):
            out.seek(block * BLOCK)
            out.write(data or LOST)
    if out:
        out.truncate(sb.pool_blocks * BLOCK)
    answer["blocks"] = counts
    answer["clean"], answer["clean_bad"] = pool.clean()
    return answer


def main():
    parser = argparse.ArgumentParser(description="Reads a pool from images of its legs.")
    parser.add_argument("-o", dest="out")
    parser.add_argument("--window", type=int, default=1 << 18)
    parser.add_argument("legs", nargs="+")
    args = parser.parse_args()
    try:
        pool = Pool(args.legs, args.window)
    except Refused as why:
        sys.exit(f"refused: {why}")
    if args.out:
        with open(args.out, "wb") as out:
            answer = report(pool, out)
    else:
        answer = report(pool)
    pool.close()
    print(json.dumps(answer, indent=1))
    sys.exit(0 if pool.log.state == "sound" and "blocks" in answer else 5)


if __name__ == "__main__":
    main()
