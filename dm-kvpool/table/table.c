// SPDX-License-Identifier: GPL-2.0-only
/* The table's pages in memory: lookup, reading, eviction, entries. */
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/list_sort.h>
#include <linux/mm.h>
#include <linux/rculist.h>

#include "core/cache_client.h"
#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/regions.h"
#include "io/batch.h"
#include "io/io.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/finds.h"
#include "table/ssdcopy.h"
#include "table/table.h"

/* pages looked at: at most half of them are dirty, so a few looks find a clean one */
#define BUDGET_LOOKS	64

/* Blocks below one pointer at @level: for a leaf 2 MiB, in a parity1 a little less. */
static u64 span(const struct kvp_vdev *v, u32 level)
{
	return (u64)kvp_leaf_blocks(v->g) << (KVP_PTRS_SHIFT * level);
}

/* The index of the page of @level above @block of the vdev. */
static u64 index_of(const struct kvp_vdev *v, u32 level, kvp_vblock_t block)
{
	return kvp_entry_index(v->g, block) >> (KVP_PTRS_SHIFT * (level + 1));
}

/* The first block below page @index of @level. @index may be behind the last page. */
static kvp_vblock_t first_below(const struct kvp_vdev *v, u32 level, u64 index)
{
	return kvp_vblock(index * span(v, level));
}

/* The end of the pool as a block of the vdev. */
static kvp_vblock_t pool_end(const struct kvp_vdev *v)
{
	return kvp_vdev_from(v, kvp_vdevs_end(v->all));
}

static bool readonly(const struct kvp_table *t)
{
	return test_bit(KVP_POOL_READONLY, t->client.flags);
}

static __le64 *words(const struct kvp_tpage *tp)
{
	return page_address(tp->page);
}

static struct mutex *load_lock(struct kvp_table *t, u32 level, u64 index)
{
	return &t->load_locks[level][index % KVP_TABLE_LOAD_LOCKS];
}

static struct hlist_head *bucket_of(struct kvp_table *t, const struct kvp_vdev *v, u32 level,
				    u64 index)
{

	return &t->buckets[hash_64((u64)v->index << 58 | index << 2 | level, t->bucket_bits)];
}

/* The word of @leaf that is the entry of @block of the pool. Entries are in the vdev's order. */
static u32 word_of(const struct kvp_tpage *leaf, kvp_block_t block)
{
	return (u32)kvp_vblock_since(kvp_vdev_block(leaf, block), leaf->at.own) % KVP_PTRS_PER_PAGE;
}

/* The word of @leaf that is the entry of the parity of @row. */
static u32 parity_word(const struct kvp_tpage *leaf, u64 row)
{
	return (u32)kvp_parity_index(leaf->v->g, row) % KVP_PTRS_PER_PAGE;
}

/* --- references and eviction ----------------------------------------------------- */

static struct kvp_tpage *lookup(struct kvp_table *t, const struct kvp_vdev *v, u32 level, u64 index)
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

static void free_tpage(struct kvp_tpage *tp)
{
	__free_page(tp->page);
	kfree_rcu(tp, rcu);
}

/*
 * Keep a page that was taken out of the hash table for the reserve, or free it. A reader may still
 * use it: whatever reuses it waits for a grace period first (reserved_tpage()).
 */
static void release_tpage(struct kvp_table *t, struct kvp_tpage *tp)
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
		free_tpage(tp);
}

void kvp_table_put(struct kvp_tpage *tp)
{
	/* Only evict() drops the tree's own reference. */
	WARN_ON_ONCE(refcount_dec_and_test(&tp->ref));
}

struct kvp_tpage *kvp_table_find(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return lookup(t, at.v, 0, index_of(at.v, 0, at.block));
}

/*
 * Forget a page that is not in use. Its load lock keeps another task from reading the page in
 * before it has left the hash table. The load of another page may call this with its own load lock
 * held, so this lock is only tried.
 */
static bool evict(struct kvp_table *t, struct kvp_tpage *tp)
{
	struct mutex *lock = load_lock(t, tp->level, tp->index);
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
	release_tpage(t, tp);
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

/* --- changes, by table->lock ---------------------------------------------------------- */

static void __mark_dirty(struct kvp_table *t, struct kvp_tpage *tp)
{
	lockdep_assert_held(&t->lock);
	if (test_and_set_bit(KVP_TPAGE_DIRTY, &tp->flags))
		return;
	refcount_inc(&tp->ref);
	list_add_tail(&tp->list, &t->dirty);
	WRITE_ONCE(t->nr_dirty, t->nr_dirty + 1);
}

/*
 * Mark the page and its ancestors: poison is below. Pointers show the poison from the next
 * checkpoint on. Until then a search for poison looks at the pages with this mark.
 */
static void __mark_poison(struct kvp_tpage *tp)
{
	for (; tp && !test_bit(KVP_TPAGE_POISON, &tp->flags); tp = tp->parent)
		set_bit(KVP_TPAGE_POISON, &tp->flags);
}

static void __count(struct kvp_table *t, u64 entry, int change)
{
	switch (kvp_entry_state(entry)) {
	case KVP_ENTRY_VALID:
		/*
		 * @t->written was lowered for leaves that were dropped unread, as if they had been
		 * full. So more blocks may leave the state than are counted.
		 */
		if (change > 0 || t->written)
			t->written += change;
		break;
	case KVP_ENTRY_POISONED:
		t->poisoned += change;
		break;
	}
}

/* Change word @word of the leaf. No other function changes an entry that readers can find. */
static void __set(struct kvp_table *t, struct kvp_tpage *leaf, u32 word, u64 entry)
{
	lockdep_assert_held(&t->lock);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		__mark_poison(leaf);
	WRITE_ONCE(words(leaf)[word], cpu_to_le64(entry));
	smp_wmb();	/* entry, then counter; pairs with those in stripe_read.c */
	WRITE_ONCE(leaf->changes, leaf->changes + 1);
	__mark_dirty(t, leaf);
}

/* As kvp_cache_forget_range(): entries of @count blocks from @block on have changed. */
static void tell_cache(const struct kvp_table *t, kvp_block_t block, u32 count)
{
	const struct kvp_cache_client *cache = t->client.vdevs->cache_client;

	if (cache)
		cache->forget(t->client.of, block, count);
}

/*
 * Change the entry of a data block: count it, and let the caches forget the old contents.
 * @home: the version that is home from now on, or NULL
 */
static void __set_data(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
		       const struct kvp_version *home)
{
	u32 word = word_of(leaf, block);
	u64 old = le64_to_cpu(words(leaf)[word]);

	if (kvp_entry_state(old) != kvp_entry_state(entry)) {
		__count(t, old, -1);
		__count(t, entry, 1);
	}
	__set(t, leaf, word, entry);
	if (home)
		kvp_rcache_home_written(t->client.rcache, home);
	else
		kvp_rcache_forget(t->client.rcache, block);
	tell_cache(t, block, 1);
}

/* --- reading ------------------------------------------------------------------------- */

/* The pointer to page @index below @parent, or among the roots if @parent is NULL. */
static u64 pointer_to(struct kvp_table *t, const struct kvp_vdev *v, struct kvp_tpage *parent,
		      u64 index)
{
	return parent ? le64_to_cpu(READ_ONCE(words(parent)[index % KVP_PTRS_PER_PAGE])) :
			READ_ONCE(t->roots[v->first_root + index]);
}

static bool page_verifies(const struct kvp_tpage *tp, struct page *page)
{
	return kvp_page_sum(tp->v->seed, tp->level, tp->index, page_address(page)) ==
	       kvp_ptr_sum(tp->durable);
}

/* A mask has a bit for each copy of a page, those of all legs together. */
static_assert(KVP_MAX_TABLE_COPIES * KVP_MAX_MIRROR_LEGS <= 32);

/* The place of copy @copy of the page that tp->durable names. */
static struct kvp_place durable_copy(const struct kvp_tpage *tp, u32 copy)
{
	return kvp_page_place(tp->v->g, tp->level, tp->index, kvp_ptr_slot(tp->durable), copy);
}

/* Overwrite the copies in mask @bad with @page, which is good. Returns how many were repaired. */
static int repair_copies(struct kvp_table *t, const struct kvp_tpage *tp, unsigned long bad,
			 struct page *page)
{
	int repaired = 0;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = durable_copy(tp, copy);
		struct kvp_leg *leg = &tp->v->legs[at.leg];

		if (!(bad & BIT(copy)) || !kvp_leg_in_sync(leg) || readonly(t))
			continue;
		if (kvp_io_page(leg, KVP_IO_WRITE_FUA, at.block, page)) {
			kvp_leg_failed_write(leg);
			kvp_leg_give_up(leg, "a table page cannot be repaired");
			continue;
		}
		repaired++;
		atomic64_inc(&leg->healed);
		atomic64_inc(&t->client.stats->table_healed);
		t->client.healed(t->client.of, leg, tp->level, tp->index);
	}
	return repaired;
}

