/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing versions home to a parity1, by stripes: what home.h is for vdevs without parity. */
#ifndef KVP_HOME_ROW_H
#define KVP_HOME_ROW_H

#include <linux/list.h>

#include "log/log.h"

struct kvp_row_home;
struct kvp_pool;
struct kvp_spell;
struct kvp_vdev;

/** kvp_row_home_gives_way() - as kvp_home_gives_way() */
void kvp_row_home_gives_way(struct kvp_row_home *h, struct kvp_spell *spell);

/** kvp_row_home_alloc() - as kvp_home_alloc(); kvp_row_home_free() as kvp_home_free() */
struct kvp_row_home * __must_check kvp_row_home_alloc(struct kvp_pool *pool, bool whole);
void kvp_row_home_free(struct kvp_row_home *h);

/**
 * kvp_row_home_write() - write versions home, with their parity
 * @versions: sorted by block; emptied on success
 * @limit: place in the log; every version before it is on @versions or home, and none from it on is
 *	on @versions
 *
 * All are blocks of one or several parity1 vdevs. Errors and context as kvp_home_write(). If parity
 * has to be logged, waits for its entry.
 */
int __must_check kvp_row_home_write(struct kvp_row_home *h, struct list_head *versions,
				    struct kvp_log_at limit);

/**
 * kvp_row_home_discard() - make blocks of @v unwritten, from *@own to before @end
 * @own: receives the progress
 * @limit: right behind the discard's record
 * @leaves: as for kvp_home_discard(); a part of a stripe counts as one
 *
 * Caller holds pool->checkpoint_lock. Errors as kvp_home_write().
 */
int __must_check kvp_row_home_discard(struct kvp_row_home *h, struct kvp_vdev *v,
				      kvp_vblock_t *own, kvp_vblock_t end,
				      struct kvp_log_at limit, u32 *leaves);

#endif /* KVP_HOME_ROW_H */
