// SPDX-License-Identifier: GPL-2.0-only
/* The kinds mirror and single: every leg has every block, at the same place. There is no parity. */
#include "core/core.h"
#include "core/order_ops.h"
#include "home/coalesce.h"
#include "home/heal.h"
#include "home/home.h"
#include "io/batch.h"
#include "io/mirror.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/replay.h"
#include "ram/wbuf.h"
#include "recovery/recovery.h"
#include "table/table.h"
#include "work/destage_ops.h"
#include "work/elevator.h"
#include "work/resilver.h"
#include "work/resilver_copy.h"
#include "work/scrub.h"

static bool no_rows(struct kvp_pool *pool, bool whole, struct kvp_row_home **rows)
{
	*rows = NULL;
	return true;
}

/*
 * If the log was retained over a restart, destage may have been cut short. Then home has neither
 * the table's version nor the newer one.
 */
static bool changes(struct kvp_pool *pool, kvp_block_t block)
{
	return kvp_wbuf_any(pool->wbuf, block, 1);
}

static int no_alloc(struct kvp_recovery *rec)
{
	return 0;
}

static int plan_newest(struct kvp_recovery *rec, const struct kvp_rec *r, struct kvp_log_at at,
		       struct kvp_log_at limit, kvp_lsn_t payload, u8 row)
{
	return kvp_replay_add(&rec->replay, r, at, payload, row);
}

static const struct kvp_order_ops any_order = {
	.on_legs = &kvp_legs_log_ops,
	.on_cache = &kvp_cache_log_ops,
	.alone = 1,
	.drains = 1,
	.most_passed = U32_MAX,
	.gather = kvp_destage_gather_to_holes,
	.pass_on = kvp_wbuf_pass_on,
	.drop_outlived = kvp_destage_drop_outlived,
	.drop_older = kvp_elevator_drop_older,
	.alloc_rows = no_rows,
	.changes = changes,
	.look_before_copy = kvp_resilver_look_for_newer,
	.scrub_pages = KVP_SCRUB_STEP,
	.alloc = no_alloc,
	.plan = plan_newest,
	.apply = kvp_recovery_apply,
};

/* A parity1 of the same pool needs a stricter order. */
static u32 join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v)
{
	if (!vdevs->order)
		vdevs->order = &any_order;
	return kvp_homes_join(vdevs, v);
}

static void poison(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block)
{
	kvp_table_set(pool->table, leaf, block, 0, KVP_ENTRY_POISONED);
}

static void not_by_rows(struct kvp_version *d, struct list_head *rows)
{
}

static struct kvp_leg *choose(const struct kvp_vdev *v, kvp_vblock_t block)
{
	return kvp_leg_best_copy(v, kvp_data_place(v->g, block).block);
}

static const struct kvp_leg *no_only_leg(const struct kvp_vdev *v, kvp_vblock_t block)
{
	return NULL;
}

static int discard(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
		   struct kvp_log_at behind, u32 *leaves)
{
	return kvp_home_discard_leaves(v, own, end, leaves);
}

static u32 all_direct(const struct kvp_vdev *v, kvp_vblock_t block, u32 n)
{
	return n;
}

static bool nothing_beside(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block)
{
	return true;
}

static void nothing_lost(struct kvp_tpage *leaf, u64 poison)
{
}

static void nothing_unwritten(struct kvp_table *t, struct kvp_tpage *leaf, kvp_vblock_t own)
{
}

/* All legs have the page at the same place, so one call adds it for all of them. */
static bool add_page(struct kvp_batch *b, const struct kvp_tpage *tp, u32 slot, u32 copy,
		     struct page *page)
{
	const struct kvp_vdev *v = tp->v;
	struct kvp_place at = kvp_page_place(v->g, tp->level, tp->index, slot, copy * v->nr_legs);

	return kvp_batch_add(b, v, at.block, page);
}

static int nothing_to_scrub(const struct kvp_spot *at, kvp_block_t block, struct page *page,
			    struct page *spare)
{
	return 0;
}

static int no_parity(struct kvp_pool *pool, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		     kvp_block_t block)
{
	return 0;
}

static int plan(struct kvp_recovery *rec, const struct kvp_spot *spot, const struct kvp_rec *r,
		struct kvp_log_at at, kvp_lsn_t payload, u8 row)
{
	return kvp_replay_add(&rec->replay, r, at, payload, row);
}

static int planned_already(struct kvp_recovery *rec, const struct kvp_vdev *v,
			   const struct kvp_rec *r, struct kvp_log_at at)
{
	return 0;
}

const struct kvp_vdev_ops kvp_copies_ops = {
	.join = join,
	.row_legs = kvp_none,
	.needed = kvp_homes_needed,
	.survives = kvp_vdev_spare,
	.is_lost = kvp_homes_fail_together,
	.choose = choose,
	.only_leg = no_only_leg,
	.read = kvp_copies_read,
	.lose = kvp_copies_lose,
	.poison = poison,
	.take = not_by_rows,
	.discard = discard,
	.needs_flush = kvp_leg_takes_writes,
	.gap = kvp_coalesce_gap,
	.may_be_direct = all_direct,
	.slice = kvp_none,
	.log = kvp_log_at_homes,
	.reserves = kvp_none,
	.lay = kvp_log_lay_copies,
	.place_payload = kvp_log_place_in_order,
	.too_few_took = kvp_too_few_homes,
	.only_log_leg = kvp_log_on_all,
	.read_spilled = kvp_spill_read_copies,
	.row_is_empty = nothing_beside,
	.leaf_lost = nothing_lost,
	.unwritten = nothing_unwritten,
	.add_page = add_page,
	.verify = kvp_scrub_copies,
	.scrub_row = nothing_to_scrub,
	.read_missed = kvp_resilver_read_copies,
	.add_missed = kvp_resilver_add_copies,
	.copy_missed_parity = no_parity,
	.segment_sets = kvp_set_each_leg,
	.alloc_reader = kvp_recovery_alloc_ahead,
	.load_segment = kvp_segment_load_copies,
	.plan = plan,
	.plan_discard = planned_already,
	.redo_discard = kvp_recovery_discard,
	.each_row = kvp_no_rows,
};
