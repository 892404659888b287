/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checksum table: one entry for each block, in a radix tree of 4 KiB pages for each vdev, on
 * that vdev. All roots are in the superblock, so one write of the superblock is a checkpoint.
 *
 * In memory a page is found through a hash table, and adding to it needs no memory. A leaf in
 * memory keeps its ancestors in memory. An entry changes in memory when its block has been written
 * home. A checkpoint writes the changed pages bottom up, into the slots that the durable root does
 * not name, and then the root.
 *
 * Readers look up entries without a lock: an entry is one word. Writers hold table->lock. A
 * checkpoint must write the same contents that it computes the sum of. So it writes a copy of the
 * leaf. Without memory for a copy it writes the leaf itself, and writers to that leaf wait.
 *
 * Destage frees memory, and needs table pages for that (R24). So some pages are kept in reserve.
 * When these are used up, a clean page that is not in use is reused. If there is none, the load
 * fails with -ENOMEM. The code that makes pages dirty then finishes with the pages that it has, and
 * takes a checkpoint, which makes them clean. So a writer that holds no page always gets one.
 */
#ifndef KVP_TABLE_H
#define KVP_TABLE_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "format/format.h"
#include "format/regions.h"
#include "super/finds.h"

struct kvp_batch;
struct kvp_leg;
struct kvp_rcache;
struct kvp_ssdcopies;
struct kvp_tpage;
struct kvp_vdevs;
struct kvp_version;
struct kvp_work_stats;
struct page;

enum kvp_tpage_flags {
	KVP_TPAGE_DIRTY,	/* it is on table->dirty */
	KVP_TPAGE_WRITING,	/* it is part of the running checkpoint */
	KVP_TPAGE_REFERENCED,	/* it was used since eviction last looked at it */
	/* A block below was poisoned since the page came into memory. By table->lock. */
	KVP_TPAGE_POISON,
	/*
	 * The page was discarded without being read, so the slots of its null pointers are unknown.
	 * Set before lookup() can find the page; cleared under table->lock and the page's load
	 * lock.
	 */
	KVP_TPAGE_UNREAD,
};

/**
 * struct kvp_tpage - one page of the table in memory
 * @hash: in its bucket; added and removed under table->lru_lock, read under RCU
 * @ref: one for being in the tree; one for each child, reader and list
 * @v: its vdev
 * @level: 0 for a leaf
 * @index: its number within the level
 * @at: of a leaf: the blocks of the pool that its entries are for
 * @flags: bits of enum kvp_tpage_flags
 * @changes: counts changes of its entries since it came into memory; may wrap. Raised under
 *	table->lock after an entry has changed; read with READ_ONCE
 * @durable: the pointer to it in the durable tree; null if the durable tree does not have it
 * @pending: the pointer to it in the tree of the running checkpoint
 * @parent: holds a reference; NULL at the top level
 * @page: contents, little endian
 * @fixed: of a leaf that the running checkpoint writes: a copy from when the checkpoint began, or
 *	NULL if there is none; by table->lock
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

/** kvp_leaf_word() - which word of @leaf is the entry of @block; they are in the vdev's order */
static inline u32 kvp_leaf_word(const struct kvp_tpage *leaf, kvp_block_t block)
{
	return (u32)kvp_vblock_since(kvp_vdev_block(leaf, block), leaf->at.own) % KVP_PTRS_PER_PAGE;
}

/** kvp_leaf_entry() - word @word of @leaf. Any context. */
static inline u64 kvp_leaf_entry(const struct kvp_tpage *leaf, u32 word)
{
	const __le64 *words = page_address(leaf->page);

	return le64_to_cpu(READ_ONCE(words[word]));
}

#define KVP_TABLE_LOAD_LOCKS	32
#ifndef KVP_TABLE_COPIES	/* the simulator's pools have few leaves */
#define KVP_TABLE_COPIES	1024	/* the most leaves that a checkpoint copies: 4 MiB */
#endif
/* pages of such copies that are kept for the next checkpoint: 512 KiB */
#define KVP_TABLE_KEPT_MOST	128u
#ifndef KVP_TABLE_KEPT		/* the simulator keeps none without memory */
#define KVP_TABLE_KEPT		KVP_TABLE_KEPT_MOST
#endif
/* a path is three pages; destage, direct workers and readers need one each */
#define KVP_TABLE_RESERVE	32

