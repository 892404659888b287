// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list_sort.h>

#include "core/core.h"
#include "core/order_ops.h"
#include "core/vdev_ops.h"
#include "home/coalesce.h"
#include "home/home.h"
#include "home/home_row.h"
#include "home/pace.h"
#include "io/batch.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define MAX_LOCKED	KVP_BATCH_RUNS
#define MIN_LOCKED	64
/* after this time the locks are released for readers, and the memory is free */
#define BATCH_JIFFIES	(HZ / 4)

/* blocks that change under one lock of the table: about those of a request */
#define TABLE_AT_ONCE	64u
/* pages that are added to the batch together */
#define ADD_AT_ONCE	16u

/*
 * A locked range of adjacent blocks of one turn below one leaf, or a stretch with gaps; and its
 * versions.
 */
struct locked {
	struct kvp_tpage *leaf;
	struct list_head versions;
	bool is_stretch;
};

struct kvp_home {
	struct kvp_pool *pool;
	/* for blocks of a parity1, which use none of the fields below */
	struct kvp_row_home *rows;
	struct kvp_batch *batch;
	struct kvp_coalesce *coalesce;	/* NULL for direct writes, which have no gaps */
	/* the most pages and runs that the locked ranges can add to the batch */
	u32 nr_pages, nr_runs;
	struct list_head dead;		/* versions that newer ones have outlived */
	u32 nr_locked, max_locked;	/* locked ranges; kvp_pace() sets how many there may be */
	struct locked locked[MAX_LOCKED];
	struct kvp_range ranges[MAX_LOCKED];	/* those of @locked, then those that are planned */
};

struct kvp_home *kvp_home_alloc(struct kvp_pool *pool, bool whole)
{
	struct kvp_home *h = kvzalloc(sizeof(*h), GFP_KERNEL);
	bool good;
	u32 i;

	if (!h)
		return NULL;
	h->pool = pool;
	h->max_locked = MIN_LOCKED;
	INIT_LIST_HEAD(&h->dead);
	for (i = 0; i < MAX_LOCKED; i++)
		INIT_LIST_HEAD(&h->locked[i].versions);
	good = pool->vdevs.order->alloc_rows(pool, whole, &h->rows);
	h->batch = kvp_batch_alloc(&pool->vdevs);
	if (!whole)
		h->coalesce = kvp_coalesce_alloc(pool);
	if (!good || !h->batch || (!whole && !h->coalesce)) {
		kvp_home_free(h);
		return NULL;
	}
	return h;
}

void kvp_home_gives_way(struct kvp_home *h, struct kvp_spell *spell)
{
	h->batch->spell = spell;
	if (h->rows)
		kvp_row_home_gives_way(h->rows, spell);
}

void kvp_home_free(struct kvp_home *h)
{
	if (!h)
		return;
	kvp_row_home_free(h->rows);
	kvp_batch_free(h->batch);
	kvp_coalesce_free(h->coalesce);
	kvfree(h);
}

/* The blocks are home: enter them in the table, and move their versions to @done. */
static void update_table(struct kvp_home *h, struct list_head *done)
{
	bool held = false;
	u32 i, n = 0;

	for (i = 0; i < h->nr_locked; i++) {
		struct locked *l = &h->locked[i];

		if (held)
			kvp_table_lock_next(h->pool->table, l->leaf);
		else
			kvp_table_lock(h->pool->table, l->leaf);
		n += __kvp_table_set_homes(h->pool->table, l->leaf, &l->versions);
		list_splice_tail_init(&l->versions, done);
		held = n < TABLE_AT_ONCE && i + 1 < h->nr_locked;
		if (held)
			continue;
		kvp_table_unlock(h->pool->table);
		kvp_batch_give_way(h->batch);
		n = 0;
	}
}

static void unlock_all(struct kvp_home *h)
{
	kvp_range_unlock_each(&h->pool->ranges, h->ranges, h->nr_locked);
	while (h->nr_locked)
		kvp_table_put(h->locked[--h->nr_locked].leaf);
	h->nr_pages = 0;
	h->nr_runs = 0;
}

static void put_back(struct kvp_home *h, struct list_head *versions)
{
	LIST_HEAD(back);
	u32 i;

	for (i = 0; i < h->nr_locked; i++)
		list_splice_tail_init(&h->locked[i].versions, &back);
	unlock_all(h);
	list_splice(&back, versions);
}

/*
 * Add the versions of a range without gaps to the batch, and their number to @n. Returns false if
 * the batch is full.
 */
