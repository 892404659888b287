// SPDX-License-Identifier: GPL-2.0-only
#include "core/core.h"
#include "format/stripe.h"
#include "home/row.h"
#include "home/stripe_read.h"
#include "io/mirror.h"
#include "io/slow.h"
#include "ram/wbuf.h"
#include "table/table.h"

/* Rows of a stripe, counted from its first one; none if @from equals @to. */
struct rows {
	u32 from, to;
};

static const struct kvp_geometry *geometry(const struct kvp_stripe_read *s)
{
	return s->leaf->v->g;
}

static u64 base_of(const struct kvp_stripe_read *s, u64 block)
{
	return block - block % kvp_stripe_blocks(geometry(s));
}

/*
 * The rows that the reader wants of piece @piece, not the parity, of the stripe that begins with
 * @base.
 */
static struct rows wanted(const struct kvp_stripe_read *s, u64 base, u32 piece)
{
	u32 chunk = geometry(s)->chunk_blocks;
	u64 at = base + (piece - 1) * chunk;
	u64 from = max(s->first, at), to = min(s->end, at + chunk);

	if (from >= to)
		return (struct rows){ 0, 0 };
	return (struct rows){ (u32)(from - at), (u32)(to - at) };
}

/* The piece on the leg that is out; 0: the parity, or no leg is out. */
static u32 missing_piece(const struct kvp_stripe_read *s, u64 base)
{
	const struct kvp_geometry *g = geometry(s);

	return s->out == g->leg_count ? 0 :
	       kvp_stripe_piece_on(g->leg_count, base / kvp_stripe_blocks(g), s->out);
}

/* Rows with a missing piece that is wanted. */
static struct rows missing(const struct kvp_stripe_read *s, u64 base)
{
	u32 piece = missing_piece(s, base);

	return piece ? wanted(s, base, piece) : (struct rows){ 0, 0 };
}

/*
 * The slot of @row of a piece. Blocks that the reader does not want are in the first stripe or the
 * last.
 */
static u32 slot_of(const struct kvp_stripe_read *s, u64 base, u32 piece, u32 row)
{
	const struct kvp_geometry *g = geometry(s);
	u64 block = base + (piece - 1) * g->chunk_blocks + row;
	u32 own = (u32)(s->end - s->first);

	if (block >= s->first && block < s->end)
		return (u32)(block - s->first);
	if (base != base_of(s, s->first))
		own += kvp_stripe_blocks(g);
	return own + (u32)(block - base);
}

u32 kvp_stripe_read_own(const struct kvp_stripe_read *s)
{
	u32 stripe = kvp_stripe_blocks(geometry(s));

	if (!s->rebuild || !(s->first % stripe || s->end % stripe))
		return 0;
	return base_of(s, s->first) == base_of(s, s->end - 1) ? stripe : 2 * stripe;
}

/* --- beginning ---------------------------------------------------------------------------- */

/*
 * True if the buffer has a version in rows of which blocks are made. That version may be going
 * home.
 */
static bool rows_change(const struct kvp_stripe_read *s)
{
	const struct kvp_geometry *g = geometry(s);
	u64 base;
	u32 i;

	for (base = base_of(s, s->first); base < s->end; base += kvp_stripe_blocks(g)) {
		struct rows r = missing(s, base);

		for (i = 0; r.from < r.to && i < g->leg_count - 1; i++) {
			kvp_vblock_t own = kvp_vblock(base + i * g->chunk_blocks + r.from);

			if (kvp_wbuf_any(s->leaf->v->pool->wbuf, kvp_leaf_block(s->leaf, own),
					 r.to - r.from))
				return true;
		}
	}
	return false;
}

static bool any_missing(const struct kvp_stripe_read *s)
{
	u64 base;

	for (base = base_of(s, s->first); base < s->end; base += kvp_stripe_blocks(geometry(s))) {
		struct rows r = missing(s, base);

		if (r.from < r.to)
			return true;
	}
	return false;
}

/*
 * All legs are in use. Pass over the one that is read last, if it has some of the blocks. One read
 * in KVP_SLOW_PROBE goes to it all the same, unless it has not answered for a second.
 */
