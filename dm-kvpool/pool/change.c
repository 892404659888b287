// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>

#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/refusal.h"
#include "io/flight.h"
#include "io/io.h"
#include "pool/add.h"
#include "pool/change.h"
#include "pool/pool.h"
#include "pool/spare.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/table.h"

#define WIPE_PAGES	64u	/* pages of one request */

int kvp_change_no_memory(struct kvp_refusal *r)
{
	return kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
}

int kvp_change_no_superblock(struct kvp_refusal *r)
{
	return kvp_refuse(r, -EIO, "see kvpoolctl status", "not enough legs took the superblock");
}

int kvp_change_faulted(struct kvp_refusal *r)
{
	return kvp_refuse(r, -EIO, "mend what is wrong, then 'clear'", "the pool is faulted");
}

int kvp_change_able(const struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (kvp_pool_readonly(pool))
		return kvp_refuse(r, -EROFS, "export it and import it without --readonly",
				  "the pool is read-only");
	if (kvp_pool_faulted(pool))
		return kvp_refuse(r, -EBUSY, "see kvpoolctl status; mend that first",
				  "the pool is faulted");
	return 0;
}

void kvp_change_begin(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->changes, pool->changes + 1);
	smp_wmb();	/* before any change; pairs with print_members() */
	kvp_heartbeat_go(pool);
}

void kvp_change_end(struct kvp_pool *pool)
{
	smp_store_release(&pool->changes, pool->changes + 1);
}

int kvp_change_ready(struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (!test_bit(KVP_POOL_QUIESCED, &pool->flags) || !(pool->sb->flags & KVP_SB_CLEAN))
		return kvp_refuse(r, -EBUSY, "see kvpoolctl status; mend that first",
				  "not all written data is home, so the pool stays unchanged");
	kvp_heartbeat_stop(pool);
	return 0;
}

int kvp_change_larger(struct kvp_pool *pool, struct kvp_refusal *r)
{
	int ret = kvp_change_ready(pool, r);

	if (ret)
		return ret;
	ret = kvp_table_bound_lost(pool->table);
	if (ret == -ENOMEM)
		return kvp_change_no_memory(r);
	mutex_lock(&pool->checkpoint_lock);
	ret = ret ? kvp_checkpoint(pool, NULL) : 0;
	mutex_unlock(&pool->checkpoint_lock);
	return ret ? kvp_change_no_superblock(r) : 0;
}

int kvp_change_settled(struct kvp_pool *pool, struct kvp_refusal *r)
{
	if (!test_bit(KVP_POOL_QUIESCED, &pool->flags))
		return kvp_refuse(r, -EBUSY, "see kvpoolctl status", "the pool is not quiesced");
	/* It may take long: the heartbeat goes on. */
	kvp_pool_finish(pool);
	kvp_heartbeat_stop(pool);
	kvp_events_flush(pool);
	return kvp_members_settle(pool) ? kvp_change_faulted(r) : 0;
}

int kvp_change_blank(struct kvp_pool *pool, struct kvp_leg *leg, struct page *page,
		     struct kvp_refusal *r)
{
	u8 uuid[16];
	bool spare;
	int ret;

	/* The device may hang, for longer than the pool may be without a heartbeat. */
	kvp_heartbeat_go(pool);
	spare = kvp_spare_is_ours(pool, leg, page, uuid);
	ret = kvp_check_unused(leg, page, spare, r);
	kvp_heartbeat_stop(pool);
	if (ret || !spare)
		return ret;
	if (!kvp_label_wipe(pool, leg))
		return kvp_refuse(r, -EIO, "use another device", "%s cannot be written", leg->path);
	kvp_spare_taken(pool, uuid);
	return 0;
}

/* Wipe the label of @leg that begins at @first. */
static int wipe_end(struct kvp_leg *leg, kvp_lblock_t first, struct page **zeros)
{
	kvp_lblock_t end = kvp_lblock_add(first, KVP_LABEL_BLOCKS);
	struct kvp_io io = { .leg = leg, .op = KVP_IO_WRITE_FUA, .on_purpose = true, .brief = true,
			     .nr = WIPE_PAGES, .pages = zeros };
	int ret = 0;

	for (io.block = first; !ret && kvp_lblock_before(io.block, end);
	     io.block = kvp_lblock_add(io.block, WIPE_PAGES))
		ret = kvp_io_sync(&io);
	return ret;
}

bool kvp_label_wipe(struct kvp_pool *pool, struct kvp_leg *leg)
{
	struct page *zeros[WIPE_PAGES], *zero = alloc_page(GFP_KERNEL | __GFP_ZERO);
	bool wiped = zero && leg->bdev && !kvp_leg_has_strays(leg);
	u32 i;

	/* If the leg was given up, its queue may belong to another device by now. */
	WRITE_ONCE(leg->queue, NULL);
	for (i = 0; i < WIPE_PAGES; i++)
		zeros[i] = zero;
	wiped = wiped && !wipe_end(leg, kvp_lblock(0), zeros);
	wiped = wiped && !wipe_end(leg, kvp_lblock(leg->size_blocks - KVP_LABEL_BLOCKS), zeros);
	if (!wiped)
		kvp_event(pool, "label_left leg=%u path=%s", leg->index, leg->path);
	if (zero)
		__free_page(zero);
	return wiped;
}

int kvp_change_commit(struct kvp_pool *pool, struct kvp_refusal *r)
{
	lockdep_assert_held(&pool->sb_lock);
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	return kvp_sb_commit(pool) ? kvp_change_no_superblock(r) : 0;
}

bool kvp_change_put_back(struct kvp_leg *leg, const struct kvp_leg *was)
{
	struct kvp_pool *pool = leg->pool;
	unsigned long flags;
	bool was_given_up;

	lockdep_assert_held(&pool->sb_lock);
	spin_lock_irqsave(&pool->members_lock, flags);
	was_given_up = leg->state != was->state;
	WRITE_ONCE(leg->keeps_log, was->keeps_log);
	WRITE_ONCE(leg->left_at, was->left_at);
	WRITE_ONCE(leg->state, was->state);
	spin_unlock_irqrestore(&pool->members_lock, flags);
	return was_given_up;
}

void kvp_change_in_sync_again(struct kvp_pool *pool, u64 which)
{
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	for (i = 0; i < pool->nr_legs; i++)
		if ((which >> i & 1) && kvp_leg_in_sync(&pool->legs[i]))
			pool->sb->legs[i].in_sync_epoch = pool->sb->epoch;
}

void kvp_change_leave_strays(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_leg_takes_writes(&pool->legs[i]) && kvp_leg_has_strays(&pool->legs[i]))
			kvp_leg_give_up(&pool->legs[i], "does not answer");
}

int kvp_change_join(struct kvp_pool *pool, u32 at, struct page *page, bool *tried,
		    struct kvp_refusal *r)
{
	struct kvp_leg *leg = &pool->legs[at];
	int ret = kvp_change_blank(pool, leg, page, r);

	if (ret)
		return ret;
	if (kvp_sb_join(pool, at, 1))
		return kvp_refuse(r, -EIO, "use another device", "%s did not take its label",
				  leg->path);
	*tried = true;
	return kvp_change_commit(pool, r);
}
