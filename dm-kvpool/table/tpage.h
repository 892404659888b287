/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of table/ share: where a page is in the tree, and pages in memory. Other parts use
 * table/table.h alone.
 *
 * A lower file does not call a higher one:
 *
 *	discard.c  walk.c  pages.c  giveup.c  write.c	what the table does for others
 *	load.c						a page, and all above it, into memory
 *	ahead.c						leaves that a stream needs soon
 *	lost.c						what stands in for a lost page
 *	patience.c					asking again for a silent page
 *	read.c						copies on legs and SSDs
 *	entry.c  pointer.c  tpage.c			entries; pointers; pages in memory
 *
 * table.c begins and ends all of this, and keeps the roots.
 */
#ifndef KVP_TABLE_TPAGE_H
#define KVP_TABLE_TPAGE_H

#include <linux/mm.h>

#include "core/core.h"
#include "format/regions.h"
#include "table/table.h"

/* What becomes of a page that no leg gives. Lost leaves are poisoned in any case. */
enum kvp_if_lost {
	KVP_LOST_STAYS,		/* a page above the leaves stays as it is, and cannot be read */
	KVP_LOST_GOES,		/* it is given up, and silent legs are asked with patience */
	/* so is any page that legs fail to read which answer elsewhere */
	KVP_LOST_BY_FORCE,
};

/**
 * tpage_span() - how many blocks of @v are below a page of @level
 *
 * Levels count from 0, the leaves. Below a leaf are 512 blocks, in a parity1 a little less. Context
 * of this function and of those that follow: any.
 */
static inline u64 tpage_span(const struct kvp_vdev *v, u32 level)
{
	return (u64)kvp_leaf_blocks(v->g) << (KVP_PTRS_SHIFT * level);
}

/** tpage_index() - the index of the page of @level above @block of the vdev */
static inline u64 tpage_index(const struct kvp_vdev *v, u32 level, kvp_vblock_t block)
{
	return kvp_entry_index(v->g, block) >> (KVP_PTRS_SHIFT * (level + 1));
}

/** tpage_first() - the first block below page @index of @level; @index may be behind the last */
static inline kvp_vblock_t tpage_first(const struct kvp_vdev *v, u32 level, u64 index)
{
	return kvp_vblock(index * tpage_span(v, level));
}

/** tpage_pool_end() - the end of the pool as a block of the vdev */
static inline kvp_vblock_t tpage_pool_end(const struct kvp_vdev *v)
{
	return kvp_vdev_from(v, kvp_vdevs_end(v->all));
}

/** table_readonly() - kvp_pool_readonly() of the pool */
static inline bool table_readonly(const struct kvp_table *t)
{
	return test_bit(KVP_POOL_READONLY, t->client.flags);
}

/**
 * tpage_words() - the contents of @tp: entries of a leaf, else pointers; KVP_PTRS_PER_PAGE of them
 *
 * Others read them without a lock. A change is by t->lock, or before lookups find the page.
 */
static inline __le64 *tpage_words(const struct kvp_tpage *tp)
{
	return page_address(tp->page);
}

/**
 * tpage_load_lock() - the lock under which page (@level, @index) enters memory, and leaves it
 *
 * Other pages of the level share it, of all vdevs. Locks of leaves are the outermost.
 */
static inline struct mutex *tpage_load_lock(struct kvp_table *t, u32 level, u64 index)
{
	return &t->load_locks[level][index % KVP_TABLE_LOAD_LOCKS];
}

/** tpage_parity_word() - which word of @leaf is the entry of the parity of @row */
static inline u32 tpage_parity_word(const struct kvp_tpage *leaf, u64 row)
{
	return (u32)kvp_parity_index(leaf->v->g, row) % KVP_PTRS_PER_PAGE;
}

/** tpage_pointer() - the pointer to page @index below @parent; NULL: among the roots of @v */
static inline u64 tpage_pointer(struct kvp_table *t, const struct kvp_vdev *v,
				struct kvp_tpage *parent, u64 index)
{
	return parent ? le64_to_cpu(READ_ONCE(tpage_words(parent)[index % KVP_PTRS_PER_PAGE])) :
			READ_ONCE(t->roots[v->first_root + index]);
}

/**
 * tpage_copy() - the place of copy @copy of the page that @ptr, a pointer to @tp, names
 *
 * tpage_durable_copy() - the same for tp->durable
 */
static inline struct kvp_place tpage_copy(const struct kvp_tpage *tp, u64 ptr, u32 copy)
{
	return kvp_page_place(tp->v->g, tp->level, tp->index, kvp_ptr_slot(ptr), copy);
}

static inline struct kvp_place tpage_durable_copy(const struct kvp_tpage *tp, u32 copy)
{
	return tpage_copy(tp, tp->durable, copy);
}

/**
 * tpage_leaf_end() - the end of the pool's blocks below @leaf, as a block of the vdev
 *
 * The vdev's region, or the pool, may end within the leaf.
 */
