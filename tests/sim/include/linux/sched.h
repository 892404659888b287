/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in. */
#ifndef SIM_LINUX_SCHED_H
#define SIM_LINUX_SCHED_H

#include <linux/jiffies.h>
#include <linux/kernel.h>

struct task_sim;
struct task_struct;
extern struct task_sim *sim_current;

void schedule_timeout_uninterruptible(long timeout);
#define schedule_timeout_interruptible	schedule_timeout_uninterruptible
#define schedule_timeout_idle		schedule_timeout_uninterruptible
#define schedule()			sim_yield()
/* An interrupt is a task of its own here. */
#define current				((struct task_struct *)sim_current)
#define in_task()			true
#define signal_pending(t)		false
#define TASK_UNINTERRUPTIBLE		2

#endif
