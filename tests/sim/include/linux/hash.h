/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_HASH_H
#define SIM_LINUX_HASH_H

#include <linux/types.h>

#define GOLDEN_RATIO_64	0x61c8864680b583ebull

static inline u32 hash_64(u64 v, unsigned int bits)
{
	return (u32)(v * GOLDEN_RATIO_64 >> (64 - bits));
}

static inline u32 hash_32(u32 v, unsigned int bits)
{
	return v * 0x61c88647u >> (32 - bits);
}

#define hash_long(v, b)	hash_64(v, b)
#define hash_ptr(p, b)	hash_64((u64)(unsigned long)(p), b)

#endif
