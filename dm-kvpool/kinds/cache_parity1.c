// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind cache-parity1: a cache whose log, or clean blocks, are in rows with parity
 * (format/logstripe.h).
 */
#include "core/core.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/spill.h"
#include "recovery/recovery.h"
#include "super/members.h"

static const struct kvp_leg *only_log_leg(const struct kvp_vdev *v, struct kvp_place at)
{
	return &v->legs[at.leg];
}

/* One set for what was read, and one for the segment that is made from it. */
static u32 two_sets(const struct kvp_recovery *rec)
{
	return 2;
}

/*
 * Load a segment. It is made from the blocks of all legs after these were read, so none is read
 * ahead.
 */
static void load_segment(struct kvp_recovery *rec, kvp_lsn_t lsn, u32 blocks)
{
	rec->seg.lsn = lsn;
	rec->seg.from = 0;
	rec->seg.read = blocks;
	kvp_stripes_load(rec, blocks, false);
}

const struct kvp_vdev_ops kvp_cache_parity1_ops = {
	.join = kvp_cache_join,
	.row_legs = kvp_none,
	.needed = kvp_cache_needed,
	.survives = kvp_cache_survives,
	.is_lost = kvp_cache_is_lost,
	.needs_flush = kvp_cache_needs_no_flush,
	.discard = kvp_no_discard,
	.log = kvp_log_at_cache,
	.slice = kvp_none,
	.reserves = kvp_none,
	.lay = kvp_log_lay_rows,
	.place_payload = kvp_log_place_in_rows,
	.too_few_took = kvp_log_legs_fail,
	.only_log_leg = only_log_leg,
	.read_spilled = kvp_spill_read_rows,
	.segment_sets = two_sets,
	.alloc_reader = kvp_stripes_alloc,
	.load_segment = load_segment,
	.redo_discard = kvp_no_redo,
	.each_row = kvp_no_rows,
};
