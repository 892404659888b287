/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_CRC32C_H
#define SIM_LINUX_CRC32C_H

#include <linux/types.h>

u32 kvp_crc32c(u32 crc, const void *data, size_t bytes);
#define crc32c(c, d, n)	kvp_crc32c(c, d, n)

#endif
