// SPDX-License-Identifier: GPL-2.0-only
/* Discards: leaves, and whole pages of level 1, become null pointers without being read. */
#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/regions.h"
#include "ram/rcache.h"
#include "table/table.h"
#include "table/tpage.h"

/*
 * Correct the counts for a leaf that is dropped unread. If the page was given up, all its blocks
 * were counted as poisoned. Otherwise it is unknown how many of its blocks were written: it counts
 * as full.
 */
static void __uncount_leaf(struct kvp_table *t, u64 ptr, u64 blocks)
{
	lockdep_assert_held(&t->lock);
	if (kvp_ptr_lost(ptr)) {
		t->poisoned -= blocks;
		return;
	}
	t->written -= min(t->written, blocks);
	if (t->uncounted < U32_MAX)
		t->uncounted++;
}

/*
 * Tell the caches of all blocks, after the change, as for a single entry. Do so in runs of
 * neighbouring blocks: a TiB has 268 million blocks.
 */
static void forget_leaf(struct kvp_table *t, const struct kvp_map_leaf *leaf, kvp_vblock_t end)
{
	kvp_vblock_t own = leaf->own;

	while (kvp_vblock_before(own, end)) {
		kvp_block_t block = kvp_map_leaf_block(leaf, own);
		u32 n = min_t(u64, kvp_map_leaf_run(leaf, own), kvp_vblock_since(end, own));

		kvp_rcache_forget_range(t->client.rcache, block, n);
		kvp_table_tell_cache(t, block, n);
		own = kvp_vblock_add(own, n);
	}
}

/*
 * Make the pointer to leaf @index, which is discarded as a whole, null in @parent, without reading
 * the leaf. Returns false, and does nothing, if the leaf is in memory, since its contents count
 * then; or if there is poison in it, which must be counted.
 *
 * Until the next checkpoint is durable, the durable tree still has the leaf. If a new leaf is made
 * before, it must not overwrite the old one. So the null pointer names the slot that the next page
 * goes to.
 *
 * A task that reads the leaf at this moment holds its load lock. This function waits for the lock,
 * and then finds the leaf in memory.
 */
static bool discard_unread(struct kvp_table *t, struct kvp_vdev *v, struct kvp_tpage *parent,
			   u64 index, u64 blocks)
{
	__le64 *word = &tpage_words(parent)[index % KVP_PTRS_PER_PAGE];
	struct mutex *lock = tpage_load_lock(t, 0, index);
	struct kvp_tpage *leaf;
	bool null = false;
	u64 ptr;

	/* A checkpoint changes pages above the leaves without the table's lock. */
	lockdep_assert_held(t->client.checkpoint_lock);
	mutex_lock(lock);
	leaf = kvp_tpage_lookup(t, v, 0, index);
	if (leaf) {
		kvp_table_put(leaf);
		goto out;
	}
	mutex_lock(&t->lock);
	ptr = le64_to_cpu(*word);
	null = kvp_ptr_null(ptr) || kvp_ptr_lost(ptr) || !kvp_ptr_poison(ptr);
	if (null && !kvp_ptr_null(ptr)) {
		__uncount_leaf(t, ptr, blocks);
		WRITE_ONCE(*word, cpu_to_le64(kvp_ptr(0, t->era, !kvp_ptr_slot(ptr), false)));
		__kvp_tpage_dirty(t, parent);
	}
	mutex_unlock(&t->lock);
out:
	mutex_unlock(lock);
	return null;
}

/* True if the page of level 1 above @own is in memory. */
static bool above_in_memory(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own)
{
	struct kvp_tpage *tp = kvp_tpage_lookup(t, v, 1, tpage_index(v, 1, own));

	if (tp)
		kvp_table_put(tp);
	return tp;
}

