/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checksum table: one entry a block, in a radix tree of 4 KiB pages for each vdev, on that
 * vdev. All their roots are in the superblock, so one write of that is a checkpoint.
 *
 * In memory a page is found through a hash table, which needs no memory to add to. A leaf in memory
 * keeps its ancestors in memory. Entries change in memory when a block has come home; a checkpoint
 * writes the changed pages into the slots that the durable root does not name, bottom up, and then
 * the root.
 *
 * Readers look entries up without a lock: an entry is one word. Writers hold table->lock. A
 * checkpoint writes what it summed: a copy of the leaf; or, without memory for one, the leaf
 * itself, whose writers wait then.
 *
 * Writes that free memory need table pages to come home (R24). So some pages are kept in reserve.
 * When those are gone, a clean page that is not in use is reused. If there is none, -ENOMEM: the
 * code that makes pages dirty then finishes with those that it has and takes a checkpoint, after
 * which they are clean. So a writer that holds no page gets one.
 */
#ifndef KVP_TABLE_H
#define KVP_TABLE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "format/format.h"
#include "format/regions.h"
#include "super/finds.h"

struct kvp_batch;
struct kvp_pool;
struct kvp_version;
struct page;

enum kvp_tpage_flags {
	KVP_TPAGE_DIRTY,	/* on table->dirty */
	KVP_TPAGE_WRITING,	/* part of the running checkpoint */
	KVP_TPAGE_REFERENCED,	/* used since the last look of eviction */
	/* a block below was poisoned since the page came into memory; by table->lock */
	KVP_TPAGE_POISON,
	/*
	 * discarded without being read: the slots of its null pointers are not known. Set before
	 * the page is found; cleared under table->lock and its load lock
	 */
	KVP_TPAGE_UNREAD,
};

/**
 * struct kvp_tpage - one page of the table in memory
 * @hash: in its bucket; added and removed under table->lru_lock, read under RCU
 * @ref: one for being in the tree; one for each child, reader and list
 * @v: its vdev
 * @level: 0 for a leaf
 * @index: within the level
 * @at: for a leaf: the blocks of the pool that its entries belong to
 * @flags: bits of enum kvp_tpage_flags
 * @changes: counts changes of its entries since it came into memory; may wrap. Raised after an
 *	entry has changed, by table->lock, read with READ_ONCE
 * @durable: pointer by which the durable root reaches it; null if it does not
 * @pending: pointer by which the root of the running checkpoint will reach it
 * @parent: holds a reference; NULL at the top level
 * @page: contents, little endian
 * @fixed: for a leaf that the running checkpoint writes: a copy from when that began, or NULL if
 *	there is none; by table->lock
 * @list: on table->dirty; by table->lock
 * @writing: on the checkpoint's list; by table->lock, then by the checkpoint
 * @lru: on table->lru or table->reserve; by table->lru_lock
 */
struct kvp_tpage {
	struct hlist_node hash;
	refcount_t ref;
	u32 level;
	struct kvp_vdev *v;
	u64 index;
	struct kvp_map_leaf at;
	unsigned long flags;
	u32 changes;
	u64 durable, pending;
	struct kvp_tpage *parent;
	struct page *page;
	struct page *fixed;
	struct list_head list, writing;
	struct list_head lru;
	struct rcu_head rcu;
};

/** kvp_leaf_block() - the pool's number of @own, a block of the vdev below @leaf */
static inline kvp_block_t kvp_leaf_block(const struct kvp_tpage *leaf, kvp_vblock_t own)
{
	return kvp_map_leaf_block(&leaf->at, own);
}

/** kvp_vdev_block() - the vdev's number of @block, a block of the pool below @leaf */
static inline kvp_vblock_t kvp_vdev_block(const struct kvp_tpage *leaf, kvp_block_t block)
{
	return kvp_map_leaf_own(&leaf->at, block);
}

#define KVP_TABLE_LOAD_LOCKS	16
#ifndef KVP_TABLE_COPIES	/* the simulator's pools have few leaves */
#define KVP_TABLE_COPIES	1024	/* 4 MiB; the most leaves that a checkpoint copies */
#endif
/* a path is three pages; destage, direct workers and readers need some */
#define KVP_TABLE_RESERVE	32

/**
 * struct kvp_table_client - calls on changes of the table; registered with the pool
 * @make_poison_durable: kvp_poison_make_durable()
 */
struct kvp_table_client {
	int (*make_poison_durable)(struct kvp_pool *pool);
};