/*
 * Read one copy of the page that tp->durable names into @page. Returns 0; -EBADMSG: the contents
 * are not that page; or the error of the read.
 */
static int read_copy(struct kvp_table *t, struct kvp_leg *leg, kvp_lblock_t at,
		     const struct kvp_tpage *tp, struct page *page)
{
	int error = kvp_io_page(leg, KVP_IO_READ, at, page);

	atomic64_inc(&t->client.stats->page_reads);
	if (!error && page_verifies(tp, page))
		return 0;
	if (!error)
		atomic64_inc(&leg->err_checksum);
	else if (error != -ENOMEM)
		atomic64_inc(&leg->err_read);
	/* A sector that is gone for good counts as one with wrong contents. */
	return !error || kvp_error_is_loss(error) ? -EBADMSG : error;
}

/* A checkpoint calls this for every leaf that it writes. For speed it decodes no entry. */
static u32 newest_in_leaf(const __le64 *words, bool *poison)
{
	const u64 era = kvp_entry(0, KVP_ERA_MAX, KVP_ENTRY_UNWRITTEN);
	u64 newest = 0, poisoned = 0;
	u32 i;

	static_assert(KVP_ENTRY_POISONED == 2);
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(words[i]);

		newest = max(newest, word & era);
		poisoned |= word & ~(word << 1);
	}
	*poison |= poisoned >> (KVP_ENTRY_STATE_SHIFT + 1);
	return kvp_entry_era(newest);
}

static u32 newest_below(const __le64 *words, bool *poison)
{
	u32 era = 0, i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		u64 word = le64_to_cpu(words[i]);

		/*
		 * No checkpoint ever has KVP_ERA_MAX, the era of a page that was given up. The
		 * pointer to this page must not look like one to such a page.
		 */
		era = max(era, kvp_ptr_lost(word) ? KVP_ERA_MAX - 1 : kvp_ptr_era(word));
		*poison |= kvp_ptr_poison(word);
	}
	return era;
}

/* True if nothing is written below: the page has only null pointers, or unwritten entries. */
static bool nothing_below(const __le64 *words, u32 level)
{
	u64 any = 0;
	u32 i;

	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		any |= le64_to_cpu(words[i]);
	return level ? kvp_ptr_null(any) : kvp_entry_state(any) == KVP_ENTRY_UNWRITTEN;
}

/*
 * True if the page, whose sum is right, also has the era that the pointer names, and has poison if
 * and only if the pointer says so.
 */
static bool fits_pointer(const struct kvp_tpage *tp)
{
	const __le64 *w = words(tp);
	bool poison = false;
	u32 era = tp->level ? newest_below(w, &poison) : newest_in_leaf(w, &poison);

	return era == kvp_ptr_era(tp->durable) && poison == kvp_ptr_poison(tp->durable);
}

/*
 * True if an SSD has the page that the pointer names. If it does not, that is common, and no error
 * of the SSD: other pages, and older versions of this page, share the place. The sum alone is not
 * enough for so many candidates.
 */
static bool read_from_ssd(struct kvp_table *t, struct kvp_tpage *tp)
{
	if (kvp_ssdcopy_read(t->client.copies, tp) || !page_verifies(tp, tp->page) ||
	    !fits_pointer(tp))
		return false;
	atomic64_inc(&t->client.stats->ssd_page_reads);
	return true;
}

/*
 * The copy to ask first. That depends on the page, so that all legs are asked; but a slow leg comes
 * later, if there is another.
 */
static u32 first_copy(const struct kvp_tpage *tp, u32 legs)
{
	u32 n;

	for (n = 0; n < legs; n++) {
		u32 copy = (n + (u32)tp->index) % legs;
		const struct kvp_leg *leg = &tp->v->legs[durable_copy(tp, copy).leg];

		if (kvp_leg_in_sync(leg) && !READ_ONCE(leg->slow))
			return copy;
	}
	return (u32)tp->index % legs;
}

/*
 * Read a copy that the pointer names, from any leg (R9). Returns 0; -EBADMSG: every leg in use
 * answers and none has the page; -EIO: some legs do not answer; -ENOMEM.
 * @keep: the page stays in memory, so repair bad copies, and write a copy to an SSD
 */
static int read_page(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	/* A second copy on the same leg comes after the first copies on all legs. */
	u32 copies = kvp_page_copies(tp->v->g), legs = min(copies, tp->v->nr_legs), n;
	u32 first = first_copy(tp, legs);
	bool silent = false, no_memory = false;
	unsigned long bad = 0;

	for (n = 0; n < copies; n++) {
		u32 copy = n / legs * legs + (n + first) % legs;
		struct kvp_place at = durable_copy(tp, copy);
		int error;

		if (!kvp_leg_in_sync(&tp->v->legs[at.leg]))
			continue;
		error = read_copy(t, &tp->v->legs[at.leg], at.block, tp, tp->page);
		if (!error && keep) {
			repair_copies(t, tp, bad, tp->page);
			kvp_ssdcopy_write(t->client.copies, tp, tp->page, false);
		}
		if (!error)
			return 0;
		no_memory |= error == -ENOMEM;
		silent |= error != -EBADMSG;
		if (error != -ENOMEM)
			bad |= BIT(copy);
	}
	if (no_memory)
		return -ENOMEM;
	return silent || !bad ? -EIO : -EBADMSG;
}

/* Read the page from an SSD, or from any leg. The legs are asked twice before the page is lost. */
static int read_copies(struct kvp_table *t, struct kvp_tpage *tp, bool keep)
{
	int ret = read_from_ssd(t, tp) ? 0 : read_page(t, tp, keep);

	return ret == -EBADMSG ? read_page(t, tp, keep) : ret;
}

/*
 * The end of the pool's blocks below @leaf, as a block of the vdev. The vdev's region, or the pool,
 * may end within the leaf.
 */
static kvp_vblock_t leaf_end(const struct kvp_vdev *v, const struct kvp_map_leaf *leaf)
{
	return kvp_vblock_first(kvp_vblock_add(leaf->own, leaf->blocks), pool_end(v));
}

/* How many blocks of the pool are below @leaf. */
static u64 leaf_used(const struct kvp_vdev *v, const struct kvp_map_leaf *leaf)
{
	return kvp_vblock_since(leaf_end(v, leaf), leaf->own);
}

