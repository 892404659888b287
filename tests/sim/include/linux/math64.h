/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_MATH64_H
#define SIM_LINUX_MATH64_H

#include <linux/kernel.h>

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

#define do_div(n, d) ({ u32 __r = (n) % (d); (n) /= (d); __r; })

#endif
