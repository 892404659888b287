#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Golden images of the on-disk format, encoded from the document alone.

Shares no code with the module: offsets are written out here, as
docs/on-disk-format.md has them. Prints golden_data.h; run it only when the
format changes on purpose:  ./golden.py > golden_data.h
"""
import struct

TABLE = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    TABLE.append(c)


def crc32c(crc, data):
    for b in data:
        crc = crc >> 8 ^ TABLE[(crc ^ b) & 0xFF]
    return crc


def put(buf, offset, fmt, *values):
    struct.pack_into("<" + fmt, buf, offset, *values)


def uuid(n):
    return bytes((n * 16 + i) & 0xFF for i in range(16))


def superblock():
    b = bytearray(16384)
    b[0:16] = b"KVPOOL\r\n\x1asblk\0\0\0"[:16]
    put(b, 20, "I", 1)                                   # version
    put(b, 24, "QQQ", 0, 0, 0)                           # features
    b[48:64] = uuid(1)
    b[64:80] = uuid(3)                                   # leg 1
    put(b, 80, "QQQQQ", 64 * 1024 + 5 * 16384, 7, 21, 1700000100, 1700000000)
    put(b, 120, "II", 1, 4)                              # leg index, flags
    put(b, 128, "Q", 0x1122334455667788)                 # nonce
    put(b, 136, "QQQ", 0x99AABBCCDDEEFF00, 2048, 2000)   # log nonce, tail, prev lsn
    put(b, 160, "II", 0xCAFEBABE, 12)                    # prev csum, era
    put(b, 168, "Q", 2100)                               # commit
    put(b, 176, "QQQQ", 33, 400, 2, 500)                 # checkpoint, written, poisoned, pool
    put(b, 208, "IIII", 1, 2, 2, 1)                      # vdevs, legs, forks, roots
    put(b, 224, "QQ", 0xF0F1, 0xF0F2)                    # forks
    put(b, 352, "Q", 5)                                  # tunable mask
    put(b, 360, "QQQ", 1 << 22, 0, 1 << 23)              # tunables
    put(b, 616, "QQQQQII", 9, 1700000001, 1700000002, 3, 1, 2, 77)  # scrub, event
    b[664:668] = b"pool"
    b[728:735] = b"comment"
    put(b, 856, "Q", 0x0123456789ABCDEF)                 # host
    b[864:868] = b"host"
    v = 1024                                             # first vdev
    put(b, v, "IIIIQQIIQQI", 2, 0, 2, 1, 256, 512, 4, 256, 1536, 512, 0)
    put(b, v + 64, "Q", 288)                             # second copy of the table
    trim = struct.pack("<QQ", 0x123, 0x45)               # in all vdevs, used or not
    for i in range(16):
        b[v + i // 3 * 128 + 109 + i % 3] = trim[i]
    b[3581] = 1                                          # the trim runs
    for leg in range(2):                                 # legs
        at = 1024 + 16 * 128 + 512 + 96 * leg
        b[at:at + 16] = uuid(2 + leg)
        put(b, at + 16, "IIQQQQQ", 1 + leg, 11, 2304, 1, 2, 3, 4)
    put(b, 1024 + 16 * 128 + 512 + 48 * 96, "Q", 0x40000009DEADBEEF | 3 << 32)
    put(b, 16, "I", crc32c(0xFFFFFFFF, b))
    return bytes(b)


def spare():
    b = bytearray(16384)
    b[0:16] = b"KVPOOL\r\n\x1asblk\0\0\0"[:16]
    put(b, 20, "I", 1)                                   # version
    put(b, 40, "Q", 0x400)                               # incompatible features
    b[48:64] = uuid(1)
    b[64:80] = uuid(3)                                   # of the spare
    put(b, 80, "Q", 64 * 1024)                           # own offset
    put(b, 112, "Q", 1700000000)                         # made
    b[664:668] = b"pool"
    put(b, 1024 + 16 * 128 + 512 + 24, "Q", 2304)        # size of the first leg
    put(b, 16, "I", crc32c(0xFFFFFFFF, b))
    return bytes(b)


def log_entry():
    records = [(17, 1, 0xAABBCCDD, 1), (18, 1, 0x01020304, 2), (100, 40, 0, 3)]
    b = bytearray(4096)
    nonce, pool_nonce = 0x99AABBCCDDEEFF00, 0x1122334455667788
    put(b, 0, "I", 0x4C50564B)
    put(b, 8, "QQQQ", nonce, 7, 2050, 2048)              # nonce, epoch, lsn, prev
    put(b, 40, "II", 0x12345678, 2)                      # prev csum, blocks
    put(b, 48, "Q", 2048)                                # durable
    put(b, 56, "IIII", 1, 3, 2, 0)                       # header blocks, records, open, flags
    put(b, 72, "QQ", 2040, 2044)                         # open intents
    put(b, 200, "Q", 1700000200)
    for i, (block, count, crc, kind) in enumerate(records):
        put(b, 256 + 16 * i, "QII", block | kind << 56, count, crc)
    seed = crc32c(0xFFFFFFFF, struct.pack("<QQ", pool_nonce, nonce))
    put(b, 4, "I", crc32c(seed, b[:256 + 16 * len(records)]))
    return bytes(b)


def rotate(word, bits, width):
    return (word << bits | word >> (width - bits)) & ((1 << width) - 1)


def fold(data):
    words = struct.unpack("<512Q", data)
    both = 0
    for i, word in enumerate(words):
        both ^= rotate(word, (12 * (i % 7) + 11 * (i // 252)) % 64, 64)
    lower, upper = both & 0xFFFFFFFF, both >> 32
    return lower ^ rotate(lower, 1, 32) ^ rotate(upper, 25, 32) ^ rotate(upper, 27, 32)


def place(seed, address):
    return seed ^ address * 0x61C8864680B583EB >> 32 & 0xFFFFFFFF


def sums():
    data = bytes((i * 7 + 3) & 0xFF for i in range(4096))
    seed = crc32c(crc32c(0xFFFFFFFF, struct.pack("<Q", 0x1122334455667788)), struct.pack("<I", 0))
    yield "SEED", seed
    yield "BLOCK_17", crc32c(crc32c(seed, struct.pack("<Q", 17)), data)
    yield "FOLDED_17", crc32c(0, data) ^ fold(data) ^ place(seed, 17)
    yield "PAGE_1_5", crc32c(crc32c(seed, struct.pack("<Q", 5 | 2 << 56)), data) or 1


def lines(name, image):
    print("static const struct golden_line %s[] = {" % name)
    for at in range(0, len(image), 16):
        part = image[at:at + 16]
        if any(part):
            print("\t{ %5d, { %s } }," % (at, ", ".join("0x%02x" % x for x in part)))
    print("};\n")


print("/* SPDX-License-Identifier: GPL-2.0-only */")
print("/* Written by golden.py. Lines of zeros are left out. */")
for name, value in sums():
    print("#define GOLDEN_%s 0x%08xu" % (name, value))
print("\nstruct golden_line {\n\tunsigned int at;\n\tunsigned char bytes[16];\n};\n")
lines("golden_superblock", superblock())
lines("golden_log_entry", log_entry())
lines("golden_spare", spare())
