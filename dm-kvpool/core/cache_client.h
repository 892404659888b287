/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of lower floors to the SSD cache. The kind of vdev that is a cache registers the client
 * (kinds/cache.c). A pool without a cache has no client. Then the functions below do nothing, and
 * return what is right for a pool without a cache. They take the vdevs, which have the client, and
 * tell it the pool of these.
 *
 * The client changes with the shape of the pool: while the pool is quiesced, under sb_lock.
 */
#ifndef KVP_CACHE_CLIENT_H
#define KVP_CACHE_CLIENT_H

#include "core/core.h"

struct kvp_entry_io;
struct kvp_log_mark;
struct kvp_patience;
struct kvp_version;
struct page;

/**
 * struct kvp_cache_client - calls to the cache; registered with a pool that has one
 * @moved_on: durable versions have moved on, and there may be space for clean blocks. Any context.
 * @clean_durable: kvp_admit_durable()
 * @clean_failed: kvp_admit_failed()
 * @clean_waits: true if clean blocks wait for an entry. Any context.
 * @clean_on_its_way: true if clean blocks are being written to the cache, but not by the log. Any
 *	context.
 * @overwrites: kvp_scache_overwrite()
 * @begins: kvp_scache_log_moved()
 * @next_place: kvp_scache_next_lsn()
 * @written: kvp_scache_written()
 * @passed: how far the log, or the ring, of the cache has got. Any context.
 * @checkpointed: kvp_rebuild_checkpointed()
 * @home_written: kvp_scache_home_written()
 * @forget: kvp_scache_forget()
 * @has: kvp_scache_has()
 * @rescue: kvp_scache_rescue()
 */
struct kvp_cache_client {
	void (*moved_on)(struct kvp_pool *pool);
	void (*clean_durable)(struct kvp_pool *pool, const struct kvp_entry_io *e);
	void (*clean_failed)(struct kvp_pool *pool);
	bool (*clean_waits)(const struct kvp_pool *pool);
	bool (*clean_on_its_way)(const struct kvp_pool *pool);
	void (*overwrites)(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr);
	void (*begins)(struct kvp_pool *pool, kvp_lsn_t lsn);
	kvp_lsn_t (*next_place)(const struct kvp_pool *pool, const struct kvp_vdev *v,
				kvp_lsn_t lsn);
	kvp_lsn_t (*written)(const struct kvp_pool *pool);
	kvp_lsn_t (*passed)(const struct kvp_pool *pool);
	void (*checkpointed)(struct kvp_pool *pool, u32 era, kvp_lsn_t passed,
			     const struct kvp_log_mark *tail);
	void (*home_written)(struct kvp_pool *pool, const struct kvp_version *d);
	void (*forget)(struct kvp_pool *pool, kvp_block_t block, u32 count);
	bool (*has)(struct kvp_pool *pool, kvp_block_t block);
	int (*rescue)(struct kvp_pool *pool, kvp_block_t block, u64 entry, struct page *page,
		      struct kvp_patience *p);
};

/** kvp_cache_moved_on() - versions moved on: there may be space for clean blocks. Any context. */
static inline void kvp_cache_moved_on(const struct kvp_vdevs *vdevs)
{
	if (vdevs->cache_client)
		vdevs->cache_client->moved_on(vdevs->pool);
}

/**
 * kvp_cache_clean_durable() - entry @e of clean blocks is durable: see kvp_admit_durable()
 *
 * Without a cache there are no entries of clean blocks. Context: process.
 */
static inline void kvp_cache_clean_durable(const struct kvp_vdevs *vdevs,
					   const struct kvp_entry_io *e)
{
	if (vdevs->cache_client)
		vdevs->cache_client->clean_durable(vdevs->pool, e);
}

/** kvp_cache_clean_failed() - an entry of clean blocks failed: kvp_admit_failed(). Process. */
static inline void kvp_cache_clean_failed(const struct kvp_vdevs *vdevs)
{
	if (vdevs->cache_client)
		vdevs->cache_client->clean_failed(vdevs->pool);
}

