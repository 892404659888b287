/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packed versions: spilled versions of which only a record is in memory (policy/packed.h).
 *
 * A version is packed when the elevator learns of it (kvp_wbuf_pack()). It must be the only version
 * of its block then, and plain data. It stays packed until destage takes it. A newer version of the
 * block, or a discard, only marks the record. So these need no memory for it. A packed version is
 * older than any other version of its block that waits, and than each pending discard.
 *
 * Records lie in shelves, by a hash of the address, so that readers seldom meet at a lock. A walk
 * by address looks at all shelves where it comes to the next part of the pool.
 *
 * Locks: the lock of a shelf is taken last, behind a bucket's, and behind wbuf->lock. Records are
 * added and taken out only by destage, or while the buffer is not in use; and only with the
 * block's bucket locked. They are marked with the bucket locked. So a holder of the bucket's lock
 * may trust what it found, and destage may walk without it.
 */
#ifndef KVP_PACKS_H
#define KVP_PACKS_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "policy/packed.h"

#define KVP_PACKS_SHELF_BITS	4
#define KVP_PACKS_SHELVES	(1u << KVP_PACKS_SHELF_BITS)
#define KVP_PACKS_PART_BITS	9	/* neighbouring blocks on a shelf: 2 MiB */

struct kvp_packs_shelf {
	spinlock_t lock;
	struct kvp_packed set;
} ____cacheline_aligned_in_smp;

/**
 * struct kvp_packs - all packed versions
 * @shelves: their records
 * @nr: number of records; changed under wbuf->lock, read without it
 * @places: where they lie in the log; by wbuf->lock. @base is also read without it
 * @spare: a page for the next record; destage alone
 */
struct kvp_packs {
	struct kvp_packs_shelf shelves[KVP_PACKS_SHELVES];
	u32 nr;
	struct kvp_packed_places places;
	struct kvp_packed_page *spare;
};

/** kvp_packs_init() - begin without versions */
void kvp_packs_init(struct kvp_packs *p);

/** kvp_packs_exit() - drop all records. Context: the buffer is not in use. */
void kvp_packs_exit(struct kvp_packs *p);

/** kvp_packs_nr() - number of packed versions. Context: any. */
static inline u32 kvp_packs_nr(const struct kvp_packs *p)
{
	return READ_ONCE(p->nr);
}

/** kvp_packs_bytes() - memory that the records take. Context: any; about. */
u64 kvp_packs_bytes(const struct kvp_packs *p);

/**
 * kvp_packs_find() - get the record of @block. Return: false: it has none. Context: with the
 * block's bucket locked, or destage alone.
 */
bool kvp_packs_find(struct kvp_packs *p, kvp_block_t block, struct kvp_packed_rec *r);

/** kvp_packs_supersede() - kvp_packed_supersede(). Context: with the block's bucket locked. */
bool __must_check kvp_packs_supersede(struct kvp_packs *p, kvp_block_t block, u8 *flags);

/** kvp_packs_mark() - mark the record of @block. Context: with the block's bucket locked. */
void kvp_packs_mark(struct kvp_packs *p, kvp_block_t block, u8 flags);

/**
 * kvp_packs_lsn() - the lsn of the entry that has the version of @r, which is packed. Context: as
 * for kvp_packs_find().
 */
static inline kvp_lsn_t kvp_packs_lsn(const struct kvp_packs *p, const struct kvp_packed_rec *r)
{
	return kvp_packed_lsn(READ_ONCE(p->places.base), r->lsn);
}

/** kvp_packs_prepare() - get memory for the next kvp_packs_add(). Context: destage alone. */
void kvp_packs_prepare(struct kvp_packs *p);

/**
 * __kvp_packs_add() - add record @r, whose entry is at @lsn
 *
 * Context: destage alone; the block's bucket is locked, and wbuf->lock is held. Return: false:
 * there is no memory, or no place for it.
 */
bool __must_check __kvp_packs_add(struct kvp_packs *p, const struct kvp_packed_rec *r,
				   kvp_lsn_t lsn);

/**
 * __kvp_packs_replace() - put record @r, whose entry is at @lsn, where that of its block is
 * @old: out: what was there
 *
 * It needs no memory. Context: as for __kvp_packs_add(). Return: false: the block has no record, or
 * there is no place for it. Nothing has changed then.
 */
bool __must_check __kvp_packs_replace(struct kvp_packs *p, const struct kvp_packed_rec *r,
				       kvp_lsn_t lsn, struct kvp_packed_rec *old);

/** __kvp_packs_del() - take out record @r. Context: as for __kvp_packs_add(). */
void __kvp_packs_del(struct kvp_packs *p, const struct kvp_packed_rec *r);

/**
 * kvp_packs_next() - get the record of the first block from @from on; false: there is none
 *
 * Context: destage alone, or a caller that takes the bucket's lock after it, and looks again.
 */
bool kvp_packs_next(struct kvp_packs *p, kvp_block_t from, struct kvp_packed_rec *r);

/**
 * struct kvp_packs_walk - over packed versions, in no order
 * @shelf: the shelf where it is; 0 first
 * @q: which versions
 */
struct kvp_packs_walk {
	u32 shelf;
	struct kvp_packed_query q;
};

/**
 * kvp_packs_collect() - get up to @max blocks, and how many they are in *@n
 *
 * *@n may be 0 before the end. Return: false: it is at the end. Context: destage alone.
 */
bool kvp_packs_collect(struct kvp_packs *p, struct kvp_packs_walk *walk, kvp_block_t *blocks,
			u32 max, u32 *n);

#endif /* KVP_PACKS_H */
