// SPDX-License-Identifier: GPL-2.0-only
#include <linux/list_sort.h>

#include "format/stripe.h"
#include "pool/pool.h"
#include "vdev/bridge.h"
#include "vdev/sweep.h"

#define AT_ONCE		256u	/* versions that are moved while others wait for wbuf->lock */
#define STEPS		4096u	/* of a list, which may have millions, before others may run */
#define PART		8u	/* gather when this part of what is known is new */

void kvp_sweep_init(struct kvp_sweep *s)
{
	INIT_LIST_HEAD(&s->ahead);
	INIT_LIST_HEAD(&s->behind);
	s->hand = 0;
	s->nr = 0;
}

static struct kvp_dirty *by_block_entry(const struct list_head *at)
{
	return list_entry(at, struct kvp_dirty, by_block);
}

/* Counts what is done without a lock held; now and then others may run. */
static void step(u32 *n)
{
	if (++*n % STEPS == 0)
		cond_resched();
}

/* @priv counts: after a restart with a large window all of it is sorted at once. */
static int by_block(void *priv, const struct list_head *a, const struct list_head *b)
{
	step(priv);
	/* list_sort() is stable: versions of one block stay in order */
	return by_block_entry(a)->block > by_block_entry(b)->block;
}

static int by_lsn(void *priv, const struct list_head *a, const struct list_head *b)
{
	return kvp_dirty_after(list_entry(a, struct kvp_dirty, list), list_entry(b, struct kvp_dirty, list));
}

/* --- what is new ------------------------------------------------------------------- */

static bool worth_it(struct kvp_pool *pool)
{
	const struct kvp_sweep *s = &pool->destage.sweep;
	u32 unseen = READ_ONCE(pool->wbuf.nr_parked) - s->nr;

	return unseen > s->nr / PART || (unseen && READ_ONCE(pool->wbuf.nr_holes));
}

/* Some versions below @limit from the head of @parked; false: there are no more. */
static bool gather_some(struct kvp_pool *pool, u64 limit, struct list_head *fresh)
{
	struct kvp_wbuf *w = &pool->wbuf;
	struct kvp_dirty *d, *next;
	u32 n = 0;

	spin_lock(&w->lock);
	list_for_each_entry_safe(d, next, &w->parked, list) {
		if (n == AT_ONCE || d->hole || d->lsn >= limit)
			break;
		list_move_tail(&d->list, &w->swept);
		list_add_tail(&d->by_block, fresh);
		n++;
	}
	spin_unlock(&w->lock);
	pool->destage.sweep.nr += n;
	cond_resched();
	return n == AT_ONCE;
}

/* Both are sorted; of one block those of @fresh are newer. */
static void merge(struct list_head *into, struct list_head *fresh)
{
	struct list_head *at = into->next;
	struct kvp_dirty *d, *next;
	u32 n = 0;

	list_for_each_entry_safe(d, next, fresh, by_block) {
		for (; at != into && by_block_entry(at)->block <= d->block; at = at->next)
			step(&n);
		step(&n);
		list_move_tail(&d->by_block, at);
	}
}

void kvp_sweep_gather(struct kvp_pool *pool, u64 limit)
{
	struct kvp_sweep *s = &pool->destage.sweep;
	struct kvp_dirty *d;
	LIST_HEAD(fresh);
	LIST_HEAD(passed);
	u32 n = 0;

	if (!worth_it(pool))
		return;
	while (gather_some(pool, limit, &fresh))
		;
	list_sort(&n, &fresh, by_block);
	list_for_each_entry(d, &fresh, by_block) {
		if (d->block >= s->hand)
			break;
		step(&n);
	}
	list_cut_before(&passed, &fresh, &d->by_block);
	merge(&s->behind, &passed);
	merge(&s->ahead, &fresh);
}

/* --- taking ------------------------------------------------------------------------------- */

/**
 * struct course - what has been taken goes so far
 * @border: behind what must go home together with the last: its stripe, or itself
 * @first: where the last request begins
 * @last: block
 * @runs: requests to each leg, with parity at least
 */
struct course {
	u64 border, first, last;
	u32 runs;
};

/* @block comes next, and is not part of what was taken. */
static void go_on(struct kvp_pool *pool, struct course *c, u64 block)
{
	struct kvp_spot at = kvp_locate(pool, block);
	u32 unit = kvp_is_parity1(at.v->g) ? kvp_stripe_blocks(at.v->g) : 1;

	c->border = block - at.block % unit + unit;
	if (!c->runs || block > c->last + 1 + kvp_bridge_gap(at.v) || block - c->first >= KVP_STRETCH_BLOCKS) {
		c->runs++;
		c->first = block;
	}
	c->last = block;
}