/**
 * struct kvp_table_client - what the table works for, and what it tells: it knows no more of a pool
 * @vdevs: its pages are on these; vdevs->sb has the roots that it begins with
 * @flags: of enum kvp_pool_flags: is the pool read-only, and does a suspend wait?
 * @checkpoint_lock: the pool's
 * @rcache: is told of entries that changed; so is @vdevs->cache_client
 * @copies: copies of pages on SSDs
 * @stats: counts what is read, written, healed and lost
 * @of: argument of all calls, those to @vdevs->cache_client as well
 * @make_poison_durable: kvp_poison_make_durable()
 * @healed: a copy of page (@level, @index) on @leg was bad, and was written again. Context: process
 * @lost: no leg has that page. Context: process
 * @given_up: page @tp above the leaves was lost and is given up: @blocks blocks are poisoned, from
 *	@first on. Context: process
 */
struct kvp_table_client {
	struct kvp_vdevs *vdevs;
	const unsigned long *flags;
	struct mutex *checkpoint_lock;
	struct kvp_rcache *rcache;
	struct kvp_ssdcopies *copies;
	struct kvp_work_stats *stats;
	void *of;
	int (*make_poison_durable)(void *of);
	void (*healed)(void *of, struct kvp_leg *leg, u32 level, u64 index);
	void (*lost)(void *of, const struct kvp_table_part *page);
	void (*silent)(void *of, const struct kvp_table_part *page);
	void (*given_up)(void *of, const struct kvp_tpage *tp, kvp_block_t first, u64 blocks);
};

#define KVP_TABLE_SILENT	8u
/* a silent page is asked for again after so long, by what goes home below it */
#define KVP_TABLE_REST_MS	5000u

/**
 * struct kvp_table_silent - a page that a leg may have, and that none gives (patience.c)
 * @vdev, @level, @index: the page
 * @until: it is asked for again until then, in jiffies; 0: no page
 * @asked: when it was asked for last
 * @place: legs failed to read this place alone then: they answer elsewhere
 * @told: the client was told
 */
struct kvp_table_silent {
	u32 vdev, level;
	u64 index;
	unsigned long until, asked;
	bool place, told;
};

struct kvp_table {
	struct kvp_table_client client;
	struct hlist_head *buckets;	/* 1 << bucket_bits of them */
	u32 bucket_bits;
	/*
	 * Held to add or remove a page; chosen by level and index. Those of leaves are outermost.
	 */
	struct mutex load_locks[KVP_MAX_LEVELS][KVP_TABLE_LOAD_LOCKS];
	/* for entries, and for the fields from here to @durable_poisonings */
	struct mutex lock;
	struct list_head dirty;
	u32 nr_dirty;
	u32 era;			/* era of entries that change now */
	unsigned long era_jiffies;	/* when that era began */
	u64 written, poisoned;		/* blocks in these states */
	/*
	 * Leaves that were discarded unread. @written was lowered as if each had been full, so it
	 * may be too low by the unwritten blocks of these leaves.
	 */
	u32 uncounted;
	u32 snap_uncounted;		/* at the snapshot */
	u64 snap_written, snap_poisoned; /* the same */
	struct kvp_table_part lost;	/* the page that was found lost last; by @lock */
	struct kvp_table_silent silent[KVP_TABLE_SILENT];	/* by @lock */
	u32 poisonings;			/* how often a block was poisoned; may wrap */
	u32 snap_poisonings, durable_poisonings; /* at the snapshot; in the durable root */

	/* By client.checkpoint_lock. */
	u64 roots[KVP_MAX_ROOTS];	/* as of the checkpoint being built */
	u64 old_roots[KVP_MAX_ROOTS];
	struct kvp_batch *batch;
	/* pages for copies of leaves; by @lock */
	struct page *kept[KVP_TABLE_KEPT_MOST];
	u32 nr_kept;

