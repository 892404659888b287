/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Summaries of the segments of an SSD cache: which blocks of the pool they hold. Pure.
 *
 * Of use to a cache of reads only. When one may be believed, cache/warm.h says.
 */
#ifndef KVP_SUMMARY_H
#define KVP_SUMMARY_H

#include "format/format.h"

/**
 * struct kvp_summary_rec - one block of a segment
 * @block: of the pool
 * @crc: its sum, as in the table
 * @meta: it is metadata
 */
struct kvp_summary_rec {
	u64 block;
	u32 crc;
	bool meta;
};

/** kvp_summary_begin() - an empty summary of the segment at @lsn; @era as in kvp_disk_summary */
void kvp_summary_begin(struct kvp_disk_summary *d, u64 lsn, u32 era);

/** kvp_summary_set() - block @at of the segment, below KVP_SUMMARY_RECORDS, holds @r */
void kvp_summary_set(struct kvp_disk_summary *d, u32 at, const struct kvp_summary_rec *r);

/** kvp_summary_get() - what block @at holds. Return: is there anything, of a pool of @pool_blocks? */
bool kvp_summary_get(const struct kvp_disk_summary *d, u32 at, u64 pool_blocks,
		     struct kvp_summary_rec *r);

/** kvp_summary_seal() - sum it: for the leg @leg_uuid of the pool with @nonce */
void kvp_summary_seal(struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid);

/**
 * kvp_summary_valid() - is it the summary of the segment at @lsn, as that leg has it?
 * @most: the era that changes have now: it names none above
 */
bool kvp_summary_valid(const struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid, u64 lsn,
		       u32 most);

#endif /* KVP_SUMMARY_H */
