#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes blocks that say who wrote them, and reads them back.

  pattern.py DEVICE write WRITER FIRST COUNT    COUNT durable writes from number FIRST on; each prints "@ack WRITER NUMBER"
  pattern.py DEVICE thaw WRITER FIRST           waits until this machine was frozen for a while, then writes at once
  pattern.py DEVICE read                        prints {"found": {BLOCK: [WRITER, NUMBER]}, "bad": [BLOCK, ...]}

A write that fails prints "@failed WRITER NUMBER ERROR", and ends the program.
"""

import json
import mmap
import os
import struct
import sys
import time

BLOCKS, SIZE, STRIDE = 512, 4096, 197  # neighbours in time are none on the disk
HEAD = struct.Struct("<QQQQ")
MAGIC = 0x6B76706F6F6C6832
FROZEN = 20  # seconds


def place(number):
    return number * STRIDE % BLOCKS


def block(writer, number):
    return HEAD.pack(MAGIC, writer, number, place(number)) * (SIZE // HEAD.size)


def write(fd, writer, first, count):
    page = mmap.mmap(-1, SIZE)
    for number in range(first, first + count):
        page[:] = block(writer, number)
        try:
            if os.pwritev(fd, [page], place(number) * SIZE) != SIZE:
                raise OSError("short")
        except OSError as error:
            print(f"@failed {writer} {number} {error}", flush=True)
            return
        print(f"@ack {writer} {number}", flush=True)


def wait_for_thaw():
    last = time.clock_gettime(time.CLOCK_BOOTTIME)
    print("@waits", flush=True)
    while True:
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        if now - last > FROZEN:
            return
        last = now
        time.sleep(0.05)


def read(fd):
    page = mmap.mmap(-1, SIZE)
    found, bad = {}, []
    for at in range(BLOCKS):
        try:
            os.preadv(fd, [page], at * SIZE)
        except OSError:
            bad.append(at)
            continue
        _, writer, number, _ = HEAD.unpack_from(page)
        if page[:] == block(writer, number) and place(number) == at:
            found[at] = [writer, number]
        elif page[:] != bytes(SIZE):
            bad.append(at)
    print(json.dumps({"found": found, "bad": bad}))


def main():
    device, order, *numbers = sys.argv[1:]
    fd = os.open(device, (os.O_RDONLY if order == "read" else os.O_RDWR | os.O_DSYNC) | os.O_DIRECT)
    if order == "read":
        read(fd)
    elif order == "thaw":
        wait_for_thaw()
        write(fd, *map(int, numbers), 1 << 30)
    else:
        write(fd, *map(int, numbers))


if __name__ == "__main__":
    main()
