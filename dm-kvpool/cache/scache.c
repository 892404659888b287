// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/random.h>

#include "cache/scache.h"
#include "pool/pool.h"

#define AHEAD	(2 * KVP_INDEX_CHUNK)	/* places that there are before the log comes there */

/* The cache, if what is in the log is noted. It stays once it is set. */
static struct kvp_vdev *in_use(const struct kvp_scache *s)
{
	return smp_load_acquire(&s->v);
}

static u32 place_of(const struct kvp_scache *s, u64 lsn)
{
	return (u32)((lsn - s->base) % s->blocks);
}

/* Where on each leg a place lies. */
static u64 block_at(const struct kvp_scache *s, u32 place)
{
	return kvp_log_place(s->v->g, s->base + place, 0).block;
}

/* --- life --------------------------------------------------------------------------- */

/* Places that there should be by now, up to all. */
static u32 places_wanted(struct kvp_pool *pool)
{
	u64 passed = READ_ONCE(pool->log.head.lsn) - pool->scache.base;

	return min_t(u64, passed + AHEAD, pool->scache.blocks);
}

/*
 * In a work queue that nobody waits for: under memory pressure this may last, and until
 * then what comes home is not noted.
 */
static void grow_work(struct work_struct *work)
{
	struct kvp_scache *s = container_of(work, struct kvp_scache, grow_work);

	while (s->index.places < READ_ONCE(s->wanted) && !kvp_index_grow(&s->index))
		;
}

int kvp_scache_start(struct kvp_pool *pool)
{
	struct kvp_scache *s = &pool->scache;
	struct kvp_vdev *v = pool->log.v;
	int ret;

	if (kvp_has_data(v->g))
		return 0;
	s->pool = pool;
	INIT_WORK(&s->grow_work, grow_work);
	s->blocks = min_t(u64, kvp_log_blocks(v->g), KVP_INDEX_MAX_PLACES);
	s->base = pool->log.head.lsn - pool->log.head.lsn % v->g->segment_blocks;
	ret = kvp_index_init(&s->index, s->blocks, get_random_u64());
	if (!ret)
		smp_store_release(&s->v, v);
	return ret;
}

void kvp_scache_exit(struct kvp_pool *pool)
{
	struct kvp_scache *s = &pool->scache;

	if (!in_use(s))
		return;
	cancel_work_sync(&s->grow_work);
	kvp_index_exit(&s->index);
	s->v = NULL;
}

/* --- what is there -------------------------------------------------------------------- */

void kvp_scache_came_home(struct kvp_pool *pool, const struct kvp_dirty *d)
{
	struct kvp_scache *s = &pool->scache;
	struct kvp_vdev *v = in_use(s);
	struct kvp_index_entry old, e = { .key = d->block, .crc = d->crc };

	/* Once the log has moved, lsns are those of another one. */
	if (!v || v != READ_ONCE(pool->log.v) || d->hole || d->intent || d->zero)
		return;
	e.place = place_of(s, d->lsn + d->payload);
	if (e.place < READ_ONCE(s->index.places))
		WARN_ON_ONCE(kvp_index_set(&s->index, &e, &old) < 0);
}

void kvp_scache_forget(struct kvp_pool *pool, u64 block)
{
	struct kvp_index_entry old;

	if (in_use(&pool->scache))
		kvp_index_remove(&pool->scache.index, block, &old);
}

static void forget_places(struct kvp_index *ix, u32 place, u32 end)
{
	struct kvp_index_entry e;

	end = min(end, READ_ONCE(ix->places));
	while (place < end && kvp_index_next(ix, &place, end, &e))
		kvp_index_remove_at(ix, e.key, place++);
}

void kvp_scache_overwrite(struct kvp_pool *pool, u64 lsn, u32 nr)
{
	struct kvp_scache *s = &pool->scache;
	struct kvp_vdev *v = in_use(s);
	u32 place;

	lockdep_assert_held(&pool->log.build_lock);
	if (!v || v != pool->log.v)
		return;
	/* All of it is in one segment. */
	place = place_of(s, lsn);
	forget_places(&s->index, place, place + nr);
	WRITE_ONCE(s->wanted, places_wanted(pool));
	if (READ_ONCE(s->index.places) < s->wanted)
		queue_work(pool->scrub_wq, &s->grow_work);
}

/* --- reading ---------------------------------------------------------------------------- */

bool kvp_scache_asked(const struct kvp_pool *pool, u32 count)
{
	const struct kvp_vdev *v = in_use(&pool->scache);

	/* Once the log has moved, no SSD is left. */
	return count <= KVP_SCACHE_READ && v && v == READ_ONCE(pool->log.v);
}

u32 kvp_scache_alike(struct kvp_pool *pool, u64 block, u32 count, u64 *at)
{
	struct kvp_scache *s = &pool->scache;
	struct kvp_index_entry e;
	bool here;
	u32 i;

	*at = 0;
	if (!kvp_scache_asked(pool, count))
		return count;
	for (i = 0; i < count; i++) {
		here = kvp_index_find(&s->index, block + i, &e);
		if (i && (here != !!*at || (here && block_at(s, e.place) != *at + i)))
			break;
		if (here && !i)
			*at = block_at(s, e.place);
		if (here)
			kvp_index_hit(&s->index, block + i, e.place);
	}
	return i;
}

struct kvp_leg *kvp_scache_choose(struct kvp_pool *pool, u64 at, u32 nr)
{
	return kvp_leg_choose_copy(in_use(&pool->scache), at, nr);
}

void kvp_scache_mistrust(struct kvp_pool *pool, u64 block, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		kvp_scache_forget(pool, block + i);
}

/* Each SSD is asked: one of them may be rotten, too. */
bool kvp_scache_rescue(struct kvp_pool *pool, u64 block, u32 crc, struct page *page)
{
	struct kvp_vdev *v = in_use(&pool->scache);
	u64 at;
	u32 i;

	kvp_scache_alike(pool, block, 1, &at);
	if (!at)
		return false;
	for (i = 0; i < v->nr_legs; i++)
		if (kvp_leg_usable(&v->legs[i]) &&
		    !kvp_io_page(&v->legs[i], KVP_IO_READ, at, page) &&
		    kvp_block_sum(pool->seed, block, page_address(page)) == crc)
			return true;
	return false;
}

/* --- for status ---------------------------------------------------------------------------- */

u64 kvp_scache_size(const struct kvp_pool *pool)
{
	return in_use(&pool->scache) ? pool->scache.blocks : 0;
}

u64 kvp_scache_used(struct kvp_pool *pool)
{
	struct kvp_index_count sum = { 0 };

	if (in_use(&pool->scache))
		kvp_index_count(&pool->scache.index, &sum);
	return sum.live;
}

u64 kvp_scache_bytes(const struct kvp_pool *pool)
{
	const struct kvp_scache *s = &pool->scache;

	return in_use(s) ? kvp_index_bytes(READ_ONCE(s->index.places), s->index.most) : 0;
}
