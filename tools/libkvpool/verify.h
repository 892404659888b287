/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verifies a whole pool from its legs, without the module and without writing:
 * the log is replayed in memory, then each block is read from each leg and
 * compared with the version that is current.
 */
#ifndef KVPOOLCTL_VERIFY_H
#define KVPOOLCTL_VERIFY_H

#include "log.h"
#include "table.h"

#define VERIFY_MAX_RANGES	1000

enum verify_state {
	VERIFY_OK,
	VERIFY_UNWRITTEN,
	VERIFY_IN_LOG,		/* current version is in the log, verified there */
	VERIFY_TORN,		/* a write was under way; a start accepts what is there */
	VERIFY_POISONED,	/* recorded as lost */
	VERIFY_UNREPAIRED,	/* no leg holds, and no parity gives, what the table or the log names */
	VERIFY_STATES,
};

struct verify_range {
	u64 block, count;
	enum verify_state state;	/* poisoned or unrepaired */
};

struct verify_leg {
	u64 pages_bad;		/* copies of table pages */
	u64 blocks_bad;		/* home blocks that do not verify though they should */
	u64 read_errors;
	u64 clean_bad;		/* on a cache: what lies there clean, and does not verify. No loss */
};

struct verify {
	struct log_walk log;
	u64 pages_good, pages_lost;
	struct verify_leg legs[KVP_MAX_LEGS];	/* by their places in the superblock */
	u64 blocks[VERIFY_STATES];
	u64 clean, clean_bad;	/* blocks that the summaries of a cache name, on each leg that has them */
	struct verify_range ranges[VERIFY_MAX_RANGES];
	unsigned int range_count;
	void (*progress)(void *arg, u64 done, u64 total);	/* may be NULL */
	void *progress_arg;
};

/**
 * verify_pool() - verify every block, and all parity, and what lies clean on a cache
 * @pools: one for each vdev; their legs are those in sync. If those of the log's are fewer than it takes to
 *	read it, the log holds nothing: the superblock says so
 * @v: zeroed but for progress
 *
 * Return: 0, or -1 with @err (out of memory, or more log records than fit).
 * What is found wrong is in @v.
 */
int verify_pool(const struct offline_pool *pools, struct verify *v, struct err *err);

#endif
