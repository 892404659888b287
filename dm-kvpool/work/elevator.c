// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list_sort.h>

#include "core/core.h"
#include "core/crowd.h"
#include "core/order_ops.h"
#include "core/vdev_ops.h"
#include "format/stripe.h"
#include "home/coalesce.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "work/elevator.h"

/* versions gathered at a time; then other tasks may take checkpoint_lock */
#define PART		32768u
#define COLLECTED	32u		/* packed versions found at a time */
/* so many packed versions are made whole together, to be renewed; or a share of all */
#define WHOLE		1024u
#define WHOLE_SHARE	64u

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
	e->short_of_memory = false;
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

bool kvp_elevator_drop_older(struct kvp_elevator *e, const struct kvp_version *d)
{
	struct kvp_version *old, *next;
	LIST_HEAD(outlived);

	/* Nothing of its block was older when it was accepted, or only what a discard covers. */
	if (!d->follows && !d->restored)
		return false;
	if (d->hole || d->intent || kvp_wbuf_superseded(d))
		return false;
	for (old = first_from(e, d->block); old && old->block == d->block; old = next) {
		next = next_of(old);
		kvp_wbuf_lock_lists(e->wbuf);
		__take_out(e, old, &outlived);
		kvp_wbuf_unlock_lists(e->wbuf);
	}
	if (!list_empty(&outlived))
		kvp_wbuf_drop_list(e->wbuf, &outlived);
	return true;
}

/*
 * Learn of @d, which is on wbuf->elevator. If it is the only version of its block, pack it. A
 * packed version that it outlives ends either way.
 */
