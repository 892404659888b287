/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parity1: how a request of any size lies on the legs as full stripes.
 *
 * A request of s blocks at physical block offset o on n legs is cut into n pieces. The first piece
 * is parity. Piece i lies on leg (o+i) mod n, from its block floor((o+i)/n) on, one block a row. So
 * each request is a number of full rows; the last one may be narrower. The next request follows
 * right behind it. Row r of the parity is the XOR of row r of all other pieces that have one.
 *
 * Home uses this with the stripes of the vdev, which all have one size, and whose parity goes from
 * leg to leg. The log of a cache of kind parity1 uses it with the size of each entry.
 */
#ifndef KVP_STRIPE_H
#define KVP_STRIPE_H

#include "format/format.h"

#define KVP_STRIPE_MIN_LEGS	3
#define KVP_STRIPE_MAX_LEGS	16

/**
 * struct kvp_piece - what one leg holds of a request
 * @leg: 0 to legs - 1
 * @block: on the leg, relative to its data area
 * @blocks: number of its blocks; may be 0
 * @first: which block of the request it begins with; piece 0 is parity and has none
 */
struct kvp_piece {
	u32 leg;
	u64 block;
	u32 blocks, first;
};

/** kvp_stripe_parity() - blocks of parity for @blocks of data: one a row */
static inline u32 kvp_stripe_parity(u32 legs, u32 blocks)
{
	return (blocks + legs - 2) / (legs - 1);
}

/** kvp_stripe_request_size() - blocks that a request of @blocks takes on the legs */
static inline u32 kvp_stripe_request_size(u32 legs, u32 blocks)
{
	return blocks + kvp_stripe_parity(legs, blocks);
}

/**
 * kvp_stripe_piece() - piece @piece of a request
 * @legs: KVP_STRIPE_MIN_LEGS to KVP_STRIPE_MAX_LEGS
 * @offset: physical block offset: data and parity of all before it
 * @blocks: of data, at least 1
 * @piece: 0 (parity) to @legs - 1
 */
void kvp_stripe_piece(u32 legs, u64 offset, u32 blocks, u32 piece, struct kvp_piece *p);

/** struct kvp_stripe_at - piece and row of one block of data */
struct kvp_stripe_at {
	u32 piece, row;
};

/**
 * kvp_stripe_at() - where in a request of @blocks its block @block is; the parity is in the same
 * row
 */
struct kvp_stripe_at kvp_stripe_at(u32 legs, u32 blocks, u32 block);

/**
 * kvp_stripe_home() - piece @piece of stripe @stripe at home
 * @chunk: blocks of a piece
 *
 * All stripes have (@legs - 1) * @chunk blocks of data. Their parity goes
 * round: leg @stripe mod @legs.
 */
void kvp_stripe_home(u32 legs, u32 chunk, u64 stripe, u32 piece, struct kvp_piece *p);

/** kvp_stripe_piece_on() - the piece of stripe @stripe that leg @leg has at home */
static inline u32 kvp_stripe_piece_on(u32 legs, u64 stripe, u32 leg)
{
	return (leg + legs - (u32)(stripe % legs)) % legs;
}

#endif /* KVP_STRIPE_H */
