// SPDX-License-Identifier: GPL-2.0-only
/* Pages of the table in memory: found by a hash table, freed by eviction. */
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/rculist.h>

#include "core/core.h"
#include "format/regions.h"
#include "table/table.h"
#include "table/tpage.h"

/* pages looked at: at most half of them are dirty, so a few looks find a clean one */
#define BUDGET_LOOKS	64

static struct hlist_head *bucket_of(struct kvp_table *t, const struct kvp_vdev *v, u32 level,
				    u64 index)
{
	return &t->buckets[hash_64((u64)v->index << 58 | index << 2 | level, t->bucket_bits)];
}

struct kvp_tpage *kvp_tpage_lookup(struct kvp_table *t, const struct kvp_vdev *v, u32 level,
				   u64 index)
{
	struct kvp_tpage *tp;

	rcu_read_lock();
	hlist_for_each_entry_rcu(tp, bucket_of(t, v, level, index), hash)
		if (tp->index == index && tp->level == level && tp->v == v)
			break;
	if (tp && !refcount_inc_not_zero(&tp->ref))
		tp = NULL;
	rcu_read_unlock();
	if (tp && !test_bit(KVP_TPAGE_REFERENCED, &tp->flags))
		set_bit(KVP_TPAGE_REFERENCED, &tp->flags);
	return tp;
}

void kvp_tpage_free(struct kvp_tpage *tp)
{
	__free_page(tp->page);
	kfree_rcu(tp, rcu);
}

/*
 * Keep a page that was taken out of the hash table for the reserve, or free it. A reader may still
 * use it: whatever reuses it waits for a grace period first (reserved_tpage()).
 */
void kvp_tpage_release(struct kvp_table *t, struct kvp_tpage *tp)
{
	bool keep;

	spin_lock(&t->lru_lock);
	keep = t->nr_reserve < KVP_TABLE_RESERVE;
	if (keep) {
		list_add(&tp->lru, &t->reserve);
		t->nr_reserve++;
	}
	spin_unlock(&t->lru_lock);
	if (!keep)
		kvp_tpage_free(tp);
}

void kvp_table_put(struct kvp_tpage *tp)
{
	/* Only evict() drops the tree's own reference. */
	WARN_ON_ONCE(refcount_dec_and_test(&tp->ref));
}

struct kvp_tpage *kvp_table_find_at(struct kvp_table *t, const struct kvp_spot *at)
{
	return kvp_tpage_lookup(t, at->v, 0, tpage_index(at->v, 0, at->block));
}

struct kvp_tpage *kvp_table_find(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return kvp_table_find_at(t, &at);
}

/*
 * Forget a page that is not in use. Its load lock keeps another task from reading the page in
 * before it has left the hash table. The load of another page may call this with its own load lock
 * held, so this lock is only tried.
 */
static bool evict(struct kvp_table *t, struct kvp_tpage *tp)
{
	struct mutex *lock = tpage_load_lock(t, tp->level, tp->index);
	struct kvp_tpage *parent = tp->parent;

	if (!mutex_trylock(lock))
		return false;
	if (!refcount_dec_if_one(&tp->ref)) {
		mutex_unlock(lock);
		return false;
	}
	spin_lock(&t->lru_lock);
	hlist_del_rcu(&tp->hash);
	spin_unlock(&t->lru_lock);
	mutex_unlock(lock);
	if (parent)
		kvp_table_put(parent);
	kvp_tpage_release(t, tp);
	return true;
}

/* Take the oldest page that was not used since the last look off table->lru. */
static struct kvp_tpage *next_victim(struct kvp_table *t, u32 *looks)
{
	struct kvp_tpage *tp = NULL;

	spin_lock(&t->lru_lock);
	while (*looks && !list_empty(&t->lru)) {
		tp = list_last_entry(&t->lru, struct kvp_tpage, lru);
		--*looks;
		if (refcount_read(&tp->ref) == 1 &&
		    !test_and_clear_bit(KVP_TPAGE_REFERENCED, &tp->flags)) {
			list_del_init(&tp->lru);
			t->nr_pages--;
			break;
		}
		list_move(&tp->lru, &t->lru);
		tp = NULL;
	}
	spin_unlock(&t->lru_lock);
	return tp;
}