	wait_queue_head_t wait;		/* woken when pages are no longer KVP_TPAGE_WRITING */

	spinlock_t lru_lock;
	struct list_head lru;
	/* unused pages; one may be reused after a grace period of RCU */
	struct list_head reserve;
	u32 nr_reserve;
	u32 nr_pages;			/* in memory */
	u32 budget;			/* the most pages in memory */
};

/**
 * struct kvp_table_figures - numbers for status, and for the estimate of a recovery
 * @written, @poisoned: blocks in these states
 * @uncounted: leaves that were discarded unread, see struct kvp_table
 * @pages, @budget: pages in memory; the most that may be in memory
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

/** kvp_table_dirty() - how many pages changed since the last snapshot. Context: any. */
static inline u32 kvp_table_dirty(const struct kvp_table *t)
{
	return READ_ONCE(t->nr_dirty);
}

/** kvp_table_budget() - the most pages that may be in memory. Context: any. */
static inline u32 kvp_table_budget(const struct kvp_table *t)
{
	return READ_ONCE(t->budget);
}

/** kvp_table_set_budget() - set the budget; kvp_table_shrink() enforces it. Context: any. */
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
 * kvp_table_poisonings() - how often a block was poisoned, for kvp_table_poison_durable()
 *
 * Context: any.
 */
static inline u32 kvp_table_poisonings(const struct kvp_table *t)
{
	return READ_ONCE(t->poisonings);
}

/**
 * kvp_table_last_lost() - the page that was found lost last
 *
 * Context: recovery; nothing else loads pages.
 */
static inline const struct kvp_table_part *kvp_table_last_lost(const struct kvp_table *t)
{
	return &t->lost;
}

/**
 * kvp_table_init() - begin with the roots and counts of the superblock, and no page in memory
 * @c: is copied
 * @budget: the most pages that may be in memory
 *
 * Return: 0 or -ENOMEM; the caller must call kvp_table_exit() in both cases. Context: process.
 */
int __must_check kvp_table_init(struct kvp_table *t, const struct kvp_table_client *c, u32 budget);
void kvp_table_exit(struct kvp_table *t);

/**
 * kvp_table_find() - find the leaf of @block in memory
 *
 * kvp_table_find_at(): the caller has located the block. Return: the leaf with a reference, or
 * NULL. Context: any; takes no lock.
 */
struct kvp_tpage *kvp_table_find(struct kvp_table *t, kvp_block_t block);
struct kvp_tpage *kvp_table_find_at(struct kvp_table *t, const struct kvp_spot *at);

/**
 * kvp_table_load() - the leaf of @block, read and verified if it is not in memory
 *
 * If no copy of the leaf verifies, all blocks of the returned leaf are poisoned. Before a read is
 * answered by that poison, kvp_poison_make_durable() makes it durable.
 *
 * Return: the leaf with a reference, or an error pointer. -EIO: a leg does not answer and no other
 * leg has the page; or the pool is read-only and the page is lost; or a page above is lost.
 * -ENOMEM: every page is dirty or in use, so a checkpoint may help. Context: process, may wait for
 * I/O.
 */
struct kvp_tpage * __must_check kvp_table_load(struct kvp_table *t, kvp_block_t block);

/**
 * kvp_table_load_home() - as kvp_table_load(), for writing accepted blocks home, which must not
 * fail
 *
 * A lost page above the leaf is given up: all blocks below it are poisoned, until they are written.
 */
struct kvp_tpage * __must_check kvp_table_load_home(struct kvp_table *t, kvp_block_t block);

/**
 * kvp_table_keep_silent() - move versions from @versions to @kept that lie below a silent page
 *
 * That is a page that was asked for with patience, in vain, and for the last time just now. All
 * versions of a block are moved, or none. Return: true if there were any; with @versions NULL, true
 * if there is such a page. Context: process.
 */
bool kvp_table_keep_silent(struct kvp_table *t, struct list_head *versions, struct list_head *kept);

