// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/slab.h>

#include "policy/history.h"

#define WIDE_SHIFT		4	/* of stripes */
#define PART_SHIFT		2	/* of blocks: parts of stripes are short */
#define COVER_LEVELS		12u
#define COVER_LEVEL_SHIFT	(BITS_PER_LONG - 4)

static void init_covers(struct kvp_covers *cs, u32 shift)
{
	xa_init(&cs->stretches);
	cs->shift = shift;
	cs->levels = 0;
}

static void free_covers(struct kvp_covers *cs)
{
	struct kvp_cover *c;
	unsigned long i;

	xa_for_each(&cs->stretches, i, c) {
		xa_erase(&cs->stretches, i);
		while (c) {
			struct kvp_cover *older = c->older;

			kfree(c);
			c = older;
		}
		cond_resched();
	}
	xa_destroy(&cs->stretches);
}

void kvp_history_init(struct kvp_history *h, const struct kvp_geometry *g)
{
	h->g = g;
	xa_init(&h->blocks);
	xa_init(&h->rows);
	INIT_LIST_HEAD(&h->wide);
	xa_init(&h->parted);
	init_covers(&h->whole, WIDE_SHIFT);
	init_covers(&h->parts, PART_SHIFT);
	h->looks = 0;
	h->records = 0;
}