/** kvp_cache_clean_waits() - true if clean blocks wait for an entry. Any context. */
static inline bool kvp_cache_clean_waits(const struct kvp_vdevs *vdevs)
{
	return vdevs->cache_client && vdevs->cache_client->clean_waits(vdevs->pool);
}

/**
 * kvp_cache_clean_on_its_way() - true if clean blocks are being written to the cache, but not by
 * the log. Any context.
 */
static inline bool kvp_cache_clean_on_its_way(const struct kvp_vdevs *vdevs)
{
	return vdevs->cache_client && vdevs->cache_client->clean_on_its_way(vdevs->pool);
}

/**
 * kvp_cache_overwrites() - the log is about to write @nr blocks at @lsn
 *
 * What the cache knew there is forgotten. Context: under log->build_lock.
 */
static inline void kvp_cache_overwrites(const struct kvp_vdevs *vdevs, kvp_lsn_t lsn, u32 nr)
{
	if (vdevs->cache_client)
		vdevs->cache_client->overwrites(vdevs->pool, lsn, nr);
}

/** kvp_cache_log_begins() - the log has moved, and begins at @lsn. Under log->build_lock. */
static inline void kvp_cache_log_begins(const struct kvp_vdevs *vdevs, kvp_lsn_t lsn)
{
	if (vdevs->cache_client)
		vdevs->cache_client->begins(vdevs->pool, lsn);
}

/**
 * kvp_cache_next_place() - the first place at or behind @lsn for a log that moves to @v
 *
 * Without a cache it is @lsn. See kvp_scache_next_lsn(). Context: process.
 */
static inline kvp_lsn_t kvp_cache_next_place(const struct kvp_vdevs *vdevs,
					     const struct kvp_vdev *v, kvp_lsn_t lsn)
{
	return vdevs->cache_client ? vdevs->cache_client->next_place(vdevs->pool, v, lsn) : lsn;
}

/**
 * kvp_cache_written() - lsn behind which nothing was ever written to the cache; 0: there is none
 *
 * Context: process, under sb_lock.
 */
static inline kvp_lsn_t kvp_cache_written(const struct kvp_vdevs *vdevs)
{
	return vdevs->cache_client ? vdevs->cache_client->written(vdevs->pool) : 0;
}

/** kvp_cache_passed() - how far the log, or the ring, of the cache has got; or 0. Any context. */
static inline kvp_lsn_t kvp_cache_passed(const struct kvp_vdevs *vdevs)
{
	return vdevs->cache_client ? vdevs->cache_client->passed(vdevs->pool) : 0;
}

/**
 * kvp_cache_checkpointed() - a checkpoint is durable
 * @era: its era
 * @passed: kvp_cache_passed() before the checkpoint took its snapshot
 * @tail: the new tail of the log; NULL: it stays
 *
 * Context: process, under checkpoint_lock.
 */
static inline void kvp_cache_checkpointed(const struct kvp_vdevs *vdevs, u32 era, kvp_lsn_t passed,
					  const struct kvp_log_mark *tail)
{
	if (vdevs->cache_client)
		vdevs->cache_client->checkpointed(vdevs->pool, era, passed, tail);
}

/** kvp_cache_has() - true if the cache has @block: kvp_scache_has(). Any context but interrupt. */
static inline bool kvp_cache_has(const struct kvp_vdevs *vdevs, kvp_block_t block)
{
	return vdevs->cache_client && vdevs->cache_client->has(vdevs->pool, block);
}

/**
 * kvp_cache_rescue() - read @block, which no leg gives, from an SSD: see kvp_scache_rescue()
 * @entry: of the table
 * @page: receives it; it may hold anything after an error
 *
 * Return: 0; -ENOENT: there is no cache, or it has no such block; -EIO. Context: process, under the
 * range lock of the block; waits for I/O.
 */
static inline int __must_check kvp_cache_rescue(const struct kvp_vdevs *vdevs, kvp_block_t block,
						u64 entry, struct page *page,
						struct kvp_patience *p)
{
	const struct kvp_cache_client *cache = vdevs->cache_client;

	return cache ? cache->rescue(vdevs->pool, block, entry, page, p) : -ENOENT;
}

#endif /* KVP_CACHE_CLIENT_H */
