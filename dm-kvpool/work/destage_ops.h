/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How destage runs, by the place of the log (kvp_log_ops.destage). From legs all goes home soon,
 * and destage yields to the host (burst.h). From a cache it goes home at a pace (cache/pacing.h),
 * since renewals can make space, too. Both tables are in destage.c.
 */
#ifndef KVP_DESTAGE_OPS_H
#define KVP_DESTAGE_OPS_H

#include <linux/types.h>

#include "format/format.h"
#include "home/speed.h"

struct kvp_pool;
struct list_head;

/**
 * struct kvp_destage_ops - how destage runs; for its worker, and for code that starts it
 *
 * @all_must_go: true if so much of the log or the table is used that everything must go home
 * @is_pressed: true if destage must run as fast as possible, though not everything must go home
 * @delay: jiffies until the next round, if it is not pressed; as round_delay()
 * @round: how many versions the next round takes, of at most @n
 * @takes_by_address: true if versions that have pages go to the elevator, too
 * @wants_tail: true if the space that a round has freed is needed at once
 * @set_pace: a round of @taken versions, which began at @start, has ended after @ns: when the next
 *	one begins
 * @idle: nothing was written home for a while
 * @puts_off: true if a drain that no caller waits for ends before all is home
 *
 * Bursts:
 * @is_brief: true if this burst is short. @busy: the host has requests.
 * @is_gentle: true if this burst has few requests, as nothing is short of space
 * @brief: what a short burst shows of the legs' speed
 * @rest: ns to rest after a short burst that took @ns
 */
struct kvp_destage_ops {
	bool (*all_must_go)(struct kvp_pool *pool);
	bool (*is_pressed)(struct kvp_pool *pool);
	unsigned long (*delay)(struct kvp_pool *pool);
	u32 (*round)(struct kvp_pool *pool, u32 n);
	bool (*takes_by_address)(const struct kvp_pool *pool);
	bool (*wants_tail)(struct kvp_pool *pool);
	void (*set_pace)(struct kvp_pool *pool, u32 taken, unsigned long start, u64 ns);
	void (*idle)(struct kvp_pool *pool);
	bool (*puts_off)(struct kvp_pool *pool);

	bool (*is_brief)(struct kvp_pool *pool, bool busy);
	bool (*is_gentle)(struct kvp_pool *pool);
	enum kvp_speed_burst brief;
	u64 (*rest)(const struct kvp_pool *pool, u64 ns);
};

/**
 * kvp_destage_gather_to_holes() - gather of an order in which only the newest version of a block
 * counts (core/order_ops.h)
 *
 * kvp_destage_drop_outlived() - drop_outlived of such an order
 */
void kvp_destage_gather_to_holes(struct kvp_pool *pool, kvp_lsn_t limit);
void kvp_destage_drop_outlived(struct kvp_pool *pool, struct list_head *versions);

extern const struct kvp_destage_ops kvp_destage_soon;
extern const struct kvp_destage_ops kvp_destage_at_a_pace;

#endif /* KVP_DESTAGE_OPS_H */