static void pass_over(struct kvp_stripe_read *s)
{
	const struct kvp_vdev *v = s->leaf->v;
	struct kvp_leg *leg = kvp_leg_to_pass_over(v);

	if (!leg)
		return;
	s->out = (u32)(leg - v->legs);
	if (!any_missing(s) || rows_change(s) ||
	    (kvp_slow_probes(leg) && !READ_ONCE(leg->late))) {
		s->out = v->nr_legs;
		return;
	}
	s->lacking = true;
	s->rebuild = true;
	s->passes = true;
}

bool kvp_stripe_read_begin(struct kvp_stripe_read *s, const struct kvp_tpage *leaf,
			   kvp_block_t block, u32 count, bool passes)
{
	const struct kvp_vdev *v = leaf->v;
	u32 i, nr_out = 0;

	*s = (struct kvp_stripe_read){
		.leaf = leaf,
		.first = kvp_vblock_nr(kvp_vdev_block(leaf, block)),
		.end = kvp_vblock_nr(kvp_vdev_block(leaf, block)) + count,
		.out = v->nr_legs,
		.changes = READ_ONCE(leaf->changes),
	};
	/*
	 * If a leg is in use here that lacks a write, it was given up later. Then the entry has
	 * changed.
	 */
	smp_rmb();
	for (i = 0; i < v->nr_legs; i++)
		if (!kvp_leg_in_sync(&v->legs[i])) {
			s->out = i;
			nr_out++;
		}
	if (nr_out > 1)
		return false;
	s->lacking = nr_out && any_missing(s);
	/* This only spares work: kvp_stripe_read_make() would find it out, too. */
	s->rebuild = s->lacking && !rows_change(s);
	if (!nr_out && passes)
		pass_over(s);
	return true;
}

void kvp_stripe_read_only(struct kvp_stripe_read *s)
{
	s->rebuild = false;
	if (!s->passes)
		return;
	s->passes = false;
	s->lacking = false;
	s->out = s->leaf->v->nr_legs;
}

/* --- cutting ------------------------------------------------------------------------------ */

/* The parts that are read from one leg. */
struct cut {
	const struct kvp_stripe_read *s;
	u64 base;		/* of the stripe: its first block */
	kvp_lblock_t home;	/* its first row on the leg */
	u32 piece;		/* the leg's piece of the stripe */
	bool (*add)(void *to, kvp_lblock_t at, u32 slot, u32 nr);
	void *to;
};

static bool add_rows(const struct cut *c, u32 piece, u32 from, u32 to)
{
	return from >= to || c->add(c->to, kvp_lblock_add(c->home, from),
				    slot_of(c->s, c->base, piece, from), to - from);
}

/*
 * Parity goes to the slots of the missing piece. If no piece is missing, a disk that seeks reads
 * the parity of a whole stripe along: then the next read begins where this one ends, and the
 * device's queue can join the two.
 */
static bool add_parity(const struct cut *c, const struct kvp_leg *leg)
{
	const struct kvp_stripe_read *s = c->s;
	struct rows r = missing(s, c->base);
	u32 chunk = geometry(s)->chunk_blocks;

	if (s->rebuild && r.from < r.to)
		return add_rows(c, missing_piece(s, c->base), r.from, r.to);
	if (!leg->rotational || c->base < s->first ||
	    c->base + kvp_stripe_blocks(geometry(s)) > s->end)
		return true;
	return c->add(c->to, c->home, KVP_SLOT_JUNK, chunk);
}

/* Add the rows that the reader wants, and those around them that the missing rows are made of. */
static bool add_data(const struct cut *c)
{
	struct rows in = wanted(c->s, c->base, c->piece), need = { 0, 0 };

	if (c->s->rebuild)
		need = missing(c->s, c->base);
	if (in.from == in.to)
		return add_rows(c, c->piece, need.from, need.to);
	return add_rows(c, c->piece, need.from, min(need.to, in.from)) &&
	       add_rows(c, c->piece, in.from, in.to) &&
	       add_rows(c, c->piece, max(need.from, in.to), need.to);
}