static bool add_locked(struct kvp_home *h, const struct locked *l, u32 *n)
{
	const struct kvp_version *d = list_first_entry(&l->versions, struct kvp_version, list);
	kvp_block_t base = d->block, first = base;
	/* The homes of neighbours in one turn, and below one leaf, are neighbours. */
	kvp_lblock_t home = kvp_data_place(l->leaf->v->g, kvp_vdev_block(l->leaf, base)).block;
	struct page *pages[ADD_AT_ONCE];
	u32 nr = 0;

	list_for_each_entry(d, &l->versions, list) {
		if (d->zero)
			continue;
		if (nr == ADD_AT_ONCE || d->block != kvp_block_add(first, nr)) {
			if (!kvp_batch_add_pages(h->batch, l->leaf->v,
						 kvp_lblock_add(home, kvp_block_since(first, base)),
						 pages, nr))
				return false;
			first = d->block;
			nr = 0;
		}
		pages[nr++] = d->page;
		++*n;
	}
	return kvp_batch_add_pages(h->batch, l->leaf->v,
				   kvp_lblock_add(home, kvp_block_since(first, base)), pages, nr);
}

/*
 * Add the locked versions to the batch, as runs. @n receives the number of blocks. Callers call
 * finish() before the batch could be full. Returns false if it is full anyway: then the locked
 * versions must not be taken for home.
 */
static bool fill_batch(struct kvp_home *h, u32 *n)
{
	struct kvp_version *d;
	u32 i;

	*n = 0;
	h->batch->staggered = h->coalesce && kvp_coalesce_wait(h->coalesce);
	for (i = 0; i < h->nr_locked; i++) {
		struct locked *l = &h->locked[i];

		if (!l->is_stretch) {
			if (!list_empty(&l->versions) && !add_locked(h, l, n))
				return false;
			continue;
		}
		if (!kvp_coalesce_add(h->coalesce, &l->versions, h->batch))
			return false;
		list_for_each_entry(d, &l->versions, list)
			*n += !d->zero;
	}
	return true;
}

/* Nothing is home: put all versions back. */
static int give_back(struct kvp_home *h, struct list_head *versions, int error)
{
	kvp_batch_reset(h->batch);
	put_back(h, versions);
	return error;
}

/* Write all that is locked, and release the locks. */
static int finish(struct kvp_home *h, struct list_head *versions)
{
	unsigned long start = jiffies;
	u32 blocks, ios;
	bool all = fill_batch(h, &blocks);
	LIST_HEAD(done);
	int ret;

	ios = h->batch->nr_runs;
	ret = WARN_ON_ONCE(!all) ? -ENOMEM : kvp_batch_write(h->batch);
	if (h->coalesce)
		kvp_coalesce_reset(h->coalesce);
	/* A batch that did not use the limit says nothing about it. */
	if (ios * 2 > h->max_locked)
		h->max_locked = kvp_pace(h->max_locked, start, BATCH_JIFFIES, MIN_LOCKED,
					 MAX_LOCKED);
	if (ret)
		return give_back(h, versions, ret);
	atomic64_add(blocks, &h->pool->work_stats.destage_blocks);
	atomic64_add(ios, &h->pool->work_stats.destage_ios);
	update_table(h, &done);
	list_splice_tail_init(&h->dead, &done);
	/*
	 * Do this under the locks: the holder of an older version that waits for a lock must not
	 * find these versions as not yet home.
	 */
	kvp_wbuf_drop_list(h->pool->wbuf, &done);
	unlock_all(h);
	return 0;
}

/*
 * The last block of the run that begins with @d. Its blocks are adjacent, of one turn, below one
 * leaf, which has @left of them, and fit into one request.
 */
static kvp_block_t run_last(struct list_head *versions, const struct kvp_version *d, u32 left)
{
	kvp_block_t first = d->block, last = first;

	list_for_each_entry_from(d, versions, list) {
		if (kvp_block_before(kvp_block_add(last, 1), d->block) ||
		    kvp_block_since(d->block, first) >= KVP_BATCH_RUN_PAGES ||
		    kvp_block_since(d->block, first) >= left)
			break;
		last = d->block;
	}
	return last;
}

/*
 * True if there is no room for another range beside @planned more ranges, with @pages and @runs in
 * all.
 */
