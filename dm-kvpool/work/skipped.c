// SPDX-License-Identifier: GPL-2.0-only
/* What a resilver skipped: see skipped.h. */
#include "work/skipped.h"

void kvp_skipped_init(struct kvp_skipped *s)
{
	spin_lock_init(&s->lock);
}

/* Make one range of @a and @b, of one vdev. Blocks between them are copied again. */
static void join(struct kvp_skipped_range *a, const struct kvp_skipped_range *b)
{
	kvp_vblock_t end = kvp_vblock_last(kvp_skipped_end(a), kvp_skipped_end(b));

	a->own = kvp_vblock_first(a->own, b->own);
	a->n = kvp_vblock_since(end, a->own);
	a->legs |= b->legs;
}

static_assert(KVP_SKIPPED_RANGES > KVP_MAX_VDEVS);

/* Make room for one more range. There are more ranges than vdevs, so some vdev has two. */
static void save_one(struct kvp_skipped *s)
{
	struct kvp_skipped_range *h = s->at;
	u32 i, k;

	for (i = 0; i < s->nr; i++)
		for (k = i + 1; k < s->nr; k++)
			if (h[i].v == h[k].v) {
				join(&h[i], &h[k]);
				h[k] = h[--s->nr];
				return;
			}
}

void kvp_skipped_note(struct kvp_skipped *s, const struct kvp_skipped_range *range)
{
	struct kvp_skipped_range *last;

	spin_lock(&s->lock);
	last = s->nr ? &s->at[s->nr - 1] : NULL;
	if (last && last->v == range->v && kvp_skipped_end(last) == range->own) {
		join(last, range);
	} else {
		if (s->nr == KVP_SKIPPED_RANGES)
			save_one(s);
		s->at[s->nr++] = *range;
	}
	spin_unlock(&s->lock);
}

void kvp_skipped_forget(struct kvp_skipped *s, const struct kvp_vdev *v)
{
	u32 i, others = 0;

	spin_lock(&s->lock);
	for (i = 0; v && i < s->nr; i++)
		if (s->at[i].v != v)
			s->at[others++] = s->at[i];
	s->nr = others;
	if (!v)
		s->nr_again = 0;
	spin_unlock(&s->lock);
}

/* The @i-th range, also of those that are tried again. */
static const struct kvp_skipped_range *nth(const struct kvp_skipped *s, u32 i)
{
	return i < s->nr ? &s->at[i] : &s->again[i - s->nr];
}

bool kvp_skipped_first(struct kvp_skipped *s, const struct kvp_vdev *v, kvp_vblock_t *first)
{
	bool found = false;
	u32 i;

	spin_lock(&s->lock);
	for (i = 0; i < s->nr + s->nr_again; i++) {
		const struct kvp_skipped_range *h = nth(s, i);

		if (h->v != v)
			continue;
		*first = found ? kvp_vblock_first(*first, h->own) : h->own;
		found = true;
	}
	spin_unlock(&s->lock);
	return found;
}

u32 kvp_skipped_take(struct kvp_skipped *s, const struct kvp_vdev *v)
{
	u32 i, n = 0, others = 0;

	spin_lock(&s->lock);
	for (i = 0; i < s->nr; i++) {
		if (s->at[i].v == v)
			s->again[n++] = s->at[i];
		else
			s->at[others++] = s->at[i];
	}
	s->nr = others;
	s->nr_again = n;
	spin_unlock(&s->lock);
	return n;
}

void kvp_skipped_tried(struct kvp_skipped *s)
{
	spin_lock(&s->lock);
	s->nr_again = 0;
	spin_unlock(&s->lock);
}

/* --- where they are ----------------------------------------------------------- */

/*
 * The first blocks of @v that were skipped, at or behind @from. Ranges may overlap while they are
 * tried again. Returns false if there are none.
 */
static bool next_of_vdev(const struct kvp_skipped *s, const struct kvp_vdev *v, kvp_vblock_t from,
			 kvp_vblock_t *first, kvp_vblock_t *end)
{
	bool found = false;
	u32 i;

	for (i = 0; i < s->nr + s->nr_again; i++) {
		const struct kvp_skipped_range *h = nth(s, i);
		kvp_vblock_t own = kvp_vblock_last(h->own, from);

		if (h->v != v || !kvp_vblock_before(own, kvp_skipped_end(h)) ||
		    (found && !kvp_vblock_before(own, *first)))
			continue;
		*first = own;
		*end = kvp_skipped_end(h);
		found = true;
	}
	return found;
}

u64 kvp_skipped_blocks(struct kvp_skipped *s)
{
	kvp_vblock_t first, end;
	u64 blocks = 0;
	u32 i, k;

	spin_lock(&s->lock);
	for (i = 0; i < s->nr + s->nr_again; i++) {
		const struct kvp_vdev *v = nth(s, i)->v;

		/* each vdev once */
		for (k = 0; nth(s, k)->v != v; k++)
			;
		if (k < i)
			continue;
		for (end = kvp_vblock(0); next_of_vdev(s, v, end, &first, &end);)
			blocks += kvp_vblock_since(end, first);
	}
	spin_unlock(&s->lock);
	return blocks;
}

/* The same for blocks of the pool: a range may begin with some that are none. */
static bool next_of_pool(const struct kvp_skipped *s, const struct kvp_vdev *v, kvp_vblock_t from,
			 kvp_vblock_t *first, kvp_vblock_t *end)
{
	kvp_vblock_t behind;

	for (; next_of_vdev(s, v, from, first, end); from = *first) {
		*first = kvp_vdev_stretch(v, *first, &behind);
		if (*first == behind)
			return false;
		if (!kvp_vblock_before(*first, *end))
			continue;
		*end = kvp_vblock_first(*end, behind);
		return true;
	}
	return false;
}

bool kvp_skipped_next(struct kvp_skipped *s, struct kvp_pool *pool, kvp_block_t from,
		      kvp_block_t *first, u64 *count)
{
	kvp_block_t next = kvp_pool_end(pool);
	kvp_vblock_t own, end;
	u32 i;

	if (!kvp_block_before(from, next))
		return false;
	spin_lock(&s->lock);
	for (i = 0; i < pool->vdevs.nr_with_data; i++) {
		const struct kvp_vdev *v = pool->vdevs.with_data[i];
		kvp_block_t block;

		if (!next_of_pool(s, v, kvp_vdev_from(v, from), &own, &end))
			continue;
		block = kvp_pool_block(v, own);
		if (!kvp_block_before(block, next))
			continue;
		next = block;
		*count = kvp_vblock_since(end, own);
		/* Otherwise other vdevs have their turns among these blocks. */
		if (pool->vdevs.nr_with_data > 1)
			*count = min_t(u64, *count, kvp_locate(pool, block).left);
	}
	spin_unlock(&s->lock);
	*first = next;
	return kvp_block_before(next, kvp_pool_end(pool));
}
