// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels of devices that are no legs yet: of legs that are about to join, and of the shadow.
 *
 * Such a label is a superblock with a flag that no pool may start from it.
 */
#include <linux/time64.h>

#include "core/core.h"
#include "core/shadow.h"
#include "super/members.h"
#include "super/sb_write.h"

/* Begin a label that says JOINING. It has epoch 0, so any superblock of a pool is newer. */
static struct kvp_sb *begin_joining(struct kvp_pool *pool)
{
	struct kvp_sb *label = kvp_sb_begin_label(pool);

	label->epoch = 0;
	label->flags |= KVP_SB_JOINING;
	label->write_time = ktime_get_real_seconds();
	return label;
}

int kvp_sb_join(struct kvp_pool *pool, u32 first, u32 nr)
{
	lockdep_assert_held(&pool->sb_lock);
	/* The label goes to a slot that the pool's next superblocks do not use. */
	begin_joining(pool);
	kvp_sb_write_label(pool->sb_write, &pool->legs[first], nr);
	return kvp_sb_end_label(pool->sb_write);
}

/* Let @sb describe the shadow as its leg @at: the shadow is to take that place. */
static void say_shadow(struct kvp_sb *sb, u32 at)
{
	struct kvp_leg_info *info = &sb->legs[at];

	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, sb->shadow.uuid, sizeof(info->uuid));
	info->state = KVP_LEG_STALE;
	info->size_blocks = sb->shadow.size_blocks;
	info->cursor = sb->shadow.cursor;
	info->cursor_era = sb->shadow.cursor_era;
	memset(&sb->shadow, 0, sizeof(sb->shadow));
}

/* Write the shadow's label under @sequence. Its slot may be that of the newest label. */
static int write_label(struct kvp_pool *pool, u64 sequence)
{
	struct kvp_sb *label = begin_joining(pool);

	say_shadow(label, kvp_shadowed(pool)->index);
	label->sequence = sequence;
	kvp_sb_write_in_turn(pool, pool->sb_write, &pool->shadow, true);
	return kvp_sb_end_label(pool->sb_write);
}

int kvp_sb_label_shadow(struct kvp_pool *pool, bool last)
{
	u64 sequence = pool->sb->sequence;

	lockdep_assert_held(&pool->sb_lock);
	if (last)
		return write_label(pool, sequence - 1) ?: write_label(pool, sequence);
	return write_label(pool, pool->sb->shadow.label);
}