/**
 * kvp_table_give_up() - by order: poison all blocks below the lost page above @block, durably
 * @force: do so even if a leg is out that may have the page, or if legs fail to read this page, a
 *	leaf as well, and answer elsewhere
 *
 * No leaf below the page is read or written for that. Silent legs are asked with patience. Caller
 * holds no lock. Context: process, waits for a checkpoint.
 *
 * Return: 0; -ENOENT: no page above @block is lost; -EBUSY: legs are out; -EIO: a leg does not
 * answer; -EROFS; -ENOMEM.
 */
int __must_check kvp_table_give_up(struct kvp_table *t, kvp_block_t block, bool force);

/**
 * kvp_table_bound_lost() - before a vdev gets more blocks: what was given up ends with the pool
 *
 * A pointer to a page that was given up calls all below it lost, to the pool's end. If the end is
 * below it, blocks that come later would be lost, too. So the last leaf of each vdev, and the pages
 * above it, become pages of their own, which end where the pool ends now.
 *
 * Context: process, may wait for I/O; no user's request is under way. Return: 1: a leaf is dirty,
 * and a checkpoint must follow; 0: there is nothing to do; -ENOMEM.
 */
int __must_check kvp_table_bound_lost(struct kvp_table *t);

/**
 * kvp_table_put() - give back the reference that a load or a lookup has given
 *
 * The page may be evicted from now on. Context: any, interrupts too.
 */
void kvp_table_put(struct kvp_tpage *tp);

/** kvp_table_entry() - the entry of @block in its leaf. Any context. */
static inline u64 kvp_table_entry(const struct kvp_tpage *leaf, kvp_block_t block)
{
	return kvp_leaf_entry(leaf, kvp_leaf_word(leaf, block));
}

/**
 * kvp_table_parity() - the entry of the parity of @row, in the leaf of the row's data. Any context.
 *
 * Unwritten: no block of the row is written, and the parity is zeros. Poisoned: the parity is
 * unknown until it is computed anew from the data. Valid: it is the XOR of the row's data, in which
 * unwritten and poisoned blocks count as zeros.
 */
u64 kvp_table_parity(const struct kvp_tpage *leaf, u64 row);

/**
 * kvp_table_set() - change the entry of @block
 * @leaf: its leaf
 * @crc: ignored unless @state is valid
 *
 * The entry gets the era of the next checkpoint. Caller holds the block's range lock. Context:
 * process; waits while a checkpoint writes the page.
 */
void kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		   enum kvp_entry_state state);

/**
 * kvp_table_lock() - begin several changes to @leaf by __kvp_table_set()
 *
 * Context: process; waits while a checkpoint writes the page. A checkpoint waits until
 * kvp_table_unlock(), so change no more entries than one request has blocks.
 */
void kvp_table_lock(struct kvp_table *t, struct kvp_tpage *leaf);

/**
 * kvp_table_lock_next() - after changes to another leaf, go on with @leaf
 *
 * Acts as kvp_table_unlock() and kvp_table_lock(), but keeps the lock, unless a checkpoint writes
 * the page.
 */
void kvp_table_lock_next(struct kvp_table *t, struct kvp_tpage *leaf);

/**
 * __kvp_table_set() - kvp_table_set() between kvp_table_lock(), for @leaf, and kvp_table_unlock()
 *
 * Caller holds the block's range lock.
 */
void __kvp_table_set(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u32 crc,
		     enum kvp_entry_state state);

/**
 * __kvp_table_set_home() - @d has been written home: set its entry, and tell the caches
 *
 * Caller holds kvp_table_lock(), as for __kvp_table_set(), and the block's range lock until @d has
 * left the write buffer.
 */
void __kvp_table_set_home(struct kvp_table *t, struct kvp_tpage *leaf, const struct kvp_version *d);

/**
 * __kvp_table_set_homes() - the same for all of @versions, whose blocks are below @leaf
 *
 * Caches are told of neighbours that went home by intent as of one range. Return: how many versions
 * there are. Callers hold the same locks.
 */
u32 __kvp_table_set_homes(struct kvp_table *t, struct kvp_tpage *leaf,
			  const struct list_head *versions);