static bool is_full(const struct kvp_home *h, u32 planned, u32 pages, u32 runs)
{
	/* Blocks that are left out cut a run, every second one at worst. */
	return h->nr_locked + planned == h->max_locked ||
	       (h->coalesce && kvp_coalesce_is_full(h->coalesce)) ||
	       pages + KVP_BATCH_RUN_PAGES > KVP_BATCH_PAGES ||
	       runs + KVP_BATCH_RUN_PAGES / 2 + 1 > KVP_BATCH_RUNS;
}

static bool batch_full(const struct kvp_home *h)
{
	return is_full(h, 0, h->nr_pages, h->nr_runs);
}

/*
 * Plan the @n-th range that is to be locked next: the run or stretch that begins with @d. Returns
 * its last block. *@error receives why there is no leaf; or -EAGAIN: it is a stretch, which is
 * planned alone.
 */
static kvp_block_t plan_one(struct kvp_home *h, struct list_head *versions,
			    const struct kvp_version *d, u32 n, int *error)
{
	struct kvp_spot at = kvp_locate(h->pool, d->block);
	struct locked *l = &h->locked[h->nr_locked + n];
	kvp_block_t last = kvp_block(0);

	if (h->coalesce)
		last = kvp_coalesce_last(h->coalesce, versions, d, at);
	l->is_stretch = last;
	if (l->is_stretch && n) {
		*error = -EAGAIN;
		return last;
	}
	if (!l->is_stretch)
		last = run_last(versions, d, at.left);
	l->leaf = kvp_table_load_home(h->pool->table, d->block);
	if (IS_ERR(l->leaf))
		*error = PTR_ERR(l->leaf);
	kvp_range_set(&h->ranges[h->nr_locked + n], d->block, last);
	return last;
}

/*
 * Plan the ranges that are to be locked next, under one lock of all ranges, as many as surely fit
 * into the batch. Returns their number, at least 1; or an error.
 */
static int plan(struct kvp_home *h, struct list_head *versions)
{
	struct kvp_version *d = list_first_entry(versions, struct kvp_version, list);
	u32 n = 0, blocks, pages = h->nr_pages, runs = h->nr_runs;
	kvp_block_t last;
	int error = 0;

	while (!n || (n < KVP_RANGES_AT_ONCE && !list_entry_is_head(d, versions, list) &&
		      !is_full(h, n, pages, runs))) {
		last = plan_one(h, versions, d, n, &error);
		if (error)
			break;
		blocks = (u32)kvp_block_since(last, d->block) + 1;
		pages += blocks;
		runs += blocks / 2 + 1;
		list_for_each_entry_from(d, versions, list)
			if (kvp_block_before(last, d->block))
				break;
		if (h->locked[h->nr_locked + n++].is_stretch)
			break;
	}
	/* A range without a leaf is the first of the next plan. */
	return n ?: error;
}

/* True if a later version of the same block follows @d on the sorted list. */
static bool repeated(struct kvp_version *d, struct list_head *versions)
{
	return !list_is_last(&d->list, versions) && list_next_entry(d, list)->block == d->block;
}

/* The next range that was planned is locked: take its versions that must be written. */
static void take_range(struct kvp_home *h, struct list_head *versions)
{
	struct kvp_range *range = &h->ranges[h->nr_locked];
	kvp_block_t first = kvp_range_first(range), last = kvp_range_last(range);
	struct locked *l = &h->locked[h->nr_locked++];
	struct list_head *end = versions;
	struct kvp_version *d, *next;
	/* behind the last block of a run; 0: there is none */
	kvp_block_t goes_on = kvp_block(0);
	LIST_HEAD(taken);

	if (l->is_stretch)
		kvp_coalesce_read(h->coalesce, l->leaf, first, last);
	h->nr_pages += kvp_block_since(last, first) + 1;
	list_for_each_entry_safe(d, next, versions, list) {
		if (kvp_block_before(last, d->block)) {
			end = &d->list;
			break;
		}
		if (repeated(d, versions) || kvp_wbuf_outlived(h->pool->wbuf, d)) {
			list_move_tail(&d->list, &h->dead);
			continue;
		}
		if (d->zero && !l->is_stretch)
			continue;
		h->nr_runs += d->block != goes_on || !goes_on;
		goes_on = kvp_block_add(d->block, 1);
	}
	list_cut_before(&taken, versions, end);
	list_splice_tail(&taken, &l->versions);
}

/*
 * The first range that was planned is held by another caller. That one may wait for ranges that
 * this caller holds: finish those, then wait for it.
 */