struct kvp_table {
	struct hlist_head *buckets;	/* 1 << bucket_bits of them */
	u32 bucket_bits;
	/* Hold one to add or remove a page: by level and index, leaves outermost. */
	struct mutex load_locks[KVP_MAX_LEVELS][KVP_TABLE_LOAD_LOCKS];
	struct mutex lock;		/* for the next block of fields, and entries */
	struct list_head dirty;
	u32 nr_dirty;
	u32 era;			/* birth of entries that change now */
	unsigned long era_jiffies;	/* when it began */
	u64 written, poisoned;		/* blocks in these states */
	/*
	 * Leaves that were discarded unread, and taken for full: so many more blocks of each may be
	 * written.
	 */
	u32 uncounted;
	u32 snap_uncounted;		/* at the snapshot */
	u64 snap_written, snap_poisoned; /* the same */
	struct kvp_table_lost lost;	/* the last; by @lock */
	u32 poisonings;			/* how often a block was poisoned; may wrap */
	u32 snap_poisonings, durable_poisonings; /* at the snapshot; in the durable root */

	/* By pool->checkpoint_lock. */
	u64 roots[KVP_MAX_ROOTS];	/* as of the checkpoint being built */
	u64 old_roots[KVP_MAX_ROOTS];
	struct kvp_batch *batch;

	wait_queue_head_t wait;		/* for WRITING to end */

	spinlock_t lru_lock;
	struct list_head lru;
	struct list_head reserve;	/* pages without an identity; to be used after a grace period */
	u32 nr_reserve;
	u32 nr_pages;			/* in memory */
	u32 budget;			/* pages */
};

/**
 * struct kvp_table_figures - for status, and to estimate a recovery
 * @written, @poisoned: blocks in these states
 * @uncounted: leaves that were discarded unread, see struct kvp_table
 * @pages, @budget: pages in memory; the most that may be
 */
struct kvp_table_figures {
	u64 written, poisoned;
	u32 uncounted, pages, budget;
};

/** kvp_table_figures() - fill in @f. Context: any; takes no lock. */
static inline void kvp_table_figures(const struct kvp_table *t, struct kvp_table_figures *f)
{
	f->written = READ_ONCE(t->written);
	f->poisoned = READ_ONCE(t->poisoned);
	f->uncounted = READ_ONCE(t->uncounted);
	f->pages = READ_ONCE(t->nr_pages);
	f->budget = READ_ONCE(t->budget);
}

/** kvp_table_dirty() - pages that changed since the last snapshot. Context: any. */
static inline u32 kvp_table_dirty(const struct kvp_table *t)
{
	return READ_ONCE(t->nr_dirty);
}

/** kvp_table_budget() - pages that may be in memory. Context: any. */
static inline u32 kvp_table_budget(const struct kvp_table *t)
{
	return READ_ONCE(t->budget);
}

/** kvp_table_set_budget() - change the budget; kvp_table_shrink() keeps it. Context: any. */
static inline void kvp_table_set_budget(struct kvp_table *t, u32 pages)
{
	WRITE_ONCE(t->budget, pages);
}

/** kvp_table_half_dirty() - true if more than half of the budget is dirty. Context: any. */
static inline bool kvp_table_half_dirty(const struct kvp_table *t)
{
	return kvp_table_dirty(t) > kvp_table_budget(t) / 2;
}

/**
 * kvp_table_poisonings() - how often a block was poisoned, for kvp_table_poison_durable().
 *
 * Context: any.
 */
static inline u32 kvp_table_poisonings(const struct kvp_table *t)
{
	return READ_ONCE(t->poisonings);
}

/**
 * kvp_table_last_lost() - the page that was lost last.
 *
 * Context: recovery; nothing else loads pages.
 */
static inline const struct kvp_table_lost *kvp_table_last_lost(const struct kvp_table *t)
{
	return &t->lost;
}

int __must_check kvp_table_init(struct kvp_pool *pool);
void kvp_table_exit(struct kvp_pool *pool);

