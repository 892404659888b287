/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: variables of one processor, whichever a task is on. */
#ifndef SIM_LINUX_PERCPU_H
#define SIM_LINUX_PERCPU_H

#include <linux/slab.h>

#define alloc_percpu(type)		((type *)kzalloc(sizeof(type), GFP_KERNEL))
#define alloc_percpu_gfp(type, g)	((type *)kzalloc(sizeof(type), g))
#define free_percpu(p)			kfree(p)
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define this_cpu_ptr(p)			(p)
#define get_cpu_ptr(p)			(p)
#define put_cpu_ptr(p)			((void)(p))
#define this_cpu_inc(x)			((void)((x)++))
#define this_cpu_inc_return(x)		(++(x))
#define this_cpu_dec(x)			((void)((x)--))
#define this_cpu_add(x, v)		((void)((x) += (v)))
#define this_cpu_read(x)		(x)
#define this_cpu_sub(x, v)		((void)((x) -= (v)))
#define SIM_PROCESSORS			3
u32 sim_processor(void);
#define raw_smp_processor_id()		sim_processor()
#define smp_processor_id()		0
#define num_possible_cpus()		1
#define num_online_cpus()		1
#define for_each_possible_cpu(c)	for ((c) = 0; (c) < 1; (c)++)
#define for_each_online_cpu(c)		for ((c) = 0; (c) < 1; (c)++)

#endif