static inline kvp_vblock_t tpage_leaf_end(const struct kvp_vdev *v, const struct kvp_map_leaf *leaf)
{
	return kvp_vblock_first(kvp_vblock_add(leaf->own, leaf->blocks), tpage_pool_end(v));
}

/** tpage_leaf_used() - how many blocks of the pool are below @leaf */
static inline u64 tpage_leaf_used(const struct kvp_vdev *v, const struct kvp_map_leaf *leaf)
{
	return kvp_vblock_since(tpage_leaf_end(v, leaf), leaf->own);
}

/** tpage_behind() - the first block behind all blocks below the page of @level above @block */
static inline kvp_vblock_t tpage_behind(const struct kvp_vdev *v, u32 level, kvp_vblock_t block)
{
	return tpage_first(v, level, tpage_index(v, level, block) + 1);
}

/* tpage.c */

/** kvp_tpage_lookup() - the page in memory, with a reference; or NULL. Context: any. */
struct kvp_tpage *kvp_tpage_lookup(struct kvp_table *t, const struct kvp_vdev *v, u32 level,
				   u64 index);

/** kvp_tpage_alloc() - allocate a page without a name, and memory for its contents */
struct kvp_tpage *kvp_tpage_alloc(gfp_t gfp);

/**
 * kvp_tpage_free() - free a page that lookups do not find, and that no task uses
 *
 * Its memory is freed at once, and @tp after a grace period, since lookups may still look at it.
 * Context: any but interrupt.
 */
void kvp_tpage_free(struct kvp_tpage *tp);

/**
 * kvp_tpage_new() - make a page that lookups do not find yet; its contents are undefined
 * @parent: the page takes over this reference
 *
 * Does not wait for memory, but may wait for a grace period. Caller holds the page's load lock.
 * Return: the page with two references, one for the tree and one for the caller; or NULL.
 */
struct kvp_tpage *kvp_tpage_new(struct kvp_table *t, struct kvp_vdev *v, u32 level, u64 index,
				struct kvp_tpage *parent);

/**
 * kvp_tpage_new_if_free() - kvp_tpage_new() for a page that no task waits for
 *
 * Takes no reference of @parent. NULL, too, if the budget is used up or memory is short.
 */
struct kvp_tpage *kvp_tpage_new_if_free(struct kvp_table *t, struct kvp_vdev *v, u32 level,
					u64 index, struct kvp_tpage *parent);

/** kvp_tpage_enter() - let lookups find the complete page. Caller holds its load lock. */
void kvp_tpage_enter(struct kvp_table *t, struct kvp_tpage *tp);

/** kvp_tpage_release() - give a page that lookups do not find to the reserve, or free it */
void kvp_tpage_release(struct kvp_table *t, struct kvp_tpage *tp);

/* entry.c */

/** __kvp_tpage_dirty() - the page changed: the next checkpoint writes it. Caller holds @t->lock. */
void __kvp_tpage_dirty(struct kvp_table *t, struct kvp_tpage *tp);

/** __kvp_tpage_poison() - mark the page and its ancestors: poison is below. By @t->lock. */
void __kvp_tpage_poison(struct kvp_tpage *tp);

/**
 * __kvp_table_set_data() - change the entry of data block @block, as __kvp_table_set()
 * @entry: the whole new entry
 * @home: the version that is home from now on, or NULL
 */
void __kvp_table_set_data(struct kvp_table *t, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
			  const struct kvp_version *home);

/** kvp_table_tell_cache() - entries of @count blocks from @block on have changed. Context: any. */
void kvp_table_tell_cache(const struct kvp_table *t, kvp_block_t block, u32 count);

/* pointer.c */

/**
 * kvp_tpage_fits_pointer() - does the page, whose sum is right, fit its pointer in all else?
 *
 * Return: true if it has the era that the pointer names, and poison if and only if the pointer says
 * so. Context: any.
 */
bool kvp_tpage_fits_pointer(const struct kvp_tpage *tp);

/* read.c */

/** kvp_tpage_verifies() - does @page have the contents of @tp that the pointer @ptr names? Pure. */
bool kvp_tpage_verifies(const struct kvp_tpage *tp, u64 ptr, struct page *page);

/**
 * kvp_tpage_read_copy() - read one copy of the page that @tp->durable names into @page
 * @leg, @at: where the copy is
 *
 * Return: 0; -EBADMSG: the contents are not that page; or the error of the read. Waits for I/O, as
 * kvp_io_read_patiently().
 */
int __must_check kvp_tpage_read_copy(struct kvp_table *t, struct kvp_leg *leg, kvp_lblock_t at,
				     const struct kvp_tpage *tp, struct page *page);

/**
 * kvp_tpage_try_copy() - read copy @copy of the page that @ptr, a pointer to @tp, names
 *
 * For a caller that does not keep checkpoints away: one may overwrite the copy meanwhile. So the
 * leg is not blamed. The caller does that with kvp_tpage_copy_failed(), which gets the result, once
 * it knows that the copy should have been there. Return: 0; -EBADMSG: other contents; or the error
 * of the read. Waits for I/O, as kvp_io_read_patiently().
 */
