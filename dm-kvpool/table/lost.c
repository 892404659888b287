// SPDX-License-Identifier: GPL-2.0-only
/* Pages that no leg has: poison stands in for a leaf, and pages above are given up (R8). */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/regions.h"
#include "ram/rcache.h"
#include "super/finds.h"
#include "table/table.h"
#include "table/tpage.h"

u64 kvp_blocks_below(const struct kvp_vdev *v, u32 level, u64 index)
{
	kvp_vblock_t own = tpage_first(v, level, index);
	kvp_vblock_t end = kvp_vblock_first(tpage_first(v, level, index + 1), tpage_pool_end(v));
	u64 n = 0;

	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, tpage_span(v, 0))) {
		struct kvp_map_leaf leaf = kvp_map_leaf(&v->all->sb->map, v->index, own);

		n += tpage_leaf_used(v, &leaf);
	}
	return n;
}

struct kvp_table_part kvp_tpage_part(const struct kvp_table *t, const struct kvp_tpage *tp)
{
	kvp_vblock_t first = tpage_first(tp->v, tp->level, tp->index);
	struct kvp_table_part part = {
		.vdev = tp->v->index,
		.level = tp->level,
		.index = tp->index,
		.first = kvp_pool_block(tp->v, first),
		.blocks = min(tpage_span(tp->v, tp->level),
			      tp->v->g->data_blocks - kvp_vblock_nr(first)),
	};

	part.last = kvp_block_first(kvp_pool_block(tp->v, kvp_vblock_add(first, part.blocks - 1)),
				    kvp_block_back(kvp_vdevs_end(t->client.vdevs), 1));
	return part;
}

/* No leg has this page. Report it once, and note it for a refusal that names it. */
static void note_lost(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_part *lost = &t->lost, was, now = kvp_tpage_part(t, tp);

	mutex_lock(&t->lock);
	was = *lost;
	*lost = now;
	mutex_unlock(&t->lock);
	if (!was.blocks || was.level != now.level || was.index != now.index || was.vdev != now.vdev)
		t->client.lost(t->client.of, &now);
}

/*
 * The version of the parity is unknown, too. All blocks that it covers are poisoned, and count as
 * zeros.
 */
void __kvp_table_rows_lost(struct kvp_tpage *leaf, u64 poison)
{
	const struct kvp_geometry *g = leaf->v->g;
	kvp_vblock_t own = leaf->at.own;
	kvp_vblock_t end = kvp_vblock_first(kvp_vblock_add(own, tpage_span(leaf->v, 0)),
					    kvp_vblock(g->data_blocks));

	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, 1)) {
		u32 word = tpage_parity_word(leaf, kvp_row_of(g, own));

		tpage_words(leaf)[word] = cpu_to_le64(poison);
	}
}

void kvp_leaf_poison(struct kvp_table *t, struct kvp_tpage *leaf, bool counted)
{
	u64 i, used = tpage_leaf_used(leaf->v, &leaf->at), poison;

	mutex_lock(&t->lock);
	poison = kvp_entry(0, t->era, KVP_ENTRY_POISONED);
	clear_page(page_address(leaf->page));
	for (i = 0; i < used; i++) {
		kvp_block_t block = kvp_leaf_block(leaf, kvp_vblock_add(leaf->at.own, i));

		if (!counted) {
			__kvp_table_set_data(t, leaf, block, poison, NULL);
			continue;
		}
		tpage_words(leaf)[kvp_leaf_word(leaf, block)] = cpu_to_le64(poison);
		kvp_rcache_forget(t->client.rcache, block);
		kvp_table_tell_cache(t, block, 1);
	}
	leaf->v->ops->leaf_lost(leaf, poison);
	if (!counted)
		WRITE_ONCE(t->poisonings, t->poisonings + 1);
	mutex_unlock(&t->lock);
	if (counted)
		return;
	atomic64_add(used, &t->client.stats->unrepaired);
	atomic64_add(used, &t->client.stats->leaf_lost);
}

void kvp_tpage_fill_lost(struct kvp_tpage *tp)
{
	const struct kvp_vdev *v = tp->v;
	u64 first = tp->index << KVP_PTRS_SHIFT;
	kvp_vblock_t end = tpage_pool_end(v);
	u32 i;

	clear_page(page_address(tp->page));
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		if (!kvp_vblock_before(tpage_first(v, tp->level - 1, first + i), end))
			break;
		tpage_words(tp)[i] = cpu_to_le64(KVP_PTR_LOST);
	}
}

/*
 * Replace a lost page above the leaves by a new page that calls all pages below it lost. It is
 * called when a block below must be written home, or by order. So all blocks below are poisoned at
 * once, and no leaf is written: each leaf is made when it is needed. As with a lost leaf, the bad
 * page counts until a checkpoint has replaced it.
 */
static void give_up_page(struct kvp_table *t, struct kvp_tpage *tp)
{
	kvp_block_t first = kvp_pool_block(tp->v, tpage_first(tp->v, tp->level, tp->index));
	u64 blocks = kvp_blocks_below(tp->v, tp->level, tp->index);

	kvp_tpage_fill_lost(tp);
	mutex_lock(&t->lock);
	__kvp_tpage_poison(tp);
	__kvp_tpage_dirty(t, tp);
	t->poisoned += blocks;
	WRITE_ONCE(t->poisonings, t->poisonings + 1);
	if (t->lost.level == tp->level && t->lost.index == tp->index &&
	    t->lost.vdev == tp->v->index)
		t->lost.blocks = 0;
	mutex_unlock(&t->lock);
	atomic64_add(blocks, &t->client.stats->unrepaired);
	t->client.given_up(t->client.of, tp, first, blocks);
}

/*
 * Read the page that the pointer names. If every leg in use answers, twice, and none has the page,
 * then the sums of the blocks below are lost.
 *
 * A lost leaf: its blocks are poisoned, each until it is overwritten or discarded (R8). The leaf is
 * dirty then. The bad leaf counts until a checkpoint has replaced it: after a power cut before
 * that, it is found again.
 *
 * A lost page above the leaves: too many blocks are below it. A read gets EIO, and nothing changes.
 * With KVP_LOST_GOES, for a write of accepted blocks to their home, the page is given up. Otherwise
 * the log could never release these blocks, and would be full in the end. A leg that does not
 * answer is asked again then, for some seconds.
 */
int kvp_tpage_read_or_poison(struct kvp_table *t, struct kvp_tpage *tp,
			     enum kvp_if_lost if_lost)
{
	int ret = if_lost ? kvp_tpage_read_patiently(t, tp, true) : kvp_tpage_read(t, tp, true);

	if (ret == -EIO && if_lost == KVP_LOST_BY_FORCE && kvp_tpage_is_gone(t, tp))
		ret = -EBADMSG;
	if (ret != -EBADMSG)
		return ret;
	kvp_tpage_not_silent(t, tp);
	note_lost(t, tp);
	if (table_readonly(t) || (tp->level && !if_lost))
		return -EIO;
	if (tp->level)
		give_up_page(t, tp);
	else
		kvp_leaf_poison(t, tp, false);
	return 0;
}
