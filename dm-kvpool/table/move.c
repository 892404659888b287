// SPDX-License-Identifier: GPL-2.0-only
#include <linux/gfp.h>
#include <linux/mm.h>

#include "io/batch.h"
#include "table/move.h"
#include "table/table.h"

/* pages looked at for one batch: the checkpoint lock is held meanwhile */
#define MOST_LOOKS	512

struct kvp_move_pages {
	struct kvp_batch *batch;	/* the table's, under checkpoint_lock */
	struct page *pages[KVP_MOVE_PAGES];
	u32 nr;		/* pages with contents; their writes may be waiting in the batch */
};

void kvp_move_pages_free(struct kvp_move_pages *p)
{
	u32 i;

	for (i = 0; p && i < KVP_MOVE_PAGES; i++)
		if (p->pages[i])
			__free_page(p->pages[i]);
	kvfree(p);
}

struct kvp_move_pages *kvp_move_pages_alloc(void)
{
	struct kvp_move_pages *p = kvzalloc(sizeof(*p), GFP_KERNEL);
	u32 i;

	for (i = 0; p && i < KVP_MOVE_PAGES; i++) {
		p->pages[i] = alloc_page(GFP_KERNEL);
		if (p->pages[i])
			continue;
		kvp_move_pages_free(p);
		p = NULL;
	}
	return p;
}

/* --- writing ------------------------------------------------------------------------- */

/* Write the batch. Returns -EIO for any error: the pages added to the batch are not moved then. */
static int write_batch(struct kvp_table_move *m, struct kvp_move_pages *p)
{
	int ret = kvp_batch_write(p->batch);

	kvp_batch_reset(p->batch);
	if (!ret)
		WRITE_ONCE(m->written, m->written + p->nr);
	p->nr = 0;
	return ret ? -EIO : 0;
}

/* The next page is filled: add it to the batch for each place that it has. */
static int add_page(struct kvp_table_move *m, struct kvp_move_pages *p, u32 level, u64 index,
		    unsigned int slot)
{
	struct page *page = p->pages[p->nr++];
	int ret = 0;
	u32 copy;

	for (copy = 0; !ret && copy < kvp_page_copies(m->to); copy++) {
		struct kvp_place at = kvp_page_place(m->to, level, index, slot, copy);

		if (kvp_batch_add_at(p->batch, m->v, at, page))
			continue;
		ret = kvp_batch_write(p->batch);
		if (!ret && WARN_ON_ONCE(!kvp_batch_add_at(p->batch, m->v, at, page)))
			ret = -EIO;
	}
	return ret ? -EIO : 0;
}

/* --- pages that are on disk --------------------------------------------------------------- */

/*
 * Move the next page. 1: done; 0: there are no more; or -errno. Sets *@dirty if a dirty page was
 * passed over.
 */
static int move_page(struct kvp_table_move *m, struct kvp_move_pages *p, bool *dirty)
{
	struct kvp_table_page is;
	int ret;

	for (; m->level < m->v->g->levels; m->level++, m->own = kvp_vblock(0)) {
		ret = kvp_table_next_page(m->t, m->v, m->level, &m->own, m->since,
					  p->pages[p->nr], &is);
		if (ret < 0)
			return ret;
		*dirty |= ret && is.dirty;
		if (ret && !is.dirty)
			ret = add_page(m, p, m->level, is.index, kvp_ptr_slot(is.ptr)) ?: 1;
		if (ret)
			return ret;
	}
	return 0;
}

/* Fill a batch and write it, also after an error: @m is behind the pages that were added. */
static int move_some(struct kvp_table_move *m, struct kvp_move_pages *p, u32 most, bool *dirty)
{
	u32 looked = 0;
	int ret = 1, error;

	while (ret > 0 && p->nr < most && looked++ < MOST_LOOKS)
		ret = move_page(m, p, dirty);
	error = write_batch(m, p);
	return error ?: ret;
}

int kvp_table_move_some(struct kvp_table_move *m, struct kvp_move_pages *p, u32 most)
{
	struct kvp_table *t = m->t;
	bool dirty = false;
	int ret;

	mutex_lock(t->client.checkpoint_lock);
	p->batch = t->batch;
	ret = move_some(m, p, most, &dirty);
	kvp_batch_reset(p->batch);
	mutex_unlock(t->client.checkpoint_lock);
	return ret;
}

/* --- pages above the old top level --------------------------------------------------------- */

/*
 * Make page @index of new level @level, above the pages that @below names; *@ptr receives its
 * pointer.
 */
static int make_page(struct kvp_table_move *m, struct kvp_move_pages *p, u32 level, u32 index,
		     const u64 *below, u32 nr, u64 *ptr)
{
	__le64 *w = page_address(p->pages[p->nr]);
	int ret;
	u32 i;

	clear_page(w);
	for (i = 0; i < KVP_PTRS_PER_PAGE && i < nr; i++)
		w[i] = cpu_to_le64(below[i]);
	*ptr = kvp_table_pointer(m->v, level, index, w, 0, KVP_ERA_MAX);
	if (kvp_ptr_null(*ptr))
		return 0;
	ret = add_page(m, p, level, index, 0);
	return !ret && p->nr == KVP_MOVE_PAGES ? write_batch(m, p) : ret;
}

/* @roots has the @nr pointers of the old top level. Replace them by those of the new top level. */
static int add_levels(struct kvp_table_move *m, struct kvp_move_pages *p, u64 *roots, u32 nr)
{
	u32 level, i;
	int ret = 0;

	for (level = m->v->g->levels; level < m->to->levels; level++) {
		u32 pages = DIV_ROUND_UP(nr, KVP_PTRS_PER_PAGE);

		for (i = 0; !ret && i < pages; i++)
			ret = make_page(m, p, level, i, &roots[i * KVP_PTRS_PER_PAGE],
					nr - i * KVP_PTRS_PER_PAGE, &roots[i]);
		memset(&roots[pages], 0, (nr - pages) * sizeof(*roots));
		nr = pages;
	}
	return ret;
}

static int move_all(struct kvp_table_move *m, struct kvp_move_pages *p, u64 *roots)
{
	u32 nr = kvp_root_count(m->v->g);
	bool dirty = false;
	int ret = 1;

	memset(roots, 0, KVP_MAX_ROOTS * sizeof(*roots));
	memcpy(roots, &m->t->roots[m->v->first_root], nr * sizeof(*roots));
	while (ret > 0)
		ret = move_some(m, p, KVP_MOVE_PAGES, &dirty);
	if (!ret && dirty)
		ret = -EAGAIN;
	if (!ret)
		ret = add_levels(m, p, roots, nr);
	return ret ?: write_batch(m, p);
}

int kvp_table_move(struct kvp_table_move *m, u64 roots[KVP_MAX_ROOTS])
{
	struct kvp_move_pages *p = kvp_move_pages_alloc();
	struct kvp_table *t = m->t;
	int ret;

	if (!p)
		return -ENOMEM;
	mutex_lock(t->client.checkpoint_lock);
	p->batch = t->batch;
	ret = move_all(m, p, roots);
	kvp_batch_reset(p->batch);
	mutex_unlock(t->client.checkpoint_lock);
	kvp_move_pages_free(p);
	return ret;
}