int __must_check kvp_tpage_try_copy(struct kvp_table *t, const struct kvp_tpage *tp, u64 ptr,
				    u32 copy, struct page *page);
void kvp_tpage_copy_failed(struct kvp_leg *leg, int error);

/**
 * kvp_tpage_repair() - overwrite the copies in mask @bad with @page, which is good
 *
 * Return: how many were repaired. Waits for I/O.
 */
int kvp_tpage_repair(struct kvp_table *t, const struct kvp_tpage *tp, unsigned long bad,
		     struct page *page);

/**
 * kvp_tpage_read() - read the page that @tp->durable names, from an SSD or from any leg (R9)
 * @keep: the page stays in memory: repair bad copies, and write a copy to an SSD
 *
 * Return: 0; -EBADMSG: every leg in use answers, twice, and none has the page; -EIO: some legs do
 * not answer. Waits for I/O, as kvp_io_read_patiently().
 */
int __must_check kvp_tpage_read(struct kvp_table *t, struct kvp_tpage *tp, bool keep);

/**
 * kvp_tpage_is_gone() - is a page that no leg gives probably gone for good?
 *
 * True if every leg in use either answers and lacks the page, or fails to read this place alone: it
 * answers elsewhere. The contents of @tp->page are undefined then. For an order by force, since
 * such an error may pass. Waits for I/O.
 */
bool kvp_tpage_is_gone(struct kvp_table *t, struct kvp_tpage *tp);

/* patience.c */

/**
 * kvp_tpage_read_patiently() - as kvp_tpage_read(), but ask a silent leg again for some seconds
 *
 * For writing accepted blocks home, and for an order. Return: as kvp_tpage_read(). Waits for I/O,
 * and sleeps.
 */
int __must_check kvp_tpage_read_patiently(struct kvp_table *t, struct kvp_tpage *tp, bool keep);

/** kvp_tpage_not_silent() - a leg gave the page, or it is given up: nothing waits for it */
void kvp_tpage_not_silent(struct kvp_table *t, const struct kvp_tpage *tp);

/* lost.c */

/** kvp_tpage_part() - the page, and which blocks of the pool lie below it */
struct kvp_table_part kvp_tpage_part(const struct kvp_table *t, const struct kvp_tpage *tp);

/** kvp_blocks_below() - how many blocks of the pool are below page @index of @level */
u64 kvp_blocks_below(const struct kvp_vdev *v, u32 level, u64 index);

/** kvp_tpage_fill_lost() - fill in for a lost page above the leaves: all below it is lost */
void kvp_tpage_fill_lost(struct kvp_tpage *tp);

/**
 * kvp_leaf_poison() - fill in for a lost leaf that readers cannot find yet: poison every block
 * @counted: the page above was given up, so this poison is counted already, and the leaf does not
 *	become dirty
 *
 * Context: process; takes @t->lock.
 */
void kvp_leaf_poison(struct kvp_table *t, struct kvp_tpage *leaf, bool counted);

/**
 * kvp_tpage_read_or_poison() - kvp_tpage_read(), and if the page is lost, fill in for it
 *
 * Return: 0; -EIO: legs do not answer, or the page is lost and stays so; -ENOMEM. Waits for I/O.
 */
int __must_check kvp_tpage_read_or_poison(struct kvp_table *t, struct kvp_tpage *tp,
					  enum kvp_if_lost if_lost);

/* ahead.c */

/**
 * kvp_table_read_ahead() - leaf @first was read from a leg: read those behind it, too
 *
 * Only if the leaf before it is in memory, as it is for a stream, and where legs seek. Nothing that
 * goes wrong here counts: the leaf is read when it is needed. Caller holds the load lock of @first,
 * and a reference. Waits for I/O.
 */
void kvp_table_read_ahead(struct kvp_table *t, const struct kvp_tpage *first);

/* load.c */

/**
 * __kvp_tpage_load() - load page (@level, @index), and all pages above it
 *
 * Return: the page with a reference, or an error pointer, as kvp_table_load(). Waits for I/O.
 */
struct kvp_tpage * __must_check __kvp_tpage_load(struct kvp_table *t, struct kvp_vdev *v, u32 level,
						 u64 index,
						 enum kvp_if_lost if_lost);

/** kvp_tpage_load() - the same, giving nothing up */
struct kvp_tpage * __must_check kvp_tpage_load(struct kvp_table *t, struct kvp_vdev *v, u32 level,
					       u64 index);

/* discard.c */

/**
 * kvp_table_behind_whole() - can a discard from @own to before @end do without a page of level 1?
 *
 * It can if it covers all that is below that page, and the page is not in memory. First and last
 * block must be blocks of the pool, since the caller locks their range. Return: the block behind
 * all that is below the page, or @own. Context: any.
 */
kvp_vblock_t kvp_table_behind_whole(struct kvp_table *t, const struct kvp_vdev *v, kvp_vblock_t own,
				    kvp_vblock_t end);

#endif /* KVP_TABLE_TPAGE_H */
