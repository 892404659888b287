// SPDX-License-Identifier: GPL-2.0-only
/* The life of the table, and its roots. */
#include <linux/mm.h>

#include "core/core.h"
#include "core/vdev.h"
#include "format/format.h"
#include "io/batch.h"
#include "table/table.h"
#include "table/tpage.h"

void kvp_table_note(const struct kvp_table *t, struct kvp_sb *sb)
{
	sb->written_blocks = t->snap_written;
	sb->poisoned_blocks = t->snap_poisoned;
	sb->uncounted_leaves = t->snap_uncounted;
	memcpy(sb->roots, t->roots, sizeof(sb->roots[0]) * sb->root_count);
}

void kvp_table_keep_roots(struct kvp_table *t, const struct kvp_sb *sb)
{
	memcpy(t->old_roots, sb->roots, sizeof(sb->roots));
}

void kvp_table_put_roots(const struct kvp_table *t, struct kvp_sb *sb)
{
	memcpy(sb->roots, t->old_roots, sizeof(sb->roots));
}

bool kvp_table_forget(struct kvp_table *t)
{
	kvp_table_shrink(t, true);
	return !READ_ONCE(t->nr_pages) && !READ_ONCE(t->nr_dirty);
}

void kvp_table_take_roots(struct kvp_table *t, const struct kvp_sb *sb)
{
	memcpy(t->roots, sb->roots, sizeof(t->roots));
}

void kvp_table_clear_roots(struct kvp_table *t, u32 from)
{
	memset(&t->roots[from], 0, (KVP_MAX_ROOTS - from) * sizeof(t->roots[0]));
}

struct kvp_batch *kvp_table_swap_batch(struct kvp_table *t, struct kvp_batch *batch)
{
	swap(t->batch, batch);
	return batch;
}

/* Allocate the reserve and the hash table. A load that gets its page needs no other memory. */
static int alloc_pages_and_places(struct kvp_table *t)
{
	const struct kvp_vdevs *vdevs = t->client.vdevs;
	u64 pages = 0;
	u32 i;

	for (i = 0; i < vdevs->nr; i++)
		pages += kvp_table_blocks(vdevs->v[i].g) * vdevs->v[i].nr_legs / 2;

	t->bucket_bits = clamp_t(u32, ilog2(min_t(u64, pages, t->budget) | 1) + 1, 6, 18);
	t->buckets = kvcalloc(1u << t->bucket_bits, sizeof(*t->buckets), GFP_KERNEL);
	if (!t->buckets)
		return -ENOMEM;
	while (t->nr_reserve < KVP_TABLE_RESERVE) {
		struct kvp_tpage *tp = kvp_tpage_alloc(GFP_KERNEL);

		if (!tp)
			return -ENOMEM;
		list_add(&tp->lru, &t->reserve);
		t->nr_reserve++;
	}
	return 0;
}

int kvp_table_init(struct kvp_table *t, const struct kvp_table_client *c, u32 budget)
{
	const struct kvp_sb *sb = c->vdevs->sb;
	u32 i, j;

	t->client = *c;
	for (i = 0; i < KVP_MAX_LEVELS; i++)
		for (j = 0; j < KVP_TABLE_LOAD_LOCKS; j++)
			mutex_init(&t->load_locks[i][j]);
	mutex_init(&t->lock);
	spin_lock_init(&t->lru_lock);
	INIT_LIST_HEAD(&t->dirty);
	INIT_LIST_HEAD(&t->lru);
	INIT_LIST_HEAD(&t->reserve);
	init_waitqueue_head(&t->wait);
	memcpy(t->roots, sb->roots, sizeof(t->roots));
	t->era = min(sb->era + 1, KVP_ERA_LAST);
	t->era_jiffies = jiffies;
	t->written = sb->written_blocks;
	t->poisoned = sb->poisoned_blocks;
	t->uncounted = sb->uncounted_leaves;
	t->budget = budget;
	t->batch = kvp_batch_alloc(c->vdevs);
	return t->batch ? alloc_pages_and_places(t) : -ENOMEM;
}

static void free_tpages(struct list_head *pages)
{
	struct kvp_tpage *tp, *next;

	list_for_each_entry_safe(tp, next, pages, lru)
		kvp_tpage_free(tp);
	INIT_LIST_HEAD(pages);
}

/* Free the table. The caller has dropped all references. */
void kvp_table_exit(struct kvp_table *t)
{
	if (!t->batch)
		return;
	free_tpages(&t->lru);
	free_tpages(&t->reserve);
	t->nr_pages = 0;
	t->nr_reserve = 0;
	while (t->nr_kept)
		__free_page(t->kept[--t->nr_kept]);
	kvfree(t->buckets);
	t->buckets = NULL;
	kvp_batch_free(t->batch);
	t->batch = NULL;
}
