// SPDX-License-Identifier: GPL-2.0-only
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "table/table.h"
#include "work/changed.h"
#include "work/destage.h"

int kvp_changed_check(const struct kvp_pool *pool, const struct kvp_point *p)
{
	const struct kvp_sb *sb = pool->sb;

	if (pool->recovery.parted)
		return -EPERM;
	if (!p->tagged && !p->era)
		return 0;
	if (p->tagged && p->tag != kvp_history_tag(sb))
		return -ESTALE;
	if (!p->tagged && !kvp_history_straight(sb))
		return -ENOTUNIQ;
	return p->era > READ_ONCE(sb->era) ? -ERANGE : 0;
}

/* If the era was a second old, changes after this checkpoint have a later era than those in it. */
static int end_with_checkpoint(struct kvp_pool *pool)
{
	int ret;

	mutex_lock(&pool->checkpoint_lock);
	kvp_table_end_era(pool->table, READ_ONCE(pool->sb->era), false);
	ret = kvp_checkpoint(pool, NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

int kvp_changed_point(struct kvp_pool *pool, struct kvp_point *p)
{
	int ret = 0;

	if (pool->recovery.parted)
		return -EPERM;
	if (!kvp_pool_readonly(pool))
		ret = kvp_destage_order(pool) ?: end_with_checkpoint(pool);
	*p = (struct kvp_point){
		.era = READ_ONCE(pool->sb->era),
		.tag = kvp_history_tag(pool->sb),
		.tagged = true,
	};
	return ret;
}

static bool changed(const struct kvp_tpage *leaf, kvp_block_t block, u32 since)
{
	return kvp_entry_era(kvp_table_entry(leaf, block)) >= since;
}

/* Narrow @s, which is below @leaf, to the first neighbours that changed. It may become empty. */
static void look_closely(const struct kvp_tpage *leaf, u32 since, struct kvp_stretch *s)
{
	kvp_block_t end = s->end, at;

	for (at = s->first; kvp_block_before(at, end) && !changed(leaf, at, since);)
		at = kvp_block_add(at, 1);
	s->first = at;
	while (kvp_block_before(at, end) && changed(leaf, at, since))
		at = kvp_block_add(at, 1);
	s->end = at;
}

int kvp_changed_next(struct kvp_pool *pool, u32 since, kvp_block_t *from, kvp_block_t *first,
		     u64 *count)
{
	struct kvp_tpage *leaf = NULL;
	struct kvp_stretch s;
	int ret;

	/* Era 0 is that of entries that were never written. */
	since = max(since, 1u);
	/* A suspend waits for this search, with all I/O stopped. The caller can ask again. */
	if (test_bit(KVP_POOL_SUSPENDING, &pool->flags))
		return -EINTR;
	if (!kvp_block_before(*from, kvp_pool_end(pool)))
		return 0;
	ret = kvp_table_next_born(pool->table, *from, since, &s);
	if (ret || !kvp_block_before(s.first, s.end))
		return ret;
	if (!s.whole)
		leaf = kvp_table_load(pool->table, s.first);
	if (leaf == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	/* If the leaf cannot be read, all blocks of @s count as changed. */
	if (!IS_ERR_OR_NULL(leaf)) {
		look_closely(leaf, since, &s);
		kvp_table_put(leaf);
		kvp_table_shrink(pool->table, false);
	}
	*first = s.first;
	*count = kvp_block_since(s.end, s.first);
	*from = s.end;
	return 1;
}
