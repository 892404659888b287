/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vdev: a group of legs that hold the same blocks together.
 *
 * Requests, the buffer, the log and the RAM cache count the pool's blocks. Code that deals with
 * places on legs counts the blocks of a vdev, which have their own type (format/numbers.h). Only
 * kvp_vdevs_find() converts the former to the latter; of a pool, kvp_locate() does.
 *
 * All of a vdev but @homing and @unflushed is fixed while the pool runs. A cache has no blocks.
 */
#ifndef KVP_VDEV_H
#define KVP_VDEV_H

#include <linux/atomic.h>
#include <linux/compiler.h>

#include "format/format.h"
#include "format/logplace.h"

struct kvp_cache_client;
struct kvp_leg;
struct kvp_log_ops;
struct kvp_order_ops;
struct kvp_pool;
struct kvp_vdev_ops;
struct kvp_vdevs;

/* Tells the operations of a vdev with that geometry. Any context. */
typedef const struct kvp_vdev_ops *(*kvp_vdev_ops_of_t)(const struct kvp_geometry *g);

/**
 * struct kvp_vdev - one vdev of the pool
 * @pool: NULL in a test of a part alone
 * @all: the vdevs that it is one of
 * @g: its geometry, in all->sb
 * @ops: the operations of its kind (core/vdev_ops.h)
 * @legs: @nr_legs of the pool's legs; a kvp_place names one of these
 * @seed: for the sums of its table pages and its parity
 * @first_root: its first one among the table's roots
 * @log: the operations of a log on it (core/log_ops.h)
 * @homing: batches of whole stripes, under intents, that are being written home (R7)
 * @unflushed: such stripes were written since the loss of a leg was recorded last
 */
struct kvp_vdev {
	struct kvp_pool *pool;
	const struct kvp_vdevs *all;
	u32 index;
	const struct kvp_geometry *g;
	const struct kvp_vdev_ops *ops;
	struct kvp_leg *legs;
	u32 nr_legs;
	struct kvp_seed seed;
	u32 first_root;
	const struct kvp_log_ops *log;
	atomic_t homing;
	bool unflushed;
};

/**
 * struct kvp_vdevs - the vdevs of a pool; which of them has which block, and which have the log
 * @v: @nr of them
 * @pool: for what sends requests to the legs, and for @cache_client; NULL in a test of a part alone
 * @sb: the newest superblock, which has their geometries and their regions
 * @with_data: @nr_with_data vdevs with data, in their order: all except a cache
 * @max_legs, @max_chunk: the largest of any vdev; @max_chunk in blocks
 * @nr_by_rows: vdevs with data that go home by rows
 * @widest_row: legs of the longest row; 0: there are no rows
 * @most_reserved, @least_reserved: rows of parity that the log reserves for a record, of any vdev
 *	with data
 * @order: set by the kinds of the vdevs: in which order versions go home (core/order_ops.h)
 * @cache_client: set by the kind of vdev that is a cache; NULL: there is no cache
 * @spill_window: blocks of a log whose versions may spill; 0: none of the vdevs can have such a log
 * @log_vdev: the log has the size and segments of this vdev, which has all of it or, together with
 *	others, a part (kvp_log_vdev())
 * @log_track: these; it changes with @log_vdev, while nothing is in flight (log/move.h)
 * @log_moving: log/move.h; set under members_lock, cleared under log->lock
 *
 * The numbers are sums over the operations of all vdevs. A part that needs no more than vdevs and
 * their legs holds this, and not the pool.
 */
struct kvp_vdevs {
	struct kvp_vdev v[KVP_MAX_VDEVS];
	u32 nr;
	struct kvp_pool *pool;
	const struct kvp_sb *sb;
	struct kvp_vdev *with_data[KVP_MAX_VDEVS];
	u32 nr_with_data;
	u32 max_legs, max_chunk;
	u32 nr_by_rows;
	u32 widest_row;
	u32 most_reserved, least_reserved;
	const struct kvp_order_ops *order;
	const struct kvp_cache_client *cache_client;
	u64 spill_window;
	struct kvp_vdev *log_vdev;
	struct kvp_log_track log_track;
	bool log_moving;
};

/**
 * struct kvp_spot - place of a block of the pool
 * @block: its number in the vdev
 * @left: how many blocks from there on are neighbours, in one turn and below one leaf of the table
 */
struct kvp_spot {
	struct kvp_vdev *v;
	kvp_vblock_t block;
	u32 left;
};

/**
 * kvp_vdevs_make() - make the vdevs that @sb has, and use the log that it names
 * @pool: the pool that they are of; or NULL
 * @legs: their legs, as @sb counts them
 * @ops_of: tells the operations of a vdev
 *
 * Context: process; nothing uses the vdevs.
 */
void kvp_vdevs_make(struct kvp_vdevs *vdevs, const struct kvp_sb *sb, struct kvp_pool *pool,
		    struct kvp_leg *legs, kvp_vdev_ops_of_t ops_of);

