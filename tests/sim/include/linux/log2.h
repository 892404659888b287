/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_LOG2_H
#define SIM_LINUX_LOG2_H

#include <linux/bitops.h>

#define roundup_pow_of_two(n)	((n) <= 1 ? 1ul : 1ul << (64 - __builtin_clzl((n) - 1ul)))

#endif
