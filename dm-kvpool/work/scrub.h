/* SPDX-License-Identifier: GPL-2.0-only */
/* Scrub: all that is written is read and verified. */
#ifndef KVP_SCRUB_H
#define KVP_SCRUB_H

#include "core/core.h"

struct kvp_scrub {
	struct kvp_pool *pool;
	struct work_struct work;
	struct mutex lock;		/* start, stop, pause, resume */
	struct kvp_scrub_info info;	/* cursor etc.: by the worker while running */
	u32 since;			/* era; 0: everything */
	bool stop, pause, quiesce;
};

void kvp_scrub_init(struct kvp_pool *pool);

/**
 * kvp_scrub_start() - verify everything, or what changed in era @since and later
 *
 * Return: 0; -EBUSY: one runs; -ERANGE: @since is not yet; -EROFS; -EIO.
 * Context: process; with @since waits until everything is home.
 */
int kvp_scrub_start(struct kvp_pool *pool, u32 since);
int kvp_scrub_stop(struct kvp_pool *pool);
int kvp_scrub_pause(struct kvp_pool *pool);
int kvp_scrub_resume(struct kvp_pool *pool);
void kvp_scrub_quiesce(struct kvp_pool *pool);
void kvp_scrub_unquiesce(struct kvp_pool *pool);

/** kvp_scrub_note() - progress of one that runs, for the superblock; caller holds sb_lock */
void kvp_scrub_note(struct kvp_pool *pool);

/**
 * kvp_scrub_progress() - of the one that runs, or the last one: its worker changes it, so
 *	READ_ONCE().
 */
static inline const struct kvp_scrub_info *kvp_scrub_progress(const struct kvp_pool *pool)
{
	return &pool->scrub->info;
}

#endif /* KVP_SCRUB_H */
