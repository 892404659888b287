/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the SSD cache is given at its start, and asks of the pool. Index, admission, reinsertion and
 * rebuild know no more of a pool: a test may give them anything instead. client.c gives it.
 */
#ifndef KVP_CACHE_GIVEN_H
#define KVP_CACHE_GIVEN_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "format/format.h"

struct kvp_sb;
struct kvp_stats;
struct workqueue_struct;

/**
 * struct kvp_cache_log - where the log is, as far as it matters to the SSD cache
 * @here: it is on the cache
 * @moves: it is about to move
 * @head: lsn of its next entry
 * @tail: space of the log before it is free
 * @passed_on: lsn behind the last entry whose versions have gone on to destage
 */
struct kvp_cache_log {
	bool here, moves;
	kvp_lsn_t head, tail, passed_on;
};

/** enum kvp_clean_outcome - what became of admitted blocks that should go into the log */
enum kvp_clean_outcome {
	KVP_CLEAN_SENT,
	KVP_CLEAN_LATER,	/* something is in the way; its end kicks admission again */
	KVP_CLEAN_NEVER,	/* the log is closed, or short of space */
	KVP_CLEAN_ELSEWHERE,	/* the log is not on the cache */
};

/**
 * struct kvp_scache_client - what the SSD cache asks, and tells: it knows no more of a pool
 * @lock: so that nothing is written to the cache until @unlock: log->build_lock. Context: process
 * @look: where the log is now. Context: any; exact under the lock
 * @claim: record durably that the ring may go up to @lsn. Return: 0 or -errno. Context: process,
 *	waits for I/O
 *
 * Of admission and reinsertion:
 * @append: write @n candidates, in list @taken, to the log. If it does, it calls
 *	kvp_admit_sent(). Context: process, under the lock
 * @may_append: true if the log could take an entry now. Context: any
 * @wait_idle: wait until admission has no write in flight. Context: process
 * @wrote_ring: so many blocks, for the first time and again, were written to the ring; for
 *	statistics. Context: process
 * @ring_ended: a write to the ring has ended. Context: process
 * @is_short: true if the log is on the cache, and would drop clean blocks for want of space.
 *	Context: any
 * @entry: get the table's entry of @block. Return: false: it has no sum. Context: process, waits
 *	for I/O
 *
 * Of the rebuild:
 * @era: the era of the newest durable checkpoint. Context: process
 * @end_era: kvp_table_end_era()
 * @recorded: true if each loss of a leg is recorded durably. Context: any
 * @wrote_summary: so many blocks of summaries were written to each SSD. Context: process
 * @restored: all summaries have been read, and so many blocks are known again. Context: process
 */
struct kvp_scache_client {
	void (*lock)(void *of);
	void (*unlock)(void *of);
	void (*look)(void *of, struct kvp_cache_log *log);
	int (*claim)(void *of, kvp_lsn_t lsn);

	enum kvp_clean_outcome (*append)(void *of, struct list_head *taken, u32 n);
	bool (*may_append)(void *of);
	void (*wait_idle)(void *of);
	void (*wrote_ring)(void *of, u32 new, u32 again);
	void (*ring_ended)(void *of);
	bool (*is_short)(void *of);
	bool (*entry)(void *of, kvp_block_t block, u64 *entry);

	u32 (*era)(void *of);
	bool (*end_era)(void *of, u32 era, bool now);
	bool (*recorded)(void *of);
	void (*wrote_summary)(void *of, u32 blocks);
	void (*restored)(void *of, u64 blocks, u64 segments, u64 ms);
};

/**
 * struct kvp_scache_given - what the SSD cache is given at its start
 * @client: with @of as the argument of its functions
 * @wq: for all work of the cache. No request waits for it
 * @stats: counts what is admitted, refused, and reinserted
 * @tunables: read with READ_ONCE
 * @sb: the superblock: nonce, UUIDs of the SSDs, and the pool's size
 * @seed: for the sums of blocks
 */
struct kvp_scache_given {
	const struct kvp_scache_client *client;
	void *of;
	struct workqueue_struct *wq;
	struct kvp_stats __percpu *stats;
	const u64 *tunables;
	const struct kvp_sb *sb;
	struct kvp_seed seed;
};

/** kvp_given_lock() - lock() of the client, until kvp_given_unlock(). Context: process. */
static inline void kvp_given_lock(const struct kvp_scache_given *given)
{
	given->client->lock(given->of);
}

static inline void kvp_given_unlock(const struct kvp_scache_given *given)
{
	given->client->unlock(given->of);
}

/** kvp_given_look() - where the log is now; exact under the lock. Any context. */
static inline void kvp_given_look(const struct kvp_scache_given *given, struct kvp_cache_log *log)
{
	given->client->look(given->of, log);
}

#endif /* KVP_CACHE_GIVEN_H */