/* How many blocks of the pool are below page @index of @level. */
static u64 blocks_below(const struct kvp_vdev *v, u32 level, u64 index)
{
	kvp_vblock_t own = first_below(v, level, index);
	kvp_vblock_t end = kvp_vblock_first(first_below(v, level, index + 1), pool_end(v));
	u64 n = 0;

	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, span(v, 0))) {
		struct kvp_map_leaf leaf = kvp_map_leaf(&v->all->sb->map, v->index, own);

		n += leaf_used(v, &leaf);
	}
	return n;
}

/* No leg has this page. Report it once, and note it for a refusal that names it. */
static void note_lost(struct kvp_table *t, const struct kvp_tpage *tp)
{
	struct kvp_table_lost *lost = &t->lost, was, now;
	kvp_vblock_t first = first_below(tp->v, tp->level, tp->index);

	now = (struct kvp_table_lost){
		.vdev = tp->v->index,
		.level = tp->level,
		.index = tp->index,
		.first = kvp_pool_block(tp->v, first),
		.blocks = min(span(tp->v, tp->level), tp->v->g->data_blocks - kvp_vblock_nr(first)),
	};
	now.last = kvp_block_first(kvp_pool_block(tp->v, kvp_vblock_add(first, now.blocks - 1)),
				   kvp_block_back(kvp_vdevs_end(t->client.vdevs), 1));
	mutex_lock(&t->lock);
	was = *lost;
	*lost = now;
	mutex_unlock(&t->lock);
	if (!was.blocks || was.level != now.level || was.index != now.index || was.vdev != now.vdev)
		t->client.lost(t->client.of, &now);
}

/*
 * The version of the parity is unknown, too. All blocks that it covers are poisoned, and count as
 * zeros.
 */
void __kvp_table_rows_lost(struct kvp_tpage *leaf, u64 poison)
{
	const struct kvp_geometry *g = leaf->v->g;
	kvp_vblock_t own = leaf->at.own;
	kvp_vblock_t end = kvp_vblock_first(kvp_vblock_add(own, span(leaf->v, 0)),
					    kvp_vblock(g->data_blocks));

	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, 1))
		words(leaf)[parity_word(leaf, kvp_row_of(g, own))] = cpu_to_le64(poison);
}

/*
 * Fill in for a lost leaf: poison every block. Readers cannot find the leaf yet.
 * @counted: the page above was given up, so this poison is counted already, and the leaf does not
 *	become dirty
 */
static void poison_leaf(struct kvp_table *t, struct kvp_tpage *leaf, bool counted)
{
	u64 i, used = leaf_used(leaf->v, &leaf->at), poison;

	mutex_lock(&t->lock);
	poison = kvp_entry(0, t->era, KVP_ENTRY_POISONED);
	clear_page(page_address(leaf->page));
	for (i = 0; i < used; i++) {
		kvp_block_t block = kvp_leaf_block(leaf, kvp_vblock_add(leaf->at.own, i));

		if (!counted) {
			__set_data(t, leaf, block, poison, NULL);
			continue;
		}
		words(leaf)[word_of(leaf, block)] = cpu_to_le64(poison);
		kvp_rcache_forget(t->client.rcache, block);
		tell_cache(t, block, 1);
	}
	leaf->v->ops->leaf_lost(leaf, poison);
	if (!counted)
		WRITE_ONCE(t->poisonings, t->poisonings + 1);
	mutex_unlock(&t->lock);
	if (counted)
		return;
	atomic64_add(used, &t->client.stats->unrepaired);
	atomic64_add(used, &t->client.stats->leaf_lost);
}

/* The same for a page above the leaves: mark the pointer to each page below as lost. */
static void fill_lost(struct kvp_tpage *tp)
{
	const struct kvp_vdev *v = tp->v;
	u64 first = tp->index << KVP_PTRS_SHIFT;
	kvp_vblock_t end = pool_end(v);
	u32 i;

	clear_page(page_address(tp->page));
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++) {
		if (!kvp_vblock_before(first_below(v, tp->level - 1, first + i), end))
			break;
		words(tp)[i] = cpu_to_le64(KVP_PTR_LOST);
	}
}

/*
 * Replace a lost page above the leaves by a new page that calls all pages below it lost. It is
 * called when a block below must be written home, or by order. So all blocks below are poisoned at
 * once, and no leaf is written: each leaf is made when it is needed. As with a lost leaf, the bad
 * page counts until a checkpoint has replaced it.
 */
static void give_up_page(struct kvp_table *t, struct kvp_tpage *tp)
{
	kvp_block_t first = kvp_pool_block(tp->v, first_below(tp->v, tp->level, tp->index));
	u64 blocks = blocks_below(tp->v, tp->level, tp->index);

	fill_lost(tp);
	mutex_lock(&t->lock);
	__mark_poison(tp);
	__mark_dirty(t, tp);
	t->poisoned += blocks;
	WRITE_ONCE(t->poisonings, t->poisonings + 1);
	if (t->lost.level == tp->level && t->lost.index == tp->index &&
	    t->lost.vdev == tp->v->index)
		t->lost.blocks = 0;
	mutex_unlock(&t->lock);
	atomic64_add(blocks, &t->client.stats->unrepaired);
	t->client.given_up(t->client.of, tp, first, blocks);
}

/*
 * Read the page that the pointer names. If every leg in use answers, twice, and none has the page,
 * then the sums of the blocks below are lost.
 *
 * A lost leaf: its blocks are poisoned, each until it is overwritten or discarded (R8). The leaf is
 * dirty then. The bad leaf counts until a checkpoint has replaced it: after a power cut before
 * that, it is found again.
 *
 * A lost page above the leaves: too many blocks are below it. A read gets EIO, and nothing changes.
 * With @give_up, for a write of accepted blocks to their home, the page is given up. Otherwise the
 * log could never release these blocks, and would be full in the end.
 */
static int read_or_poison(struct kvp_table *t, struct kvp_tpage *tp, bool give_up)
{
	int ret = read_copies(t, tp, true);

	if (ret != -EBADMSG)
		return ret;
	note_lost(t, tp);
	if (readonly(t) || (tp->level && !give_up))
		return -EIO;
	if (tp->level)
		give_up_page(t, tp);
	else
		poison_leaf(t, tp, false);
	return 0;
}

/*
 * Fill in the page from the pointer alone, if that is possible: nothing is written below it, and
 * its pointer may have the era of the discard; or the page was given up. Returns false if the page
 * must be read.
 */
static bool made_of_pointer(struct kvp_table *t, struct kvp_tpage *tp)
{
	u32 era = kvp_ptr_era(tp->durable), i;
	u64 word = tp->level ? kvp_ptr(0, era, 0, false) : kvp_entry(0, era, KVP_ENTRY_UNWRITTEN);

	if (kvp_ptr_lost(tp->durable)) {
		if (tp->level)
			fill_lost(tp);
		else
			poison_leaf(t, tp, true);
		return true;
	}
	if (!kvp_ptr_null(tp->durable))
		return false;
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		words(tp)[i] = cpu_to_le64(word);
	return true;
}

static struct kvp_tpage *alloc_tpage(gfp_t gfp)
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

static struct kvp_tpage *new_tpage(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
				   struct kvp_tpage *parent)
{
	struct kvp_tpage *tp;

