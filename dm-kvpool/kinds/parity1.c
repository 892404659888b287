// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind parity1: each block is on one leg, and the parity of its row on another
 * (docs/design/parity.md).
 *
 * The rows themselves are in home/row.c and home/home_row.c; in a recovery, in recovery/rows.c.
 */
#include <linux/err.h>

#include "core/core.h"
#include "core/order_ops.h"
#include "home/home.h"
#include "home/home_row.h"
#include "home/row.h"
#include "io/batch.h"
#include "kinds/kinds.h"
#include "log/log.h"
#include "log/spill.h"
#include "policy/history.h"
#include "ram/wbuf.h"
#include "recovery/recovery.h"
#include "table/table.h"
#include "work/resilver_copy.h"
#include "work/scrub.h"

/* All older versions go home before a discard, since rows are written at its ends. */
static void no_gather(struct kvp_pool *pool, kvp_lsn_t limit)
{
}

static void pass_on_data(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, bool kept)
{
	kvp_wbuf_pass_on(w, limit, max, false);
}

/* All versions count, in log order. */
static void none_is_outlived(struct kvp_pool *pool, struct list_head *versions)
{
}

static bool none_is_dropped(struct kvp_elevator *e, const struct kvp_version *d)
{
	return false;
}

static bool alloc_rows(struct kvp_pool *pool, bool whole, struct kvp_row_home **rows)
{
	*rows = kvp_row_home_alloc(pool, whole);
	return *rows;
}

/* No log is retained, so no home write was cut short. */
static bool no_change(struct kvp_pool *pool, kvp_block_t block)
{
	return false;
}

static int nothing_newer(struct kvp_pool *pool, kvp_block_t block)
{
	return 0;
}

static int alloc_recovery(struct kvp_recovery *rec)
{
	return kvp_recovery_rows_alloc(rec) ?: kvp_recovery_chain_alloc(rec);
}

static const struct kvp_order_ops order_of_log = {
	.on_legs = &kvp_legs_log_in_order_ops,
	.on_cache = &kvp_cache_log_in_order_ops,
	.alone = 0,	/* the homes of a version are on two legs */
	.drains = 2,
	.most_passed = 0,
	.gather = no_gather,
	.pass_on = pass_on_data,
	.drop_outlived = none_is_outlived,
	.drop_older = none_is_dropped,
	.alloc_rows = alloc_rows,
	.changes = no_change,
	.look_before_copy = nothing_newer,
	.scrub_pages = KVP_SCRUB_PIECES,
	.alloc = alloc_recovery,
	.plan = kvp_recovery_plan_in_order,
	.apply = kvp_recovery_apply_in_order,
};

static u32 join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v)
{
	vdevs->order = &order_of_log;
	return kvp_homes_join(vdevs, v);
}

static u32 row_legs(const struct kvp_vdev *v)
{
	return v->nr_legs;
}

static const struct kvp_leg *only_leg(const struct kvp_vdev *v, kvp_vblock_t block)
{
	return &v->legs[kvp_data_place(v->g, block).leg];
}

static struct kvp_leg *choose(const struct kvp_vdev *v, kvp_vblock_t block)
{
	struct kvp_leg *leg = &v->legs[kvp_data_place(v->g, block).leg];

	/* home/stripe_read.c then decides whether the block is read from there. */
	return kvp_leg_in_sync(leg) && !kvp_leg_is_read_last(leg) ? leg : NULL;
}

static int read_home(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block, u64 entry,
		     struct page *page, struct page *spare)
{
	return kvp_row_home_read(pool, leaf, block, page, spare);
}

static int lose(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block)
{
	kvp_vblock_t own = kvp_vdev_block(leaf, block);

	kvp_row_poison(pool, leaf, kvp_row_of(leaf->v->g, own), kvp_piece_of(leaf->v->g, own));
	return -EBADMSG;
}

static void poison(struct kvp_pool *pool, struct kvp_tpage *leaf, kvp_block_t block)
{
	lose(pool, leaf, block);
}

static void by_rows(struct kvp_version *d, struct list_head *rows)
{
	list_move_tail(&d->list, rows);
}

static u32 no_gap(const struct kvp_vdev *v)
{
	return 0;
}

/*
 * Whole stripes may go home by intent while all legs are there (R7). While a leg is out, its blocks
 * are made from the parity. The write would overwrite that, and a power cut alone would lose them.
 */
