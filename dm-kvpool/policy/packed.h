/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packed set: what must be known of versions that only the log of a cache has, in few bytes.
 *
 * A version needs 128 bytes while it waits in lists. One that only waits in the log needs little:
 * its block, and the place and the sum of its contents. These take 16 bytes here. Records lie in
 * pages, sorted by block. So a walk over the set is a walk by address, and no block costs more than
 * its record and its share of a page. A full page first gives records to its neighbours. It is
 * split only when these are full, too, and two full pages become three. Pages that are empty enough
 * are joined again. So pages are three quarters full in the mean, however blocks are scattered.
 *
 * The set does not know the order of the log. struct kvp_packed_places says about where the oldest
 * record lies.
 *
 * This is a pure structure: no I/O, and no locks.
 */
#ifndef KVP_PACKED_H
#define KVP_PACKED_H

#include <linux/rbtree.h>
#include <linux/types.h>

#include "format/format.h"

#define KVP_PACKED_SUPERSEDED	0x1u	/* a newer version exists */
#define KVP_PACKED_PASSED	0x2u	/* it must never go home (kvp_version.passed) */
#define KVP_PACKED_RESTORED	0x4u	/* a recovery has left it in the log */
#define KVP_PACKED_RESERVED	0x8u	/* log space is kept for its row's parity */

#define KVP_PACKED_MAX_PAYLOAD	1023u	/* a record has no room for more */
#define KVP_PACKED_MAX_REC	1023u

/**
 * struct kvp_packed_rec - a record, as it is put in and taken out
 * @block: the key
 * @lsn: low half of the lsn of the version's entry (kvp_packed_lsn())
 * @crc, @payload, @rec, @row: as in struct kvp_version
 * @flags: KVP_PACKED_*
 */
struct kvp_packed_rec {
	kvp_block_t block;
	u32 lsn, crc;
	u16 payload, rec;
	u8 row, flags;
};

/* How a record lies in a page; @bits: payload, rec, row and flags. */
struct kvp_packed_slot {
	u32 block, lsn, crc, bits;
};

/*
 * Bytes of a page, and records in it. A record that is added or taken out moves a quarter of the
 * page in the mean, so it is small.
 */
#define KVP_PACKED_BYTES	1024u
#define KVP_PACKED_SLOTS	62u

/**
 * struct kvp_packed_page - a page of records
 * @node: in kvp_packed.pages, by the first block
 * @high: the upper half of all block numbers in it
 * @nr: number of slots in use; at least one
 */
struct kvp_packed_page {
	struct rb_node node;
	u32 high, nr;
	struct kvp_packed_slot slots[KVP_PACKED_SLOTS];
};

/**
 * struct kvp_packed - a packed set
 * @pages: its pages
 * @last, @last_slot: where a record was looked for last: most are looked for a few times in a row.
 *	Another record may lie there by now. @last may be NULL
 * @nr, @nr_pages: number of records, and of pages
 */
struct kvp_packed {
	struct rb_root pages;
	struct kvp_packed_page *last;
	u32 last_slot;
	u32 nr, nr_pages;
};

/** kvp_packed_init() - begin without records */
void kvp_packed_init(struct kvp_packed *p);

/** kvp_packed_clear() - take out all records. Context: any. */
void kvp_packed_clear(struct kvp_packed *p);

/**
 * kvp_packed_spare() - allocate a page for kvp_packed_add(), free it with kfree(). Return: NULL:
 * there is no memory, which is not waited for. Context: any but interrupt.
 */
struct kvp_packed_page *kvp_packed_spare(void);

/**
 * kvp_packed_add() - add record @r
 * @spare: a page; NULL afterwards, if it was used
 *
 * Return: false: the block has a record, or *@spare is needed, and NULL.
 */
bool __must_check kvp_packed_add(struct kvp_packed *p, const struct kvp_packed_rec *r,
				 struct kvp_packed_page **spare);

/**
 * kvp_packed_replace() - put @r where the record of its block is, which @old receives
 *
 * Return: false: the block has none, and nothing has changed.
 */
bool __must_check kvp_packed_replace(struct kvp_packed *p, const struct kvp_packed_rec *r,
				     struct kvp_packed_rec *old);

/** kvp_packed_find() - get the record of @block; false: there is none */
bool kvp_packed_find(struct kvp_packed *p, kvp_block_t block, struct kvp_packed_rec *r);

/**
 * kvp_packed_supersede() - mark the record of @block as superseded
 * @flags: out: the marks that it had
 *
 * Return: false: there is none, or it was superseded before.
 */
bool __must_check kvp_packed_supersede(struct kvp_packed *p, kvp_block_t block, u8 *flags);

/** kvp_packed_mark() - add @flags to the record of @block, which must be there */
void kvp_packed_mark(struct kvp_packed *p, kvp_block_t block, u8 flags);

/** kvp_packed_del() - take out the record of @block, which must be there */
void kvp_packed_del(struct kvp_packed *p, kvp_block_t block);

/** kvp_packed_next() - get the record of the first block from @from on; false: there is none */
bool kvp_packed_next(const struct kvp_packed *p, kvp_block_t from, struct kvp_packed_rec *r);

/**
 * struct kvp_packed_query - which records to collect
 * @from: go on at this block. Out: where to go on next, if @more
 * @base, @span: records less than @span behind @base in the log
 * @flags: or records with one of these
 * @more: out: there may be more
 */
struct kvp_packed_query {
	kvp_block_t from;
	u32 base, span;
	u8 flags;
	bool more;
};

/**
 * kvp_packed_collect() - get up to @max blocks, in order
 *
 * It looks at KVP_PACKED_LOOKS pages at most. Return: how many blocks.
 */
#define KVP_PACKED_LOOKS	32u
u32 kvp_packed_collect(const struct kvp_packed *p, struct kvp_packed_query *q, kvp_block_t *blocks,
		       u32 max);

/* --- places in the log ------------------------------------------------------------------- */

#define KVP_PACKED_BINS		1024u

/**
 * struct kvp_packed_places - how many records lie where in the log, about
 * @base: where the first bin begins; no record lies below it
 * @shift: a bin has 2 to the power of this many blocks of the log. It grows with the range that the
 *	records span
 * @first: no bin below this one has records
 * @nr: number of records
 * @bins: number of records in each
 */
struct kvp_packed_places {
	kvp_lsn_t base;
	u32 shift, first, nr;
	u32 bins[KVP_PACKED_BINS];
};

/** kvp_packed_places_init() - begin without records */
void kvp_packed_places_init(struct kvp_packed_places *s);

/** kvp_packed_places_add() - count a record at @lsn; false: it lies too far from others */
bool __must_check kvp_packed_places_add(struct kvp_packed_places *s, kvp_lsn_t lsn);

/** kvp_packed_places_del() - a record at @lsn was taken out */
void kvp_packed_places_del(struct kvp_packed_places *s, kvp_lsn_t lsn);

/**
 * kvp_packed_places_oldest() - a place that no record lies below, as high as is known. Only if
 * there are records.
 */
kvp_lsn_t kvp_packed_places_oldest(const struct kvp_packed_places *s);

/** kvp_packed_places_part() - the place below which the oldest @n records lie, or a few more */
kvp_lsn_t kvp_packed_places_part(const struct kvp_packed_places *s, u32 n);

/** kvp_packed_lsn() - the lsn of a record with low half @low; no record may lie below @base */
static inline kvp_lsn_t kvp_packed_lsn(kvp_lsn_t base, u32 low)
{
	return kvp_lsn_add(base, (u32)(low - (u32)kvp_lsn_nr(base)));
}

#endif /* KVP_PACKED_H */
