// SPDX-License-Identifier: GPL-2.0-only
/* Pages for a scrub, which compares their copies, and for copies of a whole table. */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev.h"
#include "io/io.h"
#include "table/table.h"
#include "table/tpage.h"

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

/*
 * What a scrub knows of a page.
 * @ptr: the durable pointer to it; null if nothing is to be scrubbed
 * @good: a copy of its contents
 * @error: of each copy on disk; 0: it is good
 */
struct scrubbed {
	u64 ptr;
	struct page *good;
	int error[KVP_MAX_TABLE_COPIES * KVP_MAX_MIRROR_LEGS];
};

/*
 * Step 1. A page that is dirty or being written gets new copies anyway. The lock keeps checkpoints
 * away, which change pages above the leaves without the table's lock.
 */
static void note_page(struct kvp_table *t, const struct kvp_tpage *tp, struct scrubbed *s)
{
	mutex_lock(t->client.checkpoint_lock);
	s->ptr = copy_if_clean(t, tp, s->good) ? tp->durable : 0;
	mutex_unlock(t->client.checkpoint_lock);
}

static struct kvp_leg *leg_of(const struct kvp_tpage *tp, const struct scrubbed *s, u32 copy)
{
	return &tp->v->legs[tpage_copy(tp, s->ptr, copy).leg];
}

/*
 * Step 2. Read all copies, with no lock held: a leg may hang. Returns a mask of those that seem to
 * be bad.
 */
static unsigned long try_copies(struct kvp_table *t, const struct kvp_tpage *tp,
				struct scrubbed *s, struct page *into)
{
	unsigned long bad = 0;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		s->error[copy] = 0;
		if (kvp_leg_in_sync(leg_of(tp, s, copy)))
			s->error[copy] = kvp_tpage_try_copy(t, tp, s->ptr, copy, into);
		if (s->error[copy])
			bad |= BIT(copy);
	}
	return bad;
}

/*
 * Step 3. The same durable pointer names the same contents in the same places. So bad copies are
 * bad indeed, and are repaired. The lock makes sure that no checkpoint writes a newer version of
 * the page there just then. Entries in memory may have changed, but not @s->good.
 */
static int repair_copies(struct kvp_table *t, const struct kvp_tpage *tp,
			 const struct scrubbed *s, unsigned long bad)
{
	int repaired = 0;
	u32 copy;

	mutex_lock(t->client.checkpoint_lock);
	if (tp->durable == s->ptr) {
		for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++)
			if (bad & BIT(copy))
				kvp_tpage_copy_failed(leg_of(tp, s, copy), s->error[copy]);
		repaired = kvp_tpage_repair(t, tp, bad, s->good);
	}
	mutex_unlock(t->client.checkpoint_lock);
	return repaired;
}

int kvp_table_scrub_page(struct kvp_table *t, kvp_block_t block, u32 level, struct page *good,
			 struct page *copy)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);
	struct kvp_tpage *tp = kvp_tpage_load(t, at.v, level, tpage_index(at.v, level, at.block));
	struct scrubbed s = { .good = good };
	unsigned long bad = 0;
	int repaired = 0;

	if (IS_ERR(tp))
		return PTR_ERR(tp);
	note_page(t, tp, &s);
	if (!kvp_ptr_null(s.ptr))
		bad = try_copies(t, tp, &s, copy);
	if (bad)
		repaired = repair_copies(t, tp, &s, bad);
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
