/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * XOR with the processor's best instructions. The kernel offers it if it was built with software
 * RAID or btrfs, as distributions build it. Otherwise a plain loop does it.
 */
#ifndef KVP_COMPAT_XOR_H
#define KVP_COMPAT_XOR_H

#include <linux/types.h>

#if defined(CONFIG_XOR_BLOCKS) || defined(CONFIG_XOR_BLOCKS_MODULE)
#include <linux/raid/xor.h>

#define KVP_XOR_SOURCES	MAX_XOR_BLOCKS

/**
 * kvp_compat_xor() - add up to KVP_XOR_SOURCES @sources to @sum, @bytes of each, whole words.
 * Context: process.
 */
static inline void kvp_compat_xor(void *sum, void **sources, unsigned int nr, unsigned int bytes)
{
	xor_blocks(nr, bytes, sum, sources);
}
#else
#define KVP_XOR_SOURCES	1

static inline void kvp_compat_xor(void *sum, void **sources, unsigned int nr, unsigned int bytes)
{
	unsigned long *to = sum, *from = sources[0];
	unsigned int i;

	for (i = 0; i < bytes / sizeof(*to); i++)
		to[i] ^= from[i];
}
#endif

#endif /* KVP_COMPAT_XOR_H */
