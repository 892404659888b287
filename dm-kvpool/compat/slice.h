/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the scheduler lets a task go on. Since 6.12 a task may ask for a slice of its own. When
 * it wakes, it gets the processor from a task with a longer slice, if it had less than its share.
 */
#ifndef KVP_SLICE_H
#define KVP_SLICE_H

#include <linux/sched.h>
#include <linux/types.h>
#include <linux/version.h>
#include <uapi/linux/sched/types.h>

/**
 * kvp_compat_set_slice() - set the slice of the task that calls this
 * @ns: 100 us to 100 ms; 0: that of other tasks
 *
 * Its nice value stays. A task with another policy than the usual one stays as it is. Return: true
 * if the task has this slice now. Context: process.
 */
static inline bool kvp_compat_set_slice(u64 ns)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_nice = task_nice(current),
		.sched_runtime = ns,
	};

	return current->policy == SCHED_NORMAL && !sched_setattr_nocheck(current, &attr);
#else
	return false;
#endif
}

#endif /* KVP_SLICE_H */
