/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: from the seed. */
#ifndef SIM_LINUX_RANDOM_H
#define SIM_LINUX_RANDOM_H

#include <linux/types.h>

void get_random_bytes(void *p, size_t n);
u32 get_random_u32(void);
u64 get_random_u64(void);

#endif
