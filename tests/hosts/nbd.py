#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""nbd.py DEVICE HOST PORT NAME: makes the export a block device, and serves it until the connection ends.

A client of its own: the kernel's driver, and the handshake "fixed newstyle". Debian's package nbd-client would bring
libraries that nothing else needs.
"""

import fcntl
import os
import socket
import struct
import sys

SET_SOCK, SET_BLKSIZE, DO_IT, CLEAR_SOCK, SET_SIZE_BLOCKS, SET_TIMEOUT, SET_FLAGS = (
    0xAB00, 0xAB01, 0xAB03, 0xAB04, 0xAB07, 0xAB09, 0xAB0A)
FIXED_NEWSTYLE, NO_ZEROES, OPT_EXPORT_NAME = 1, 2, 1
BLOCK = 4096
SECONDS = 30  # until the driver gives up a request, and the connection with it


def receive(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            sys.exit("the server has closed the connection")
        data += more
    return data


def negotiate(sock, name):
    """Returns the size in bytes and the flags of the export."""
    magic, option, _ = struct.unpack(">8s8sH", receive(sock, 18))
    if magic != b"NBDMAGIC" or option != b"IHAVEOPT":
        sys.exit("no server of nbd")
    sock.sendall(struct.pack(">I", FIXED_NEWSTYLE | NO_ZEROES))
    sock.sendall(b"IHAVEOPT" + struct.pack(">II", OPT_EXPORT_NAME, len(name)) + name.encode())
    return struct.unpack(">QH", receive(sock, 10))


def main():
    device, host, port, name = sys.argv[1:]
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    size, flags = negotiate(sock, name)
    fd = os.open(device, os.O_RDWR)
    for order, value in ((SET_BLKSIZE, BLOCK), (SET_SIZE_BLOCKS, size // BLOCK), (SET_TIMEOUT, SECONDS),
                         (SET_FLAGS, flags), (SET_SOCK, sock.fileno())):
        fcntl.ioctl(fd, order, value)
    try:
        fcntl.ioctl(fd, DO_IT)
    except OSError as error:
        print(f"nbd.py: {device}: {error}", file=sys.stderr)
    fcntl.ioctl(fd, CLEAR_SOCK)


if __name__ == "__main__":
    main()