static int wait_for_range(struct kvp_home *h, struct list_head *versions)
{
	struct kvp_range *range = &h->ranges[h->nr_locked];
	kvp_block_t first = kvp_range_first(range), last = kvp_range_last(range);
	struct kvp_tpage *leaf = h->locked[h->nr_locked].leaf;
	bool is_stretch = h->locked[h->nr_locked].is_stretch;
	int error = finish(h, versions);

	if (error) {
		kvp_table_put(leaf);
		return error;
	}
	h->locked[0].leaf = leaf;
	h->locked[0].is_stretch = is_stretch;
	kvp_range_lock(&h->pool->ranges, h->ranges, first, last);
	take_range(h, versions);
	return 0;
}

/* Lock some runs, or a stretch, at the head of @versions, and take their versions. */
static int take_some(struct kvp_home *h, struct list_head *versions)
{
	int planned = plan(h, versions), locked, i;

	if (planned < 0)
		return planned;
	locked = kvp_range_trylock_each(&h->pool->ranges, &h->ranges[h->nr_locked], planned);
	/*
	 * The ranges behind the first one that is held are planned again. So is that one, after the
	 * others.
	 */
	for (i = locked ?: 1; i < planned; i++)
		kvp_table_put(h->locked[h->nr_locked + i].leaf);
	if (!locked)
		return wait_for_range(h, versions);
	for (i = 0; i < locked; i++)
		take_range(h, versions);
	return 0;
}

/* Write versions home that are all of blocks without parity. */
static int write_plain(struct kvp_home *h, struct list_head *versions)
{
	int ret = 0;

	while (!ret && !list_empty(versions)) {
		kvp_batch_give_way(h->batch);
		ret = take_some(h, versions);
		if (!ret && batch_full(h))
			ret = finish(h, versions);
	}
	/* If there is no memory for one more page, write the others home: that may free memory. */
	if (!ret || (ret == -ENOMEM && h->nr_locked))
		ret = finish(h, versions) ?: ret;
	else
		put_back(h, versions);
	/* The next call must not write blocks that were added here and not written. */
	kvp_batch_reset(h->batch);
	if (h->coalesce && kvp_coalesce_wait(h->coalesce))
		kvp_coalesce_reset(h->coalesce);
	if (ret)
		list_splice_init(&h->dead, versions);
	return ret;
}

/* Move versions whose blocks have parity from @versions to @striped. */
static void take_striped(struct kvp_pool *pool, struct list_head *versions,
			 struct list_head *striped)
{
	struct kvp_version *d, *next;
	struct kvp_spot at = { NULL };
	kvp_block_t from = kvp_block(0);

	if (pool->vdevs.nr_by_rows == pool->vdevs.nr_with_data) {
		list_splice_init(versions, striped);
		return;
	}
	list_for_each_entry_safe(d, next, versions, list) {
		if (!at.v || kvp_block_before(d->block, from) ||
		    kvp_block_since(d->block, from) >= at.left) {
			at = kvp_locate(pool, d->block);
			from = d->block;
		}
		at.v->ops->take(d, striped);
	}
}

static int by_block(void *priv, const struct list_head *a, const struct list_head *b)
{
	const struct kvp_version *x = list_entry(a, struct kvp_version, list);
	const struct kvp_version *y = list_entry(b, struct kvp_version, list);

	/* list_sort() is stable: versions of one block stay in order. */
	return kvp_block_before(y->block, x->block);
}

/* Versions of a stream are in order already. */
void kvp_home_sort(struct list_head *versions)
{
	struct kvp_version *d;
	kvp_block_t last = kvp_block(0);

	list_for_each_entry(d, versions, list) {
		if (kvp_block_before(d->block, last)) {
			list_sort(NULL, versions, by_block);
			return;
		}
		last = d->block;
	}
}

int kvp_home_write(struct kvp_home *h, struct list_head *versions, struct kvp_log_at limit)
{
	LIST_HEAD(striped);
	int ret = 0, plain;

	if (h->rows) {
		take_striped(h->pool, versions, &striped);
		ret = kvp_row_home_write(h->rows, &striped, limit);
	}
	/* Mirrors take direct writes in any state of the legs. */
	if (!ret || ret == KVP_NOT_BEGUN) {
		plain = write_plain(h, versions);
		ret = plain ?: ret;
	}
	/* The list is out of order now. The next try sorts it. */
	list_splice(&striped, versions);
	return ret;
}

/*
 * Leaves that need not be read, and that count as one leaf if one page above has their pointers:
 * only that page becomes dirty.
 */
