/* SPDX-License-Identifier: GPL-2.0-only */
/* The modes of a cache, and emptying it, while the pool runs. */
#ifndef KVP_CACHEMODE_H
#define KVP_CACHEMODE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct kvp_pool;
struct kvp_refusal;

/**
 * struct kvp_drain - the log is being emptied, so that it can move
 * @lock: one change of mode at a time; outside of all other locks
 * @wait: for @cancel
 * @cancel: go on no longer
 */
struct kvp_drain {
	struct mutex lock;
	wait_queue_head_t wait;
	bool cancel;
};

/** kvp_drain_init() - when the pool is allocated */
void kvp_drain_init(struct kvp_pool *pool);

/**
 * kvp_cache_set_mode() - the mode of the cache, durably, and the log where that wants it
 * @mode: KVP_CACHE_WRITEBACK and so on
 * @force: also where the pool survives less then
 *
 * Others go on reading and writing meanwhile; writes are slowed down to what goes home, and
 * who waits for durability waits once, for a second or two. Return: 0, or -errno with @r
 * filled in; then the mode is what it was. Context: process, waits for I/O: for
 * minutes, if much is in the log.
 */
int kvp_cache_set_mode(struct kvp_pool *pool, u64 mode, bool force, struct kvp_refusal *r);

#endif /* KVP_CACHEMODE_H */
