/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_DELAY_H
#define SIM_LINUX_DELAY_H

#include <linux/sched.h>

#define msleep(ms)		schedule_timeout_uninterruptible(msecs_to_jiffies(ms))
#define usleep_range(a, b)	schedule_timeout_uninterruptible(1)
#define udelay(us)		((void)(us))

#endif
