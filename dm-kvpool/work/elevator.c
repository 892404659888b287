// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list_sort.h>

#include "core/core.h"
#include "core/crowd.h"
#include "core/vdev_ops.h"
#include "format/stripe.h"
#include "home/coalesce.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "work/elevator.h"

/* versions gathered at a time; then other tasks may take checkpoint_lock */
#define PART		32768u

void kvp_elevator_init(struct kvp_elevator *e, struct kvp_wbuf *w, struct kvp_vdevs *vdevs,
		       struct kvp_spell *spell)
{
	e->wbuf = w;
	e->vdevs = vdevs;
	e->spell = spell;
	e->known = RB_ROOT;
	e->hand = kvp_block(0);
	e->nr = 0;
	e->part = PART;
}

static struct kvp_version *by_block_entry(const struct rb_node *at)
{
	return rb_entry(at, struct kvp_version, by_block);
}

/* In order of block; versions of one block are in log order. */
static bool comes_before(struct rb_node *a, const struct rb_node *b)
{
	const struct kvp_version *x = by_block_entry(a), *y = by_block_entry(b);

	return x->block != y->block ? kvp_block_before(x->block, y->block) :
				      kvp_version_after(y, x);
}

static int by_lsn(void *priv, const struct list_head *a, const struct list_head *b)
{
	return kvp_version_after(list_entry(a, struct kvp_version, list),
				 list_entry(b, struct kvp_version, list));
}

/* The first version of @block, or of a later block; or NULL. */
static struct kvp_version *first_from(const struct kvp_elevator *e, kvp_block_t block)
{
	struct rb_node *at = e->known.rb_node;
	struct kvp_version *d, *first = NULL;

	while (at) {
		d = by_block_entry(at);
		if (!kvp_block_before(d->block, block))
			first = d;
		at = kvp_block_before(d->block, block) ? at->rb_right : at->rb_left;
	}
	return first;
}

static struct kvp_version *next_of(const struct kvp_version *d)
{
	struct rb_node *at = rb_next(&d->by_block);

	return at ? by_block_entry(at) : NULL;
}

static void add(struct kvp_elevator *e, struct kvp_version *d)
{
	rb_add(&d->by_block, &e->known, comes_before);
	e->nr++;
}

/* Take out @d, and add it to @to. */
static void __take_out(struct kvp_elevator *e, struct kvp_version *d, struct list_head *to)
{
	rb_erase(&d->by_block, &e->known);
	e->nr--;
	__kvp_wbuf_elevator_take(e->wbuf, d, to);
}

/* After every KVP_WBUF_AT_ONCE of @n versions let other tasks take the lock. */
static void make_way(struct kvp_elevator *e, u32 n)
{
	struct kvp_wbuf *w = e->wbuf;

	if (n % KVP_WBUF_AT_ONCE)
		return;
	kvp_wbuf_unlock_lists(w);
	kvp_give_way(e->spell);
	kvp_wbuf_lock_lists(w);
}

/* --- what is new ------------------------------------------------------------------- */

bool kvp_elevator_gather(struct kvp_elevator *e, kvp_lsn_t limit)
{
	u32 left = e->part, max, n, i;
	struct kvp_version *d;

	do {
		max = min(left, KVP_WBUF_AT_ONCE);
		n = kvp_wbuf_elevator_add(e->wbuf, limit, max, &d);
		/* Only this worker changes @elevator, so it needs no lock for that. */
		for (i = 0; i < n; i++, d = list_next_entry(d, list))
			add(e, d);
		left -= n;
		kvp_give_way(e->spell);
	} while (left && n == max);
	return !left;
}

/* --- taking ------------------------------------------------------------------------------- */

/**
 * struct course - the versions that were taken so far
 * @border: the block behind the unit of the last one. A unit is a stripe or a block, and goes home
 *	together
 * @first: block where the last request begins
 * @last: the last block
 * @runs: requests to each leg; with parity, at least
 */
struct course {
	kvp_block_t border, first, last;
	u32 runs;
};

/* Note that @block is taken next, and is not in the unit taken last. */
static void go_on(struct kvp_elevator *e, struct course *c, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(e->vdevs, block);
	u32 unit = kvp_unit_blocks(at.v->g);

	c->border = kvp_block_add(kvp_block_back(block, kvp_vblock_nr(at.block) % unit), unit);
	if (!c->runs || kvp_block_before(kvp_block_add(c->last, 1 + at.v->ops->gap(at.v)), block) ||
	    kvp_block_since(block, c->first) >= KVP_STRETCH_BLOCKS) {
		c->runs++;
		c->first = block;
	}
	c->last = block;
}