#define POINTERS_A_LEAF	64u
/*
 * A page above the leaves that is discarded unread counts as many leaves as if it had been read:
 * caches are told of as many blocks.
 */
#define LEAVES_A_PAGE	(1u + KVP_PTRS_PER_PAGE / POINTERS_A_LEAF)

/*
 * The last block of the pool that a discard from @own to before @behind covers. If a region ends
 * within a leaf, the leaf has no block of the next region: its other entries belong to no block of
 * the pool. More than one leaf always ends with a block of the pool.
 */
static kvp_block_t last_before(const struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t behind)
{
	kvp_block_t last = kvp_pool_block(v, kvp_vblock(kvp_vblock_nr(behind) - 1));
	const struct kvp_map *map = &v->pool->sb->map;
	kvp_block_t first = kvp_pool_block(v, own);
	u32 i;

	if (kvp_vblock_before(kvp_leaf_behind(v->g, own), behind))
		return last;
	for (i = 0; i < map->nr; i++)
		if (kvp_block_before(first, map->region[i].end))
			return kvp_block_first(last, kvp_block_back(map->region[i].end, 1));
	return last;
}

/*
 * Lock the blocks that kvp_table_discard() may discard at once from @own on. Returns the block
 * behind them. In a range of more than one leaf, some part may always be locked by another holder.
 * So such a range is only tried.
 */
static kvp_vblock_t lock_for_discard(struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end,
				     struct kvp_range *range)
{
	kvp_vblock_t leaf = kvp_vblock_first(end, kvp_leaf_behind(v->g, own));
	kvp_vblock_t behind = kvp_table_discard_reach(v->pool->table, v, own, end);
	struct kvp_range_locks *locks = &v->pool->ranges;
	kvp_block_t first = kvp_pool_block(v, own);

	if (kvp_vblock_before(leaf, behind) &&
	    kvp_range_trylock(locks, range, first, last_before(v, own, behind)))
		return behind;
	kvp_range_lock(locks, range, first, last_before(v, own, leaf));
	return leaf;
}

int kvp_home_discard_leaves(struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end, u32 *leaves)
{
	struct kvp_pool *pool = v->pool;
	struct kvp_range range;
	u64 below = (u64)kvp_leaf_blocks(v->g) << KVP_PTRS_SHIFT, above = U64_MAX;
	u32 pointers = 0;
	int ret = 0;

	while (ret >= 0 && kvp_vblock_before(*own, end) && *leaves) {
		kvp_vblock_t behind, leaf;
		u64 page;

		ret = kvp_table_next_own(v->pool->table, v, *own, end, own);
		if (ret || !kvp_vblock_before(*own, end))
			break;
		page = kvp_vblock_nr(*own) / below;
		leaf = kvp_leaf_behind(v->g, *own);
		behind = lock_for_discard(v, *own, end, &range);
		ret = kvp_table_discard(v->pool->table, v, own, behind);
		kvp_range_unlock(&pool->ranges, &range);
		if (kvp_vblock_before(leaf, *own))
			*leaves -= min(*leaves, LEAVES_A_PAGE);
		else if (ret || page != above || !(pointers++ % POINTERS_A_LEAF))
			--*leaves;
		above = page;
		cond_resched();
	}
	return min(ret, 0);
}

int kvp_home_discard_rows(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own,
			  kvp_vblock_t end, struct kvp_log_at behind, u32 *leaves)
{
	return kvp_row_home_discard(h->rows, v, own, end, behind, leaves);
}

int kvp_home_discard(struct kvp_home *h, const struct kvp_version *hole, struct kvp_discard_at *at,
		     u32 *leaves)
{
	struct kvp_log_at behind = { hole->lsn, hole->rec + 1 };
	struct kvp_pool *pool = h->pool;
	int ret = 0;

	for (; !ret && at->vdev < pool->vdevs.nr; at->vdev++, at->own = kvp_vblock(0)) {
		struct kvp_vdev *v = &pool->vdevs.v[at->vdev];
		kvp_vblock_t end;

		end = kvp_vdev_from(v, kvp_block_add(hole->block, hole->count));
		at->own = kvp_vblock_last(at->own, kvp_vdev_from(v, hole->block));
		ret = v->ops->discard(h, v, &at->own, end, behind, leaves);
		if (!ret && kvp_vblock_before(at->own, end))
			return 1;
		if (ret)
			break;
	}
	return ret;
}
