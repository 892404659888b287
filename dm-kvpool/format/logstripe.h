/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an entry of the log lies on the legs of a cache of kind parity1. Each entry is full stripes
 * of its own. So nothing is read to write it, and any one leg may be lost. Pure.
 *
 * An lsn counts blocks of all legs together, row by row: it lies on leg lsn mod n. Header block i
 * of an entry at lsn o lies at o + 2i, and once more at o + 2i + 1, on another leg. So a reader
 * finds a header without knowing its length. Behind it the payload is one request of
 * format/stripe.h, parity first. So an entry is one contiguous write on each leg.
 */
#ifndef KVP_LOGSTRIPE_H
#define KVP_LOGSTRIPE_H

#include "format/stripe.h"

/**
 * struct kvp_log_stripe - the shape of an entry, which does not depend on its place
 * @legs: KVP_STRIPE_MIN_LEGS to KVP_STRIPE_MAX_LEGS
 * @hdr_blocks: blocks of header and records, at least 1
 * @payload: blocks of payload; may be 0
 */
struct kvp_log_stripe {
	u32 legs, hdr_blocks, payload;
};

/** enum kvp_log_part - what one block of an entry is */
enum kvp_log_part {
	KVP_LOG_PART_HEADER,
	KVP_LOG_PART_PARITY,
	KVP_LOG_PART_PAYLOAD,
};

/** kvp_log_stripe_blocks() - lsns that the entry takes, with copies and parity */
static inline u32 kvp_log_stripe_blocks(const struct kvp_log_stripe *s)
{
	return 2 * s->hdr_blocks + kvp_stripe_request_size(s->legs, s->payload);
}

/** kvp_log_stripe_most() - the most payload of an entry with this header in @room lsns */
u32 kvp_log_stripe_most(u32 legs, u32 hdr_blocks, u32 room);

/** kvp_log_stripe_payload() - where block @i of the payload lies, counted from the entry's lsn */
u32 kvp_log_stripe_payload(const struct kvp_log_stripe *s, u32 i);

/**
 * kvp_log_stripe_part() - which part of the entry lies @at blocks behind its lsn
 * @index: result: which block of the header, of the payload, or of the parity's rows
 */
enum kvp_log_part kvp_log_stripe_part(const struct kvp_log_stripe *s, u32 at, u32 *index);

/**
 * kvp_log_stripe_row() - the blocks whose XOR is zero with the one that lies @at, payload or parity
 * @end: result: behind the last of them
 *
 * All of them lie side by side, each on another leg. Return: the first, which is the parity.
 */
u32 kvp_log_stripe_row(const struct kvp_log_stripe *s, u32 at, u32 *end);

/**
 * kvp_log_stripe_place() - where the log's @lsn lies; the block is counted from the log's begin
 * @ring: lsns that the log has, on all legs together: a multiple of @legs
 */
struct kvp_place kvp_log_stripe_place(u32 legs, u64 ring, kvp_lsn_t lsn);

/*
 * Both copies of a header block may be there and differ: one is rotten, or of an entry that was
 * cut. Only the sum of the whole header tells which. So a reader tries mixtures of copies.
 */
#define KVP_LOG_STRIPE_MIXED	4	/* the most such blocks for all mixtures */
#define KVP_LOG_STRIPE_TRIES	32	/* there are no more mixtures than that */

/**
 * kvp_log_stripe_mix() - which copies of a header's blocks to take, the first block left out
 * @legs: of the log
 * @lsn: where the header begins
 * @differ: bit i: both copies of block i are there, and they differ
 * @mix: number of the mixture, from 0 on
 * @second: result: bit i: take the second copy of block i
 *
 * Tries all mixtures of a few such blocks. Of more, only those with one leg that has nothing of
 * the entry. Return: false if there is no such mixture.
 */
bool kvp_log_stripe_mix(u32 legs, kvp_lsn_t lsn, u32 differ, u32 mix, u32 *second);

