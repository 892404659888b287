/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVP_CRC_H
#define KVP_CRC_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stddef.h>
#endif

/**
 * kvp_crc32c() - crc32c of a buffer, continued from @crc
 *
 * Not inverted, like the kernel's crc32c(). Module and userspace use the processor's instruction
 * where there is one (format/sum.c).
 */
__u32 kvp_crc32c(__u32 crc, const void *data, size_t bytes);

/**
 * kvp_crc_init() - get the kernel's crc32c, before the first sum
 *
 * kvp_crc_exit() - give it back, after the last sum
 *
 * Module only. Return: 0 or -errno; after an error there is nothing to give back. Context: process,
 * may sleep.
 */
int kvp_crc_init(void);
void kvp_crc_exit(void);

#endif /* KVP_CRC_H */
