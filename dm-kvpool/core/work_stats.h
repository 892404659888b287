/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of background work. target/status.c shows them. */
#ifndef KVP_WORK_STATS_H
#define KVP_WORK_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

struct kvp_work_stats {
	atomic64_t page_reads, page_writes, leaf_writes, checkpoints, ssd_page_reads,
		   ssd_page_writes;
	atomic64_t destage_blocks, destage_ios, renewed, healed, unrepaired, table_healed;
	atomic64_t leaf_lost;	/* blocks poisoned because their leaf was lost */
	atomic64_t leaf_discards;	/* leaves that a discard has changed, or may have changed */
};

#endif /* KVP_WORK_STATS_H */
