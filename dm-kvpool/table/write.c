// SPDX-License-Identifier: GPL-2.0-only
/* What a checkpoint does to the table: a snapshot of dirty pages, written bottom up. */
#include <linux/gfp.h>
#include <linux/list_sort.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev_ops.h"
#include "io/batch.h"
#include "table/ssdcopy.h"
#include "table/table.h"
#include "table/tpage.h"

/*
 * Get a page for a copy. Some are kept from the last checkpoint: many kernels clear each page that
 * they allocate, which takes longer than to copy a leaf.
 */
static struct page *__get_copy(struct kvp_table *t)
{
	lockdep_assert_held(&t->lock);
	if (KVP_TABLE_KEPT && t->nr_kept)
		return t->kept[--t->nr_kept];
	return alloc_page(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);
}

static void __put_copy(struct kvp_table *t, struct page *page)
{
	lockdep_assert_held(&t->lock);
	if (t->nr_kept < KVP_TABLE_KEPT)
		t->kept[t->nr_kept++] = page;
	else
		__free_page(page);
}

/* Copy the leaf, so that writes home need not wait for the whole checkpoint. */
static bool __copy_leaf(struct kvp_table *t, struct kvp_tpage *tp)
{
	tp->fixed = __get_copy(t);
	if (!tp->fixed)
		return false;
	copy_page(page_address(tp->fixed), page_address(tp->page));
	return true;
}

u32 kvp_table_snapshot(struct kvp_table *t, struct list_head *pages)
{
	struct kvp_tpage *tp, *next;
	u32 era, copies = KVP_TABLE_COPIES;

	mutex_lock(&t->lock);
	list_for_each_entry_safe(tp, next, &t->dirty, list) {
		list_del_init(&tp->list);
		list_add_tail(&tp->writing, pages);
		set_bit(KVP_TPAGE_WRITING, &tp->flags);
		clear_bit(KVP_TPAGE_DIRTY, &tp->flags);
		if (!tp->level && copies)
			copies = __copy_leaf(t, tp) ? copies - 1 : 0;
	}
	WRITE_ONCE(t->nr_dirty, 0);
	t->snap_written = t->written;
	t->snap_poisoned = t->poisoned;
	t->snap_uncounted = t->uncounted;
	t->snap_poisonings = t->poisonings;
	era = t->era;
	/* Eras last for 34 years if they advance at most once a second. */
	if (time_after_eq(jiffies, t->era_jiffies + HZ) && t->era < KVP_ERA_LAST) {
		t->era++;
		t->era_jiffies = jiffies;
	}
	mutex_unlock(&t->lock);
	return era;
}

bool kvp_table_end_era(struct kvp_table *t, u32 era, bool now)
{
	bool past;

	mutex_lock(&t->lock);
	if (t->era <= era && era < KVP_ERA_LAST &&
	    (now || time_after_eq(jiffies, t->era_jiffies + HZ))) {
		t->era = era + 1;
		t->era_jiffies = jiffies;
	}
	past = t->era > era;
	mutex_unlock(&t->lock);
	return past;
}

void kvp_table_gives_way(struct kvp_table *t, struct kvp_spell *spell)
{
	t->batch->spell = spell;
}

/* The contents of @tp that are written; they do not change. */
static struct page *fixed_page(const struct kvp_tpage *tp)
{
	return tp->fixed ?: tp->page;
}

/* Make the pointer to a page: it has the page's newest era, and whether there is any poison. */
static u64 make_pointer(struct kvp_tpage *tp, unsigned int slot, u32 most)
{
	const __le64 *words = page_address(fixed_page(tp));

	return kvp_table_pointer(tp->v, tp->level, tp->index, words, slot, most);
}

/*
 * Set the pointer to @tp in its parent, or in the roots. The parent becomes part of the same
 * checkpoint.
 */
static void set_pointer(struct kvp_table *t, struct kvp_tpage *tp, u64 ptr, struct list_head *pages)
{
	struct kvp_tpage *parent = tp->parent;

	tp->pending = ptr;
	if (!parent) {
		WRITE_ONCE(t->roots[tp->v->first_root + tp->index], ptr);
		return;
	}
	WRITE_ONCE(tpage_words(parent)[tp->index % KVP_PTRS_PER_PAGE], cpu_to_le64(ptr));
	if (test_and_set_bit(KVP_TPAGE_WRITING, &parent->flags))
		return;
	refcount_inc(&parent->ref);
	list_add_tail(&parent->writing, pages);
}

static int by_index(void *priv, const struct list_head *a, const struct list_head *b)
{
	const struct kvp_tpage *x = list_entry(a, struct kvp_tpage, writing);
	const struct kvp_tpage *y = list_entry(b, struct kvp_tpage, writing);

	return x->v != y->v ? x->v > y->v : x->index > y->index;
}

