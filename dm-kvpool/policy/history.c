// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/slab.h>

#include "policy/history.h"

#define COVER_SHIFT		4
#define COVER_LEVELS		12u
#define COVER_LEVEL_SHIFT	(BITS_PER_LONG - 4)

void kvp_history_init(struct kvp_history *h, const struct kvp_geometry *g)
{
	h->g = g;
	xa_init(&h->blocks);
	xa_init(&h->rows);
	INIT_LIST_HEAD(&h->wide);
	xa_init(&h->covers);
	h->levels = 0;
	h->looks = 0;
	h->records = 0;
}

void kvp_history_exit(struct kvp_history *h)
{
	struct kvp_wide_discard *d, *next;
	struct kvp_wide_cover *c;
	struct kvp_logged_parity *p;
	struct kvp_past_version *v;
	unsigned long i;

	/* Free them one by one. There may be millions, and xa_destroy() keeps interrupts off. */
	xa_for_each(&h->blocks, i, v) {
		xa_erase(&h->blocks, i);
		while (v) {
			struct kvp_past_version *older = v->older;

			kfree(v);
			v = older;
		}
		cond_resched();
	}
	xa_destroy(&h->blocks);
	xa_for_each(&h->rows, i, p) {
		xa_erase(&h->rows, i);
		kfree(p);
		cond_resched();
	}
	xa_destroy(&h->rows);
	xa_for_each(&h->covers, i, c) {
		xa_erase(&h->covers, i);
		while (c) {
			struct kvp_wide_cover *older = c->older;

			kfree(c);
			c = older;
		}
		cond_resched();
	}
	xa_destroy(&h->covers);
	list_for_each_entry_safe(d, next, &h->wide, list) {
		list_del(&d->list);
		kfree(d);
		cond_resched();
	}
}

static int add_version(struct kvp_history *h, u64 block, const struct kvp_rec *rec,
		       struct kvp_log_at at, kvp_lsn_t payload, u8 row)
{
	struct kvp_past_version *v = kmalloc(sizeof(*v), GFP_KERNEL);
	void *ret;

	if (!v)
		return -ENOMEM;
	v->older = xa_load(&h->blocks, block);
	v->at = at;
	v->payload = payload;
	v->row = row;
	v->crc = rec->crc;
	v->kind = rec->kind;
	ret = xa_store(&h->blocks, block, v, GFP_KERNEL);
	if (xa_is_err(ret)) {
		kfree(v);
		return xa_err(ret);
	}
	return 0;
}

/* The number of the stretch of @level that @stripe is in. */
static unsigned long cover_key(u32 level, u64 stripe)
{
	return (unsigned long)level << COVER_LEVEL_SHIFT | stripe >> (COVER_SHIFT * level);
}

/*
 * The next older one has a jump, and that jump's target has one. If both are equally long, jump as
 * far as both together; else only to the next older one. So the lengths are those of a skew binary
 * number.
 */
static struct kvp_wide_cover *jump_behind(struct kvp_wide_cover *older)
{
	struct kvp_wide_cover *jump = older ? older->jump : NULL;

	if (jump && jump->jump && older->depth - jump->depth == jump->depth - jump->jump->depth)
		return jump->jump;
	return older;
}

/* The newest one of a list before @limit. */
static const struct kvp_wide_cover *cover_before(struct kvp_history *h,
						 const struct kvp_wide_cover *c,
						 struct kvp_log_at limit)
{
	for (h->looks++; c && !kvp_log_before(c->at, limit); h->looks++)
		c = c->jump && !kvp_log_before(c->jump->at, limit) ? c->jump : c->older;
	return c;
}

static int add_cover(struct kvp_history *h, u32 level, u64 stripe, struct kvp_log_at at)
{
	unsigned long key = cover_key(level, stripe);
	struct kvp_wide_cover *c = kmalloc(sizeof(*c), GFP_KERNEL);
	void *ret;

	if (!c)
		return -ENOMEM;
	c->older = xa_load(&h->covers, key);
	c->jump = jump_behind(c->older);
	c->depth = c->older ? c->older->depth + 1 : 0;
	c->at = at;
	ret = xa_store(&h->covers, key, c, GFP_KERNEL);
	if (xa_is_err(ret)) {
		kfree(c);
		return xa_err(ret);
	}
	h->levels = max(h->levels, level + 1);
	return 0;
}

/*
 * Cut the stripes from @first to before @end: take the largest aligned stretch that fits, and go
 * on behind it.
 */