void kvp_history_exit(struct kvp_history *h)
{
	struct kvp_wide_discard *d, *next;
	struct kvp_logged_parity *p;
	struct kvp_past_version *v;
	unsigned long i;
	void *entry;

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
	xa_for_each(&h->parted, i, entry) {
		xa_erase(&h->parted, i);
		cond_resched();
	}
	xa_destroy(&h->parted);
	free_covers(&h->whole);
	free_covers(&h->parts);
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

/* The number of the stretch of @level that stripe or block @nr is in. */
static unsigned long cover_key(const struct kvp_covers *cs, u32 level, u64 nr)
{
	return (unsigned long)level << COVER_LEVEL_SHIFT | nr >> (cs->shift * level);
}

/*
 * The next older one has a jump, and that jump's target has one. If both are equally long, jump as
 * far as both together; else only to the next older one. So the lengths are those of a skew binary
 * number.
 */
static struct kvp_cover *jump_behind(struct kvp_cover *older)
{
	struct kvp_cover *jump = older ? older->jump : NULL;

	if (jump && jump->jump && older->depth - jump->depth == jump->depth - jump->jump->depth)
		return jump->jump;
	return older;
}

/* The newest one of a list before @limit. */
static const struct kvp_cover *cover_before(struct kvp_history *h, const struct kvp_cover *c,
					    struct kvp_log_at limit)
{
	for (h->looks++; c && !kvp_log_before(c->at, limit); h->looks++)
		c = c->jump && !kvp_log_before(c->jump->at, limit) ? c->jump : c->older;
	return c;
}

static int add_cover(struct kvp_covers *cs, u32 level, u64 nr, struct kvp_log_at at)
{
	unsigned long key = cover_key(cs, level, nr);
	struct kvp_cover *c = kmalloc(sizeof(*c), GFP_KERNEL);
	void *ret;

	if (!c)
		return -ENOMEM;
	c->older = xa_load(&cs->stretches, key);
	c->jump = jump_behind(c->older);
	c->depth = c->older ? c->older->depth + 1 : 0;
	c->at = at;
	ret = xa_store(&cs->stretches, key, c, GFP_KERNEL);
	if (xa_is_err(ret)) {
		kfree(c);
		return xa_err(ret);
	}
	cs->levels = max(cs->levels, level + 1);
	return 0;
}

/*
 * Cut the stripes or blocks from @first to before @end: take the largest aligned stretch that fits,
 * and go on behind it.
 */
static int cover(struct kvp_covers *cs, u64 first, u64 end, struct kvp_log_at at)
{
	int ret = 0;

	while (!ret && first < end) {
		u64 size = 1;
		u32 level = 0;

		while (level + 1 < COVER_LEVELS && !(first % (size << cs->shift)) &&
		       (size << cs->shift) <= end - first) {
			size <<= cs->shift;
			level++;
		}
		ret = add_cover(cs, level, first, at);
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
	return cover(&h->whole, div_u64(block, stripe), div_u64(block + count, stripe), at);
}

/* Note a discard of a part of one stripe. A part of a wide stripe may be thousands of blocks. */
static int add_part(struct kvp_history *h, u64 block, u64 count, struct kvp_log_at at)
{
	void *ret = xa_store(&h->parted, (unsigned long)div_u64(block, kvp_stripe_blocks(h->g)),
			     h, GFP_KERNEL);

	return xa_is_err(ret) ? xa_err(ret) : cover(&h->parts, block, block + count, at);
}

/* A discard begins and ends within stripes. */
static int add_discard(struct kvp_history *h, const struct kvp_rec *rec, struct kvp_log_at at)
{
	u32 stripe = kvp_stripe_blocks(h->g);
	u64 block = kvp_vblock_nr(kvp_rec_own(rec)), end = block + rec->count;
	int ret = 0;

	while (!ret && block < end) {
		u64 whole = (end - block) / stripe * stripe;
		u64 part = min_t(u64, stripe - block % stripe, end - block);

		if (part < stripe) {
			ret = add_part(h, block, part, at);
			block += part;
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
 * Look for a discard that covers stripe or block @nr, is before @limit, and newer than *@newest:
 * NULL is older than all. *@newest becomes the newest, whose copy is in *@at.
 */
static void look_for_discard(struct kvp_history *h, struct kvp_covers *cs, u64 nr,
			     struct kvp_log_at limit, const struct kvp_log_at **newest,
			     struct kvp_log_at *at)
{
	u32 level;

	for (level = 0; level < cs->levels; level++) {
		const struct kvp_cover *c =
			cover_before(h, xa_load(&cs->stretches, cover_key(cs, level, nr)), limit);

		if (c && (!*newest || kvp_log_before(**newest, c->at))) {
			*at = c->at;
			*newest = at;
		}
	}
}

/*
 * True if a discard covers @block, is before @limit, and newer than @v, which may be NULL. @at
 * receives the newest.
 */
static bool discarded_after(struct kvp_history *h, u64 block, struct kvp_log_at limit,
			    const struct kvp_past_version *v, struct kvp_log_at *at)
{
	const struct kvp_log_at *newest = v ? &v->at : NULL;

	look_for_discard(h, &h->whole, div_u64(block, kvp_stripe_blocks(h->g)), limit, &newest,
			 at);
	look_for_discard(h, &h->parts, block, limit, &newest, at);
	return newest == at;
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

bool kvp_history_next(struct kvp_history *h, u64 *block)
{
	u32 stripe = kvp_stripe_blocks(h->g);
	unsigned long own = (unsigned long)*block;
	unsigned long parted = (unsigned long)div_u64(*block + stripe - 1, stripe);
	bool any = xa_find(&h->blocks, &own, ~0ul, XA_PRESENT);

	if (xa_find(&h->parted, &parted, ~0ul, XA_PRESENT) &&
	    (!any || (u64)parted * stripe < own)) {
		*block = (u64)parted * stripe;
		return true;
	}
	*block = own;
	return any;
}

bool kvp_history_knows(struct kvp_history *h, kvp_vblock_t block)
{
	u64 nr = kvp_vblock_nr(block);
	u32 level;

	if (xa_load(&h->blocks, nr))
		return true;
	for (level = 0; level < h->parts.levels; level++)
		if (xa_load(&h->parts.stretches, cover_key(&h->parts, level, nr)))
			return true;
	return false;
}

const struct kvp_logged_parity *kvp_history_parity(struct kvp_history *h, u64 row, kvp_lsn_t tail)
{
	const struct kvp_logged_parity *p = xa_load(&h->rows, row);
	struct kvp_log_at at = { tail, 0 };

	return p && kvp_log_before(at, p->limit) ? p : NULL;
}
