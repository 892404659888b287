/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: the virtual clock. */
#ifndef SIM_LINUX_KTIME_H
#define SIM_LINUX_KTIME_H

#include <linux/kernel.h>

typedef s64 ktime_t;
u64 sim_now_ns(void);
#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_USEC	1000L
#define MSEC_PER_SEC	1000L
#define ktime_get()			((ktime_t)sim_now_ns())
#define ktime_get_ns()			sim_now_ns()
#define ktime_get_boottime_ns()		sim_now_ns()
#define ktime_get_seconds()		((s64)(sim_now_ns() / NSEC_PER_SEC))
#define ktime_get_real_seconds()	(1700000000LL + ktime_get_seconds())
#define ktime_get_real_ns()		(1700000000LL * NSEC_PER_SEC + sim_now_ns())
#define ktime_sub(a, b)			((a) - (b))
#define ktime_add(a, b)			((a) + (b))
#define ktime_to_ns(t)			(t)
#define ktime_to_us(t)			((t) / 1000)
#define ktime_to_ms(t)			((t) / 1000000)
#define ktime_ms_delta(a, b)		(((a) - (b)) / 1000000)
#define ktime_us_delta(a, b)		(((a) - (b)) / 1000)

#endif
