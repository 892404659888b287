/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters that every request changes, and why blocks that were read did not enter a cache.
 * target/status.c shows them.
 */
#ifndef KVP_STATS_H
#define KVP_STATS_H

#include <linux/types.h>

/** enum kvp_ram_bypass - why blocks of a read are not kept; for statistics */
enum kvp_ram_bypass {
	KVP_RAM_KEEP,		/* they are kept */
	KVP_RAM_LONG,		/* the read was over KVP_RCACHE_STRETCH blocks, or was cut */
	KVP_RAM_STREAM,		/* it was part of a long stream */
	KVP_RAM_AHEAD,		/* it was read ahead: no request has asked for it yet */
	KVP_RAM_BYPASSES
};

/** enum kvp_admit_refusal - why a block read from home was not admitted; for statistics */
enum kvp_admit_refusal {
	KVP_ADMIT_EVIDENCE,	/* it was seen too seldom, or only read ahead */
	KVP_ADMIT_STREAM,	/* it was part of a long stream */
	KVP_ADMIT_BUDGET,	/* enough was written to the cache */
	KVP_ADMIT_MEMORY,	/* no page, or no memory for the index */
	KVP_ADMIT_LOG,		/* the log is short of space, or does not work */
	KVP_ADMIT_CHANGED,	/* it has changed since it was read, or is in the cache by now */
	KVP_ADMIT_REFUSALS
};

/* Counters that every request changes, and so one set for each processor. */
struct kvp_stats {
	u64 read_blocks, write_blocks, discard_blocks, zero_read_blocks;
	u64 coalesced_blocks, buffer_read_blocks, read_retries, rebuilt_blocks;
	u64 passed_blocks;
	u64 home_read_blocks;	/* that reads of users asked the legs for, where blocks are home */
	u64 ram_hits, ram_misses, ram_fills, ram_written;	/* blocks */
	u64 ram_bypassed[KVP_RAM_BYPASSES];			/* blocks */
	u64 ssd_hits, ssd_misses, ssd_mistrusted;		/* blocks */
	u64 ssd_reinserted;
	u64 ssd_fills, ssd_refused[KVP_ADMIT_REFUSALS];		/* blocks */
	u32 untimed;						/* a counter of io/slow.c */
};

#endif /* KVP_STATS_H */
