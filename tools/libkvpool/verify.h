/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verifies a whole pool from its legs, without the module and without writing. The log is replayed
 * in memory. Then each block is read from each leg and compared with its current version.
 */
#ifndef KVPOOLCTL_VERIFY_H
#define KVPOOLCTL_VERIFY_H

#include "log.h"
#include "table.h"

#define VERIFY_MAX_RANGES	1000

enum verify_state {
	VERIFY_OK,
	VERIFY_UNWRITTEN,
	VERIFY_IN_LOG,		/* the log has the current version, and it verifies there */
	VERIFY_TORN,		/* a write was cut short: a start accepts the contents of home */
	VERIFY_POISONED,	/* the table calls it lost */
	/* the table or the log names a version that no leg has and no parity gives */
	VERIFY_UNREPAIRED,
	/*
	 * the log names versions that only home can have, and a leg does not give its home: a start
	 * is refused, since that leg may have the newest one (R27)
	 */
	VERIFY_UNREAD,
	VERIFY_STATES,
};

struct verify_range {
	u64 block, count;
	enum verify_state state;	/* poisoned, unrepaired or unread */
};

struct verify_leg {
	u64 pages_bad;		/* copies of table pages */
	u64 blocks_bad;		/* home blocks that should verify and do not */
	u64 read_errors;
	u64 clean_bad;		/* clean copies on a cache that do not verify: no data is lost */
};

/* Blocks of the pool that follow one another, with their contents. */
struct verify_span {
	u64 first, count;
	const u8 *states;	/* enum verify_state of each; NULL: all are unwritten */
	const u8 *data;		/* of all; undefined where the state gives no contents */
};

/** verify_has() - has a block in this state contents? */
static inline bool verify_has(enum verify_state state)
{
	return state == VERIFY_OK || state == VERIFY_IN_LOG || state == VERIFY_TORN;
}

struct verify {
	struct log_walk log;
	u64 pages_good, pages_lost;
	struct verify_leg legs[KVP_MAX_LEGS];	/* by index in the superblock */
	u64 blocks[VERIFY_STATES];
	/* blocks that the summaries of a cache name, on each leg that has a copy */
	u64 clean, clean_bad;
	struct verify_range ranges[VERIFY_MAX_RANGES];
	unsigned int range_count;
	void (*progress)(void *arg, u64 done, u64 total);	/* may be NULL */
	void *progress_arg;
	/*
	 * Receives all blocks of the pool, in order; may be NULL. Returns 0, or -1 with @err, which
	 * ends the walk.
	 */
	int (*contents)(void *arg, const struct verify_span *span, struct err *err);
	void *contents_arg;
};

/**
 * verify_pool() - verify every block, all parity, and the clean blocks of a cache
 * @pools: one for each vdev, with its legs in sync. If the log's vdev has too few legs to be read,
 * the log holds nothing: the caller has seen that in the superblock
 * @v: zeroed but for progress and contents
 *
 * For contents the log must be sound, or only its end unknown. Clean blocks of a cache are not
 * verified then.
 *
 * Return: 0, or -1 with @err (out of memory, more log records than fit, or what contents returned).
 * Faults are counted in @v.
 */
int verify_pool(const struct offline_pool *pools, struct verify *v, struct err *err);

#endif
