// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a parity1, row by row (docs/design.md, section 8).
 *
 * What a row's blocks are is found first: the newest version of each in the
 * log, or else what the table says, at home. A block that is at home only, and
 * cannot be read there, is taken out of the row's parity: the newest in the log,
 * together with the versions that it counts; or, if there is none, the one at
 * home, since then nothing of the row has been written.
 *
 * Two phases. First the parity of all rows of which a part will be written goes
 * into the log, as a chain of its own (chain.c), unless it is there. Then the
 * rows go home, and into the table.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "format/stripe.h"
#include "recovery/history.h"
#include "recovery/recovery.h"
#include "vdev/row.h"

enum piece_kind {
	PIECE_ZERO,		/* unwritten */
	PIECE_POISONED,		/* as the table says */
	PIECE_LOG,		/* the log has it */
	PIECE_HOME,		/* home has it */
	PIECE_REBUILT,		/* home should have it, and does not */
	PIECE_LOST,		/* the same, and nobody has it */
};

struct piece {
	enum piece_kind kind;
	bool logged;		/* the log says what it is */
	u32 crc;
	struct page *page;	/* contents of LOG, HOME, REBUILT */
};

struct kvp_recovery_row {
	u64 row;
	struct kvp_tpage *leaf;
	struct kvp_log_at newest;	/* of its versions */
	struct piece p[KVP_STRIPE_MAX_LEGS];	/* [0]: only the page, for parity */
};

/* --- memory ------------------------------------------------------------------------- */

void kvp_recovery_rows_free(struct kvp_recovery *rec)
{
	u32 i, p;

	for (i = 0; rec->rows && i < KVP_RECOVERY_ROWS; i++)
		for (p = 0; p < KVP_STRIPE_MAX_LEGS; p++)
			if (rec->rows[i].p[p].page)
				__free_page(rec->rows[i].p[p].page);
	kvfree(rec->rows);
	rec->rows = NULL;
}

int kvp_recovery_rows_alloc(struct kvp_recovery *rec)
{
	u32 i, p;

	rec->rows = kvcalloc(KVP_RECOVERY_ROWS, sizeof(*rec->rows), GFP_KERNEL);
	if (!rec->rows)
		return -ENOMEM;
	for (i = 0; i < KVP_RECOVERY_ROWS; i++)
		for (p = 0; p < rec->pool->max_legs; p++) {
			rec->rows[i].p[p].page = alloc_page(GFP_KERNEL);
			if (!rec->rows[i].p[p].page)
				return -ENOMEM;
		}
	return 0;
}

/* --- contents ------------------------------------------------------------------------- */

/* @piece of the row, as the log has it at @lsn. */
static int read_log(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 piece, u64 lsn,
		    u32 crc, struct page *page)
{
	const struct kvp_vdev *v = rec->pool->log.v;
	u32 i;

	for (i = 0; i < kvp_log_copies(v->g); i++) {
		struct kvp_place at = kvp_log_place(v->g, lsn, i);

		if (kvp_leg_usable(&v->legs[at.leg]) &&
		    !kvp_io_page(&v->legs[at.leg], KVP_IO_READ, at.block, page) &&
		    kvp_row_sum(r->leaf, r->row, piece, page) == crc)
			return 0;
	}
	return kvp_refuse(rec->refusal, -EIO, "check the legs and try again",
			  "log block %llu can no longer be read", (unsigned long long)lsn);
}

/* What the table says of a piece, from its home. False if it cannot be had; rec->silent if its leg was silent. */
static bool read_home(struct kvp_recovery *rec, const struct kvp_recovery_row *r, u32 piece,
		      struct page *page)
{
	int error = kvp_row_read(rec->pool, r->leaf, r->row, piece, page);

	rec->silent |= error && error != -EILSEQ && error != -ENODATA && error != -ENXIO;
	return !error;
}

static struct kvp_history *history_of(struct kvp_recovery *rec, const struct kvp_recovery_row *r)
{
	return &rec->history[r->leaf->v->index];
}