/* The first that the sweep does not know: all that is older it knows, or it is home. */
static void find_end(struct kvp_wbuf *w, struct kvp_log_at *end)
{
	struct kvp_dirty *d;

	lockdep_assert_held(&w->lock);
	d = list_first_entry_or_null(&w->parked, struct kvp_dirty, list) ?:
	    list_first_entry_or_null(&w->logged, struct kvp_dirty, list);
	if (d && d->lsn < end->lsn)
		*end = (struct kvp_log_at){ d->lsn, d->rec };
}

u32 kvp_sweep_take(struct kvp_pool *pool, u32 max, u32 runs, struct list_head *to, struct kvp_log_at *end)
{
	struct kvp_sweep *s = &pool->destage.sweep;
	struct kvp_wbuf *w = &pool->wbuf;
	struct course c = { 0 };
	struct kvp_dirty *d;
	u32 n = 0;

	if (list_empty(&s->ahead)) {
		list_splice_init(&s->behind, &s->ahead);
		s->hand = 0;
	}
	spin_lock(&w->lock);
	while (!list_empty(&s->ahead)) {
		d = by_block_entry(s->ahead.next);
		if ((n >= max || c.runs >= runs) && d->block >= c.border)
			break;
		if (d->block >= c.border)
			go_on(pool, &c, d->block);
		list_del(&d->by_block);
		list_move_tail(&d->list, to);
		w->nr_parked--;
		if (++n % AT_ONCE == 0) {
			spin_unlock(&w->lock);
			cond_resched();
			spin_lock(&w->lock);
		}
	}
	find_end(w, end);
	spin_unlock(&w->lock);
	s->nr -= n;
	s->hand = max(s->hand, c.border);
	list_sort(NULL, to, by_lsn);
	return n;
}

/* --- back, and away ------------------------------------------------------------------------ */

/* Some of @versions to their places on @swept, from @at on; false: all are there. */
static bool put_some(struct kvp_wbuf *w, struct list_head *versions, struct list_head **at)
{
	struct kvp_dirty *d;
	u32 n = 0;

	spin_lock(&w->lock);
	while (!list_empty(versions) && n++ < AT_ONCE) {
		d = list_first_entry(versions, struct kvp_dirty, list);
		if (*at != &w->swept && kvp_dirty_after(d, list_entry(*at, struct kvp_dirty, list))) {
			*at = (*at)->next;
			continue;
		}
		list_move_tail(&d->list, *at);
		w->nr_parked++;
	}
	spin_unlock(&w->lock);
	cond_resched();
	return !list_empty(versions);
}

void kvp_sweep_put_back(struct kvp_pool *pool, struct list_head *versions)
{
	struct list_head *at = pool->wbuf.swept.next;
	struct kvp_sweep *s = &pool->destage.sweep;
	struct kvp_dirty *d;
	LIST_HEAD(fresh);
	u32 n = 0;

	if (list_empty(versions))
		return;
	list_for_each_entry(d, versions, list) {
		list_add_tail(&d->by_block, &fresh);
		s->nr++;
	}
	list_sort(&n, &fresh, by_block);
	/* What was taken last lies before all that is ahead, and nothing was gathered since. */
	s->hand = min(s->hand, by_block_entry(fresh.next)->block);
	list_splice(&fresh, &s->ahead);
	while (put_some(&pool->wbuf, versions, &at))
		;
}

static bool covered(const struct list_head *holes, u64 block)
{
	const struct kvp_dirty *h;

	list_for_each_entry(h, holes, list)
		if (block >= h->block && block - h->block < h->count)
			return true;
	return false;
}

static u32 drop_covered(struct kvp_wbuf *w, struct list_head *of, const struct list_head *holes,
			struct list_head *to)
{
	struct kvp_dirty *d, *next;
	u32 n = 0, seen = 0;

	list_for_each_entry_safe(d, next, of, by_block) {
		step(&seen);
		if (!covered(holes, d->block))
			continue;
		list_del(&d->by_block);
		spin_lock(&w->lock);
		list_move_tail(&d->list, to);
		w->nr_parked--;
		spin_unlock(&w->lock);
		n++;
	}
	return n;
}

void kvp_sweep_drop(struct kvp_pool *pool, struct list_head *holes, struct list_head *to)
{
	struct kvp_sweep *s = &pool->destage.sweep;

	s->nr -= drop_covered(&pool->wbuf, &s->ahead, holes, to);
	s->nr -= drop_covered(&pool->wbuf, &s->behind, holes, to);
}
