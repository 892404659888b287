/* SPDX-License-Identifier: GPL-2.0-only */
/* Change how much of a cache may be dirty, while the pool runs: the window of its log. */
#ifndef KVP_CACHEWINDOW_H
#define KVP_CACHEWINDOW_H

#include <linux/types.h>

struct kvp_pool;
struct kvp_refusal;

#define KVP_CACHE_DIRTY_MAX	"cache_dirty_max"	/* its key, as a tunable has one */

/**
 * kvp_cache_set_window() - set the window of the cache's log, durably
 * @bytes: that may be dirty; rounded down to whole segments, and to the size of the log
 *
 * A larger window, or that of a log that is elsewhere, counts at once. For a smaller one the log is
 * first written home until it fits, while requests are served; then writes slow down to the rate of
 * destage. Return: 0, or -errno with @r filled in; then the window has not changed, unless the pool
 * is faulted. -EBUSY: a drain runs. Context: process; waits for I/O, for minutes if much is dirty.
 */
int __must_check kvp_cache_set_window(struct kvp_pool *pool, u64 bytes, struct kvp_refusal *r);

/**
 * kvp_cache_start_window() - begin kvp_cache_set_window(); do not wait until the log has shrunk
 *
 * Return: 0: the window is set, or drain.state will say how it ends; or -errno with @r filled in.
 * Context: process, may wait for a superblock.
 */
int __must_check kvp_cache_start_window(struct kvp_pool *pool, u64 bytes, struct kvp_refusal *r);

#endif /* KVP_CACHEWINDOW_H */
