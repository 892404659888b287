# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel must know of an emulated processor. All programs that start machines use this."""

# The emulator runs string instructions byte by byte. Copies with plain loops are three
# times as fast. Clearing pages no longer keeps a processor from the watchdog.
SLOW = "erms,fsrm,rep_good"

# Without a lock prefix, cmpxchg16b leaves wrong flags in the emulator of Debian 12 (QEMU 7.2), all 32 bits of
# them. If an interrupt comes next, the kernel dies of a double fault as it returns from that. Each allocation
# of a kernel object executes one. Without the feature the kernel does it in another way.
WRONG = "cx16"

# For the kernel's command line.
CLEARED = f"clearcpuid={SLOW},{WRONG}"
