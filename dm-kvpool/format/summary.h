/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Summaries of the segments of an SSD cache: which blocks of the pool they hold. Pure.
 *
 * Only a cache of reads uses them. cache/rebuild.h says when one may be believed.
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
	kvp_block_t block;
	u32 crc;
	bool meta;
};

/** kvp_summary_copies() - copies of a segment's summary, each on another leg */
static inline u32 kvp_summary_copies(const struct kvp_geometry *g)
{
	return kvp_log_striped(g) ? 2 : g->leg_count;
}

/**
 * kvp_summary_place() - where copy @copy of the summary of the segment at @lsn lies
 *
 * Its blocks are neighbours there. In rows a leg has every n-th block. Of the n + 2 blocks that
 * are kept, copy 0 is the first and the last but one. Copy 1 is the block behind each of these.
 */
static inline struct kvp_place kvp_summary_place(const struct kvp_geometry *g, kvp_lsn_t lsn,
						 u32 copy)
{
	kvp_lsn_t at = kvp_lsn_back(kvp_log_segment_end(g, lsn), kvp_log_kept(g));

	return kvp_log_striped(g) ? kvp_log_place(g, kvp_lsn_add(at, copy), 0) :
	       kvp_log_place(g, at, copy);
}

/** kvp_summary_begin() - an empty summary of the segment at @lsn; @era as in kvp_disk_summary */
void kvp_summary_begin(struct kvp_disk_summary *d, kvp_lsn_t lsn, u32 era);

/** kvp_summary_set() - block @at of the segment, below KVP_SUMMARY_RECORDS, holds @r */
void kvp_summary_set(struct kvp_disk_summary *d, u32 at, const struct kvp_summary_rec *r);

/** kvp_summary_get() - what block @at holds. Return: false if it holds nothing of @pool_blocks. */
static inline bool kvp_summary_get(const struct kvp_disk_summary *d, u32 at, u64 pool_blocks,
				   struct kvp_summary_rec *r)
{
	u64 addr = le64_to_cpu(d->recs[at].addr);

	r->block = kvp_block(addr & ((1ull << KVP_REC_ADDR_BITS) - 1));
	r->meta = addr & KVP_SUMMARY_META;
	r->crc = le32_to_cpu(d->recs[at].crc);
	return addr & KVP_SUMMARY_LIVE && kvp_block_nr(r->block) < pool_blocks;
}

/** kvp_summary_seal() - sum it for leg @leg_uuid of the pool with @nonce */
void kvp_summary_seal(struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid);

/**
 * kvp_summary_valid() - true if it is the summary of the segment at @lsn, as that leg has it
 * @most: the era that changes have now: it names none above
 */
bool kvp_summary_valid(const struct kvp_disk_summary *d, u64 nonce, const u8 *leg_uuid,
		       kvp_lsn_t lsn, u32 most);

#endif /* KVP_SUMMARY_H */