	/* Two, so that earlier failures to reclaim are made up for. */
	if (READ_ONCE(t->nr_pages) >= READ_ONCE(t->budget))
		reclaim(t, 2, BUDGET_LOOKS);
	/* do not wait for memory: the work that frees memory may be waiting for this caller */
	tp = alloc_tpage(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN) ?: reserved_tpage(t);
	if (!tp)
		return NULL;
	refcount_set(&tp->ref, 2);	/* one for the tree, one for the caller */
	tp->flags = 0;
	tp->durable = 0;
	tp->pending = 0;
	tp->v = v;
	tp->level = level;
	tp->index = index;
	if (!level)
		tp->at = kvp_map_leaf(&v->all->sb->map, v->index, first_below(v, 0, index));
	tp->parent = parent;
	INIT_LIST_HEAD(&tp->list);
	INIT_LIST_HEAD(&tp->writing);
	INIT_LIST_HEAD(&tp->lru);
	return tp;
}

/* Enter the complete page: from now on lookup() finds it. */
static void enter_tpage(struct kvp_table *t, struct kvp_tpage *tp)
{
	spin_lock(&t->lru_lock);
	hlist_add_head_rcu(&tp->hash, bucket_of(t, tp->v, tp->level, tp->index));
	__add_to_lru(t, tp);
	spin_unlock(&t->lru_lock);
}

/*
 * Give null pointers of @tp the slots that do not count by @old, the page's contents on disk. @old
 * may be NULL.
 */
static void take_slots(struct kvp_table *t, struct kvp_tpage *tp, const __le64 *old)
{
	u32 i;

	mutex_lock(&t->lock);
	for (i = 0; old && i < KVP_PTRS_PER_PAGE; i++) {
		u64 was = le64_to_cpu(old[i]), now = le64_to_cpu(words(tp)[i]);

		now = kvp_ptr(0, kvp_ptr_era(now), kvp_ptr_slot(was) ^ !kvp_ptr_null(was), false);
		WRITE_ONCE(words(tp)[i], cpu_to_le64(now));
	}
	/* after the slots; pairs with learn_slots() */
	clear_bit_unlock(KVP_TPAGE_UNREAD, &tp->flags);
	mutex_unlock(&t->lock);
}

/*
 * Page @tp was discarded unread, and something below it is needed now. While the durable tree names
 * the old contents, read them: they say which slots new pages below must not use. If no leg has the
 * old contents, they lead to nothing, also after a power cut, and either slot will do.
 *
 * Nothing below @tp is in memory before this has ended, so no checkpoint changes its pointers
 * meanwhile. If a checkpoint ends meanwhile, it has written a null pointer to @tp; then the slots
 * do not matter.
 */
static int learn_slots(struct kvp_table *t, struct kvp_tpage *tp)
{
	struct mutex *lock = load_lock(t, tp->level, tp->index);
	struct kvp_tpage *old = NULL;
	int ret = 0;
	u64 ptr;

	if (!test_bit(KVP_TPAGE_UNREAD, &tp->flags)) {
		smp_rmb();	/* the bit, then the slots; pairs with take_slots() */
		return 0;
	}
	mutex_lock_nested(lock, tp->level);
	mutex_lock(&t->lock);
	ptr = test_bit(KVP_TPAGE_UNREAD, &tp->flags) ? tp->durable : 0;
	mutex_unlock(&t->lock);
	if (!kvp_ptr_null(ptr)) {
		old = new_tpage(t, tp->v, tp->level, tp->index, NULL);
		ret = -ENOMEM;
	}
	if (old) {
		old->durable = ptr;
		ret = read_copies(t, old, false);
	}
	if (!ret || ret == -EBADMSG)
		take_slots(t, tp, old && !ret ? words(old) : NULL);
	if (old)
		release_tpage(t, old);
	mutex_unlock(lock);
	return ret == -EBADMSG ? 0 : ret;
}

/*
 * Make a page that is not in memory. Caller holds its load lock. Takes over the parent's reference.
 */
static struct kvp_tpage *fetch(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
			       struct kvp_tpage *parent, bool give_up)
{
	int ret = parent ? learn_slots(t, parent) : 0;
	struct kvp_tpage *tp;

	if (ret)
		return ERR_PTR(ret);
	tp = new_tpage(t, v, level, index, parent);
	if (!tp)
		return ERR_PTR(-ENOMEM);
	tp->durable = pointer_to(t, v, parent, index);
	if (!made_of_pointer(t, tp))
		ret = read_or_poison(t, tp, give_up);
	if (ret) {
		release_tpage(t, tp);
		return ERR_PTR(ret);
	}
	enter_tpage(t, tp);
	return tp;
}

/*
 * Load page (@level, @index), and all pages above it. Returns it with a reference. The recursion is
 * at most three deep.
 * @give_up: give up lost pages above the leaves
 */
static struct kvp_tpage *__load(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
				bool give_up)
{
	struct mutex *lock = load_lock(t, level, index);
	struct kvp_tpage *tp = lookup(t, v, level, index), *parent = NULL;

	if (tp)
		return tp;
	mutex_lock_nested(lock, level);
	tp = lookup(t, v, level, index);
	if (tp)
		goto out;
	if (level + 1 < v->g->levels) {
		parent = __load(t, v, level + 1, index >> KVP_PTRS_SHIFT, give_up);
		if (IS_ERR(parent)) {
			tp = parent;
			goto out;
		}
	}
	tp = fetch(t, v, level, index, parent, give_up);
	if (IS_ERR(tp) && parent)
		kvp_table_put(parent);
out:
	mutex_unlock(lock);
	return tp;
}

static struct kvp_tpage *load(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index)
{
	return __load(t, v, level, index, false);
}

struct kvp_tpage *kvp_table_load(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return load(t, at.v, 0, index_of(at.v, 0, at.block));
}

struct kvp_tpage *kvp_table_load_home(struct kvp_table *t, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);

	return __load(t, at.v, 0, index_of(at.v, 0, at.block), true);
}

/*
 * Give up the page of @level above @block of the vdev, if it is lost. Returns 1: done; 0: it is not
 * lost; or -errno.
 */
