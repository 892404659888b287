// SPDX-License-Identifier: GPL-2.0-only
#include "format/stripe.h"

/* Returns how many pieces of data have a block in every row. The other pieces have one less. */
static u32 long_pieces(u32 legs, u32 blocks)
{
	return blocks % (legs - 1) ?: legs - 1;
}

void kvp_stripe_piece(u32 legs, u64 offset, u32 blocks, u32 piece, struct kvp_piece *p)
{
	u32 rows = kvp_stripe_parity(legs, blocks), full = long_pieces(legs, blocks);
	u32 before = piece ? piece - 1 : 0;
	u64 at = offset + piece;

	p->leg = at % legs;
	p->block = at / legs;
	p->blocks = piece <= full ? rows : rows - 1;
	p->first = before * rows - (before > full ? before - full : 0);
}

struct kvp_stripe_at kvp_stripe_at(u32 legs, u32 blocks, u32 block)
{
	u32 rows = kvp_stripe_parity(legs, blocks), full = long_pieces(legs, blocks);
	struct kvp_stripe_at at;

	if (block < full * rows) {
		at.piece = 1 + block / rows;
		at.row = block % rows;
	} else {
		block -= full * rows;
		at.piece = 1 + full + block / (rows - 1);
		at.row = block % (rows - 1);
	}
	return at;
}

void kvp_stripe_home(u32 legs, u32 chunk, u64 stripe, u32 piece, struct kvp_piece *p)
{
	kvp_stripe_piece(legs, stripe * legs * chunk, (legs - 1) * chunk, piece, p);
	p->leg = (p->leg + stripe) % legs;
}
