/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: the virtual clock. */
#ifndef SIM_LINUX_JIFFIES_H
#define SIM_LINUX_JIFFIES_H

#include <linux/kernel.h>

#define HZ	250
u64 sim_jiffies(void);
#define jiffies			((unsigned long)sim_jiffies())
#define get_jiffies_64()	sim_jiffies()
#define msecs_to_jiffies(m)	((unsigned long)(((u64)(m) * HZ + 999) / 1000))
#define usecs_to_jiffies(m)	((unsigned long)(((u64)(m) * HZ + 999999) / 1000000))
#define nsecs_to_jiffies(n)	((unsigned long)((u64)(n) / (1000000000u / HZ)))
#define nsecs_to_jiffies64(n)	((u64)nsecs_to_jiffies(n))
#define jiffies_to_nsecs(j)	((u64)(j) * (1000000000u / HZ))
#define jiffies_to_msecs(j)	((unsigned int)((u64)(j) * 1000 / HZ))
#define jiffies_to_usecs(j)	((unsigned int)((u64)(j) * 1000000 / HZ))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	time_after_eq(b, a)
#define time_after64(a, b)	((s64)((b) - (a)) < 0)
#define MAX_JIFFY_OFFSET	((~0ul >> 2) - 1)
#define MAX_SCHEDULE_TIMEOUT	(~0ul >> 1)

#endif