static int give_up_above(struct kvp_table *t, struct kvp_vdev *v, u32 level, kvp_vblock_t block)
{
	struct kvp_tpage *tp = load(t, v, level, index_of(v, level, block));
	bool failed = IS_ERR(tp), lost;

	if (tp == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	if (failed)
		tp = __load(t, v, level, index_of(v, level, block), true);
	if (IS_ERR(tp))
		return PTR_ERR(tp);
	/* A leg that was silent a moment ago may have given the page now. */
	lost = kvp_ptr_lost(pointer_to(t, v, tp, index_of(v, level - 1, block)));
	kvp_table_put(tp);
	return failed && lost;
}

int kvp_table_give_up(struct kvp_table *t, kvp_block_t block, bool force)
{
	struct kvp_spot at = kvp_vdevs_find(t->client.vdevs, block);
	u32 level = at.v->g->levels;
	int ret = 0;

	if (readonly(t))
		return -EROFS;
	while (!ret && level-- > 1) {
		struct kvp_tpage *tp;

		/* A leg that is out may have the page that the other legs lost. */
		if (force || kvp_vdev_usable(at.v) == at.v->nr_legs) {
			ret = give_up_above(t, at.v, level, at.block);
			continue;
		}
		tp = load(t, at.v, level, index_of(at.v, level, at.block));
		if (IS_ERR(tp))
			return PTR_ERR(tp) == -EIO ? -EBUSY : PTR_ERR(tp);
		kvp_table_put(tp);
	}
	if (!ret)
		return -ENOENT;
	return ret < 0 ? ret : t->client.make_poison_durable(t->client.of);
}

int kvp_table_settle_ends(struct kvp_table *t)
{
	int changed = 0;
	u32 i;

	for (i = 0; i < t->client.vdevs->nr; i++) {
		struct kvp_vdev *v = &t->client.vdevs->v[i];
		u64 end = kvp_vblock_nr(pool_end(v));
		struct kvp_tpage *leaf;

		if (!kvp_home_blocks(v->g) || !end)
			continue;
		leaf = load(t, v, 0, index_of(v, 0, kvp_vblock(end - 1)));
		if (leaf == ERR_PTR(-ENOMEM))
			return -ENOMEM;
		/* A page that is lost and not given up stays as it is. */
		if (IS_ERR(leaf))
			continue;
		mutex_lock(&t->lock);
		if (kvp_ptr_lost(leaf->durable)) {
			__mark_dirty(t, leaf);
			changed = 1;
		}
		mutex_unlock(&t->lock);
		kvp_table_put(leaf);
	}
	return changed;
}

/* --- entries ------------------------------------------------------------------------------ */

static u64 entry_at(const struct kvp_tpage *leaf, u32 word)
{
	return le64_to_cpu(READ_ONCE(words(leaf)[word]));
}

u64 kvp_table_entry(const struct kvp_tpage *leaf, kvp_block_t block)
{
	return entry_at(leaf, word_of(leaf, block));
}

u64 kvp_table_parity(const struct kvp_tpage *leaf, u64 row)
{
	return entry_at(leaf, parity_word(leaf, row));
}

/* True if @tp is not being written, or only a copy of it is. By t->lock. */
static bool may_change(const struct kvp_tpage *tp)
{
	return !test_bit(KVP_TPAGE_WRITING, &tp->flags) || tp->fixed;
}

/* Take t->lock when @tp may change; wait while a checkpoint writes it. */
static void lock_for_change(struct kvp_table *t, struct kvp_tpage *tp)
{
	for (;;) {
		mutex_lock(&t->lock);
		if (may_change(tp))
			return;
		mutex_unlock(&t->lock);
		wait_event(t->wait, !test_bit(KVP_TPAGE_WRITING, &tp->flags));
	}
}

void kvp_table_lock(struct kvp_table *t, struct kvp_tpage *leaf)
{
	lock_for_change(t, leaf);
}

void kvp_table_lock_next(struct kvp_table *t, struct kvp_tpage *leaf)
{
	lockdep_assert_held(&t->lock);
	if (may_change(leaf))
		return;
	mutex_unlock(&t->lock);
	lock_for_change(t, leaf);
}

void kvp_table_unlock(struct kvp_table *t)
{
	mutex_unlock(&t->lock);
}

void __kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		     enum kvp_entry_state state)
{

	if (state == KVP_ENTRY_POISONED)
		WRITE_ONCE(t->poisonings, t->poisonings + 1);
	__set_data(t, leaf, block,
		   kvp_entry(state == KVP_ENTRY_VALID ? crc : 0, t->era, state), NULL);
}

void __kvp_table_set_home(struct kvp_table *t, struct kvp_tpage *leaf, const struct kvp_version *d)
{
	enum kvp_entry_state state = d->zero ? KVP_ENTRY_UNWRITTEN : KVP_ENTRY_VALID;
	const struct kvp_cache_client *cache = t->client.vdevs->cache_client;

	__set_data(t, leaf, d->block,
		   kvp_entry(d->zero ? 0 : d->crc, t->era, state), d);
	if (cache)
		cache->home_written(t->client.of, d);
}

void __kvp_table_set_parity(struct kvp_table *t, struct kvp_tpage *leaf, u64 row, u32 crc,
			    enum kvp_entry_state state)
{

	__set(t, leaf, parity_word(leaf, row),
	      kvp_entry(state == KVP_ENTRY_VALID ? crc : 0, t->era, state));
}

void kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		   enum kvp_entry_state state)
{
	kvp_table_lock(t, leaf);
	__kvp_table_set(t, leaf, block, crc, state);
	kvp_table_unlock(t);
}

void __kvp_table_row_unwritten(struct kvp_table *t, struct kvp_tpage *leaf, kvp_vblock_t own)
{
	u64 row = kvp_row_of(leaf->v->g, own);

	if (kvp_entry_state(kvp_table_parity(leaf, row)) != KVP_ENTRY_UNWRITTEN)
		__kvp_table_set_parity(t, leaf, row, 0, KVP_ENTRY_UNWRITTEN);
}

/*
 * Correct the counts for a leaf that is dropped unread. If the page was given up, all its blocks
 * were counted as poisoned. Otherwise it is unknown how many of its blocks were written: it counts
 * as full.
 */
static void __uncount_leaf(struct kvp_table *t, u64 ptr, u64 blocks)
{
	lockdep_assert_held(&t->lock);
	if (kvp_ptr_lost(ptr)) {
		t->poisoned -= blocks;
		return;
	}
	t->written -= min(t->written, blocks);
	if (t->uncounted < U32_MAX)
		t->uncounted++;
}

/*
 * Tell the caches of all blocks, after the change, as for a single entry. Do so in runs of
 * neighbouring blocks: a TiB has 268 million blocks.
 */
static void forget_leaf(struct kvp_table *t, const struct kvp_map_leaf *leaf, kvp_vblock_t end)
{
	kvp_vblock_t own = leaf->own;

	while (kvp_vblock_before(own, end)) {
		kvp_block_t block = kvp_map_leaf_block(leaf, own);
		u32 n = min_t(u64, kvp_map_leaf_run(leaf, own), kvp_vblock_since(end, own));

		kvp_rcache_forget_range(t->client.rcache, block, n);
		tell_cache(t, block, n);
		own = kvp_vblock_add(own, n);
	}
}

/*
 * Make the pointer to leaf @index, which is discarded as a whole, null in @parent, without reading
 * the leaf. Returns false, and does nothing, if the leaf is in memory, since its contents count
 * then; or if there is poison in it, which must be counted.
 *
 * Until the next checkpoint is durable, the durable tree still has the leaf. If a new leaf is made
 * before, it must not overwrite the old one. So the null pointer names the slot that the next page
 * goes to.
 *
 * A task that reads the leaf at this moment holds its load lock. This function waits for the lock,
 * and then finds the leaf in memory.
 */
static bool discard_unread(struct kvp_table *t, struct kvp_vdev *v, struct kvp_tpage *parent,
			   u64 index, u64 blocks)
{
	__le64 *word = &words(parent)[index % KVP_PTRS_PER_PAGE];
	struct mutex *lock = load_lock(t, 0, index);
	struct kvp_tpage *leaf;
	bool null = false;
	u64 ptr;

	/* A checkpoint changes pages above the leaves without the table's lock. */
	lockdep_assert_held(t->client.checkpoint_lock);
	mutex_lock(lock);
	leaf = lookup(t, v, 0, index);
	if (leaf) {
		kvp_table_put(leaf);
		goto out;
	}
	mutex_lock(&t->lock);
	ptr = le64_to_cpu(*word);
	null = kvp_ptr_null(ptr) || kvp_ptr_lost(ptr) || !kvp_ptr_poison(ptr);
	if (null && !kvp_ptr_null(ptr)) {
		__uncount_leaf(t, ptr, blocks);
		WRITE_ONCE(*word, cpu_to_le64(kvp_ptr(0, t->era, !kvp_ptr_slot(ptr), false)));
		__mark_dirty(t, parent);
	}
	mutex_unlock(&t->lock);
out:
	mutex_unlock(lock);
	return null;
}

/* True if the page of level 1 above @own is in memory. */
static bool above_in_memory(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own)
{
	struct kvp_tpage *tp = lookup(t, v, 1, index_of(v, 1, own));

	if (tp)
		kvp_table_put(tp);
	return tp;
}

/*
 * If a discard from @own to before @end covers all that is below one page of level 1, and the page
 * is not in memory, return the block behind that; otherwise @own. First and last block must be
 * blocks of the pool, since the caller locks their range.
 */
