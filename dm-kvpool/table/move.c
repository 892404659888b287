// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>

#include "io/batch.h"
#include "table/move.h"
#include "table/table.h"

#define MOVE_PAGES	128	/* that are written together */

struct move {
	struct kvp_vdev *v;
	const struct kvp_geometry *to;
	struct kvp_batch *batch;
	struct page *pages[MOVE_PAGES];
	u32 nr;		/* pages with contents; their writes may be waiting in the batch */
};

static int write_batch(struct move *m)
{
	int ret = kvp_batch_write(m->batch);

	kvp_batch_reset(m->batch);
	m->nr = 0;
	return ret;
}

/* The next page is filled: it goes to each place that it has. */
static int add_page(struct move *m, u32 level, u64 index, unsigned int slot)
{
	struct page *page = m->pages[m->nr++];
	int ret = 0;
	u32 copy;

	for (copy = 0; !ret && copy < kvp_page_copies(m->to); copy++) {
		struct kvp_place at = kvp_page_place(m->to, level, index, slot, copy);

		if (kvp_batch_add_at(m->batch, m->v, at, page))
			continue;
		ret = kvp_batch_write(m->batch);
		if (!ret && WARN_ON_ONCE(!kvp_batch_add_at(m->batch, m->v, at, page)))
			ret = -EIO;
	}
	return !ret && m->nr == MOVE_PAGES ? write_batch(m) : ret;
}

static int move_level(struct move *m, u32 level)
{
	struct kvp_table_page is;
	kvp_vblock_t own = kvp_vblock(0);
	int ret;

	while ((ret = kvp_table_next_clean(m->v, level, &own, m->pages[m->nr], &is)) > 0) {
		ret = add_page(m, level, is.index, kvp_ptr_slot(is.ptr));
		if (ret)
			return ret;
	}
	return ret;
}

/* A page of the new level @level, above those that @below name. */
static int make_page(struct move *m, u32 level, u32 index, const u64 *below, u32 nr, u64 *ptr)
{
	__le64 *w = page_address(m->pages[m->nr]);
	u32 i;

	clear_page(w);
	for (i = 0; i < KVP_PTRS_PER_PAGE && i < nr; i++)
		w[i] = cpu_to_le64(below[i]);
	*ptr = kvp_table_pointer(m->v, level, index, w, 0);
	return kvp_ptr_null(*ptr) ? 0 : add_page(m, level, index, 0);
}

/* @roots has @nr pointers of the old top level; those of the new one take their place. */
static int add_levels(struct move *m, u64 *roots, u32 nr)
{
	u32 level, i;
	int ret = 0;

	for (level = m->v->g->levels; level < m->to->levels; level++) {
		u32 pages = DIV_ROUND_UP(nr, KVP_PTRS_PER_PAGE);

		for (i = 0; !ret && i < pages; i++)
			ret = make_page(m, level, i, &roots[i * KVP_PTRS_PER_PAGE],
					nr - i * KVP_PTRS_PER_PAGE, &roots[i]);
		memset(&roots[pages], 0, (nr - pages) * sizeof(*roots));
		nr = pages;
	}
	return ret;
}

static int move_all(struct move *m, u64 *roots)
{
	u32 nr = kvp_root_count(m->v->g), level;
	int ret = 0;

	memset(roots, 0, KVP_MAX_ROOTS * sizeof(*roots));
	memcpy(roots, &m->v->pool->table->roots[m->v->first_root], nr * sizeof(*roots));
	for (level = 0; !ret && level < m->v->g->levels; level++)
		ret = move_level(m, level);
	if (!ret)
		ret = add_levels(m, roots, nr);
	return ret ?: write_batch(m);
}

static void free_move(struct move *m)
{
	u32 i;

	for (i = 0; i < MOVE_PAGES; i++)
		if (m->pages[i])
			__free_page(m->pages[i]);
	kvfree(m);
}

static struct move *alloc_move(void)
{
	struct move *m = kvzalloc(sizeof(*m), GFP_KERNEL);
	u32 i;

	for (i = 0; m && i < MOVE_PAGES; i++) {
		m->pages[i] = alloc_page(GFP_KERNEL);
		if (m->pages[i])
			continue;
		free_move(m);
		m = NULL;
	}
	return m;
}

int kvp_table_move(struct kvp_vdev *v, const struct kvp_geometry *to, u64 roots[KVP_MAX_ROOTS])
{
	struct kvp_pool *pool = v->pool;
	struct move *m = alloc_move();
	int ret;

	if (!m)
		return -ENOMEM;
	m->v = v;
	m->to = to;
	mutex_lock(&pool->checkpoint_lock);
	m->batch = pool->table->batch;
	ret = move_all(m, roots);
	kvp_batch_reset(m->batch);
	mutex_unlock(&pool->checkpoint_lock);
	free_move(m);
	return ret;
}
