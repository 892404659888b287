/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an entry of a log lies on the legs of a cache of kind parity1: full stripes of its
 * own, so that nothing is read to write it, and any one leg may be lost. Pure. Nothing
 * writes such a log yet (docs/design.md, 14), so it is not linked into the module.
 *
 * An lsn counts blocks of all legs together, row by row: it lies on leg lsn mod n. Of an entry
 * at lsn o, header block i lies at o + 2i and once more at o + 2i + 1, on another leg;
 * whoever looks for a header need not know how long it is. Behind that the payload is one
 * request of format/stripe.h, parity first. So on each leg an entry is one contiguous write.
 */
#ifndef KVP_LOGSTRIPE_H
#define KVP_LOGSTRIPE_H

#include "format/stripe.h"

/**
 * struct kvp_log_stripe - the shape of an entry; where it lies changes nothing in it
 * @legs: KVP_STRIPE_MIN_LEGS to KVP_STRIPE_MAX_LEGS
 * @hdr_blocks: of header and records, at least 1
 * @payload: blocks of it; may be 0
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

/** kvp_log_stripe_blocks() - so many lsns the entry takes, with copies and parity */
static inline u32 kvp_log_stripe_blocks(const struct kvp_log_stripe *s)
{
	return 2 * s->hdr_blocks + kvp_stripe_request_size(s->legs, s->payload);
}

/** kvp_log_stripe_most() - the most payload for which an entry with so long a header takes at most @room lsns */
u32 kvp_log_stripe_most(u32 legs, u32 hdr_blocks, u32 room);

/** kvp_log_stripe_payload() - where block @i of the payload lies, counted from the entry's lsn */
u32 kvp_log_stripe_payload(const struct kvp_log_stripe *s, u32 i);

/**
 * kvp_log_stripe_part() - what lies @at blocks behind the entry's lsn
 * @index: result: of the header, of the payload, or of the parity's rows, which block
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
struct kvp_place kvp_log_stripe_place(u32 legs, u64 ring, u64 lsn);

#endif /* KVP_LOGSTRIPE_H */