static u32 may_be_direct(const struct kvp_vdev *v, kvp_vblock_t block, u32 n)
{
	u32 stripe = kvp_stripe_blocks(v->g);

	if (kvp_vblock_nr(block) % stripe || kvp_vdev_usable(v) < v->nr_legs)
		return 0;
	return n - n % stripe;
}

static u32 slice(const struct kvp_vdev *v)
{
	return (v->nr_legs - 1) * KVP_DIRECT_ROWS;
}

static u32 reserves_a_row(const struct kvp_vdev *v)
{
	return 1;
}

static bool parity_is_unwritten(struct kvp_pool *pool, const struct kvp_tpage *leaf,
				kvp_block_t block)
{
	u64 row = kvp_row_of(leaf->v->g, kvp_vdev_block(leaf, block));

	return kvp_entry_state(kvp_table_parity(leaf, row)) == KVP_ENTRY_UNWRITTEN;
}

/* The two copies are on different legs. */
static bool add_page(struct kvp_batch *b, const struct kvp_tpage *tp, u32 slot, u32 copy,
		     struct page *page)
{
	struct kvp_place at = kvp_page_place(tp->v->g, tp->level, tp->index, slot, copy);

	return kvp_batch_add_at(b, tp->v, at, page);
}

/* Scrub the parity of a row together with the row's first block. */
static int scrub_row(const struct kvp_spot *at, kvp_block_t block, struct page *page,
		     struct page *spare)
{
	struct kvp_pool *pool = at->v->pool;
	struct kvp_tpage *leaf;
	int ret;

	if (kvp_piece_of(at->v->g, at->block) != 1)
		return 0;
	leaf = kvp_table_load(pool->table, block);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	ret = kvp_row_scrub_parity(pool, leaf, kvp_row_of(at->v->g, at->block), page, spare);
	kvp_table_put(leaf);
	return ret;
}

static int plan(struct kvp_recovery *rec, const struct kvp_spot *spot, const struct kvp_rec *r,
		struct kvp_log_at at, kvp_lsn_t payload, u8 row)
{
	struct kvp_log_at none = { 0, 0 };
	struct kvp_rec own = *r;

	own.block = kvp_vblock_nr(spot->block);
	return kvp_history_add(&rec->history[spot->v->index], &own, at, payload, row, none);
}

static int plan_discard(struct kvp_recovery *rec, const struct kvp_vdev *v, const struct kvp_rec *r,
			struct kvp_log_at at)
{
	struct kvp_log_at none = { 0, 0 };

	return kvp_history_add(&rec->history[v->index], r, at, 0, 0, none);
}

const struct kvp_vdev_ops kvp_parity1_ops = {
	.join = join,
	.row_legs = row_legs,
	.needed = kvp_homes_needed,
	.survives = kvp_vdev_spare,
	.is_lost = kvp_homes_fail_together,
	.choose = choose,
	.only_leg = only_leg,
	.read = read_home,
	.lose = lose,
	.poison = poison,
	.take = by_rows,
	.discard = kvp_home_discard_rows,
	.needs_flush = kvp_leg_takes_writes,
	.gap = no_gap,
	.may_be_direct = may_be_direct,
	.slice = slice,
	.log = kvp_log_at_homes,
	.reserves = reserves_a_row,
	.lay = kvp_log_lay_copies,
	.place_payload = kvp_log_place_in_order,
	.too_few_took = kvp_too_few_homes,
	.only_log_leg = kvp_log_on_all,
	.read_spilled = kvp_spill_read_copies,
	.row_is_empty = parity_is_unwritten,
	.leaf_lost = __kvp_table_rows_lost,
	.unwritten = __kvp_table_row_unwritten,
	.add_page = add_page,
	.verify = kvp_scrub_rows,
	.scrub_row = scrub_row,
	.read_missed = kvp_resilver_read_rows,
	.add_missed = kvp_resilver_add_rows,
	.copy_missed_parity = kvp_resilver_parity,
	.segment_sets = kvp_set_each_leg,
	.alloc_reader = kvp_recovery_alloc_ahead,
	.load_segment = kvp_segment_load_copies,
	.plan = plan,
	.plan_discard = plan_discard,
	.redo_discard = kvp_no_redo,	/* @plan_discard has put it into the history of its rows */
	.each_row = kvp_recovery_each_row,
};
