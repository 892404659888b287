// SPDX-License-Identifier: GPL-2.0-only
#include <linux/minmax.h>
#include <linux/sched.h>

#include "core/range_lock.h"

void kvp_range_locks_init(struct kvp_range_locks *locks)
{
	spin_lock_init(&locks->lock);
	locks->taken = 0;
	locks->held = RB_ROOT_CACHED;
	init_waitqueue_head(&locks->wait);
}

u32 kvp_range_trylock_each(struct kvp_range_locks *locks, struct kvp_range *r, u32 n)
{
	u32 i;

	spin_lock(&locks->lock);
	for (i = 0; i < n; i++) {
		if (interval_tree_iter_first(&locks->held, r[i].node.start, r[i].node.last))
			break;
		r[i].number = locks->taken++;
		interval_tree_insert(&r[i].node, &locks->held);
	}
	spin_unlock(&locks->lock);
	return i;
}

bool kvp_range_trylock(struct kvp_range_locks *locks, struct kvp_range *r, kvp_block_t first,
		       kvp_block_t last)
{
	kvp_range_set(r, first, last);
	return kvp_range_trylock_each(locks, r, 1);
}

void kvp_range_lock(struct kvp_range_locks *locks, struct kvp_range *r, kvp_block_t first,
		    kvp_block_t last)
{
	wait_event(locks->wait, kvp_range_trylock(locks, r, first, last));
}

void kvp_range_unlock_each(struct kvp_range_locks *locks, struct kvp_range *r, u32 n)
{
	u32 i, some;

	for (; n; n -= some, r += some) {
		some = min(n, KVP_RANGES_AT_ONCE);
		spin_lock(&locks->lock);
		for (i = 0; i < some; i++)
			interval_tree_remove(&r[i].node, &locks->held);
		spin_unlock(&locks->lock);
		/* waitqueue_active() would need a barrier here; waking an empty queue is cheap. */
		wake_up_all(&locks->wait);
	}
}

void kvp_range_unlock(struct kvp_range_locks *locks, struct kvp_range *r)
{
	kvp_range_unlock_each(locks, r, 1);
}

static u64 ranges_taken(struct kvp_range_locks *locks)
{
	u64 taken;

	spin_lock(&locks->lock);
	taken = locks->taken;
	spin_unlock(&locks->lock);
	return taken;
}

/* True if no range is held that was locked before @number. */
static bool all_since(struct kvp_range_locks *locks, u64 number)
{
	struct interval_tree_node *n;
	bool old = false;

	spin_lock(&locks->lock);
	for (n = interval_tree_iter_first(&locks->held, 0, ~0ul); n && !old;
	     n = interval_tree_iter_next(n, 0, ~0ul))
		old = container_of(n, struct kvp_range, node)->number < number;
	spin_unlock(&locks->lock);
	return !old;
}

void kvp_range_wait_all(struct kvp_range_locks *locks)
{
	u64 number = ranges_taken(locks);

	wait_event(locks->wait, all_since(locks, number));
}