/**
 * kvp_ring_legs() - on how many legs neighbours by lsn lie in a cache's ring: 1, or row by row on
 * all
 */
static inline u32 kvp_ring_legs(const struct kvp_geometry *g)
{
	return kvp_log_striped(g) ? g->leg_count : 1;
}

/**
 * kvp_ring_piece() - how many of @nr blocks of a ring go to the leg that has the @k-th of their
 * lsns
 * @legs: kvp_ring_legs()
 * @k: less than @legs
 */
static inline u32 kvp_ring_piece(u32 legs, u32 nr, u32 k)
{
	return (nr + legs - 1 - k) / legs;
}

/**
 * kvp_ring_at() - where block @i of @nr lies, counted from the first of their lsns
 *
 * Blocks go to the legs piece by piece. So neighbours of the pool that came together are
 * neighbours on one leg.
 */
static inline u32 kvp_ring_at(u32 legs, u32 nr, u32 i)
{
	u32 k = 0;

	while (i >= kvp_ring_piece(legs, nr, k))
		i -= kvp_ring_piece(legs, nr, k++);
	return k + i * legs;
}

/** kvp_log_entry_rows() - the most rows of payload of an entry; 0: entries have no rows there */
static inline u32 kvp_log_entry_rows(const struct kvp_geometry *g)
{
	return kvp_log_striped(g) ? (KVP_MAX_ENTRY_BLOCKS + g->leg_count - 1) / g->leg_count : 0;
}

/** kvp_log_fits_legs() - true if the log of @g would lie at the same places on @nr legs */
static inline bool kvp_log_fits_legs(const struct kvp_geometry *g, u32 nr)
{
	return !kvp_log_striped(g) || nr == g->leg_count;
}

/** kvp_log_entry_blocks() - lsns that an entry takes in the log of @g, of any kind */
static inline u32 kvp_log_entry_blocks(const struct kvp_geometry *g, u32 hdr_blocks, u32 payload)
{
	const struct kvp_log_stripe s = { g->leg_count, hdr_blocks, payload };

	return kvp_log_striped(g) ? kvp_log_stripe_blocks(&s) : hdr_blocks + payload;
}

/**
 * kvp_log_reserve() - blocks of the log of @g that stay free for the parity of @reserved rows
 *
 * Destage or a recovery writes that parity.
 */
u64 kvp_log_reserve(const struct kvp_geometry *g, u32 reserved);

/** kvp_log_entry_most() - the most payload of an entry with this header in @room lsns of the log */
u32 kvp_log_entry_most(const struct kvp_geometry *g, u32 hdr_blocks, u32 room);

/**
 * kvp_log_payload_at() - where block @i of the payload of @h lies in the log of @g, counted from
 * the entry's lsn
 */
u32 kvp_log_payload_at(const struct kvp_geometry *g, const struct kvp_log_hdr *h, u32 i);

/*
 * The row of a block of payload in one byte, relative to the block's lsn: the parity and the other
 * blocks from which it can be made. High half: how many blocks before it the row begins, with its
 * parity. Low half: the number of blocks of the row, less one. 0: it has no row.
 */

/** kvp_log_row() - the row of block @at of entry @h of the log of @g; the block must be payload */
u8 kvp_log_row(const struct kvp_geometry *g, const struct kvp_log_hdr *h, u32 at);

/** kvp_log_row_first() - the lsn of the parity of the row that has the block at @lsn */
static inline kvp_lsn_t kvp_log_row_first(kvp_lsn_t lsn, u8 row)
{
	return kvp_lsn_back(lsn, (row >> 4));
}

/** kvp_log_row_blocks() - blocks of the row, with its parity; they follow one another */
static inline u32 kvp_log_row_blocks(u8 row)
{
	return (row & 15) + 1;
}

#endif /* KVP_LOGSTRIPE_H */