static int cover(struct kvp_history *h, u64 first, u64 end, struct kvp_log_at at)
{
	int ret = 0;

	while (!ret && first < end) {
		u64 size = 1;
		u32 level = 0;

		while (level + 1 < COVER_LEVELS && !(first % (size << COVER_SHIFT)) &&
		       (size << COVER_SHIFT) <= end - first) {
			size <<= COVER_SHIFT;
			level++;
		}
		ret = add_cover(h, level, first, at);
		first += size;
	}
	return ret;
}

static int add_wide(struct kvp_history *h, u64 block, u64 count, struct kvp_log_at at)
{
	struct kvp_wide_discard *d = kmalloc(sizeof(*d), GFP_KERNEL);
	u32 stripe = kvp_stripe_blocks(h->g);

	if (!d)
		return -ENOMEM;
	d->at = at;
	d->block = block;
	d->count = count;
	list_add_tail(&d->list, &h->wide);
	return cover(h, div_u64(block, stripe), div_u64(block + count, stripe), at);
}

/* A discard begins and ends within stripes: there it is noted block by block. */
static int add_discard(struct kvp_history *h, const struct kvp_rec *rec, struct kvp_log_at at)
{
	u32 stripe = kvp_stripe_blocks(h->g);
	u64 block = kvp_vblock_nr(kvp_rec_own(rec)), end = block + rec->count;
	int ret = 0;

	while (!ret && block < end) {
		u64 whole = (end - block) / stripe * stripe;

		if (block % stripe || !whole) {
			ret = add_version(h, block++, rec, at, 0, 0);
		} else {
			ret = add_wide(h, block, whole, at);
			block += whole;
		}
	}
	return ret;
}

static int add_parity(struct kvp_history *h, const struct kvp_rec *rec, kvp_lsn_t entry,
		      kvp_lsn_t payload, u8 row, struct kvp_log_at limit)
{
	struct kvp_logged_parity *p = xa_load(&h->rows, kvp_rec_row(rec));
	void *ret;

	if (!p) {
		p = kmalloc(sizeof(*p), GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		ret = xa_store(&h->rows, kvp_rec_row(rec), p, GFP_KERNEL);
		if (xa_is_err(ret)) {
			kfree(p);
			return xa_err(ret);
		}
	}
	p->limit = limit;
	p->entry = entry;
	p->payload = payload;
	p->log_row = row;
	p->crc = rec->crc;
	return 0;
}

int kvp_history_add(struct kvp_history *h, const struct kvp_rec *rec, struct kvp_log_at at,
		    kvp_lsn_t payload, u8 row, struct kvp_log_at limit)
{
	h->records++;
	switch (rec->kind) {
	case KVP_REC_DISCARD:
		return add_discard(h, rec, at);
	case KVP_REC_PARITY:
		return add_parity(h, rec, at.lsn, payload, row, limit);
	default:
		return add_version(h, kvp_vblock_nr(kvp_rec_own(rec)), rec, at, payload, row);
	}
}

/*
 * True if a discard of whole stripes covers @block, is before @limit, and newer than @v, which may
 * be NULL. @at receives the newest.
 */
static bool discarded_after(struct kvp_history *h, u64 block, struct kvp_log_at limit,
			    const struct kvp_past_version *v, struct kvp_log_at *at)
{
	u64 stripe = div_u64(block, kvp_stripe_blocks(h->g));
	bool found = false;
	u32 level;

	for (level = 0; level < h->levels; level++) {
		const struct kvp_wide_cover *c =
			cover_before(h, xa_load(&h->covers, cover_key(level, stripe)), limit);

		if (c && ((!v && !found) || kvp_log_before(found ? *at : v->at, c->at))) {
			*at = c->at;
			found = true;
		}
	}
	return found;
}

const struct kvp_past_version *kvp_history_find(struct kvp_history *h, kvp_vblock_t block,
					   struct kvp_log_at limit)
{
	const struct kvp_past_version *v = xa_load(&h->blocks, kvp_vblock_nr(block));
	struct kvp_log_at at;

	while (v && !kvp_log_before(v->at, limit))
		v = v->older;
	if (!discarded_after(h, kvp_vblock_nr(block), limit, v, &at))
		return v;
	h->discarded = (struct kvp_past_version){ .at = at, .kind = KVP_REC_DISCARD };
	return &h->discarded;
}

const struct kvp_logged_parity *kvp_history_parity(struct kvp_history *h, u64 row, kvp_lsn_t tail)
{
	const struct kvp_logged_parity *p = xa_load(&h->rows, row);
	struct kvp_log_at at = { tail, 0 };

	return p && kvp_log_before(at, p->limit) ? p : NULL;
}
