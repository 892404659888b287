/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_SCHED_H
#define SIM_LINUX_SCHED_H

#include <linux/jiffies.h>
#include <linux/kernel.h>

void schedule_timeout_uninterruptible(long timeout);
#define schedule_timeout_interruptible	schedule_timeout_uninterruptible
#define schedule_timeout_idle		schedule_timeout_uninterruptible
#define schedule()			sim_yield()
#define signal_pending(t)		false
#define TASK_UNINTERRUPTIBLE		2

#endif
