/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_MATH_H
#define SIM_LINUX_MATH_H

#include <linux/kernel.h>

static inline u32 reciprocal_scale(u32 val, u32 below)
{
	return (u64)val * below >> 32;
}

#endif