/**
 * __kvp_table_set_parity() - the same for the parity of @row, whose data is below @leaf
 *
 * See kvp_table_parity() for what the states mean. Caches are not told: they have no parity. Caller
 * holds kvp_table_lock(), and the range lock of the row.
 */
void __kvp_table_set_parity(struct kvp_table *t, struct kvp_tpage *leaf, u64 row, u32 crc,
			    enum kvp_entry_state state);

/**
 * __kvp_table_rows_lost() - set the parity of all rows of @leaf to @poison: @leaf is lost, and is
 * new
 *
 * Caller holds the table's lock.
 */
void __kvp_table_rows_lost(struct kvp_tpage *leaf, u64 poison);

/**
 * __kvp_table_row_unwritten() - block @own of the vdev is discarded together with its whole row
 *
 * The parity becomes unwritten as the data: it is zeros. Under kvp_table_lock().
 */
void __kvp_table_row_unwritten(struct kvp_table *t, struct kvp_tpage *leaf, kvp_vblock_t own);

void kvp_table_unlock(struct kvp_table *t);

/**
 * kvp_table_next_own() - find the first block of @v, from @own on, whose leaf has a written block
 * @end: receives no block behind this one; *@next is @end if there is none before it
 *
 * For discards: all that is below a null pointer is skipped at once. If all blocks below a page of
 * level 1 are before @end, and the page is not in memory, it is not read: *@next is then the first
 * block below it. Caller holds checkpoint_lock. Return: 0, or -errno: the page above *@next
 * cannot be read. Context: process, may wait for I/O.
 */
int __must_check kvp_table_next_own(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
				    kvp_vblock_t end, kvp_vblock_t *next);

/** kvp_leaf_behind() - the first block of @v behind all blocks that the leaf of @own has */
static inline kvp_vblock_t kvp_leaf_behind(const struct kvp_geometry *g, kvp_vblock_t own)
{
	u64 nr = kvp_vblock_nr(own);

	return kvp_vblock(nr - nr % kvp_leaf_blocks(g) + kvp_leaf_blocks(g));
}

/**
 * kvp_table_discard_reach() - how far one kvp_table_discard() may go from @own on
 *
 * Return: the end of all that is below one page of level 1, if that page is not in memory and all
 * of it is before @end; else the end of one leaf, or @end. In the first case the first and the last
 * block are blocks of the pool. Any context.
 */
kvp_vblock_t kvp_table_discard_reach(struct kvp_table *t, const struct kvp_vdev *v,
				     kvp_vblock_t own, kvp_vblock_t end);

/**
 * kvp_table_discard() - make blocks of @v unwritten, from *@own on, before @behind
 * @own: receives the block up to which it got
 * @behind: by kvp_table_discard_reach()
 *
 * In a parity1 they are whole stripes, whose parity becomes unwritten, too. Caller holds the range
 * lock and checkpoint_lock. A leaf that became empty becomes a null pointer with the next
 * checkpoint. A leaf that is not in memory, and is discarded as a whole, becomes a null pointer at
 * once, without being read. Nor is a page of level 1 read that is discarded as a whole, is not in
 * memory, and has no poison below it: a page of null pointers replaces it.
 *
 * Return: 1: a page may be dirty; 0: at most a pointer in a page above has changed; or -errno.
 * Context: process, may wait for I/O.
 */
int __must_check kvp_table_discard(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t *own,
				   kvp_vblock_t behind);

/**
 * kvp_table_next_changed() - find the first block at or after @block with a change since @since
 * @since: era; pages whose newest change, as of the last checkpoint, is older are skipped. 0: skip
 *	only what was never written.
 *
 * The search stops at a leaf, and does not look at its entries. Return: 0 and the block in *@next
 * (the pool's size at the end), or -errno: a page on the way cannot be read. *@next is then the
 * first block behind all blocks below that page or, with several vdevs, behind this turn. Context:
 * process, may wait for I/O.
 */
int __must_check kvp_table_next_changed(struct kvp_table *t, kvp_block_t block, u32 since,
					kvp_block_t *next);

