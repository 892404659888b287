/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Renewal reads the oldest dirty blocks of a cache's log, and appends them again at its head, so
 * that the tail can pass. policy/renew.h says why.
 *
 * A renewed block is a new version with the contents of the old one, accepted like a write
 * (kvp_wbuf_renew()). So the rules for writes hold for it, wherever the power is cut. The old
 * version stays where it is, and its record counts, until the new version is durable. Then the old
 * one can be dropped. If the new version does not become durable, because the log moves or no SSD
 * takes it, the old one goes home as usual.
 *
 * The destage worker renews, under checkpoint_lock. So no version goes home meanwhile, the tail
 * does not move, and the contents of versions that are not home stay where they were written.
 */
#ifndef KVP_RENEW_H
#define KVP_RENEW_H

#include <linux/types.h>

struct kvp_elevator;
struct kvp_pool;
struct kvp_version;
struct page;

#define KVP_RENEW_BATCH		64u	/* versions read at a time */

/**
 * struct kvp_renew - memory for renewal; by pool->checkpoint_lock
 * @elevator: knows the versions that may be renewed
 * @of: versions that are being renewed
 * @pages: their contents
 * @pending: number of versions, as of the last look. They are versions at the tail whose newer ones
 *	are not durable yet, and versions that must be committed to make room for renewed ones
 */
struct kvp_renew {
	struct kvp_pool *pool;
	struct kvp_elevator *elevator;
	struct kvp_version *of[KVP_RENEW_BATCH];
	struct page *pages[KVP_RENEW_BATCH];
	u32 pending;
};

/** kvp_renew_init() - let @r renew versions of @pool that @e knows. All other fields are 0. */
void kvp_renew_init(struct kvp_renew *r, struct kvp_pool *pool, struct kvp_elevator *e);

/**
 * kvp_renew_some() - renew old versions that are due, and drop those whose new versions are durable
 * @limit: only versions below it; no intent that is not home lies below
 *
 * Return: how many were renewed or dropped. Context: the destage worker, under checkpoint_lock;
 * waits for I/O of the SSDs.
 */
u32 kvp_renew_some(struct kvp_renew *r, kvp_lsn_t limit);

#endif /* KVP_RENEW_H */