static void learn(struct kvp_elevator *e, struct kvp_version *d)
{
	bool outlives = e->vdevs->order->drop_older(e, d);
	const struct kvp_version *same = outlives ? NULL : first_from(e, d->block);
	struct kvp_packed_rec r;

	if (!(same && same->block == d->block) && kvp_wbuf_pack(e->wbuf, d, outlives))
		return;
	if (outlives && kvp_wbuf_find_packed(e->wbuf, d->block, &r))
		kvp_wbuf_drop_packed(e->wbuf, d->block);
	add(e, d);
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
	struct kvp_version *d, *next;

	do {
		max = min(left, KVP_WBUF_AT_ONCE);
		n = kvp_wbuf_elevator_add(e->wbuf, limit, max, &d);
		/* Only this worker changes @elevator, so it needs no lock for that. */
		for (i = 0; i < n; i++, d = next) {
			next = list_next_entry(d, list);
			learn(e, d);
		}
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

/* The first block of @block's unit. */
static kvp_block_t unit_at(struct kvp_elevator *e, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(e->vdevs, block);

	return kvp_block_back(block, kvp_vblock_nr(at.block) % kvp_unit_blocks(at.v->g));
}

/* Note that @block is taken next, and is not in the unit taken last. */
static void go_on(struct kvp_elevator *e, struct course *c, kvp_block_t block)
{
	struct kvp_spot at = kvp_vdevs_find(e->vdevs, block);

	c->border = kvp_block_add(unit_at(e, block), kvp_unit_blocks(at.v->g));
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

/**
 * struct course_at - where a walk by address is: at a version in the tree, or at a packed one
 * @d: the next one in the tree, or NULL
 * @r: the next packed one
 * @packed: there is one
 */
struct course_at {
	struct kvp_version *d;
	struct kvp_packed_rec r;
	bool packed;
};

static void look_from(struct kvp_elevator *e, kvp_block_t block, struct course_at *at)
{
	at->d = first_from(e, block);
	at->packed = kvp_wbuf_next_packed(e->wbuf, block, &at->r);
}

/* True if the next one is packed. Of one block, the packed version is the oldest. */
static bool is_packed(const struct course_at *at)
{
	return at->packed && (!at->d || !kvp_block_before(at->d->block, at->r.block));
}

/* Take the next version. Returns false if there is no memory. */
static bool take_next(struct kvp_elevator *e, struct course_at *at, struct list_head *to)
{
	struct kvp_version *d = at->d;
	kvp_block_t block = at->r.block;

	if (is_packed(at)) {
		if (!kvp_wbuf_unpack(e->wbuf, block, to))
			return false;
		at->packed = kvp_wbuf_next_packed(e->wbuf, kvp_block_add(block, 1), &at->r);
		return true;
	}
	at->d = next_of(d);
	kvp_wbuf_lock_lists(e->wbuf);
	__take_out(e, d, to);
	kvp_wbuf_unlock_lists(e->wbuf);
	return true;
}

/*
 * There is no memory for the rest of a unit. Put back the last @n versions of @from, which are its
 * first ones. They stay whole, so the next try needs less memory.
 */
static void give_up_unit(struct kvp_elevator *e, u32 n, struct list_head *from)
{
	LIST_HEAD(back);

	e->short_of_memory = true;
	while (n--)
		list_move(from->prev, &back);
	list_sort(NULL, &back, by_lsn);
	kvp_elevator_put_back(e, &back, true);
}

u32 kvp_elevator_take(struct kvp_elevator *e, u32 max, u32 runs, struct list_head *to,
		      struct kvp_log_at *end)
{
	struct course c = { 0 };
	struct course_at at;
	u32 n = 0, unit = 0;

	e->short_of_memory = false;
	look_from(e, e->hand, &at);
	if (!at.d && !at.packed) {
		e->hand = kvp_block(0);
		look_from(e, e->hand, &at);
	}
	while (at.d || at.packed) {
		kvp_block_t block = is_packed(&at) ? at.r.block : at.d->block;
		bool passed = is_packed(&at) ? at.r.flags & KVP_PACKED_PASSED :
					       kvp_wbuf_passed(at.d);
		bool next = !kvp_block_before(block, c.border);

		if (next && (n >= max || c.runs >= runs))
			break;
		/* A version that a stream has passed is dropped, and costs no request. */
		if (next && !passed)
			go_on(e, &c, block);
		unit = next ? 0 : unit;
		if (!take_next(e, &at, to)) {
			give_up_unit(e, unit, to);
			n -= unit;
			c.border = unit_at(e, block);
			break;
		}
		unit++;
		if (!(++n % KVP_WBUF_AT_ONCE))
			kvp_give_way(e->spell);
	}
	kvp_wbuf_lock_lists(e->wbuf);
	find_end(e->wbuf, end);
	kvp_wbuf_unlock_lists(e->wbuf);
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

static void drop_packed(struct kvp_elevator *e, const struct kvp_version *hole)
{
	kvp_block_t block = hole->block;
	struct kvp_packed_rec r;
	u32 n = 0;

	while (kvp_wbuf_next_packed(e->wbuf, block, &r) &&
	       kvp_block_since(r.block, hole->block) < hole->count) {
		kvp_wbuf_drop_packed(e->wbuf, r.block);
		block = kvp_block_add(r.block, 1);
		if (!(++n % KVP_WBUF_AT_ONCE))
			kvp_give_way(e->spell);
	}
}

void kvp_elevator_drop(struct kvp_elevator *e, const struct kvp_version *hole, struct list_head *to)
{
	struct kvp_version *d = first_from(e, hole->block), *next;
	struct kvp_wbuf *w = e->wbuf;
	u32 n = 0;

	drop_packed(e, hole);
	kvp_wbuf_lock_lists(w);
	for (; d && kvp_block_since(d->block, hole->block) < hole->count; d = next) {
		next = next_of(d);
		__take_out(e, d, to);
		make_way(e, ++n);
	}
	kvp_wbuf_unlock_lists(w);
}

/* Drop all packed versions that streams have passed. */
static void drop_packed_passed(struct kvp_elevator *e)
{
	struct kvp_packs_walk walk = { .q.flags = KVP_PACKED_PASSED };
	kvp_block_t blocks[COLLECTED];
	u32 i, n;

	while (kvp_wbuf_collect_packed(e->wbuf, &walk, blocks, COLLECTED, &n)) {
		for (i = 0; i < n; i++)
			kvp_wbuf_drop_packed(e->wbuf, blocks[i]);
		kvp_give_way(e->spell);
	}
}

void kvp_elevator_take_passed(struct kvp_elevator *e, struct list_head *to)
{
	struct kvp_wbuf *w = e->wbuf;
	struct kvp_version *d = kvp_wbuf_elevator_next(w, NULL), *next;
	u32 n = 0;

	drop_packed_passed(e);
	kvp_wbuf_lock_lists(w);
	for (; d; d = next) {
		next = kvp_wbuf_elevator_next(w, d);
		if (kvp_wbuf_passed(d))
			__take_out(e, d, to);
		make_way(e, ++n);
	}
	kvp_wbuf_unlock_lists(w);
}

/* Make packed versions below @below whole, as far as there is memory. */
static void unpack_below(struct kvp_elevator *e, kvp_lsn_t below, struct list_head *to)
{
	struct kvp_wbuf *w = e->wbuf;
	kvp_lsn_t base = kvp_wbuf_oldest_packed(w);
	struct kvp_packs_walk walk = {
		.q.base = (u32)kvp_lsn_nr(base), .q.span = (u32)kvp_lsn_since(below, base),
	};
	kvp_block_t blocks[COLLECTED];
	u32 i, n;

	while (kvp_wbuf_collect_packed(w, &walk, blocks, COLLECTED, &n)) {
		for (i = 0; i < n; i++)
			if (!kvp_wbuf_unpack(w, blocks[i], to))
				return;
		kvp_give_way(e->spell);
	}
}

/*
 * If packed versions below @below may be the oldest of all, make some of these whole, and put them
 * in their places. The walk over all that are packed costs less than to read and write as many.
 */
static void unpack_oldest(struct kvp_elevator *e, kvp_lsn_t below)
{
	struct kvp_wbuf *w = e->wbuf;
	struct kvp_version *d = kvp_wbuf_elevator_next(w, NULL);
	u32 nr = kvp_wbuf_nr_packed(w);
	LIST_HEAD(whole);

	if (!nr || !kvp_lsn_before(kvp_wbuf_oldest_packed(w), below) ||
	    (d && kvp_lsn_before(d->lsn, kvp_wbuf_oldest_packed(w))))
		return;
	below = kvp_lsn_first(below, kvp_wbuf_packed_part(w, max(nr / WHOLE_SHARE, WHOLE)));
	unpack_below(e, below, &whole);
	list_for_each_entry(d, &whole, list)
		add(e, d);
	list_sort(NULL, &whole, by_lsn);
	kvp_wbuf_elevator_put(w, &whole);
}

void kvp_elevator_look(struct kvp_elevator *e, struct kvp_elevator_look *look)
{
	struct kvp_wbuf *w = e->wbuf;
	struct kvp_version *d, *next;
	u32 dropped = 0;

	unpack_oldest(e, look->below);
	d = kvp_wbuf_elevator_next(w, NULL);

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
