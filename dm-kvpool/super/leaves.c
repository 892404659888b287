// SPDX-License-Identifier: GPL-2.0-only
#include "format/replaces.h"
#include "super/events.h"
#include "super/leaves.h"
#include "super/members.h"

static bool is_to_leave(const struct kvp_pool *pool, u32 i)
{
	return READ_ONCE(pool->legs[i].state) != KVP_LEG_OFFLINE &&
	       kvp_replaced_may_leave(pool->sb, i);
}

bool kvp_replaced_waits(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; !kvp_pool_readonly(pool) && i < pool->nr_legs; i++)
		if (is_to_leave(pool, i))
			return true;
	return false;
}

/* True if leg @i must leave, and the superblock that says so is durable. */
static bool check(struct kvp_pool *pool, u32 i)
{
	bool may;

	mutex_lock(&pool->sb_lock);
	may = pool->durable_epoch == pool->sb->epoch && !kvp_members_dirty(pool) &&
	      is_to_leave(pool, i);
	mutex_unlock(&pool->sb_lock);
	return may;
}

static void leave(struct kvp_pool *pool, u32 i)
{
	struct kvp_leg *old = &pool->legs[i];
	char name[KVP_LEG_WORDS];

	if (!kvp_leg_offline(pool, old))
		kvp_event(pool, "leg_left leg=%u%s new=%pUb", i, kvp_leg_words(old, name),
			  pool->sb->legs[kvp_replaced_by(pool->sb, i)].uuid);
}

int kvp_replaced_leave(struct kvp_pool *pool)
{
	u32 i;

	if (kvp_pool_faulted(pool) || kvp_members_settle(pool))
		return kvp_replaced_waits(pool) ? -EAGAIN : 0;
	for (i = 0; i < pool->nr_legs; i++)
		if (check(pool, i))
			leave(pool, i);
	return kvp_replaced_waits(pool) ? -EAGAIN : 0;
}