static bool batch_page(struct kvp_batch *b, const struct kvp_tpage *tp, u32 copy)
{
	return tp->v->ops->add_page(b, tp, kvp_ptr_slot(tp->pending), copy, fixed_page(tp));
}

static int add_page(struct kvp_batch *b, const struct kvp_tpage *tp, u32 copy)
{
	int ret;

	if (batch_page(b, tp, copy))
		return 0;
	ret = kvp_batch_write(b);
	if (ret)
		return ret;
	/* The batch is empty now. */
	return WARN_ON_ONCE(!batch_page(b, tp, copy)) ? -EIO : 0;
}

/* Write all first copies, then all second copies, so that neighbouring pages make one request. */
static int write_pages(struct kvp_table *t, struct list_head *pages)
{
	struct kvp_batch *b = t->batch;
	struct kvp_tpage *tp;
	int ret = 0;
	u32 copy;

	for (copy = 0; copy < KVP_MAX_TABLE_COPIES; copy++)
		list_for_each_entry(tp, pages, writing) {
			if (copy >= kvp_page_rounds(tp->v->g) || kvp_ptr_null(tp->pending))
				continue;
			ret = ret ?: add_page(b, tp, copy);
			atomic64_inc(&t->client.stats->page_writes);
			if (!tp->level)
				atomic64_inc(&t->client.stats->leaf_writes);
		}
	if (!ret)
		ret = kvp_batch_write(b);
	kvp_batch_reset(b);
	return ret;
}

static int write_level(struct kvp_table *t, u32 level, struct list_head *pages)
{
	struct kvp_tpage *tp, *next;
	LIST_HEAD(mine);
	int ret;

	list_for_each_entry_safe(tp, next, pages, writing)
		if (tp->level == level)
			list_move_tail(&tp->writing, &mine);
	list_sort(NULL, &mine, by_index);
	list_for_each_entry(tp, &mine, writing) {
		/*
		 * Use the slot that the durable tree does not name. A null pointer has the number
		 * of that slot (discard_unread()).
		 */
		unsigned int slot = kvp_ptr_slot(tp->durable) ^ !kvp_ptr_null(tp->durable);

		set_pointer(t, tp, make_pointer(tp, slot, READ_ONCE(t->era)), pages);
		kvp_batch_give_way(t->batch);
	}
	ret = write_pages(t, &mine);
	list_splice(&mine, pages);
	return ret;
}

/*
 * If all roots are null, nothing was written at the snapshot, and t->written counts only later
 * changes. So it is exact again.
 */
static void count_nothing(struct kvp_table *t)
{
	u32 i;

	for (i = 0; i < t->client.vdevs->sb->root_count; i++)
		if (!kvp_ptr_null(t->roots[i]))
			return;
	mutex_lock(&t->lock);
	t->uncounted = t->snap_uncounted = 0;
	mutex_unlock(&t->lock);
}

/*
 * The poisoned blocks below a page that is lost are counted again, as the page no longer tells how
 * many they were. If no root has poison below it, nothing was poisoned at the snapshot, and
 * t->poisoned counts only later changes.
 */
static void count_no_poison(struct kvp_table *t)
{
	u32 i;

	for (i = 0; i < t->client.vdevs->sb->root_count; i++)
		if (kvp_ptr_poison(t->roots[i]))
			return;
	mutex_lock(&t->lock);
	t->poisoned -= min(t->poisoned, t->snap_poisoned);
	t->snap_poisoned = 0;
	mutex_unlock(&t->lock);
}

int kvp_table_write(struct kvp_table *t, struct list_head *pages)
{
	u32 level;
	int ret = 0;

	for (level = 0; !ret && level < KVP_MAX_LEVELS; level++)
		ret = write_level(t, level, pages);
	if (!ret && t->snap_uncounted)
		count_nothing(t);
	if (!ret && t->snap_poisoned)
		count_no_poison(t);
	return ret;
}

void kvp_table_written(struct kvp_table *t, struct list_head *pages, int error)
{
	struct kvp_tpage *tp, *next;

	/* Copy them before they may change again. */
	if (!error)
		list_for_each_entry(tp, pages, writing)
			if (!kvp_ptr_null(tp->pending))
				kvp_ssdcopy_write(t->client.copies, tp, fixed_page(tp), true);

	mutex_lock(&t->lock);
	list_for_each_entry_safe(tp, next, pages, writing) {
		list_del_init(&tp->writing);
		if (tp->fixed)
			__put_copy(t, tp->fixed);
		tp->fixed = NULL;
		if (!error)
			tp->durable = tp->pending;
		else
			__kvp_tpage_dirty(t, tp);
		clear_bit(KVP_TPAGE_WRITING, &tp->flags);
		kvp_table_put(tp);
	}
	if (!error)
		WRITE_ONCE(t->durable_poisonings, t->snap_poisonings);
	mutex_unlock(&t->lock);
	wake_up_all(&t->wait);
}