/**
 * kvp_vdevs_init() - make pool->vdevs from pool->sb; pool->legs[] are their legs
 *
 * Context: process; the pool is starting, or it is quiesced and the caller holds sb_lock.
 */
void kvp_vdevs_init(struct kvp_pool *pool);

/** kvp_vdevs_end() - the block behind the last one of the pool. Any context. */
static inline kvp_block_t kvp_vdevs_end(const struct kvp_vdevs *vdevs)
{
	return kvp_block(vdevs->sb->pool_blocks);
}

/** kvp_vdevs_find() - the place of @block of the pool. Any context. */
struct kvp_spot kvp_vdevs_find(struct kvp_vdevs *vdevs, kvp_block_t block);

/**
 * kvp_vdev_from() - the first block of @v at or behind @block of the pool. Any context.
 */
kvp_vblock_t kvp_vdev_from(const struct kvp_vdev *v, kvp_block_t block);

/**
 * kvp_pool_block() - the pool's number of @block of @v. Any context.
 *
 * Return: the pool's size, if the block is behind the pool's end.
 */
kvp_block_t kvp_pool_block(const struct kvp_vdev *v, kvp_vblock_t block);

/** kvp_vdev_stretch() - kvp_map_stretch() for @v. Any context. */
kvp_vblock_t kvp_vdev_stretch(const struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t *end);

/** kvp_vdev_usable() - number of legs of @v in sync. Any context. */
u32 kvp_vdev_usable(const struct kvp_vdev *v);

/**
 * kvp_vdev_needed() - how many legs of @v must be in use: one, or all but one of a parity1
 *
 * 0 for a cache, once the pool runs: RAM has the contents of its log, too (log/move.h). While a
 * recovery reads that log, kvp_log_needs() counts. Any context.
 */
u32 kvp_vdev_needed(const struct kvp_vdev *v);

/**
 * kvp_vdev_has_log() - true if enough legs of @v are in use to read and write all of a log on it
 *
 * One SSD is enough for a cache whose SSDs all have the same contents. A cache of kind parity1
 * needs all but one. Any context.
 */
bool kvp_vdev_has_log(const struct kvp_vdev *v);

/**
 * kvp_vdev_begin_stripes() - whole stripes of @v, which are under intents, are about to be written
 * home (R7)
 *
 * A leg that leaves after that is not recorded out before kvp_vdev_end_stripes() was called, and
 * the other legs were flushed.
 *
 * Return: false: a leg is out, and the stripes must stay as they are. Any context.
 */
bool kvp_vdev_begin_stripes(struct kvp_vdev *v);

/** kvp_vdev_end_stripes() - they were written, or the write failed. Any context. */
void kvp_vdev_end_stripes(struct kvp_vdev *v);

/**
 * kvp_vdev_half_home() - true if stripes of @v may be half home, or home and not flushed
 *
 * Exact if the caller has found a leg of @v out. Any context.
 */
bool kvp_vdev_half_home(const struct kvp_vdev *v);

/** kvp_vdev_spare() - how many of its legs in use the vdev can lose. Any context. */
u32 kvp_vdev_spare(const struct kvp_vdev *v);

/**
 * kvp_log_refuge() - the vdev with data that can lose most legs now
 *
 * A log that leaves the cache goes there. Any context.
 */
struct kvp_vdev *kvp_log_refuge(struct kvp_vdevs *vdevs);

/**
 * kvp_log_others() - the vdevs that may carry the log together with @v now, a bit each
 *
 * Return: 0 for a cache. Any context.
 */
u32 kvp_log_others(const struct kvp_vdevs *vdevs, const struct kvp_vdev *v);

/**
 * kvp_log_take_place() - use the log that the superblock names
 *
 * Context: no entry is in flight or being built.
 */
void kvp_log_take_place(struct kvp_vdevs *vdevs);

/**
 * kvp_log_vdev() - the vdev whose legs have the entry at @lsn. Context: under build_lock, or
 * recovery.
 */
static inline struct kvp_vdev *kvp_log_vdev(struct kvp_vdevs *vdevs, kvp_lsn_t lsn)
{
	return &vdevs->v[kvp_log_turn(&vdevs->log_track, lsn)];
}

/**
 * kvp_vdev_carries_log() - true if the superblock names @v among the vdevs with the log
 *
 * It may move, unless the caller holds sb_lock. Context: any.
 */
static inline bool kvp_vdev_carries_log(const struct kvp_vdev *v)
{
	const struct kvp_sb *sb = v->all->sb;

	return READ_ONCE(sb->log_vdev) == v->index || READ_ONCE(sb->log_others) >> v->index & 1;
}

/** kvp_log_ops() - the operations of the log where it lies now. It may move. Context: any. */
static inline const struct kvp_log_ops *kvp_log_ops(const struct kvp_vdevs *vdevs)
{
	return READ_ONCE(vdevs->log_vdev)->log;
}

#endif /* KVP_VDEV_H */