static const struct kvp_logged_parity *logged_parity(struct kvp_recovery *rec,
						      const struct kvp_recovery_row *r)
{
	return kvp_history_parity(history_of(rec, r), r->row, rec->pool->sb->log_tail);
}

/* Add to @sum what the parity counts of @piece. -ENODATA: it cannot be told. */
static int add_counted(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece,
		       struct kvp_log_at limit, struct page *sum)
{
	u64 block = kvp_row_block(r->leaf->v->g, r->row, piece);
	const struct kvp_version *v = kvp_history_find(history_of(rec, r), block, limit);
	int ret;

	if (v && v->kind == KVP_REC_DISCARD)
		return 0;
	if (v)
		ret = read_log(rec, r, piece, v->payload, v->crc, rec->scratch);
	else
		ret = read_home(rec, r, piece, rec->scratch) ? 0 : -ENODATA;
	if (!ret)
		kvp_xor(sum, rec->scratch);
	return ret;
}

/* The piece lives at home only and cannot be read there: take it out of the parity. */
static int rebuild(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 piece)
{
	const struct kvp_logged_parity *lp = logged_parity(rec, r);
	struct kvp_log_at limit = { 0, 0 };
	struct page *sum = r->p[piece].page;
	int ret = 0;
	u32 i;

	r->p[piece].kind = PIECE_LOST;
	if (lp) {
		limit = lp->limit;
		ret = read_log(rec, r, 0, lp->payload, lp->crc, sum);
	} else if (!read_home(rec, r, 0, sum)) {
		return 0;
	}
	for (i = 1; !ret && i < r->leaf->v->nr_legs; i++)
		if (i != piece)
			ret = add_counted(rec, r, i, limit, sum);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	if (kvp_row_sum(r->leaf, r->row, piece, sum) == r->p[piece].crc)
		r->p[piece].kind = PIECE_REBUILT;
	return 0;
}

/* The newest version of a piece: from the log, or else from home if that has it. */
static int resolve_piece(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 i)
{
	u64 block = kvp_row_block(r->leaf->v->g, r->row, i);
	const struct kvp_version *v = kvp_history_find(history_of(rec, r), block, rec->log_end);
	u64 entry = kvp_row_entry(rec->pool, r->leaf, r->row, i);
	struct piece *p = &r->p[i];

	p->logged = v;
	p->kind = PIECE_ZERO;
	if (v && kvp_log_before(r->newest, v->at))
		r->newest = v->at;
	if (v && v->kind == KVP_REC_DATA) {
		p->kind = PIECE_LOG;
		p->crc = v->crc;
		return read_log(rec, r, i, v->payload, v->crc, p->page);
	}
	if (v || kvp_entry_state(entry) == KVP_ENTRY_UNWRITTEN)
		return 0;
	p->crc = kvp_entry_crc(entry);
	if (kvp_entry_state(entry) == KVP_ENTRY_POISONED)
		p->kind = PIECE_POISONED;
	else
		p->kind = read_home(rec, r, i, p->page) ? PIECE_HOME : PIECE_LOST;
	return 0;
}

static int resolve_row(struct kvp_recovery *rec, struct kvp_recovery_row *r,
		       const struct kvp_vdev *v, u64 row)
{
	int ret = 0;
	u32 i;

	r->row = row;
	r->newest = (struct kvp_log_at){ 0, 0 };
	r->leaf = kvp_table_load(rec->pool, kvp_pool_block(v, kvp_row_block(v->g, row, 1)));
	if (IS_ERR(r->leaf)) {
		ret = PTR_ERR(r->leaf);
		r->leaf = NULL;
		return ret;
	}
	rec->silent = false;
	for (i = 1; !ret && i < v->nr_legs; i++)
		ret = resolve_piece(rec, r, i);
	for (i = 1; !ret && i < v->nr_legs; i++)
		if (r->p[i].kind == PIECE_LOST) {
			ret = rebuild(rec, r, i);
			if (!ret && r->p[i].kind == PIECE_LOST && rec->silent)
				ret = kvp_refuse(rec->refusal, -EIO,
						 "check the leg that does not answer and try again",
						 "block %llu: no leg that answers has it",
						 (unsigned long long)kvp_row_block_at(r->leaf, row, i));
		}
	return ret;
}

