/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checksum table of a vdev, streamed from the legs. One page a level is in memory, whatever the
 * size of the pool.
 */
#ifndef KVPOOLCTL_TABLE_H
#define KVPOOLCTL_TABLE_H

#include "offline.h"

enum page_state {
	PAGE_NULL,	/* everything below is unwritten */
	PAGE_GOOD,
	PAGE_LOST,	/* no copy matches its pointer */
	PAGE_ELSEWHERE,	/* no readable leg has a copy of it */
};

struct table_level {
	bool loaded;
	u64 index;		/* of the page in memory */
	enum page_state state;
	u32 decided;		/* the level whose pointer or page decided the state */
	u64 ptr;
	struct kvp_disk_page *page;
};

struct table {
	const struct offline_pool *pool;
	struct table_level levels[KVP_MAX_LEVELS];
	struct kvp_disk_page *raw;
	/* counts of pages */
	u64 good, lost, elsewhere;
	u64 bad[KVP_MAX_MIRROR_LEGS];	/* damaged copies, by index in pool->legs[] */
};

/** table_open() - 0, or -ENOMEM */
int table_open(struct table *t, const struct offline_pool *pool);
void table_close(struct table *t);

/** table_leaves() - number of leaf pages */
u64 table_leaves(const struct offline_pool *pool);

/**
 * table_leaf() - the leaf page @index; cheap in ascending order
 * @next: first leaf whose state may differ; above @index + 1 where a whole subtree is null or lost
 */
enum page_state table_leaf(struct table *t, u64 index, u64 *next);

/** table_span() - number of the pool's blocks below the leaf pages from @leaf to before @next */
u64 table_span(const struct offline_pool *pool, u64 leaf, u64 next);

/*
 * Called for the leaf pages from @leaf to before @next, which share one state. Only pages that are
 * not PAGE_GOOD come several at a time. Returns the leaf to continue with.
 */
typedef u64 (*table_step_fn)(void *arg, u64 leaf, u64 next, enum page_state state);

/** table_walk() - all leaf pages, in ascending order */
void table_walk(struct table *t, table_step_fn step, void *arg);

/** table_entry() - entry @slot of the last leaf, which must be PAGE_GOOD */
u64 table_entry(const struct table *t, u32 slot);

#endif
