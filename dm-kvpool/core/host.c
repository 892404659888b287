// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "core/core.h"
#include "core/host.h"
#include "core/stats.h"

#define NAP_NS	(50ull * NSEC_PER_MSEC)

u64 kvp_host_asked(const struct kvp_pool *pool)
{
	u64 blocks = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct kvp_stats *s = per_cpu_ptr(pool->stats, cpu);

		blocks += s->read_blocks + s->write_blocks + s->discard_blocks;
		blocks -= s->ram_hits + s->ssd_hits + s->buffer_read_blocks + s->zero_read_blocks;
	}
	return blocks;
}

u64 kvp_host_read_home(const struct kvp_pool *pool)
{
	u64 blocks = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		blocks += per_cpu_ptr(pool->stats, cpu)->home_read_blocks;
	return blocks;
}

bool kvp_host_busy(const struct kvp_pool *pool, struct kvp_yield *y, u32 ms)
{
	return kvp_yield_busy(y, kvp_host_asked(pool), ktime_get_ns(), (u64)ms * NSEC_PER_MSEC);
}

bool kvp_host_rest(const struct kvp_pool *pool, struct kvp_yield *y, u64 ns,
		   bool (*stop)(void *arg),
		   void *arg)
{
	bool rested = false;
	u64 slept;

	for (slept = 0; slept < ns && kvp_host_busy(pool, y, KVP_HOST_QUIET_MS); slept += NAP_NS) {
		if (stop(arg))
			break;
		schedule_timeout_uninterruptible(max(nsecs_to_jiffies(min(ns - slept, NAP_NS)),
						     1ul));
		rested = true;
	}
	return rested;
}