static void __add_to_lru(struct kvp_table *t, struct kvp_tpage *tp)
{
	lockdep_assert_held(&t->lru_lock);
	list_add(&tp->lru, &t->lru);
	t->nr_pages++;
}

static u32 reclaim(struct kvp_table *t, u32 nr, u32 looks)
{
	u32 freed = 0;

	while (freed < nr) {
		struct kvp_tpage *tp = next_victim(t, &looks);

		if (!tp)
			break;
		if (evict(t, tp)) {
			freed++;
			continue;
		}
		spin_lock(&t->lru_lock);
		__add_to_lru(t, tp);
		spin_unlock(&t->lru_lock);
	}
	return freed;
}

u32 kvp_table_reclaim(struct kvp_table *t, u32 nr)
{
	return reclaim(t, nr, 2 * READ_ONCE(t->nr_pages) + 2);
}

void kvp_table_shrink(struct kvp_table *t, bool all)
{
	u32 pages = READ_ONCE(t->nr_pages), budget = READ_ONCE(t->budget);

	if (all)
		/* a leaf keeps its ancestors in memory: each round frees one level */
		while (kvp_table_reclaim(t, ~0u))
			;
	else if (pages > budget)
		kvp_table_reclaim(t, pages - budget);
}

struct kvp_tpage *kvp_tpage_alloc(gfp_t gfp)
{
	struct kvp_tpage *tp = kzalloc(sizeof(*tp), gfp);

	if (!tp)
		return NULL;
	tp->page = alloc_page(gfp);
	if (!tp->page) {
		kfree(tp);
		return NULL;
	}
	return tp;
}

/*
 * Memory is short: take a page from the reserve. If the reserve is empty, reclaim a clean page.
 * Wait until no reader can still use the page under its old name.
 */
static struct kvp_tpage *reserved_tpage(struct kvp_table *t)
{
	struct kvp_tpage *tp;

	do {
		spin_lock(&t->lru_lock);
		tp = list_first_entry_or_null(&t->reserve, struct kvp_tpage, lru);
		if (tp) {
			list_del(&tp->lru);
			t->nr_reserve--;
		}
		spin_unlock(&t->lru_lock);
	} while (!tp && kvp_table_reclaim(t, 1));
	if (tp)
		synchronize_rcu();
	return tp;
}

/* Make the unused @tp the page (@level, @index), with two references. */
static struct kvp_tpage *named(struct kvp_tpage *tp, struct kvp_vdev *v, u32 level, u64 index,
			       struct kvp_tpage *parent)
{
	refcount_set(&tp->ref, 2);	/* one for the tree, one for the caller */
	tp->flags = 0;
	tp->durable = 0;
	tp->pending = 0;
	tp->v = v;
	tp->level = level;
	tp->index = index;
	if (!level)
		tp->at = kvp_map_leaf(&v->all->sb->map, v->index, tpage_first(v, 0, index));
	tp->parent = parent;
	INIT_LIST_HEAD(&tp->list);
	INIT_LIST_HEAD(&tp->writing);
	INIT_LIST_HEAD(&tp->lru);
	return tp;
}

struct kvp_tpage *kvp_tpage_new_if_free(struct kvp_table *t, struct kvp_vdev *v, u32 level,
					u64 index, struct kvp_tpage *parent)
{
	struct kvp_tpage *tp = NULL;

	if (READ_ONCE(t->nr_pages) < READ_ONCE(t->budget))
		tp = kvp_tpage_alloc(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);
	return tp ? named(tp, v, level, index, parent) : NULL;
}

struct kvp_tpage *kvp_tpage_new(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
				struct kvp_tpage *parent)
{
	struct kvp_tpage *tp;

	/* Two, so that earlier failures to reclaim are made up for. */
	if (READ_ONCE(t->nr_pages) >= READ_ONCE(t->budget))
		reclaim(t, 2, BUDGET_LOOKS);
	/* do not wait for memory: the work that frees memory may be waiting for this caller */
	tp = kvp_tpage_alloc(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN) ?: reserved_tpage(t);
	return tp ? named(tp, v, level, index, parent) : NULL;
}

void kvp_tpage_enter(struct kvp_table *t, struct kvp_tpage *tp)
{
	spin_lock(&t->lru_lock);
	hlist_add_head_rcu(&tp->hash, bucket_of(t, tp->v, tp->level, tp->index));
	__add_to_lru(t, tp);
	spin_unlock(&t->lru_lock);
}