kvp_vblock_t kvp_table_behind_whole(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own,
				    kvp_vblock_t end)
{
	u64 index = tpage_index(v, 1, own);
	kvp_vblock_t behind = kvp_vblock_first(tpage_first(v, 1, index + 1), tpage_pool_end(v));
	kvp_block_t of_pool = kvp_vdevs_end(v->all);

	if (v->g->levels < 2 || kvp_vblock_nr(own) != kvp_vblock_nr(tpage_first(v, 1, index)) ||
	    kvp_vblock_before(end, behind) || !kvp_vblock_before(own, behind) ||
	    !kvp_block_before(kvp_pool_block(v, own), of_pool) ||
	    !kvp_block_before(kvp_pool_block(v, kvp_vblock(kvp_vblock_nr(behind) - 1)), of_pool))
		return own;
	return above_in_memory(t, v, own) ? own : behind;
}

kvp_vblock_t kvp_table_discard_reach(struct kvp_table *t, const struct kvp_vdev *v,
				     kvp_vblock_t own, kvp_vblock_t end)
{
	kvp_vblock_t behind = kvp_table_behind_whole(t, v, own, end);

	return kvp_vblock_before(own, behind) ? behind :
						kvp_vblock_first(end, kvp_leaf_behind(v->g, own));
}

/* How many leaves there are below page @index of level 1. */
static u32 leaves_below(const struct kvp_vdev *v, u64 index)
{
	u64 first = index << KVP_PTRS_SHIFT;

	return (u32)min_t(u64, KVP_PTRS_PER_PAGE, kvp_pages_at(v->g, 0) - first);
}

/* As __uncount_leaf(), for all leaves below page @index of level 1. Any of them may be null. */
static void __uncount_page(struct kvp_table *t, const struct kvp_vdev *v, u64 index)
{
	u32 leaves = leaves_below(v, index);

	lockdep_assert_held(&t->lock);
	t->written -= min(t->written, kvp_blocks_below(v, 1, index));
	t->uncounted = t->uncounted < U32_MAX - leaves ? t->uncounted + leaves : U32_MAX;
}

/*
 * Enter a new page with null pointers only, in place of the page that @ptr names. Returns 1 or
 * -ENOMEM.
 */
static int replace_unread(struct kvp_table *t, struct kvp_vdev *v, u64 index,
			  struct kvp_tpage *parent, u64 ptr)
{
	struct kvp_tpage *tp = kvp_tpage_new(t, v, 1, index, parent);
	u32 i;

	if (!tp)
		return -ENOMEM;
	tp->durable = ptr;
	set_bit(KVP_TPAGE_UNREAD, &tp->flags);
	mutex_lock(&t->lock);
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		tpage_words(tp)[i] = cpu_to_le64(kvp_ptr(0, t->era, 0, false));
	__uncount_page(t, v, index);
	__kvp_tpage_dirty(t, tp);
	mutex_unlock(&t->lock);
	kvp_tpage_enter(t, tp);
	kvp_table_put(tp);
	return 1;
}

/*
 * Discard all that is below page @index of level 1 without reading the page. Returns 1: done, and a
 * page is dirty; 0: not done, since the page is in memory, or null, or has poison below, which must
 * be counted; or -errno.
 *
 * As with a leaf, a page that is made again before the checkpoint is durable must not overwrite
 * what the durable tree has. Which slots that are is unknown here. learn_slots() reads them when
 * something below is needed.
 */
