// SPDX-License-Identifier: GPL-2.0-only
#include "format/logstripe.h"

u32 kvp_log_stripe_most(u32 legs, u32 hdr_blocks, u32 room)
{
	u32 left = room > 2 * hdr_blocks ? room - 2 * hdr_blocks : 0;

	/* Each row has one block of parity, also a row that is not full. */
	return left - (left + legs - 1) / legs;
}

u32 kvp_log_stripe_payload(const struct kvp_log_stripe *s, u32 i)
{
	struct kvp_stripe_at at = kvp_stripe_at(s->legs, s->payload, i);

	return 2 * s->hdr_blocks + at.row * s->legs + at.piece;
}

enum kvp_log_part kvp_log_stripe_part(const struct kvp_log_stripe *s, u32 at, u32 *index)
{
	struct kvp_piece p;
	u32 row;

	if (at < 2 * s->hdr_blocks) {
		*index = at / 2;
		return KVP_LOG_PART_HEADER;
	}
	at -= 2 * s->hdr_blocks;
	row = at / s->legs;
	/* The lengths of pieces do not depend on where the request lies. */
	kvp_stripe_piece(s->legs, 0, s->payload, at % s->legs, &p);
	*index = at % s->legs ? p.first + row : row;
	return at % s->legs ? KVP_LOG_PART_PAYLOAD : KVP_LOG_PART_PARITY;
}

u32 kvp_log_stripe_row(const struct kvp_log_stripe *s, u32 at, u32 *end)
{
	u32 first = at - (at - 2 * s->hdr_blocks) % s->legs, blocks = kvp_log_stripe_blocks(s);

	/* The last row may be narrower. */
	*end = first + s->legs < blocks ? first + s->legs : blocks;
	return first;
}

_Static_assert(2 * KVP_STRIPE_MAX_LEGS <= KVP_LOG_STRIPE_TRIES &&
	       2 << KVP_LOG_STRIPE_MIXED <= KVP_LOG_STRIPE_TRIES, "a try for each way");

bool kvp_log_stripe_mix(u32 legs, kvp_lsn_t lsn, u32 differ, u32 mix, u32 *second)
{
	u32 nr = 0, i;
	bool all;

	for (i = 1; i < KVP_MAX_HDR_BLOCKS; i++)
		nr += differ >> i & 1;
	all = nr <= KVP_LOG_STRIPE_MIXED;
	*second = 0;
	if (mix >= (all ? 1u << nr : legs))
		return false;
	for (i = 1; i < KVP_MAX_HDR_BLOCKS; i++) {
		if (!(differ >> i & 1))
			continue;
		/* The ring has whole rows, so an lsn lies on leg lsn % @legs. */
		if (all ? mix & 1 : (kvp_lsn_nr(lsn) + 2 * i) % legs == mix)
			*second |= 1u << i;
		if (all)
			mix >>= 1;
	}
	return true;
}

struct kvp_place kvp_log_stripe_place(u32 legs, u64 ring, kvp_lsn_t lsn)
{
	u64 at = kvp_lsn_nr(lsn) % ring;

	return (struct kvp_place){ (u32)(at % legs), kvp_lblock(at / legs) };
}

u64 kvp_log_reserve(const struct kvp_geometry *g, u32 reserved)
{
	/* An entry may hold one row only, and must not cross the end of a segment. */
	u32 least = kvp_log_entry_blocks(g, 1, 1), left = least + kvp_log_kept(g);
	u64 blocks = (u64)least * reserved;

	/* A recovery begins its chain with a segment. */
	return blocks + left * (blocks / (g->segment_blocks - left) + 1) + g->segment_blocks;
}

u32 kvp_log_entry_most(const struct kvp_geometry *g, u32 hdr_blocks, u32 room)
{
	if (kvp_log_striped(g))
		return kvp_log_stripe_most(g->leg_count, hdr_blocks, room);
	return room > hdr_blocks ? room - hdr_blocks : 0;
}

u32 kvp_log_payload_at(const struct kvp_geometry *g, const struct kvp_log_hdr *h, u32 i)
{
	const struct kvp_log_stripe s = { g->leg_count, h->hdr_blocks, h->payload };

	return kvp_log_striped(g) ? kvp_log_stripe_payload(&s, i) : h->hdr_blocks + i;
}

u8 kvp_log_row(const struct kvp_geometry *g, const struct kvp_log_hdr *h, u32 at)
{
	const struct kvp_log_stripe s = { g->leg_count, h->hdr_blocks, h->payload };
	u32 first, end;

	if (!kvp_log_striped(g))
		return 0;
	first = kvp_log_stripe_row(&s, at, &end);
	return (u8)((at - first) << 4 | (end - first - 1));
}
