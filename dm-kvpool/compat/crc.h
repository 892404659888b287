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
 * Not inverted, as the kernel's crc32c(). The module computes it with the
 * processor's instruction where there is one (sum.c), userspace likewise.
 */
__u32 kvp_crc32c(__u32 crc, const void *data, size_t bytes);

int kvp_crc_init(void);
void kvp_crc_exit(void);

#endif /* KVP_CRC_H */