static kvp_vblock_t behind_whole(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own,
				 kvp_vblock_t end)
{
	u64 index = index_of(v, 1, own);
	kvp_vblock_t behind = kvp_vblock_first(first_below(v, 1, index + 1), pool_end(v));
	kvp_block_t of_pool = kvp_vdevs_end(v->all);

	if (v->g->levels < 2 || kvp_vblock_nr(own) != kvp_vblock_nr(first_below(v, 1, index)) ||
	    kvp_vblock_before(end, behind) || !kvp_vblock_before(own, behind) ||
	    !kvp_block_before(kvp_pool_block(v, own), of_pool) ||
	    !kvp_block_before(kvp_pool_block(v, kvp_vblock(kvp_vblock_nr(behind) - 1)), of_pool))
		return own;
	return above_in_memory(t, v, own) ? own : behind;
}

kvp_vblock_t kvp_table_discard_reach(struct kvp_table *t, const struct kvp_vdev *v,
				     kvp_vblock_t own, kvp_vblock_t end)
{
	kvp_vblock_t behind = behind_whole(t, v, own, end);

	return kvp_vblock_before(own, behind) ? behind :
						kvp_vblock_first(end, kvp_leaf_behind(v->g, own));
}

/* How many leaves there are below page @index of level 1. */
static u32 leaves_below(const struct kvp_vdev *v, u64 index)
{
	u64 first = index << KVP_PTRS_SHIFT;

	return (u32)min_t(u64, KVP_PTRS_PER_PAGE, kvp_pages_at(v->g, 0) - first);
}

/* As __uncount_leaf(), for all leaves below page @index of level 1. Any of them may be null. */
static void __uncount_page(struct kvp_table *t, const struct kvp_vdev *v, u64 index)
{
	u32 leaves = leaves_below(v, index);

	lockdep_assert_held(&t->lock);
	t->written -= min(t->written, blocks_below(v, 1, index));
	t->uncounted = t->uncounted < U32_MAX - leaves ? t->uncounted + leaves : U32_MAX;
}

/*
 * Enter a new page with null pointers only, in place of the page that @ptr names. Returns 1 or
 * -ENOMEM.
 */
static int replace_unread(struct kvp_table *t, struct kvp_vdev *v, u64 index,
			  struct kvp_tpage *parent, u64 ptr)
{
	struct kvp_tpage *tp = new_tpage(t, v, 1, index, parent);
	u32 i;

	if (!tp)
		return -ENOMEM;
	tp->durable = ptr;
	set_bit(KVP_TPAGE_UNREAD, &tp->flags);
	mutex_lock(&t->lock);
	for (i = 0; i < KVP_PTRS_PER_PAGE; i++)
		words(tp)[i] = cpu_to_le64(kvp_ptr(0, t->era, 0, false));
	__uncount_page(t, v, index);
	__mark_dirty(t, tp);
	mutex_unlock(&t->lock);
	enter_tpage(t, tp);
	kvp_table_put(tp);
	return 1;
}

/*
 * Discard all that is below page @index of level 1 without reading the page. Returns 1: done, and a
 * page is dirty; 0: not done, since the page is in memory, or null, or has poison below, which must
 * be counted; or -errno.
 *
 * As with a leaf, a page that is made again before the checkpoint is durable must not overwrite
 * what the durable tree has. Which slots that are is unknown here. learn_slots() reads them when
 * something below is needed.
 */
static int discard_page(struct kvp_table *t, struct kvp_vdev *v, u64 index)
{
	struct mutex *lock = load_lock(t, 1, index);
	struct kvp_tpage *tp, *parent = NULL;
	int ret = 0;
	u64 ptr;

	lockdep_assert_held(t->client.checkpoint_lock);
	mutex_lock_nested(lock, 1);
	tp = lookup(t, v, 1, index);
	if (tp) {
		kvp_table_put(tp);
		goto out;
	}
	if (v->g->levels > 2)
		parent = __load(t, v, 2, index >> KVP_PTRS_SHIFT, true);
	if (IS_ERR(parent)) {
		ret = PTR_ERR(parent);
		goto out;
	}
	ptr = pointer_to(t, v, parent, index);
	/* The pointer to a page that was given up has the poison flag, too. */
	if (!kvp_ptr_null(ptr) && !kvp_ptr_poison(ptr))
		ret = replace_unread(t, v, index, parent, ptr);
	if (ret <= 0 && parent)
		kvp_table_put(parent);
out:
	mutex_unlock(lock);
	return ret;
}

/* The same for the blocks from @own to before @behind, and tell the caches of them. */
static int discard_whole_page(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			      kvp_vblock_t behind)
{
	int ret = discard_page(t, v, index_of(v, 1, own));

	if (ret <= 0)
		return ret;
	for (; kvp_vblock_before(own, behind); own = kvp_leaf_behind(v->g, own)) {
		struct kvp_map_leaf at = kvp_map_leaf(&v->all->sb->map, v->index, own);

		forget_leaf(t, &at, leaf_end(v, &at));
		cond_resched();
	}
	return ret;
}

/* Discard a whole leaf without reading it. Returns 1: done; 0: that is not possible; or -errno. */
static int discard_whole(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			 kvp_vblock_t end)
{
	u64 index = index_of(v, 0, own);
	struct kvp_map_leaf at = kvp_map_leaf(&v->all->sb->map, v->index, first_below(v, 0, index));
	struct kvp_tpage *parent;
	bool done;

	/* Roots are not changed here: in the superblock they are those of the last checkpoint. */
	if (v->g->levels < 2 || kvp_vblock_before(at.own, own) ||
	    kvp_vblock_before(end, leaf_end(v, &at)))
		return 0;
	parent = __load(t, v, 1, index >> KVP_PTRS_SHIFT, true);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	done = discard_unread(t, v, parent, index, leaf_used(v, &at));
	kvp_table_put(parent);
	if (done)
		forget_leaf(t, &at, leaf_end(v, &at));
	return done;
}

/* Discard blocks below one leaf, from @own to before @end. Returns as kvp_table_discard(). */
static int discard_leaf(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end)
{
	int ret = discard_whole(t, v, own, end);
	struct kvp_tpage *leaf;

	if (ret < 0)
		return ret;
	atomic64_inc(&t->client.stats->leaf_discards);
	if (ret)
		return 0;
	leaf = __load(t, v, 0, index_of(v, 0, own), true);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	end = kvp_vblock_first(end, leaf_end(v, &leaf->at));
	kvp_table_lock(t, leaf);
	for (; kvp_vblock_before(own, end); own = kvp_vblock_add(own, 1)) {
		kvp_block_t block = kvp_leaf_block(leaf, own);

		if (kvp_entry_state(kvp_table_entry(leaf, block)) != KVP_ENTRY_UNWRITTEN)
			__kvp_table_set(t, leaf, block, 0, KVP_ENTRY_UNWRITTEN);
		v->ops->unwritten(t, leaf, own);
	}
	kvp_table_unlock(t);
	kvp_table_put(leaf);
	return 1;
}

int kvp_table_discard(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t *own,
		      kvp_vblock_t behind)
{
	kvp_vblock_t leaf = kvp_vblock_first(behind, kvp_leaf_behind(v->g, *own));
	int ret = 0;

	if (kvp_vblock_before(leaf, behind))
		ret = discard_whole_page(t, v, *own, behind);
	if (ret > 0)
		atomic64_inc(&t->client.stats->leaf_discards);
	if (!ret) {
		ret = discard_leaf(t, v, *own, leaf);
		behind = leaf;
	}
	if (ret >= 0)
		*own = behind;
	return ret;
}