bool kvp_stripe_read_cut(const struct kvp_stripe_read *s, u32 leg,
			 bool (*add)(void *to, kvp_lblock_t at, u32 slot, u32 nr), void *to)
{
	const struct kvp_geometry *g = geometry(s);
	u32 stripe = kvp_stripe_blocks(g);
	struct cut c = { .s = s, .base = base_of(s, s->first), .add = add, .to = to };
	bool more = true;

	if (leg == s->out)
		return true;
	for (; more && c.base < s->end; c.base += stripe) {
		c.home = kvp_lblock(g->data_start + kvp_row_of(g, kvp_vblock(c.base)));
		c.piece = kvp_stripe_piece_on(g->leg_count, c.base / stripe, leg);
		more = c.piece ? add_data(&c) : add_parity(&c, &s->leaf->v->legs[leg]);
	}
	return more;
}

/* --- making ------------------------------------------------------------------------------- */

/* True if the piece is part of the row's sum. Unwritten and poisoned data is zeros. */
static bool counts(const struct kvp_stripe_read *s, u64 row, u32 piece)
{
	return kvp_entry_state(kvp_row_entry(s->leaf, row, piece)) ==
	       KVP_ENTRY_VALID;
}

/* A stripe of which blocks are made. */
struct make {
	const struct kvp_stripe_read *s;
	u64 base, row;		/* of the stripe: its first block; its first row */
	u32 piece;		/* the missing piece */
	void (*xor)(void *to, u32 slot, u32 from, u32 nr);
	void *to;
};

/* Add the contents of piece @piece, as many rows at once as lie side by side. */
static void add_piece(const struct make *m, struct rows r, u32 piece)
{
	u32 slot = 0, from = 0, nr = 0, k;

	for (k = r.from; k < r.to; k++) {
		u32 at = slot_of(m->s, m->base, piece, k);

		if (!counts(m->s, m->row + k, m->piece) || !counts(m->s, m->row + k, piece))
			continue;
		if (nr && at == from + nr && slot + nr == slot_of(m->s, m->base, m->piece, k)) {
			nr++;
			continue;
		}
		if (nr)
			m->xor(m->to, slot, from, nr);
		slot = slot_of(m->s, m->base, m->piece, k);
		from = at;
		nr = 1;
	}
	if (nr)
		m->xor(m->to, slot, from, nr);
}

/* The number of blocks made in a stripe, or -EAGAIN. */
static int make_stripe(const struct make *m)
{
	struct rows r = missing(m->s, m->base);
	u32 n = geometry(m->s)->leg_count, k, i;
	int made = 0;

	for (k = r.from; k < r.to; k++) {
		if (!counts(m->s, m->row + k, m->piece))
			continue;
		if (!counts(m->s, m->row + k, 0))
			return -EAGAIN;
		made++;
	}
	for (i = 1; made && i < n; i++)
		if (i != m->piece)
			add_piece(m, r, i);
	return made;
}

/*
 * True if no write to these rows was going home since the beginning. Such a version would still be
 * in the buffer, or its entry would have changed before it left the buffer.
 */
static bool undisturbed(const struct kvp_stripe_read *s)
{
	if (rows_change(s))
		return false;
	smp_rmb();
	return READ_ONCE(s->leaf->changes) == s->changes;
}

int kvp_stripe_read_make(const struct kvp_stripe_read *s,
			 void (*xor)(void *to, u32 slot, u32 from, u32 nr), void *to)
{
	const struct kvp_geometry *g = geometry(s);
	struct make m = { .s = s, .base = base_of(s, s->first), .xor = xor, .to = to };
	int made = 0, n;

	for (; s->rebuild && m.base < s->end; m.base += kvp_stripe_blocks(g)) {
		m.row = kvp_row_of(g, kvp_vblock(m.base));
		m.piece = missing_piece(s, m.base);
		n = m.piece ? make_stripe(&m) : 0;
		if (n < 0)
			return n;
		made += n;
	}
	/* Last, since the entries that were used must not have changed either. */
	return undisturbed(s) ? made : -EAGAIN;
}