/**
 * kvp_table_next_of_vdev() - kvp_table_next_changed() for one vdev
 * @own: the block of @v to begin with
 * @end: behind the last block of interest
 *
 * Return: 0 and the block of @v in *@next, or @end; or -errno: a page above *@next cannot be read,
 * and *@behind is behind all blocks below that page.
 */
int __must_check kvp_table_next_of_vdev(struct kvp_table *t, struct kvp_vdev *v, kvp_vblock_t own,
					kvp_vblock_t end, u32 since, kvp_vblock_t *next,
					kvp_vblock_t *behind);

/**
 * struct kvp_stretch - neighbouring blocks of the pool
 * @first, @end: the first block, and the block behind the last
 * @whole: all of them count as changed, since it is unknown which ones did: the pointer above is
 *	null and has the era of a discard; or the page was given up, or cannot be read
 */
struct kvp_stretch {
	kvp_block_t first, end;
	bool whole;
};

/**
 * kvp_table_next_born() - find the first blocks that were written, discarded or poisoned since
 * @since
 * @block: where the search begins
 * @since: era, from 1 on; as of the last checkpoint
 * @s: receives them, all below one pointer or one leaf; first is the size of the pool if there are
 *	none
 *
 * The search looks at each pointer on its way. It does not read pages whose newest change is older.
 * Return: 0 or -ENOMEM. Context: process, may wait for I/O; takes no lock over that.
 */
int __must_check kvp_table_next_born(struct kvp_table *t, kvp_block_t block, u32 since,
				     struct kvp_stretch *s);

/** kvp_table_next_written() - kvp_table_next_changed() for anything that was ever written */
int __must_check kvp_table_next_written(struct kvp_table *t, kvp_block_t block, kvp_block_t *next);

/**
 * kvp_table_next_poisoned() - find the first poisoned block at or after @block
 *
 * Blocks are passed over whose page cannot be read now, or is lost above the leaves: reads of them
 * fail as well.
 *
 * Return: 0 and the block in *@next (the pool's size if there is none); -EINTR: a suspend waits, so
 * ask again later; -ENOMEM. Context: process, may wait for I/O.
 */
int __must_check kvp_table_next_poisoned(struct kvp_table *t, kvp_block_t block, kvp_block_t *next);

/**
 * kvp_table_poison_durable() - true if all poison is durable that existed at @poisonings
 *
 * @poisonings is of kvp_table_poisonings(). Context: any.
 */
static inline bool kvp_table_poison_durable(const struct kvp_table *t, u32 poisonings)
{
	return (s32)(READ_ONCE(t->durable_poisonings) - poisonings) >= 0;
}

/**
 * kvp_table_reclaim() - free up to @nr clean pages that are not in use; allocates nothing
 *
 * Return: how many were freed.
 */
u32 kvp_table_reclaim(struct kvp_table *t, u32 nr);

/** kvp_table_shrink() - free clean pages until the budget is kept; @all: free every clean page */
void kvp_table_shrink(struct kvp_table *t, bool all);

/**
 * struct kvp_table_page - a page of the table
 * @index: its number in its level
 * @ptr: the pointer that names it on disk
 * @dirty: it differs from its copies on disk; the next checkpoint writes it
 */
struct kvp_table_page {
	u64 index, ptr;
	bool dirty;
};

/**
 * kvp_table_next_page() - find the next changed table page of @v; copy it if it is clean
 * @level: of the page
 * @own: a block of @v; receives the first block behind the page that was found
 * @since: era; pages whose newest change on disk is older are skipped. 0: none is skipped
 * @page: buffer for a copy of the page
 * @is: receives which page it is
 *
 * Pages that were given up are passed over. Caller holds checkpoint_lock. Return: 1; 0: there is
 * none from *@own on; -ENOMEM: try again; or -errno: it, or a page above it, cannot be read, and
 * *@own is behind it. Context: process, may wait for I/O.
 */
int __must_check kvp_table_next_page(struct kvp_table *t, struct kvp_vdev *v, u32 level,
				     kvp_vblock_t *own, u32 since, struct page *page,
				     struct kvp_table_page *is);