/** kvp_table_find() - the leaf of @block if it is in memory, with a reference, or NULL. Any context. */
struct kvp_tpage *kvp_table_find(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_table_load() - the leaf of @block, read and verified if need be
 *
 * A leaf of which no copy verifies comes back with its blocks poisoned. Before a
 * read is answered by that, kvp_poison_make_durable() makes it durable.
 *
 * Return: the leaf with a reference, or an error pointer: -EIO when a leg does
 * not answer and no other has the page, when the pool is read-only, or when a
 * page above is lost; -ENOMEM: every page is dirty or in use, so a checkpoint may help.
 * Context: process, may wait for I/O.
 */
struct kvp_tpage * __must_check kvp_table_load(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_table_load_home() - the same for a write back of accepted blocks, which must not fail
 *
 * A lost page above the leaf is given up: all blocks below it are poisoned, except those that are
 * written.
 */
struct kvp_tpage * __must_check kvp_table_load_home(struct kvp_pool *pool, kvp_block_t block);

/**
 * kvp_table_give_up() - by order: poison all blocks below the lost page above @block, durably
 * @force: even if a leg is out that may have the page
 *
 * No leaf is read or written for that. Caller holds no lock. Context: process, waits for a
 * checkpoint.
 *
 * Return: 0; -ENOENT: no page above @block is lost; -EBUSY: legs are out; -EIO: one does not
 * answer; -EROFS; -ENOMEM.
 */
int __must_check kvp_table_give_up(struct kvp_pool *pool, kvp_block_t block, bool force);

void kvp_table_put(struct kvp_pool *pool, struct kvp_tpage *tp);

/** kvp_table_entry() - the entry of @block in its leaf. Any context. */
u64 kvp_table_entry(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block);

/**
 * kvp_table_parity() - the entry of the parity of @row, in the leaf of the row's data. Any context.
 *
 * Unwritten: no block of the row is written, and the parity is zeros. Poisoned:
 * it is unknown, until it is computed anew from the data. Valid: it
 * is the XOR of the row's data, in which unwritten and poisoned blocks are zeros.
 */
u64 kvp_table_parity(struct kvp_pool *pool, const struct kvp_tpage *leaf, u64 row);

/**
 * kvp_table_set() - change the entry of @block
 * @leaf: its leaf
 * @crc: ignored unless @state is valid
 *
 * The entry is born in the era of the next checkpoint. Caller holds the
 * block's range lock. Context: process; waits while a checkpoint writes the page.
 */
void kvp_table_set(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		   enum kvp_entry_state state);

/**
 * kvp_table_lock() - begin several changes to @leaf by __kvp_table_set()
 *
 * Context: process; waits while a checkpoint writes the page. A checkpoint waits until
 * kvp_table_unlock(): change the blocks of a request, no more, or as many.
 */
void kvp_table_lock(struct kvp_pool *pool, struct kvp_tpage *leaf);

/**
 * kvp_table_lock_next() - after changes to another leaf, go on with @leaf
 *
 * As kvp_table_unlock() and kvp_table_lock(), but under one lock, unless a checkpoint writes the
 * page.
 */
void kvp_table_lock_next(struct kvp_pool *pool, struct kvp_tpage *leaf);
void __kvp_table_set(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		     enum kvp_entry_state state);

/**
 * __kvp_table_set_home() - @d is home: set its entry, and tell the caches
 *
 * Under kvp_table_lock(), as __kvp_table_set(), and the block's range lock, until @d has left the
 * buffer.
 */
void __kvp_table_set_home(struct kvp_pool *pool, struct kvp_tpage *leaf, const struct kvp_version *d);

void __kvp_table_set_parity(struct kvp_pool *pool, struct kvp_tpage *leaf, u64 row, u32 crc,
			    enum kvp_entry_state state);

/**
 * __kvp_table_rows_lost() - @leaf is lost, and new: set the parity of all its rows to @poison;
 * under the table's lock
 */
void __kvp_table_rows_lost(struct kvp_tpage *leaf, u64 poison);

/**
 * __kvp_table_row_unwritten() - block @own of the vdev is discarded together with its whole row
 *
 * The parity, which is zeros then, is as unwritten as the data. Under kvp_table_lock().
 */
void __kvp_table_row_unwritten(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_vblock_t own);

void kvp_table_unlock(struct kvp_pool *pool);

/**
 * kvp_table_next_own() - find the first block of @v, from @own on, with anything written below the
 * same leaf; or @end
 *
 * For discards: a null pointer stays null, and costs nothing per leaf. If all blocks below a page
 * of level 1 are before @end, and it is not in memory, it is not read: the block is the first one
 * below it. Caller holds pool->checkpoint_lock. Return: 0, or -errno: of the page above *@next,
 * which cannot be read.
 */
int __must_check kvp_table_next_own(struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end,
				    kvp_vblock_t *next);

/** kvp_leaf_behind() - the first block of @v behind those below the leaf of @own */
static inline kvp_vblock_t kvp_leaf_behind(const struct kvp_geometry *g, kvp_vblock_t own)
{
	u64 nr = kvp_vblock_nr(own);

	return kvp_vblock(nr - nr % kvp_leaf_blocks(g) + kvp_leaf_blocks(g));
}

/**
 * kvp_table_discard_reach() - how far kvp_table_discard() may go from @own on, before @end
 *
 * Behind all that is below one page of level 1, if that is not in memory, or below one leaf. First
 * and last block are then of the pool. Any context.
 */
kvp_vblock_t kvp_table_discard_reach(const struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end);

/**
 * kvp_table_discard() - make blocks of @v from *@own on unwritten, before @behind
 * @own: receives how far it came
 * @behind: by kvp_table_discard_reach()
 *
 * In a parity1 they are whole stripes, whose parity becomes unwritten, too. Caller holds the range
 * lock and pool->checkpoint_lock. An empty leaf becomes a null pointer with the next checkpoint. A
 * leaf that is not in memory, and is discarded as a whole, becomes one at once, and is not read for
 * that. Nor is a page of level 1 that is discarded as a whole, while it is not in memory, and
 * nothing is poisoned below it.
 *
 * Return: 1: a page may be dirty; 0: at most a pointer in a page above has changed; or -errno.
 */
int __must_check kvp_table_discard(struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t behind);

/**
 * kvp_table_next_changed() - find the first block at or after @block under which anything changed
 * since @since
 * @since: era; pages whose newest change, as of the last checkpoint, is older are skipped. 0: skip
 *	only what was never written.
 *
 * Return: 0 and the block in *@next (pool size at the end), or -errno when a page on the way cannot
 * be read. *@next is then the first block behind those below that page or, with several vdevs,
 * behind this turn.
 */
int __must_check kvp_table_next_changed(struct kvp_pool *pool, kvp_block_t block, u32 since,
					kvp_block_t *next);

/**
 * kvp_table_next_of_vdev() - kvp_table_next_changed() for one vdev
 * @own: block of @v; @end: behind the last one of interest
 *
 * Return: 0 and the block of @v in *@next, or @end; or -errno: a page above *@next cannot be read,
 * which ends before *@behind.
 */
int __must_check kvp_table_next_of_vdev(struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end,
					u32 since, kvp_vblock_t *next, kvp_vblock_t *behind);

/**
 * struct kvp_stretch - neighbouring blocks of the pool
 * @first, @end: the first one, and the one behind the last
 * @whole: nothing says which of them changed, so all count: the pointer above is null and has the
 *	era of a discard; or the page was given up, or cannot be read
 */
struct kvp_stretch {
	kvp_block_t first, end;
	bool whole;
};

/**
 * kvp_table_next_born() - find the first blocks at or after @block under which anything was
 * written, discarded or poisoned in era @since or later
 * @since: era, from 1 on; as of the last checkpoint
 * @s: receives them, all below one pointer or one leaf; first is the size of the pool if there is
 *	none
 *
 * Costs a look at each pointer that it comes to; pages whose newest change is older are not read.
 * Return: 0 or -ENOMEM. Context: process, may wait for I/O; takes no lock over that.
 */
int __must_check kvp_table_next_born(struct kvp_pool *pool, kvp_block_t block, u32 since,
				     struct kvp_stretch *s);

/** kvp_table_next_written() - kvp_table_next_changed() for anything that was ever written */
static inline int __must_check kvp_table_next_written(struct kvp_pool *pool, kvp_block_t block,
						      kvp_block_t *next)
{
	return kvp_table_next_changed(pool, block, 0, next);
}

/** kvp_table_next_poisoned() - kvp_table_next_changed() for the first poisoned block itself */
int __must_check kvp_table_next_poisoned(struct kvp_pool *pool, kvp_block_t block,
					 kvp_block_t *next);

/**
 * kvp_table_poison_durable() - true if all poison is durable that existed when @poisonings was read
 */
static inline bool kvp_table_poison_durable(const struct kvp_table *t, u32 poisonings)
{
	return (s32)(READ_ONCE(t->durable_poisonings) - poisonings) >= 0;
}

/**
 * kvp_table_reclaim() - drop up to @nr clean pages that are not in use; returns how many went. No
 * allocation.
 */
u32 kvp_table_reclaim(struct kvp_pool *pool, u32 nr);

/** kvp_table_shrink() - drop clean pages until the budget is kept; @all: every clean page */
void kvp_table_shrink(struct kvp_pool *pool, bool all);

/**
 * kvp_table_copy_page() - write the next table page of @v that has changed to legs that resilver
 * @level: of the page
 * @own: a block of @v; receives the first block behind the page that was found
 * @since: era; pages whose newest change is older are skipped
 * @page: to copy into
 *
 * A page that is dirty is not written: the next checkpoint writes it. Caller holds checkpoint_lock.
 * Return: 1; 0: there is none from *@own on; -ENOMEM: try again; or -errno: the page, or one above
 * it, cannot be read. Then *@own is behind it. A leg that does not take the page is given up.
 */
int __must_check kvp_table_copy_page(struct kvp_vdev *v, u32 level, kvp_vblock_t *own, u32 since,
				     struct page *page);

/**
 * struct kvp_table_page - a page of the table
 * @index: its number in its level
 * @ptr: the pointer that names it on disk
 * @dirty: it is not as it is on disk; the next checkpoint writes it
 */
struct kvp_table_page {
	u64 index, ptr;
	bool dirty;
};

/**
 * kvp_table_next_page() - find the next table page of @v that changed; copy it if it is clean
 * @level: of the page
 * @own: a block of @v; receives the first block behind the page that was found
 * @since: era; pages whose newest change on disk is older are skipped. 0: none
 * @page: to copy into
 * @is: receives which one it is
 *
 * Pages that were given up are passed over. Caller holds checkpoint_lock. Return: 1; 0: there is
 * none from *@own on; -ENOMEM: try again; or -errno: it, or one above it, cannot be read.
 */
int __must_check kvp_table_next_page(struct kvp_vdev *v, u32 level, kvp_vblock_t *own, u32 since,
				     struct page *page, struct kvp_table_page *is);

/** kvp_table_pointer() - the pointer to a page of @v with @w in @slot; null: nothing is below */
u64 kvp_table_pointer(const struct kvp_vdev *v, u32 level, u64 index, const __le64 *w,
		      unsigned int slot);

/**
 * kvp_table_scrub_page() - verify every copy of the page of @level above @block; heal
 * @good, @copy: pages to work with
 *
 * Caller holds pool->checkpoint_lock; entries may change meanwhile.
 * Return: number of copies repaired, -EIO when no copy verifies, or -ENOMEM.
 */
int __must_check kvp_table_scrub_page(struct kvp_pool *pool, kvp_block_t block, u32 level,
				      struct page *good, struct page *copy);

/* Parts of a checkpoint; caller holds pool->checkpoint_lock. */

/**
 * kvp_table_end_era() - let later changes belong to an era behind @era
 * @era: of a checkpoint that is durable
 * @now: even if the era has not lasted for a second
 *
 * Return: true if they do. If not, and not @now, then they will within a second. Caches have
 * forgotten all blocks that changed before. Context: process.
 */
bool kvp_table_end_era(struct kvp_table *t, u32 era, bool now);

/** kvp_table_snapshot() - take the dirty pages, fixed until kvp_table_written(); returns the era */
u32 kvp_table_snapshot(struct kvp_pool *pool, struct list_head *pages);

/** kvp_table_write() - write the snapshot bottom up into free slots; fills table->roots */
int __must_check kvp_table_write(struct kvp_pool *pool, struct list_head *pages);

/** kvp_table_note() - put roots and counts of the snapshot into @sb, after kvp_table_write() */
void kvp_table_note(const struct kvp_table *t, struct kvp_sb *sb);

/**
 * kvp_table_keep_roots() - keep the durable roots of @sb for kvp_table_put_roots(), if the next
 * ones do not become durable
 */
void kvp_table_keep_roots(struct kvp_table *t, const struct kvp_sb *sb);
void kvp_table_put_roots(const struct kvp_table *t, struct kvp_sb *sb);

/**
 * kvp_table_forget() - drop all pages from memory
 *
 * Return: false: some are dirty or in use. Context: the pool is quiesced.
 */
bool __must_check kvp_table_forget(struct kvp_pool *pool);

/** kvp_table_take_roots() - the roots are those of @sb. Context: no page is in memory. */
void kvp_table_take_roots(struct kvp_table *t, const struct kvp_sb *sb);

/**
 * kvp_table_clear_roots() - from root @from on there is no page yet.
 *
 * Context: the pool is quiesced.
 */
void kvp_table_clear_roots(struct kvp_table *t, u32 from);

/**
 * kvp_table_swap_batch() - use @batch for writing pages.
 *
 * Return: the old one. Context: the pool is quiesced.
 */
struct kvp_batch *kvp_table_swap_batch(struct kvp_table *t, struct kvp_batch *batch);

/** kvp_table_written() - the superblock is durable (or, with @error, is not) */
void kvp_table_written(struct kvp_pool *pool, struct list_head *pages, int error);

#endif /* KVP_TABLE_H */
