# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel must know of an emulated processor. All programs that start machines use this."""

import ctypes
import functools
import mmap
import time

# The emulator runs string instructions byte by byte. Copies with plain loops are three
# times as fast. Clearing pages no longer keeps a processor from the watchdog.
SLOW = "erms,fsrm,rep_good"

# Without a lock prefix, cmpxchg16b leaves wrong flags in the emulator of Debian 12 (QEMU 7.2), all 32 bits of
# them. If an interrupt comes next, the kernel dies of a double fault as it returns from that. Each allocation
# of a kernel object executes one. Without the feature the kernel does it in another way.
WRONG = "cx16"

# For the kernel's command line.
CLEARED = f"clearcpuid={SLOW},{WRONG}"


@functools.cache
def tsc_khz(seconds=0.2):
    """How fast the time stamp counter of this host counts, and so that of an emulated processor.

    On a busy host a kernel that measures it may find a tenth of that. Its clock is then ten times as fast as time, and
    the time limits of its tests are over too soon. So it gets the parameter tsc_early_khz=.
    """
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    before, start = counter(), time.monotonic()
    time.sleep(seconds)
    after, end = counter(), time.monotonic()
    return round((after - before) / (end - start) / 1000)