/**
 * kvp_table_pointer() - make the pointer to a page of @v with contents @w in @slot
 * @most: no entry of a leaf is of a newer era; KVP_ERA_MAX if that is unknown
 *
 * Return: the pointer; a null pointer if nothing is written below. Context: any.
 */
u64 kvp_table_pointer(const struct kvp_vdev *v, u32 level, u64 index, const __le64 *w,
		      unsigned int slot, u32 most);

/**
 * kvp_table_scrub_page() - verify every copy of the page of @level above @block, and heal bad ones
 * @good, @copy: pages to work with
 *
 * Entries may change meanwhile, and checkpoints go on. A page that one of them writes gets new
 * copies, and is left alone. Takes checkpoint_lock, and writes bad copies under it. Return: the
 * number of copies repaired; -EIO: no copy verifies; or -ENOMEM. Context: process, waits for I/O.
 */
int __must_check kvp_table_scrub_page(struct kvp_table *t, kvp_block_t block, u32 level,
				      struct page *good, struct page *copy);

/* Parts of a checkpoint; caller holds checkpoint_lock. */

/**
 * kvp_table_end_era() - let later changes belong to an era behind @era
 * @era: of a checkpoint that is durable
 * @now: do so even if the era has not lasted for a second
 *
 * Caches forgot a block when its entry changed, so they have no older contents of it. Return: true
 * if changes from now on have a later era. Without @now it may be false; then it is true at most a
 * second later. Context: process; takes table->lock.
 */
bool kvp_table_end_era(struct kvp_table *t, u32 era, bool now);

/**
 * kvp_table_snapshot() - take all dirty pages onto @pages, for a checkpoint
 *
 * Their contents are fixed until kvp_table_written(). Return: the era of the checkpoint. Context:
 * process; takes table->lock.
 */
u32 kvp_table_snapshot(struct kvp_table *t, struct list_head *pages);

/**
 * kvp_table_write() - write the pages of the snapshot bottom up into free slots; fills table->roots
 *
 * Return: 0 or -errno. Context: process, waits for I/O.
 */
int __must_check kvp_table_write(struct kvp_table *t, struct list_head *pages);

/** kvp_table_note() - put roots and counts of the snapshot into @sb, after kvp_table_write() */
void kvp_table_note(const struct kvp_table *t, struct kvp_sb *sb);

/**
 * kvp_table_keep_roots() - keep the durable roots of @sb
 *
 * kvp_table_put_roots() puts them back into @sb if the next roots do not become durable.
 */
void kvp_table_keep_roots(struct kvp_table *t, const struct kvp_sb *sb);
void kvp_table_put_roots(const struct kvp_table *t, struct kvp_sb *sb);

/**
 * kvp_table_forget() - drop all pages from memory
 *
 * The pool is quiesced. Return: false: some pages are dirty or in use. Context: process.
 */
bool __must_check kvp_table_forget(struct kvp_table *t);

/** kvp_table_take_roots() - take the roots of @sb. No page may be in memory. */
void kvp_table_take_roots(struct kvp_table *t, const struct kvp_sb *sb);

/**
 * kvp_table_clear_roots() - set root @from, and all behind it, to null: they have no pages yet
 *
 * The pool is quiesced.
 */
void kvp_table_clear_roots(struct kvp_table *t, u32 from);

/**
 * kvp_table_swap_batch() - use @batch for writing pages
 *
 * The pool is quiesced. Return: the old batch.
 */
struct kvp_batch *kvp_table_swap_batch(struct kvp_table *t, struct kvp_batch *batch);

struct kvp_spell;

/**
 * kvp_table_gives_way() - from now on checkpoints give way to other tasks, as kvp_give_way(); NULL:
 * they do not. By client.checkpoint_lock.
 */
void kvp_table_gives_way(struct kvp_table *t, struct kvp_spell *spell);

/**
 * kvp_table_written() - end the checkpoint: the superblock is durable, or with @error it is not
 *
 * Without @error the pages are clean. With @error they are dirty again. Context: process; takes
 * table->lock, and may wait for free copies on SSDs (table/ssdcopy.h).
 */
void kvp_table_written(struct kvp_table *t, struct list_head *pages, int error);

#endif /* KVP_TABLE_H */
