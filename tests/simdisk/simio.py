#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Direct I/O for selftest.sh, with sectors that say who wrote them, and where.

simio.py write DEV SECTOR COUNT TAG [dsync]  one write; status: ok or errno name
simio.py read  DEV SECTOR COUNT              tags of the sectors, run lengths
simio.py diff  DEV SECTOR COUNT TAG          bits that differ from TAG's data
simio.py flush DEV                           fsync; status: ok or errno name

A tag is a word. "0" stands for zeroes, "?" for anything not intact: a sector
counts as a tag's only if all its 512 bytes are what that tag writes there.
"""
import errno
import itertools
import mmap
import os
import sys

SECTOR = 512


def pattern(tag, sector):
    if tag == "0":
        return bytes(SECTOR)
    line = f"{tag} {sector};".encode()
    return (line * (SECTOR // len(line) + 1))[:SECTOR]


def identify(data, sector):
    if not any(data):
        return "0"
    tag = data.split(b" ", 1)[0].decode("latin1")
    return tag if data == pattern(tag, sector) else "?"


def read(dev, sector, count):
    fd = os.open(dev, os.O_RDONLY | os.O_DIRECT)
    buf = mmap.mmap(-1, count * SECTOR)
    got = os.preadv(fd, [buf], sector * SECTOR)
    os.close(fd)
    if got != len(buf):
        raise OSError(errno.EIO, "short read")
    return bytes(buf)


def write(dev, sector, count, tag, dsync):
    flags = os.O_WRONLY | os.O_DIRECT | (os.O_DSYNC if dsync else 0)
    fd = os.open(dev, flags)
    buf = mmap.mmap(-1, count * SECTOR)
    for i in range(count):
        buf.write(pattern(tag, sector + i))
    got = os.pwrite(fd, buf, sector * SECTOR)
    os.close(fd)
    if got != len(buf):
        raise OSError(errno.EIO, "short write")
    return "ok"


def flush(dev):
    fd = os.open(dev, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return "ok"


def tags(dev, sector, count):
    data = read(dev, sector, count)
    words = [identify(data[i * SECTOR:(i + 1) * SECTOR], sector + i)
             for i in range(count)]
    return " ".join(f"{t}*{len(list(g))}" for t, g in itertools.groupby(words))


def diff(dev, sector, count, tag):
    data = read(dev, sector, count)
    want = b"".join(pattern(tag, sector + i) for i in range(count))
    return sum(bin(a ^ b).count("1") for a, b in zip(data, want))


def main(verb, dev, *args):
    if verb == "flush":
        return flush(dev)
    sector, count = int(args[0]), int(args[1])
    if verb == "write":
        return write(dev, sector, count, args[2], "dsync" in args[3:])
    if verb == "read":
        return tags(dev, sector, count)
    if verb == "diff":
        return diff(dev, sector, count, args[2])
    raise SystemExit(__doc__)


try:
    print(main(*sys.argv[1:]))
except OSError as e:
    print(errno.errorcode[e.errno])
    sys.exit(1)
