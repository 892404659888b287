/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's xor_blocks(), which must not be used in interrupts. */
#ifndef SIM_LINUX_RAID_XOR_H
#define SIM_LINUX_RAID_XOR_H

#include <linux/types.h>

#include "sched.h"

#define MAX_XOR_BLOCKS	4

static inline void xor_blocks(unsigned int count, unsigned int bytes, void *dest, void **srcs)
{
	unsigned int i, s;

	sim_might_sleep(__func__);
	if (!count || count > MAX_XOR_BLOCKS || bytes % sizeof(u64))
		sim_fail("xor_blocks() of %u sources, %u bytes", count, bytes);
	for (s = 0; s < count; s++)
		for (i = 0; i < bytes / sizeof(u64); i++)
			((u64 *)dest)[i] ^= ((const u64 *)srcs[s])[i];
}

#endif
