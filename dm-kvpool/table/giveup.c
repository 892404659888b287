// SPDX-License-Identifier: GPL-2.0-only
/* Giving up lost pages by order, and ending what was given up with the pool. */
#include "core/core.h"
#include "core/vdev.h"
#include "table/table.h"
#include "table/tpage.h"

/* True if the page was given up: all blocks of a leaf are poisoned, or all below @block is lost. */
static bool is_given_up(struct kvp_table *t, struct kvp_vdev *v, struct kvp_tpage *tp,
			kvp_vblock_t block)
{
	kvp_vblock_t own = tp->at.own;

	if (tp->level)
		return kvp_ptr_lost(tpage_pointer(t, v, tp, tpage_index(v, tp->level - 1, block)));
	for (; kvp_vblock_before(own, tpage_leaf_end(v, &tp->at)); own = kvp_vblock_add(own, 1))
		if (kvp_entry_state(kvp_table_entry(tp, kvp_leaf_block(tp, own))) !=
		    KVP_ENTRY_POISONED)
			return false;
	return true;
}

/*
 * Give up the page of @level above @block of the vdev, if no leg gives it. Returns 1: done; 0: it
 * is not lost; or -errno.
 */
static int give_up_page(struct kvp_table *t, struct kvp_vdev *v, u32 level, kvp_vblock_t block,
			enum kvp_if_lost if_lost)
{
	struct kvp_tpage *tp = kvp_tpage_load(t, v, level, tpage_index(v, level, block));
	bool failed = IS_ERR(tp), lost;

	if (tp == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	if (failed)
		tp = __kvp_tpage_load(t, v, level, tpage_index(v, level, block), if_lost);
	if (IS_ERR(tp))
		return PTR_ERR(tp);
	/* A leg that was silent a moment ago may have given the page now. */
	lost = failed && is_given_up(t, v, tp, block);
	kvp_table_put(tp);
	return lost;
}

int kvp_table_give_up(struct kvp_table *t, kvp_block_t block, bool force)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);
	u32 level = at.v->g->levels;
	int ret = 0;

	if (table_readonly(t))
		return -EROFS;
	while (!ret && level--) {
		struct kvp_tpage *tp;

		/* A leg that is out may have the page that the other legs lost. */
		if (force || kvp_vdev_usable(at.v) == at.v->nr_legs) {
			ret = give_up_page(t, at.v, level, at.block,
					   force ? KVP_LOST_BY_FORCE : KVP_LOST_GOES);
			continue;
		}
		tp = kvp_tpage_load(t, at.v, level, tpage_index(at.v, level, at.block));
		if (IS_ERR(tp))
			return PTR_ERR(tp) == -EIO ? -EBUSY : PTR_ERR(tp);
		kvp_table_put(tp);
	}
	if (!ret)
		return -ENOENT;
	return ret < 0 ? ret : t->client.make_poison_durable(t->client.of);
}

int kvp_table_bound_lost(struct kvp_table *t)
{
	int changed = 0;
	u32 i;

	for (i = 0; i < t->client.vdevs->nr_with_data; i++) {
		struct kvp_vdev *v = t->client.vdevs->with_data[i];
		u64 end = kvp_vblock_nr(tpage_pool_end(v));
		struct kvp_tpage *leaf;

		if (!end)
			continue;
		leaf = kvp_tpage_load(t, v, 0, tpage_index(v, 0, kvp_vblock(end - 1)));
		if (leaf == ERR_PTR(-ENOMEM))
			return -ENOMEM;
		/* A page that is lost and not given up stays as it is. */
		if (IS_ERR(leaf))
			continue;
		mutex_lock(&t->lock);
		if (kvp_ptr_lost(leaf->durable)) {
			__kvp_tpage_dirty(t, leaf);
			changed = 1;
		}
		mutex_unlock(&t->lock);
		kvp_table_put(leaf);
	}
	return changed;
}