static bool has_contents(const struct piece *p)
{
	return p->kind == PIECE_LOG || p->kind == PIECE_HOME || p->kind == PIECE_REBUILT;
}

/* Into the page of piece 0; its sum, or 0 with @zero when nothing of the row is written. */
static u32 compute_parity(struct kvp_recovery *rec, struct kvp_recovery_row *r, bool *zero)
{
	struct page *sum = r->p[0].page;
	u32 i;

	*zero = true;
	clear_page(page_address(sum));
	for (i = 1; i < r->leaf->v->nr_legs; i++)
		if (has_contents(&r->p[i])) {
			kvp_xor(sum, r->p[i].page);
			*zero = false;
		}
	return kvp_row_sum(r->leaf, r->row, 0, sum);
}

static void put_row(struct kvp_recovery *rec, struct kvp_recovery_row *r)
{
	if (r->leaf)
		kvp_table_put(rec->pool, r->leaf);
	r->leaf = NULL;
}

/* --- rows that the log knows of --------------------------------------------------------- */

typedef int (*row_fn)(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row);

/* Call @fn for the rows of one stripe of which the log has a block; @block is the first of them. */
static int rows_of_stripe(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 block, row_fn fn)
{
	const struct kvp_geometry *g = v->g;
	u64 first = block - block % kvp_stripe_blocks(g);
	u32 k, i;
	int ret = 0;

	for (k = 0; !ret && k < g->chunk_blocks; k++) {
		u64 row = kvp_row_of(g, first) + k;

		for (i = 1; i < g->leg_count; i++)
			if (xa_load(&rec->history[v->index].blocks, kvp_row_block(g, row, i)))
				break;
		if (i < g->leg_count)
			ret = fn(rec, v, row);
	}
	return ret;
}

static int rows_of_vdev(struct kvp_recovery *rec, const struct kvp_vdev *v, row_fn fn)
{
	u32 stripe = kvp_stripe_blocks(v->g);
	unsigned long block = 0;
	int ret = 0;

	while (!ret && xa_find(&rec->history[v->index].blocks, &block, ~0ul, XA_PRESENT)) {
		ret = rows_of_stripe(rec, v, block, fn);
		block = block - block % stripe + stripe;
	}
	return ret;
}

static int each_row(struct kvp_recovery *rec, row_fn fn)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pool->nr_vdevs; i++)
		if (kvp_is_parity1(pool->vdevs[i].g))
			ret = rows_of_vdev(rec, &pool->vdevs[i], fn);
	return ret;
}

/* --- phase 1: parity into the log ---------------------------------------------------------- */

/* Does the row hold what is at home only, and does the log lack parity that counts all its versions? */
static bool needs_parity(struct kvp_recovery *rec, const struct kvp_recovery_row *r)
{
	const struct kvp_logged_parity *lp = logged_parity(rec, r);
	bool stays = false;
	u32 i;

	for (i = 1; i < r->leaf->v->nr_legs; i++)
		stays |= r->p[i].kind == PIECE_HOME || r->p[i].kind == PIECE_REBUILT;
	return stays && !(lp && kvp_log_before(r->newest, lp->limit));
}

static int log_row(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row)
{
	struct kvp_recovery_row *r = &rec->rows[0];
	int ret = resolve_row(rec, r, v, row);
	bool zero;
	u32 crc;

	if (!ret && needs_parity(rec, r)) {
		crc = compute_parity(rec, r, &zero);
		ret = kvp_recovery_chain_add(rec, v, row, crc, r->p[0].page);
	}
	put_row(rec, r);
	return ret;
}

int kvp_recovery_rows_log(struct kvp_recovery *rec)
{
	int ret = each_row(rec, log_row);

	return ret ?: kvp_recovery_chain_end(rec);
}

/* --- phase 2: home, and the table ------------------------------------------------------------ */