/* --- walking ------------------------------------------------------------------------------- */

/**
 * struct walk - what a search through the table looks for
 * @since: changes in this era or later, as of the last checkpoint; 0: all that was ever written
 * @poison: poisoned blocks
 * @discard: the caller discards all of it: give up lost pages above the leaves, and do not read
 *	pages that kvp_table_discard() need not read
 */
struct walk {
	u32 since;
	bool poison, discard;
};

/* True if nothing that @w looks for is below the page of @level above @block. */
static bool skipped(struct kvp_table *t, const struct kvp_vdev *v, struct kvp_tpage *parent,
		    u32 level, kvp_vblock_t block, const struct walk *w)
{
	u64 index = index_of(v, level, block), ptr = pointer_to(t, v, parent, index);
	struct kvp_tpage *tp;
	bool skip;

	if (!w->poison && kvp_ptr_era(ptr) < w->since)
		return true;
	if (w->poison ? kvp_ptr_poison(ptr) : !kvp_ptr_null(ptr))
		return false;
	/*
	 * Until the next checkpoint a change may be in memory only. A clean leaf is as its pointer
	 * says.
	 */
	tp = lookup(t, v, level, index);
	if (!tp)
		return true;
	if (w->poison)
		skip = !test_bit(KVP_TPAGE_POISON, &tp->flags);
	else
		skip = !level && !test_bit(KVP_TPAGE_DIRTY, &tp->flags) &&
		       !test_bit(KVP_TPAGE_WRITING, &tp->flags);
	kvp_table_put(tp);
	return skip;
}

/* True if kvp_table_discard() discards all that is below the page of level 1 above @own at once. */
static bool is_whole(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own,
		     kvp_vblock_t end)
{
	return kvp_vblock_before(own, behind_whole(t, v, own, end));
}

/* The first block behind all blocks below the page of @level above @block. */
static kvp_vblock_t next_below(const struct kvp_vdev *v, u32 level, kvp_vblock_t block)
{
	return first_below(v, level, index_of(v, level, block) + 1);
}

/*
 * Find the first block of one vdev, from @block on, with a change below its leaf. *@at receives it,
 * or @end. After an error, *@at is below the page that could not be read, and *@behind is behind
 * all blocks below that page.
 */
static int next_of_vdev(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t block,
			kvp_vblock_t end, const struct walk *w, kvp_vblock_t *at,
			kvp_vblock_t *behind)
{
	u32 top = v->g->levels - 1, level;

	while (kvp_vblock_before(block, end)) {
		struct kvp_tpage *parent = NULL;

		for (level = top; ; level--) {
			if (skipped(t, v, parent, level, block, w) || !level ||
			    (level == 1 && w->discard && is_whole(t, v, block, end)))
				break;
			if (parent)
				kvp_table_put(parent);
			parent = __load(t, v, level, index_of(v, level, block), w->discard);
			if (IS_ERR(parent)) {
				*at = block;
				*behind = next_below(v, level, block);
				return PTR_ERR(parent);
			}
		}
		if (!skipped(t, v, parent, level, block, w)) {
			if (parent)
				kvp_table_put(parent);
			break;
		}
		if (parent)
			kvp_table_put(parent);
		block = next_below(v, level, block);
	}
	*at = kvp_vblock_first(block, end);
	return 0;
}

int kvp_table_next_own(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end,
		       kvp_vblock_t *next)
{
	static const struct walk written = { .discard = true };
	kvp_vblock_t behind;

	return next_of_vdev(t, v, own, end, &written, next, &behind);
}

/*
 * Where a search goes on after @at, whose page cannot be read. @behind is the first block of @v
 * that is not below that page.
 */
static kvp_block_t next_readable(struct kvp_table *t, struct kvp_vdev *v, kvp_block_t at,
				 kvp_vblock_t behind)
{
	/* Other vdevs have their turns among the blocks below it: go on behind this turn. */
	if (t->client.vdevs->nr_with_data == 1)
		return kvp_pool_block(v, behind);
	return kvp_block_add(at, kvp_vdevs_find(t->client.vdevs, at).left);
}

/*
 * The same for the whole pool, by the pool's block numbers. Returns an error only if the page of
 * @block itself cannot be read; *@next is then behind all that is below this page. If it is the
 * page of a later block, this returns that block, and the next call gets the error.
 */
static int next_of_pool(struct kvp_table *t, kvp_block_t block, const struct walk *w,
			kvp_block_t *next)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs);
	u32 i;

	*next = end;
	for (i = 0; i < t->client.vdevs->nr; i++) {
		struct kvp_vdev *v = &t->client.vdevs->v[i];
		kvp_vblock_t own, behind;
		kvp_block_t at;
		int error;

		if (!kvp_home_blocks(v->g))
			continue;
		error = next_of_vdev(t, v, kvp_vdev_from(v, block), kvp_vdev_from(v, end), w, &own,
				     &behind);
		at = kvp_pool_block(v, own);
		if (error && at == block) {
			*next = next_readable(t, v, at, behind);
			return error;
		}
		*next = kvp_block_first(*next, at);
	}
	return 0;
}

int kvp_table_next_changed(struct kvp_table *t, kvp_block_t block, u32 since, kvp_block_t *next)
{
	const struct walk w = { .since = since };

	return next_of_pool(t, block, &w, next);
}

int kvp_table_next_of_vdev(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
			   kvp_vblock_t end, u32 since, kvp_vblock_t *next, kvp_vblock_t *behind)
{
	const struct walk w = { .since = since };

	return next_of_vdev(t, v, own, end, &w, next, behind);
}

/* What kvp_table_next_born() looks for in one vdev, and what it finds, in blocks of that vdev. */
struct born {
	u32 since;
	kvp_vblock_t first, end;
	bool whole;
};

/* True if @ptr alone tells what is below: there is no page that tells which blocks changed. */
static bool tells_all(u64 ptr)
{
	return kvp_ptr_null(ptr) || kvp_ptr_lost(ptr);
}

/* Follow pointers from the top to the lowest that names a page which may have changed. */
static int next_born(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t end, struct born *b)
{
	kvp_vblock_t at = b->first;

	for (; kvp_vblock_before(at, end); at = b->end) {
		u32 level = v->g->levels - 1;
		struct kvp_tpage *page = NULL;
		u64 ptr;

		for (;; level--) {
			ptr = pointer_to(t, v, page, index_of(v, level, at));
			if (page)
				kvp_table_put(page);
			if (!level || kvp_ptr_era(ptr) < b->since || tells_all(ptr))
				break;
			page = load(t, v, level, index_of(v, level, at));
			if (page == ERR_PTR(-ENOMEM))
				return -ENOMEM;
			if (IS_ERR(page))
				break;
		}
		b->end = next_below(v, level, at);
		b->whole = IS_ERR(page) || tells_all(ptr);
		if (kvp_ptr_era(ptr) >= b->since)
			break;
	}
	b->first = kvp_vblock_first(at, end);
	return 0;
}

int kvp_table_next_born(struct kvp_table *t, kvp_block_t block, u32 since, struct kvp_stretch *s)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs), first;
	u32 i;

	*s = (struct kvp_stretch){ .first = end, .end = end };
	for (i = 0; i < t->client.vdevs->nr; i++) {
		struct kvp_vdev *v = &t->client.vdevs->v[i];
		struct born b = { .since = since, .first = kvp_vdev_from(v, block) };
		int ret;

		if (!kvp_home_blocks(v->g))
			continue;
		ret = next_born(t, v, kvp_vdev_from(v, end), &b);
		if (ret)
			return ret;
		first = kvp_pool_block(v, b.first);
		if (!kvp_block_before(first, s->first))
			continue;
		/* With several vdevs, other vdevs have their turns next: end with this turn. */
		s->end = t->client.vdevs->nr_with_data == 1 ?
				 kvp_pool_block(v, b.end) :
				 kvp_block_add(first, kvp_vdevs_find(t->client.vdevs, first).left);
		s->end = kvp_block_first(s->end, end);
		s->first = first;
		s->whole = b.whole;
	}
	return 0;
}

