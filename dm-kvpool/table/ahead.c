// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leaves that a stream needs soon. On a disk that seeks, a stream over blocks whose leaves are not
 * in memory would wait for two seeks every 2 MiB: to the leaf, and back. Neighbours lie side by
 * side, so one seek gives many of them.
 */
#include "core/core.h"
#include "io/io.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "table/tpage.h"

/* at most; the load locks of so many leaves in a row are different ones */
#define LEAVES	(KVP_TABLE_LOAD_LOCKS - 1)

/**
 * struct ahead - leaves that are read together
 * @nr: number of them
 * @nr_ios: number of requests for them
 * @leaf: leaves that lookups do not find yet; the load lock of each is held
 * @pages: the page of each
 * @io_of: index in @ios of the request of each
 * @ios: the requests; one reads leaves that lie side by side
 */
struct ahead {
	u32 nr, nr_ios;
	struct kvp_tpage *leaf[LEAVES];
	struct page *pages[LEAVES];
	u8 io_of[LEAVES];
	struct kvp_io ios[LEAVES];
};

/*
 * Find the copy of leaf @index, which @ptr names, on a disk that seeks, is in sync and is not slow.
 * In a parity1 neighbours may lie on different legs.
 */
static bool seeking_copy(const struct kvp_vdev *v, u64 index, u64 ptr, struct kvp_place *at)
{
	u32 copy, copies = kvp_page_copies(v->g);

	for (copy = 0; copy < copies; copy++) {
		const struct kvp_leg *leg;

		*at = kvp_page_place(v->g, 0, index, kvp_ptr_slot(ptr), copy);
		leg = &v->legs[at->leg];
		if (leg->rotational && kvp_leg_in_sync(leg) && !READ_ONCE(leg->slow) &&
		    !READ_ONCE(leg->late))
			return true;
	}
	return false;
}

/* Read @tp, whose copy lies at @at: by the last request, if it lies right behind that. */
static void add(struct ahead *a, struct kvp_tpage *tp, struct kvp_place at)
{
	struct kvp_leg *leg = &tp->v->legs[at.leg];
	struct kvp_io *last = a->nr_ios ? &a->ios[a->nr_ios - 1] : NULL;

	a->leaf[a->nr] = tp;
	a->pages[a->nr] = tp->page;
	if (last && last->leg == leg && kvp_lblock_add(last->block, last->nr) == at.block)
		last->nr++;
	else
		a->ios[a->nr_ios++] = (struct kvp_io){
			.leg = leg, .op = KVP_IO_READ, .block = at.block, .nr = 1,
			.pages = &a->pages[a->nr],
		};
	a->io_of[a->nr++] = a->nr_ios - 1;
}

/*
 * Take leaf @index, which is not in memory, by its load lock, and add a read of it. False: it is in
 * memory or in use, no leg may be asked for it, or it has no place in memory. Then the stream asks
 * for it when it needs it.
 */
static bool take(struct kvp_table *t, struct ahead *a, const struct kvp_tpage *first, u64 index)
{
	struct mutex *lock = tpage_load_lock(t, 0, index);
	struct kvp_tpage *tp;
	struct kvp_place at;
	u64 ptr;

	if (!mutex_trylock(lock))
		return false;
	tp = kvp_tpage_lookup(t, first->v, 0, index);
	if (tp)
		kvp_table_put(tp);
	ptr = tpage_pointer(t, first->v, first->parent, index);
	if (tp || kvp_ptr_null(ptr) || kvp_ptr_lost(ptr) ||
	    !seeking_copy(first->v, index, ptr, &at))
		goto unlock;
	tp = kvp_tpage_new_if_free(t, first->v, 0, index, first->parent);
	if (!tp)
		goto unlock;
	tp->durable = ptr;
	add(a, tp, at);
	return true;
unlock:
	mutex_unlock(lock);
	return false;
}

/* Let lookups find the leaf if it is the one that its pointer names; else forget it. */
static void land(struct kvp_table *t, struct kvp_tpage *tp, int error)
{
	bool good = !error && kvp_tpage_verifies(tp, tp->durable, tp->page) &&
		    kvp_tpage_fits_pointer(tp);

	atomic64_inc(&t->client.stats->page_reads);
	if (good && tp->parent)
		refcount_inc(&tp->parent->ref);
	if (good) {
		kvp_tpage_enter(t, tp);
		kvp_table_put(tp);
	}
	mutex_unlock(tpage_load_lock(t, 0, tp->index));
	if (!good)
		kvp_tpage_release(t, tp);
}

void kvp_table_read_ahead(struct kvp_table *t, const struct kvp_tpage *first)
{
	u64 index, end = min(kvp_pages_at(first->v->g, 0),
			     ((first->index >> KVP_PTRS_SHIFT) + 1) << KVP_PTRS_SHIFT);
	struct kvp_tpage *before = first->index ?
		kvp_tpage_lookup(t, first->v, 0, first->index - 1) : NULL;
	struct kvp_io_group group;
	struct kvp_place at;
	struct ahead *a;
	u32 i;

	if (!before)
		return;
	kvp_table_put(before);
	if (!seeking_copy(first->v, first->index, first->durable, &at) ||
	    kvp_ssdcopy_any(t->client.copies))
		return;
	a = kzalloc(sizeof(*a), GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	if (!a)
		return;
	for (index = first->index + 1; index < end && a->nr < LEAVES; index++)
		if (!take(t, a, first, index))
			break;
	kvp_io_group_init(&group);
	kvp_io_group_submit_all(&group, a->ios, a->nr_ios);
	kvp_io_group_wait(&group);
	for (i = 0; i < a->nr; i++)
		land(t, a->leaf[i], a->ios[a->io_of[i]].error);
	kfree(a);
}