static int discard_page(struct kvp_table *t, struct kvp_vdev *v, u64 index)
{
	struct mutex *lock = tpage_load_lock(t, 1, index);
	struct kvp_tpage *tp, *parent = NULL;
	int ret = 0;
	u64 ptr;

	lockdep_assert_held(t->client.checkpoint_lock);
	mutex_lock_nested(lock, 1);
	tp = kvp_tpage_lookup(t, v, 1, index);
	if (tp) {
		kvp_table_put(tp);
		goto out;
	}
	if (v->g->levels > 2)
		parent = __kvp_tpage_load(t, v, 2, index >> KVP_PTRS_SHIFT, KVP_LOST_GOES);
	if (IS_ERR(parent)) {
		ret = PTR_ERR(parent);
		goto out;
	}
	ptr = tpage_pointer(t, v, parent, index);
	/* The pointer to a page that was given up has the poison flag, too. */
	if (!kvp_ptr_null(ptr) && !kvp_ptr_poison(ptr))
		ret = replace_unread(t, v, index, parent, ptr);
	if (ret <= 0 && parent)
		kvp_table_put(parent);
out:
	mutex_unlock(lock);
	return ret;
}

/* The same for the blocks from @own to before @behind, and tell the caches of them. */
static int discard_whole_page(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			      kvp_vblock_t behind)
{
	int ret = discard_page(t, v, tpage_index(v, 1, own));

	if (ret <= 0)
		return ret;
	for (; kvp_vblock_before(own, behind); own = kvp_leaf_behind(v->g, own)) {
		struct kvp_map_leaf at = kvp_map_leaf(&v->all->sb->map, v->index, own);

		forget_leaf(t, &at, tpage_leaf_end(v, &at));
		cond_resched();
	}
	return ret;
}

/* Discard a whole leaf without reading it. Returns 1: done; 0: that is not possible; or -errno. */
static int discard_whole(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			 kvp_vblock_t end)
{
	u64 index = tpage_index(v, 0, own);
	struct kvp_map_leaf at = kvp_map_leaf(&v->all->sb->map, v->index, tpage_first(v, 0, index));
	struct kvp_tpage *parent;
	bool done;

	/* Roots are not changed here: in the superblock they are those of the last checkpoint. */
	if (v->g->levels < 2 || kvp_vblock_before(at.own, own) ||
	    kvp_vblock_before(end, tpage_leaf_end(v, &at)))
		return 0;
	parent = __kvp_tpage_load(t, v, 1, index >> KVP_PTRS_SHIFT, KVP_LOST_GOES);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	done = discard_unread(t, v, parent, index, tpage_leaf_used(v, &at));
	kvp_table_put(parent);
	if (done)
		forget_leaf(t, &at, tpage_leaf_end(v, &at));
	return done;
}

/* Discard blocks below one leaf, from @own to before @end. Returns as kvp_table_discard(). */
static int discard_leaf(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end)
{
	int ret = discard_whole(t, v, own, end);
	struct kvp_tpage *leaf;

	if (ret < 0)
		return ret;
	atomic64_inc(&t->client.stats->leaf_discards);
	if (ret)
		return 0;
	leaf = __kvp_tpage_load(t, v, 0, tpage_index(v, 0, own), KVP_LOST_GOES);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	end = kvp_vblock_first(end, tpage_leaf_end(v, &leaf->at));
	kvp_table_lock(t, leaf);
	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, 1)) {
		kvp_block_t block = kvp_leaf_block(leaf, own);

		if (kvp_entry_state(kvp_table_entry(leaf, block)) != KVP_ENTRY_UNWRITTEN)
			__kvp_table_set(t, leaf, block, 0, KVP_ENTRY_UNWRITTEN);
		v->ops->unwritten(t, leaf, own);
	}
	kvp_table_unlock(t);
	kvp_table_put(leaf);
	return 1;
}

int kvp_table_discard(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t *own,
		      kvp_vblock_t behind)
{
	kvp_vblock_t leaf = kvp_vblock_first(behind, kvp_leaf_behind(v->g, *own));
	int ret = 0;

	if (kvp_vblock_before(leaf, behind))
		ret = discard_whole_page(t, v, *own, behind);
	if (ret > 0)
		atomic64_inc(&t->client.stats->leaf_discards);
	if (!ret) {
		ret = discard_leaf(t, v, *own, leaf);
		behind = leaf;
	}
	if (ret >= 0)
		*own = behind;
	return ret;
}