static void set_entries(struct kvp_recovery *rec, struct kvp_recovery_row *r, u32 crc, bool zero)
{
	struct kvp_pool *pool = rec->pool;
	u32 n = r->leaf->v->nr_legs, i;

	kvp_table_lock(pool, r->leaf);
	for (i = 1; i < n; i++) {
		u64 block = kvp_row_block_at(r->leaf, r->row, i);
		struct piece *p = &r->p[i];

		if (p->kind == PIECE_LOG)
			__kvp_table_set(pool, r->leaf, block, p->crc, KVP_ENTRY_VALID);
		else if (p->kind == PIECE_LOST)
			__kvp_table_set(pool, r->leaf, block, 0, KVP_ENTRY_POISONED);
		else if (p->kind == PIECE_ZERO && p->logged)
			__kvp_table_set(pool, r->leaf, block, 0, KVP_ENTRY_UNWRITTEN);
	}
	__kvp_table_set_parity(pool, r->leaf, r->row, crc, zero ? KVP_ENTRY_UNWRITTEN : KVP_ENTRY_VALID);
	kvp_table_unlock(pool);
	for (i = 1; i < n; i++)
		if (r->p[i].kind == PIECE_LOST)
			kvp_event(pool, "unrepaired block=%llu",
				  (unsigned long long)kvp_row_block_at(r->leaf, r->row, i));
}

static void add_row(struct kvp_recovery *rec, struct kvp_recovery_row *r, bool zero)
{
	const struct kvp_vdev *v = r->leaf->v;
	u32 i;

	for (i = 1; i < v->nr_legs; i++)
		if (r->p[i].kind == PIECE_LOG || r->p[i].kind == PIECE_REBUILT)
			kvp_batch_add_at(rec->batch, v, kvp_row_place(v->g, r->row, i), r->p[i].page);
	if (!zero)
		kvp_batch_add_at(rec->batch, v, kvp_row_place(v->g, r->row, 0), r->p[0].page);
}

/* What has gathered goes home. */
static int write_rows(struct kvp_recovery *rec)
{
	int ret = kvp_batch_write(rec->batch);
	u32 i;

	for (i = 0; i < rec->nr_rows; i++) {
		struct kvp_recovery_row *r = &rec->rows[i];
		bool zero;
		u32 crc;

		if (!ret) {
			crc = compute_parity(rec, r, &zero);
			set_entries(rec, r, crc, zero);
		}
		put_row(rec, r);
	}
	rec->nr_rows = 0;
	return ret ?: kvp_recovery_relieve(rec);
}

static int take_row(struct kvp_recovery *rec, const struct kvp_vdev *v, u64 row)
{
	struct kvp_recovery_row *r = &rec->rows[rec->nr_rows];
	int ret = resolve_row(rec, r, v, row);
	bool zero;

	if (ret) {
		put_row(rec, r);
		return ret;
	}
	compute_parity(rec, r, &zero);
	add_row(rec, r, zero);
	rec->nr_rows++;
	return rec->nr_rows == KVP_RECOVERY_ROWS ? write_rows(rec) : 0;
}

static int discard_stripes(struct kvp_recovery *rec, const struct kvp_vdev *v)
{
	struct kvp_wide_discard *d;
	int ret = 0;

	list_for_each_entry(d, &rec->history[v->index].wide, list) {
		if (kvp_log_before(d->at, rec->log_end))
			ret = kvp_table_discard(rec->pool, kvp_pool_block(v, d->block), d->count);
		if (!ret)
			ret = kvp_recovery_relieve(rec);
		if (ret)
			break;
	}
	return ret;
}

int kvp_recovery_rows_home(struct kvp_recovery *rec)
{
	struct kvp_pool *pool = rec->pool;
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pool->nr_vdevs; i++)
		ret = discard_stripes(rec, &pool->vdevs[i]);
	if (!ret)
		ret = each_row(rec, take_row);
	if (!ret)
		ret = write_rows(rec);
	while (rec->nr_rows)
		put_row(rec, &rec->rows[--rec->nr_rows]);
	return ret;
}
