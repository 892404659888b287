// SPDX-License-Identifier: GPL-2.0-only
/* Pages for a scrub, which compares their copies, and for copies of a whole table. */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev.h"
#include "io/io.h"
#include "table/table.h"
#include "table/tpage.h"

/* A mask of the copies on disk that differ from @tp, a clean page in memory. */
static unsigned long bad_copies(struct kvp_table *t, const struct kvp_tpage *tp, struct page *into)
{
	unsigned long bad = 0;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = tpage_durable_copy(tp, copy);
		struct kvp_leg *leg = &tp->v->legs[at.leg];

		if (kvp_leg_in_sync(leg) && kvp_tpage_read_copy(t, leg, at.block, tp, into))
			bad |= BIT(copy);
	}
	return bad;
}

/* Copy page @tp to @page if it is clean: then its copies on disk have the same contents. */
static bool copy_if_clean(struct kvp_table *t, const struct kvp_tpage *tp, struct page *page)
{
	bool clean;

	mutex_lock(&t->lock);
	clean = !kvp_ptr_null(tp->durable) && !kvp_ptr_lost(tp->durable) &&
		!test_bit(KVP_TPAGE_DIRTY, &tp->flags) && !test_bit(KVP_TPAGE_WRITING, &tp->flags);
	if (clean)
		copy_page(page_address(page), page_address(tp->page));
	mutex_unlock(&t->lock);
	return clean;
}

int kvp_table_scrub_page(struct kvp_table *t, kvp_block_t block, u32 level, struct page *good,
			 struct page *copy)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);
	struct kvp_tpage *tp = kvp_tpage_load(t, at.v, level, tpage_index(at.v, level, at.block));
	int repaired = 0;

	if (IS_ERR(tp))
		return PTR_ERR(tp);
	lockdep_assert_held(t->client.checkpoint_lock);
	/*
	 * A page that is dirty or being written gets new copies anyway. From now on it may become
	 * dirty, but @good does not change.
	 */
	if (copy_if_clean(t, tp, good))
		repaired = kvp_tpage_repair(t, tp, bad_copies(t, tp, copy), good);
	kvp_table_put(tp);
	return repaired;
}

/*
 * Find the first page of @level, from the one above *@own on, that changed in era @since or later,
 * and move *@own to a block below it. Returns 1; 0: there is none before @end; -ENOMEM; or -errno:
 * a page above cannot be read, and *@own is behind it.
 */
static int next_page(struct kvp_table *t, struct kvp_vdev *v, u32 level, kvp_vblock_t *own,
		     kvp_vblock_t end, u32 since)
{
	while (kvp_vblock_before(*own, end)) {
		struct kvp_tpage *parent = NULL;
		u32 l = v->g->levels - 1;
		u64 ptr;

		for (;; l--) {
			ptr = tpage_pointer(t, v, parent, tpage_index(v, l, *own));
			if (parent)
				kvp_table_put(parent);
			if (l == level || kvp_ptr_null(ptr) || kvp_ptr_era(ptr) < since)
				break;
			parent = kvp_tpage_load(t, v, l, tpage_index(v, l, *own));
			if (IS_ERR(parent) && PTR_ERR(parent) != -ENOMEM)
				*own = tpage_behind(v, l, *own);
			if (IS_ERR(parent))
				return PTR_ERR(parent);
		}
		if (!kvp_ptr_null(ptr) && kvp_ptr_era(ptr) >= since)
			return 1;
		*own = tpage_behind(v, l, *own);
	}
	return 0;
}

int kvp_table_next_page(struct kvp_table *t, struct kvp_vdev *v, u32 level, kvp_vblock_t *own,
			u32 since, struct page *page, struct kvp_table_page *is)
{
	struct kvp_tpage *tp;
	bool lost;
	int ret;

	lockdep_assert_held(t->client.checkpoint_lock);
	for (;;) {
		ret = next_page(t, v, level, own, kvp_vblock(v->g->data_blocks), since);
		if (ret <= 0)
			return ret;
		tp = kvp_tpage_load(t, v, level, tpage_index(v, level, *own));
		if (PTR_ERR_OR_ZERO(tp) == -ENOMEM)
			return -ENOMEM;
		*own = tpage_behind(v, level, *own);
		if (IS_ERR(tp))
			return PTR_ERR(tp);
		*is = (struct kvp_table_page){ .index = tp->index, .ptr = tp->durable };
		lost = kvp_ptr_lost(tp->durable);
		is->dirty = !copy_if_clean(t, tp, page);
		kvp_table_put(tp);
		/* A page that was given up is not on disk. */
		if (!lost)
			return 1;
	}
}
