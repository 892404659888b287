// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hash.h>
#include <linux/slab.h>

#include "ram/packs.h"

static u64 part_of(kvp_block_t block)
{
	return kvp_block_nr(block) >> KVP_PACKS_PART_BITS;
}

static struct kvp_packs_shelf *shelf_of(struct kvp_packs *p, kvp_block_t block)
{
	return &p->shelves[hash_64(part_of(block), KVP_PACKS_SHELF_BITS)];
}

void kvp_packs_init(struct kvp_packs *p)
{
	u32 i;

	for (i = 0; i < KVP_PACKS_SHELVES; i++) {
		spin_lock_init(&p->shelves[i].lock);
		kvp_packed_init(&p->shelves[i].set);
	}
	p->nr = 0;
	kvp_packed_places_init(&p->places);
	p->spare = NULL;
}

void kvp_packs_exit(struct kvp_packs *p)
{
	u32 i;

	for (i = 0; i < KVP_PACKS_SHELVES; i++)
		kvp_packed_clear(&p->shelves[i].set);
	kvp_packed_places_init(&p->places);
	p->nr = 0;
	kfree(p->spare);
	p->spare = NULL;
}

u64 kvp_packs_bytes(const struct kvp_packs *p)
{
	u32 i, n = 0;

	for (i = 0; i < KVP_PACKS_SHELVES; i++)
		n += READ_ONCE(p->shelves[i].set.nr_pages);
	return (u64)n * KVP_PACKED_BYTES;
}

bool kvp_packs_find(struct kvp_packs *p, kvp_block_t block, struct kvp_packed_rec *r)
{
	struct kvp_packs_shelf *s = shelf_of(p, block);
	bool found;

	spin_lock(&s->lock);
	found = kvp_packed_find(&s->set, block, r);
	spin_unlock(&s->lock);
	return found;
}

bool kvp_packs_supersede(struct kvp_packs *p, kvp_block_t block, u8 *flags)
{
	struct kvp_packs_shelf *s = shelf_of(p, block);
	bool superseded;

	spin_lock(&s->lock);
	superseded = kvp_packed_supersede(&s->set, block, flags);
	spin_unlock(&s->lock);
	return superseded;
}

void kvp_packs_mark(struct kvp_packs *p, kvp_block_t block, u8 flags)
{
	struct kvp_packs_shelf *s = shelf_of(p, block);

	spin_lock(&s->lock);
	kvp_packed_mark(&s->set, block, flags);
	spin_unlock(&s->lock);
}

void kvp_packs_prepare(struct kvp_packs *p)
{
	if (!p->spare)
		p->spare = kvp_packed_spare();
}

bool __kvp_packs_add(struct kvp_packs *p, const struct kvp_packed_rec *r, kvp_lsn_t lsn)
{
	struct kvp_packs_shelf *s = shelf_of(p, r->block);
	bool added;

	if (!kvp_packed_places_add(&p->places, lsn))
		return false;
	spin_lock(&s->lock);
	added = kvp_packed_add(&s->set, r, &p->spare);
	spin_unlock(&s->lock);
	if (added)
		WRITE_ONCE(p->nr, p->nr + 1);
	else
		kvp_packed_places_del(&p->places, lsn);
	return added;
}

bool __kvp_packs_replace(struct kvp_packs *p, const struct kvp_packed_rec *r, kvp_lsn_t lsn,
			 struct kvp_packed_rec *old)
{
	struct kvp_packs_shelf *s = shelf_of(p, r->block);
	bool replaced;

	/* The new place is counted first, so that the oldest one is known throughout. */
	if (!kvp_packed_places_add(&p->places, lsn))
		return false;
	spin_lock(&s->lock);
	replaced = kvp_packed_replace(&s->set, r, old);
	spin_unlock(&s->lock);
	kvp_packed_places_del(&p->places, replaced ? kvp_packs_lsn(p, old) : lsn);
	return replaced;
}

void __kvp_packs_del(struct kvp_packs *p, const struct kvp_packed_rec *r)
{
	struct kvp_packs_shelf *s = shelf_of(p, r->block);

	spin_lock(&s->lock);
	kvp_packed_del(&s->set, r->block);
	spin_unlock(&s->lock);
	kvp_packed_places_del(&p->places, kvp_packs_lsn(p, r));
	WRITE_ONCE(p->nr, p->nr - 1);
}

static bool next_on(struct kvp_packs_shelf *s, kvp_block_t from, struct kvp_packed_rec *r)
{
	bool found;

	spin_lock(&s->lock);
	found = kvp_packed_next(&s->set, from, r);
	spin_unlock(&s->lock);
	return found;
}

bool kvp_packs_next(struct kvp_packs *p, kvp_block_t from, struct kvp_packed_rec *r)
{
	struct kvp_packed_rec other;
	bool found;
	u32 i;

	if (!kvp_packs_nr(p))
		return false;
	found = next_on(shelf_of(p, from), from, r);
	if (found && part_of(r->block) == part_of(from))
		return true;
	for (i = 0; i < KVP_PACKS_SHELVES; i++) {
		if (!next_on(&p->shelves[i], from, &other) ||
		    (found && !kvp_block_before(other.block, r->block)))
			continue;
		*r = other;
		found = true;
	}
	return found;
}

bool kvp_packs_collect(struct kvp_packs *p, struct kvp_packs_walk *walk, kvp_block_t *blocks,
			u32 max, u32 *n)
{
	struct kvp_packs_shelf *s = &p->shelves[walk->shelf];

	*n = 0;
	if (walk->shelf == KVP_PACKS_SHELVES)
		return false;
	spin_lock(&s->lock);
	*n = kvp_packed_collect(&s->set, &walk->q, blocks, max);
	spin_unlock(&s->lock);
	if (walk->q.more)
		return true;
	walk->shelf++;
	walk->q.from = kvp_block(0);
	return true;
}
