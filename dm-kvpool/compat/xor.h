/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * XOR with the processor's best instructions, where the kernel has it: it is
 * built with those that have software RAID or btrfs, as distributions do.
 */
#ifndef KVP_COMPAT_XOR_H
#define KVP_COMPAT_XOR_H

#include <linux/types.h>

#if defined(CONFIG_XOR_BLOCKS) || defined(CONFIG_XOR_BLOCKS_MODULE)
#include <linux/raid/xor.h>

/** kvp_compat_xor() - add @source to @sum, @bytes of them, whole words. Context: process. */
static inline void kvp_compat_xor(void *sum, void *source, unsigned int bytes)
{
	xor_blocks(1, bytes, sum, &source);
}
#else
static inline void kvp_compat_xor(void *sum, void *source, unsigned int bytes)
{
	unsigned long *to = sum, *from = source;
	unsigned int i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		to[i] ^= from[i];
}
#endif

#endif /* KVP_COMPAT_XOR_H */