/*
 * Find the first version that the elevator does not know. It knows all older ones, or they are
 * home.
 */
static void find_end(struct kvp_wbuf *w, struct kvp_log_at *end)
{
	struct kvp_version *d;

	d = __kvp_wbuf_first_beyond_elevator(w);
	if (d && kvp_lsn_before(d->lsn, end->lsn))
		*end = (struct kvp_log_at){ d->lsn, d->rec };
}

u32 kvp_elevator_take(struct kvp_elevator *e, u32 max, u32 runs, struct list_head *to,
		      struct kvp_log_at *end)
{
	struct kvp_version *d = first_from(e, e->hand), *next;
	struct kvp_wbuf *w = e->wbuf;
	struct course c = { 0 };
	u32 n = 0;

	if (!d) {
		d = first_from(e, 0);
		e->hand = kvp_block(0);
	}
	kvp_wbuf_lock_lists(w);
	for (; d; d = next) {
		if ((n >= max || c.runs >= runs) && !kvp_block_before(d->block, c.border))
			break;
		/* A version that a stream has passed is dropped, and costs no request. */
		if (!kvp_block_before(d->block, c.border) && !kvp_wbuf_passed(d))
			go_on(e, &c, d->block);
		next = next_of(d);
		__take_out(e, d, to);
		make_way(e, ++n);
	}
	find_end(w, end);
	kvp_wbuf_unlock_lists(w);
	e->hand = kvp_block_last(e->hand, c.border);
	list_sort(NULL, to, by_lsn);
	return n;
}

/* --- back, and away ------------------------------------------------------------------------ */

void kvp_elevator_put_back(struct kvp_elevator *e, struct list_head *versions, bool pass)
{
	struct kvp_version *d;

	list_for_each_entry(d, versions, list) {
		add(e, d);
		if (!pass)
			e->hand = kvp_block_first(e->hand, d->block);
	}
	kvp_wbuf_elevator_put(e->wbuf, versions);
}

void kvp_elevator_drop(struct kvp_elevator *e, const struct kvp_version *hole, struct list_head *to)
{
	struct kvp_version *d = first_from(e, hole->block), *next;
	struct kvp_wbuf *w = e->wbuf;
	u32 n = 0;

	kvp_wbuf_lock_lists(w);
	for (; d && kvp_block_since(d->block, hole->block) < hole->count; d = next) {
		next = next_of(d);
		__take_out(e, d, to);
		make_way(e, ++n);
	}
	kvp_wbuf_unlock_lists(w);
}

void kvp_elevator_take_passed(struct kvp_elevator *e, struct list_head *to)
{
	struct kvp_wbuf *w = e->wbuf;
	struct kvp_version *d = kvp_wbuf_elevator_next(w, NULL), *next;
	u32 n = 0;

	kvp_wbuf_lock_lists(w);
	for (; d; d = next) {
		next = kvp_wbuf_elevator_next(w, d);
		if (kvp_wbuf_passed(d))
			__take_out(e, d, to);
		make_way(e, ++n);
	}
	kvp_wbuf_unlock_lists(w);
}

void kvp_elevator_look(struct kvp_elevator *e, struct kvp_elevator_look *look)
{
	struct kvp_wbuf *w = e->wbuf;
	struct kvp_version *d = kvp_wbuf_elevator_next(w, NULL), *next;
	u32 dropped = 0;

	look->nr = 0;
	look->pending = 0;
	for (; d; d = next) {
		next = kvp_wbuf_elevator_next(w, d);
		if (!kvp_lsn_before(d->lsn, look->below) || look->nr == look->max ||
		    dropped == KVP_WBUF_AT_ONCE ||
		    look->pending == KVP_ELEVATOR_PENDING)
			break;
		if (!kvp_wbuf_superseded(d)) {
			look->of[look->nr++] = d;
		} else if (!kvp_wbuf_outlived(e->wbuf, d)) {
			look->pending++;
		} else {
			kvp_wbuf_lock_lists(w);
			__take_out(e, d, &look->outlived);
			kvp_wbuf_unlock_lists(w);
			dropped++;
		}
	}
}