/* The first poisoned block from @block to before @behind, below @leaf; or @behind. */
static kvp_block_t first_poisoned(const struct kvp_tpage *leaf, kvp_block_t block,
				  kvp_block_t behind)
{
	while (kvp_block_before(block, behind) &&
	       kvp_entry_state(kvp_table_entry(leaf, block)) != KVP_ENTRY_POISONED)
		block = kvp_block_add(block, 1);
	return block;
}

/*
 * Go on at *@block: skip what has no poison, or look below one leaf, or pass a page that cannot be
 * read. Returns 1: *@block is poisoned; 0: it is not; or -ENOMEM.
 */
static int seek_poison(struct kvp_table *t, kvp_block_t *block)
{
	static const struct walk w = { .poison = true };
	int ret = next_of_pool(t, *block, &w, block);
	struct kvp_tpage *leaf;
	kvp_block_t behind;

	if (ret || !kvp_block_before(*block, kvp_vdevs_end(t->client.vdevs)))
		return ret == -ENOMEM ? ret : 0;
	behind = kvp_block_add(*block, kvp_vdevs_find(t->client.vdevs, *block).left);
	leaf = kvp_table_load(t, *block);
	if (leaf == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	*block = IS_ERR(leaf) ? behind : first_poisoned(leaf, *block, behind);
	if (!IS_ERR(leaf))
		kvp_table_put(leaf);
	return kvp_block_before(*block, behind);
}

int kvp_table_next_poisoned(struct kvp_table *t, kvp_block_t block, kvp_block_t *next)
{
	kvp_block_t end = kvp_vdevs_end(t->client.vdevs);
	int found = 0;

	/* Most pools have no poison, and the counter saves the walk. */
	if (!READ_ONCE(t->poisoned))
		block = end;
	while (!found && kvp_block_before(block, end)) {
		/*
		 * A suspend waits for this search, with all I/O stopped. The caller can ask again.
		 */
		if (test_bit(KVP_POOL_SUSPENDING, t->client.flags))
			return -EINTR;
		found = seek_poison(t, &block);
		if (found < 0)
			return found;
		kvp_table_shrink(t, false);
	}
	*next = kvp_block_first(block, end);
	return 0;
}

/* --- scrub ------------------------------------------------------------------------------------ */

/* A mask of the copies on disk that differ from @tp, a clean page in memory. */
static unsigned long bad_copies(struct kvp_table *t, const struct kvp_tpage *tp, struct page *into)
{
	unsigned long bad = 0;
	u32 copy;

	for (copy = 0; copy < kvp_page_copies(tp->v->g); copy++) {
		struct kvp_place at = durable_copy(tp, copy);
		struct kvp_leg *leg = &tp->v->legs[at.leg];

		if (kvp_leg_in_sync(leg) && read_copy(t, leg, at.block, tp, into))
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
	struct kvp_tpage *tp = load(t, at.v, level, index_of(at.v, level, at.block));
	int repaired = 0;

	if (IS_ERR(tp))
		return PTR_ERR(tp);
	lockdep_assert_held(t->client.checkpoint_lock);
	/*
	 * A page that is dirty or being written gets new copies anyway. From now on it may become
	 * dirty, but @good does not change.
	 */
	if (copy_if_clean(t, tp, good))
		repaired = repair_copies(t, tp, bad_copies(t, tp, copy), good);
	kvp_table_put(tp);
	return repaired;
}

/* --- pages that changed ----------------------------------------------------------------------- */

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
			ptr = pointer_to(t, v, parent, index_of(v, l, *own));
			if (parent)
				kvp_table_put(parent);
			if (l == level || kvp_ptr_null(ptr) || kvp_ptr_era(ptr) < since)
				break;
			parent = load(t, v, l, index_of(v, l, *own));
			if (IS_ERR(parent) && PTR_ERR(parent) != -ENOMEM)
				*own = next_below(v, l, *own);
			if (IS_ERR(parent))
				return PTR_ERR(parent);
		}
		if (!kvp_ptr_null(ptr) && kvp_ptr_era(ptr) >= since)
			return 1;
		*own = next_below(v, l, *own);
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
		tp = load(t, v, level, index_of(v, level, *own));
		if (PTR_ERR_OR_ZERO(tp) == -ENOMEM)
			return -ENOMEM;
		*own = next_below(v, level, *own);
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

/* --- snapshot ----------------------------------------------------------------------------- */

/* Copy the leaf, so that writes home need not wait for the whole checkpoint. */
static bool __copy_leaf(struct kvp_tpage *tp)
{
	tp->fixed = alloc_page(GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN);
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
			copies = __copy_leaf(tp) ? copies - 1 : 0;
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

/* The contents of @tp that are written; they do not change. */
static struct page *fixed_page(const struct kvp_tpage *tp)
{
	return tp->fixed ?: tp->page;
}

u64 kvp_table_pointer(const struct kvp_vdev *v, u32 level, u64 index, const __le64 *w,
		      unsigned int slot)
{
	bool poison = false;
	u32 era = level ? newest_below(w, &poison) : newest_in_leaf(w, &poison);

	/* The pointer is null, but has the era of the discard. */
	if (nothing_below(w, level))
		return kvp_ptr(0, era, 0, false);
	return kvp_ptr(kvp_page_sum(v->seed, level, index, w), era, slot, poison);
}

/* Make the pointer to a page: it has the page's newest era, and whether there is any poison. */
static u64 make_pointer(struct kvp_tpage *tp, unsigned int slot)
{
	return kvp_table_pointer(tp->v, tp->level, tp->index, page_address(fixed_page(tp)), slot);
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
	WRITE_ONCE(words(parent)[tp->index % KVP_PTRS_PER_PAGE], cpu_to_le64(ptr));
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

		set_pointer(t, tp, make_pointer(tp, slot), pages);
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

void kvp_table_written(struct kvp_table *t, struct list_head *pages, int error, bool wait)
{
	struct kvp_tpage *tp, *next;

	/* Copy them before they may change again. */
	if (!error)
		list_for_each_entry(tp, pages, writing)
			if (!kvp_ptr_null(tp->pending))
				kvp_ssdcopy_write(t->client.copies, tp, fixed_page(tp), wait);

	mutex_lock(&t->lock);
	list_for_each_entry_safe(tp, next, pages, writing) {
		list_del_init(&tp->writing);
		if (tp->fixed)
			__free_page(tp->fixed);
		tp->fixed = NULL;
		if (!error)
			tp->durable = tp->pending;
		else
			__mark_dirty(t, tp);
		clear_bit(KVP_TPAGE_WRITING, &tp->flags);
		kvp_table_put(tp);
	}
	if (!error)
		WRITE_ONCE(t->durable_poisonings, t->snap_poisonings);
	mutex_unlock(&t->lock);
	wake_up_all(&t->wait);
}

/* --- life --------------------------------------------------------------------------------- */

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
		struct kvp_tpage *tp = alloc_tpage(GFP_KERNEL);

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
		free_tpage(tp);
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
	kvfree(t->buckets);
	t->buckets = NULL;
	kvp_batch_free(t->batch);
	t->batch = NULL;
}
