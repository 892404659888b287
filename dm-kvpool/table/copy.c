// SPDX-License-Identifier: GPL-2.0-only
#include <linux/lockdep.h>

#include "table/copy.h"

/* Add copy @copy of page @i. */
static int add_copy(struct kvp_table_copy *c, u32 i, u32 copy)
{
	const struct kvp_table_page *is = &c->is[i];
	struct kvp_place at = kvp_page_place(c->v->g, c->level, is->index, kvp_ptr_slot(is->ptr),
					     copy);
	int ret = 0;

	if (kvp_batch_add_target(c->batch, c->v, at, c->pages[i]))
		return 0;
	ret = kvp_batch_write(c->batch);
	if (!ret && WARN_ON_ONCE(!kvp_batch_add_target(c->batch, c->v, at, c->pages[i])))
		ret = -EIO;
	return ret;
}

/* Write @nr pages. One leg after the other: pages that lie together become one request. */
static int write_pages(struct kvp_table_copy *c, u32 nr)
{
	u32 copy, i;
	int ret = 0;

	kvp_batch_reset(c->batch);
	for (copy = 0; copy < kvp_page_copies(c->v->g); copy++)
		for (i = 0; !ret && i < nr; i++)
			ret = add_copy(c, i, copy);
	return ret ?: kvp_batch_write(c->batch);
}

/* Copy the next clean pages of one level; returns as kvp_table_next_page(), of the last one. */
static int find_pages(struct kvp_table_copy *c, u32 most, u32 *nr)
{
	u32 looks;
	int ret = 1;

	for (looks = 0, *nr = 0; looks < most && ret > 0; looks++) {
		ret = kvp_table_next_page(c->t, c->v, c->level, &c->own, c->since, c->pages[*nr],
					  &c->is[*nr]);
		if (ret > 0 && !c->is[*nr].dirty)
			++*nr;
	}
	return ret;
}

int kvp_table_copy_some(struct kvp_table_copy *c, u32 most)
{
	u32 nr;
	int ret, error;

	lockdep_assert_held(c->t->client.checkpoint_lock);
	if (c->level == c->v->g->levels)
		return 0;
	ret = find_pages(c, min(most, KVP_COPY_PAGES), &nr);
	error = write_pages(c, nr);
	if (!ret) {
		c->level++;
		c->own = kvp_vblock(0);
		ret = 1;
	}
	return error ?: ret;
}
