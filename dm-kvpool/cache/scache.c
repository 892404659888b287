// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "io/mirror.h"
#include "log/log.h"
#include "policy/index.h"
#include "ram/wbuf.h"
#include "table/table.h"

#define AHEAD	(2 * KVP_INDEX_CHUNK)	/* places that the index has before the log comes there */

static u32 place_of(const struct kvp_scache *s, kvp_lsn_t lsn)
{
	/*
	 * The lsn may lie up to a round before the base: blocks that lay there at the start of the
	 * pool.
	 */
	return (u32)((kvp_lsn_since(kvp_lsn_add(lsn, s->blocks), s->base)) % s->blocks);
}

/* The block of a place on the leg that has it, or on each leg. */
static struct kvp_place spot_of(const struct kvp_scache *s, u32 place)
{
	return kvp_log_place(s->v->g, kvp_lsn_add(s->base, place), 0);
}

/* --- life --------------------------------------------------------------------------- */

/* The number of places that the index should have now. */
static u32 places_wanted(struct kvp_pool *pool)
{
	u64 passed = kvp_lsn_since(READ_ONCE(pool->scache->wiped), pool->scache->base);

	return min_t(u64, passed + AHEAD, pool->scache->blocks);
}

/*
 * Allocate memory for the wanted places. Until there is memory, blocks that come home are not
 * noted. A suspend waits for this function (kvp_rebuild_stop()). So reclaim here must not write to
 * the device that is suspended.
 */
static void grow(struct kvp_scache *s)
{
	unsigned int noio = memalloc_noio_save();
	int error = 0;

	mutex_lock(&s->grow_lock);
	while (!error && s->index.places < READ_ONCE(s->wanted))
		error = kvp_index_grow(&s->index);
	if (error)
		WRITE_ONCE(s->grow_at, jiffies + HZ);
	mutex_unlock(&s->grow_lock);
	memalloc_noio_restore(noio);
}

/*
 * This runs in a work queue that destage does not wait for: under memory pressure it may last long.
 */
static void grow_work(struct work_struct *work)
{
	grow(container_of(work, struct kvp_scache, grow_work));
}

/*
 * The highest lsn that an append since the durable tail can have reached, in this start or the one
 * before.
 */
static kvp_lsn_t most_written(const struct kvp_pool *pool)
{
	const struct kvp_geometry *g = pool->log_vdev->g;
	kvp_lsn_t tail = kvp_log_tail(pool->log);

	return kvp_lsn_add(kvp_lsn_down(tail, g->segment_blocks), kvp_log_window(g));
}

/*
 * The lsn up to which blocks may be torn. Entries behind the log's last one may have been in flight
 * when the power went, and have torn the blocks that lay there. So may the entries of a recovery's
 * chain, which may have any length.
 */
static kvp_lsn_t may_be_torn(const struct kvp_pool *pool, kvp_lsn_t head)
{
	u32 kept = kvp_log_kept(pool->log_vdev->g);
	kvp_lsn_t most = most_written(pool), in_flight;

	in_flight = kvp_lsn_add(head, KVP_ENTRIES * (KVP_MAX_ENTRY_BLOCKS + 32 + kept));
	return kvp_lsn_last(head, kvp_log_reserves(pool) ? most : kvp_lsn_first(most, in_flight));
}

/*
 * True if the place can be read from an SSD. In a cache of kind parity1 the SSD that has it may be
 * gone.
 */
static bool is_there(const struct kvp_scache *s, u32 place)
{
	const struct kvp_leg *leg = s->v->ops->only_log_leg(s->v, spot_of(s, place));

	return !leg || kvp_leg_in_sync(leg);
}

/* Find where the log, or the ring, goes on, and from where places are counted. */
static void find_place(struct kvp_pool *pool, const struct kvp_vdev *v)
{
	struct kvp_scache *s = pool->scache;
	u32 step = v->g->segment_blocks;
	kvp_lsn_t at;

	kvp_log_assert_build(pool->log);
	if (pool->log_vdev == v) {
		s->wiped = kvp_log_head(pool->log);
		s->doubt = may_be_torn(pool, s->wiped);
	} else {
		/* The ring has lsns of its own. */
		at = kvp_lsn_last(kvp_lsn(kvp_log_blocks(v->g)), pool->sb->cache_lsn);
		s->wiped = kvp_lsn_down(kvp_lsn_add(at, step - 1), step);
		s->doubt = s->wiped;
	}
	at = kvp_lsn_down(s->wiped, step);
	s->base = kvp_lsn_nr(at) >= 2ull * s->blocks ? at : kvp_lsn(s->blocks);
	s->before = 0;
}

int kvp_scache_start(struct kvp_pool *pool)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_vdev *v = kvp_pool_cache(pool);
	int ret;

	if (!v || !kvp_vdev_has_log(v) || kvp_scache_in_use(s))
		return 0;
	s->pool = pool;
	INIT_WORK(&s->grow_work, grow_work);
	mutex_init(&s->grow_lock);
	s->blocks = min_t(u64, kvp_log_blocks(v->g), KVP_INDEX_MAX_PLACES);
	s->grow_at = jiffies - 1;
	ret = kvp_index_init(&s->index, s->blocks, get_random_u64());
	if (ret)
		return ret;
	/* From here on, an append calls kvp_scache_overwrite(). */
	kvp_log_lock_build(pool->log);
	find_place(pool, v);
	smp_store_release(&s->v, v);
	kvp_log_unlock_build(pool);
	return 0;
}

kvp_lsn_t kvp_scache_next_lsn(const struct kvp_pool *pool, const struct kvp_vdev *v, kvp_lsn_t lsn)
{
	const struct kvp_scache *s = pool->scache;
	u32 step = v->g->segment_blocks, to, at;

	if (kvp_scache_in_use(s) != v)
		return lsn;
	/* Two rounds on, so that a read of the old ring finds that the ring has gone on. */
	lsn = kvp_lsn_last(lsn, kvp_lsn_add(kvp_lsn_down(s->wiped, step), 2ull * s->blocks));
	to = place_of(s, kvp_lsn_back(kvp_lsn_add(s->wiped, step), 1));
	at = place_of(s, lsn);
	to -= to % step;
	return kvp_lsn_add(lsn, (to >= at ? to - at : s->blocks - at + to));
}

/*
 * Places keep their numbers, since the base moves on by whole rounds. The log jumps by more than a
 * round. So a read of an old place finds that the log has gone beyond it.
 */
void kvp_scache_log_moved(struct kvp_pool *pool, kvp_lsn_t lsn)
{
	struct kvp_scache *s = pool->scache;
	u64 rounds;

	kvp_log_assert_build(pool->log);
	if (kvp_scache_in_use(s))
		kvp_rebuild_jumped(pool, lsn);
	if (!kvp_scache_in_use(s) || s->v != pool->log_vdev)
		return;
	rounds = div_u64(kvp_lsn_since(lsn, s->wiped), s->blocks);
	WRITE_ONCE(s->base, kvp_lsn_add(s->base, rounds * s->blocks));
	smp_store_release(&s->wiped, lsn);
}

void kvp_scache_renumber(struct kvp_pool *pool)
{
	struct kvp_vdev *cache = kvp_pool_cache(pool);

	/* If the cache has left, kvp_scache_exit() drops it. */
	if (kvp_scache_in_use(pool->scache) && cache)
		smp_store_release(&pool->scache->v, cache);
}

void kvp_scache_exit(struct kvp_pool *pool)
{
	struct kvp_scache *s = pool->scache;

	if (!kvp_scache_in_use(s))
		return;
	cancel_work_sync(&s->grow_work);
	kvp_index_exit(&s->index);
	s->v = NULL;
}

/* --- known blocks ------------------------------------------------------------------------ */

void kvp_scache_came_home(struct kvp_pool *pool, const struct kvp_version *d)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_vdev *v = kvp_scache_in_use(s);
	struct kvp_index_entry old, e = { .key = kvp_block_nr(d->block), .crc = d->crc };

	if (!v || d->hole || d->intent || d->zero)
		return;
	/* Once the log has moved off the cache, its lsns are no places there. */
	if (v != READ_ONCE(pool->log_vdev)) {
		kvp_admit_written(pool, d);
		return;
	}
	e.place = place_of(s, kvp_lsn_add(d->lsn, d->payload));
	if (e.place < READ_ONCE(s->index.places))
		WARN_ON_ONCE(kvp_index_set(&s->index, &e, &old) < 0);
}

int kvp_scache_fill(struct kvp_pool *pool, kvp_lsn_t lsn, struct kvp_index_entry *e,
		    const atomic_t *changes, u32 seen)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_vdev *v = kvp_scache_in_use(s);

	if (!v || READ_ONCE(pool->log_moving))
		return -EINVAL;
	e->place = place_of(s, lsn);
	if (!is_there(s, e->place))
		return -ENODEV;
	return kvp_index_fill_unless(&s->index, e, changes, seen);
}

int kvp_scache_move(struct kvp_pool *pool, kvp_lsn_t lsn, struct kvp_index_entry *e,
		    const atomic_t *changes, u32 seen)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_vdev *v = kvp_scache_in_use(s);
	int ret;

	if (!v || READ_ONCE(pool->log_moving))
		return -EINVAL;
	if (!is_there(s, place_of(s, lsn)))
		return -ENODEV;
	ret = kvp_index_move_unless(&s->index, e->key, e->place, place_of(s, lsn), changes, seen);
	/*
	 * The log may have overwritten the old place meanwhile: then the index does not know the
	 * block.
	 */
	return ret == -ENOENT ? kvp_scache_fill(pool, lsn, e, changes, seen) : ret;
}

u32 kvp_scache_live(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr, struct kvp_index_entry *e)
{
	struct kvp_scache *s = pool->scache;
	u32 place = place_of(s, lsn), end = min(place + nr, READ_ONCE(s->index.places)), n = 0;

	while (place < end && n < nr && kvp_index_next(&s->index, &place, end, &e[n])) {
		n++;
		place++;
	}
	return n;
}

u32 kvp_scache_place(const struct kvp_pool *pool, kvp_lsn_t lsn)
{
	return place_of(pool->scache, lsn);
}

bool kvp_scache_make_room(struct kvp_pool *pool, kvp_lsn_t lsn)
{
	struct kvp_scache *s = pool->scache;
	u32 end = place_of(s, lsn) + s->v->g->segment_blocks;

	end = min(end, s->blocks);
	if (READ_ONCE(s->index.places) >= end)
		return true;
	kvp_log_lock_build(pool->log);
	WRITE_ONCE(s->wanted, max(s->wanted, end));
	kvp_log_unlock_build(pool);
	grow(s);
	return READ_ONCE(s->index.places) >= end;
}

int kvp_scache_restore(struct kvp_pool *pool, kvp_lsn_t lsn, const struct kvp_index_entry *e, u32 n)
{
	struct kvp_scache *s = pool->scache;
	int kept = 0;
	u32 i;

	/* An append calls kvp_scache_overwrite() under this lock. */
	kvp_log_lock_build(pool->log);
	if (kvp_lsn_before(kvp_lsn_add(lsn, s->blocks), s->wiped))
		kept = -ESTALE;
	for (i = 0; kept >= 0 && i < n; i++)
		kept += is_there(s, e[i].place) && !kvp_index_fill(&s->index, &e[i]);
	if (kept > 0 && kvp_lsn_before(lsn, s->base))
		WRITE_ONCE(s->before, s->before + kept);
	kvp_log_unlock_build(pool);
	return kept;
}

void kvp_scache_forget(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	struct kvp_index_entry old;

	kvp_admit_changed(pool, block, count);
	if (kvp_scache_in_use(pool->scache))
		for (; count--; block = kvp_block_add(block, 1))
			kvp_index_remove(&pool->scache->index, kvp_block_nr(block), &old);
}

static void forget_places(struct kvp_index *ix, u32 place, u32 end)
{
	struct kvp_index_entry e;

	end = min(end, READ_ONCE(ix->places));
	while (place < end && kvp_index_next(ix, &place, end, &e))
		kvp_index_remove_at(ix, e.key, place++);
}

static void overwrite(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr)
{
	struct kvp_scache *s = pool->scache;
	u32 place;

	kvp_log_assert_build(pool->log);
	/* All these blocks lie in one segment. */
	place = place_of(s, lsn);
	forget_places(&s->index, place, place + nr);
	/*
	 * A read that has found a block there before does not know of this. It calls
	 * kvp_scache_intact() when the block has come.
	 */
	if (kvp_lsn_before(s->wiped, kvp_lsn_add(lsn, nr)))
		smp_store_release(&s->wiped, kvp_lsn_add(lsn, nr));
	WRITE_ONCE(s->wanted, max(s->wanted, places_wanted(pool)));
	if (READ_ONCE(s->index.places) < s->wanted && time_after(jiffies, READ_ONCE(s->grow_at)))
		queue_work(pool->scrub_wq, &s->grow_work);
}

void kvp_scache_overwrite(struct kvp_pool *pool, kvp_lsn_t lsn, u32 nr)
{
	const struct kvp_vdev *v = kvp_scache_in_use(pool->scache);

	if (v && v == pool->log_vdev)
		overwrite(pool, lsn, nr);
}

kvp_lsn_t kvp_scache_ring(struct kvp_pool *pool, u32 nr)
{
	struct kvp_scache *s = pool->scache;
	kvp_lsn_t lsn = s->wiped, end = kvp_log_segment_end(s->v->g, lsn);

	if (kvp_lsn_before(end, kvp_lsn_add(lsn, nr + kvp_log_kept(s->v->g))))
		lsn = end;
	overwrite(pool, lsn, nr);
	return lsn;
}

/* --- reading ---------------------------------------------------------------------------- */

/*
 * The lsn up to which the log, which stands at @wiped, may go before it overwrites @nr neighbouring
 * blocks on a leg.
 */
static kvp_lsn_t safe_until(const struct kvp_scache *s, kvp_lsn_t wiped, u32 place, u32 nr)
{
	u32 now = place_of(s, wiped);
	u32 ahead = place >= now ? place - now : s->blocks - now + place;

	nr = (nr - 1) * kvp_ring_legs(s->v->g) + 1;
	return kvp_lsn_add(wiped, ahead > s->blocks - nr ? 0 : ahead);
}

/* Find @block. If its SSD is gone, forget its entry, so that the block can be admitted again. */
static bool find(struct kvp_scache *s, kvp_block_t block, struct kvp_index_entry *e)
{
	if (!kvp_index_find(&s->index, kvp_block_nr(block), e))
		return false;
	if (is_there(s, e->place))
		return true;
	kvp_index_remove_at(&s->index, kvp_block_nr(block), e->place);
	return false;
}

/* True if @to lies @i blocks behind @at, on the same leg. */
static bool is_behind(struct kvp_place to, const struct kvp_on_ssd *at, u32 i)
{
	return to.leg == at->leg && to.block == kvp_lblock_add(at->block, i);
}

u32 kvp_scache_find(struct kvp_pool *pool, kvp_block_t block, u32 count, struct kvp_on_ssd *at)
{
	struct kvp_scache *s = pool->scache;
	/* Before the look-up: blocks that are found later were not overwritten up to here. */
	kvp_lsn_t wiped = smp_load_acquire(&s->wiped);
	struct kvp_index_entry e;
	u32 first = 0, i;
	bool here;

	at->block = 0;
	at->before = ~0u;
	for (i = 0; i < count; i++) {
		here = find(s, kvp_block_add(block, i), &e);
		if (i && (here != !!at->block || (here && !is_behind(spot_of(s, e.place), at, i))))
			break;
		if (here && !i) {
			at->block = spot_of(s, e.place).block;
			at->leg = spot_of(s, e.place).leg;
			first = e.place;
		}
		if (here && e.old)
			at->before = min(at->before, kvp_rebuild_era(pool, e.place));
		if (here)
			kvp_index_hit(&s->index, kvp_block_nr(block) + i, e.place);
	}
	at->until = safe_until(s, wiped, first, i);
	return i;
}

bool kvp_scache_intact(const struct kvp_pool *pool, const struct kvp_on_ssd *at)
{
	return !kvp_lsn_before(at->until, smp_load_acquire(&pool->scache->wiped));
}

bool kvp_scache_is_newest(const struct kvp_pool *pool, const struct kvp_index_entry *e, u64 entry)
{
	return !e->old ||
	       (kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_crc(entry) == e->crc &&
			   kvp_entry_era(entry) < kvp_rebuild_era(pool, e->place));
}

/* Forget a block of before the start if it is not the newest version: it will never be. */
static void forget_if_older(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block)
{
	struct kvp_index_entry e;

	if (kvp_index_find(&pool->scache->index, kvp_block_nr(block), &e) &&
	    !kvp_scache_is_newest(pool, &e, kvp_table_entry(pool->table, leaf, block)))
		kvp_index_remove_at(&pool->scache->index, kvp_block_nr(block), e.place);
}

bool kvp_scache_current(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
			u32 count, const struct kvp_on_ssd *at)
{
	bool newest = true;
	u32 i;

	for (i = 0; newest && at->before != ~0u && i < count; i++)
		newest = kvp_entry_era(kvp_table_entry(pool->table, leaf,
						       kvp_block_add(block, i))) < at->before;
	for (i = 0; !newest && i < count; i++)
		forget_if_older(pool, leaf, kvp_block_add(block, i));
	return newest;
}

struct kvp_leg *kvp_scache_choose(struct kvp_pool *pool, const struct kvp_on_ssd *at, u32 nr)
{
	return kvp_leg_choose_log(kvp_scache_in_use(pool->scache),
				  (struct kvp_place){ at->leg, at->block }, nr);
}

void kvp_scache_mistrust(struct kvp_pool *pool, kvp_block_t block, u32 count)
{
	kvp_scache_forget(pool, block, count);
}

int kvp_scache_reread(struct kvp_pool *pool, const struct kvp_index_entry *e, u64 entry,
		      struct page *page)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_on_ssd at = { .until = smp_load_acquire(&s->wiped) };
	struct kvp_index_entry now;
	struct kvp_leg *leg;
	int error;

	at.until = safe_until(s, at.until, e->place, 1);
	if (!kvp_index_find(&s->index, e->key, &now) || now.place != e->place ||
	    !kvp_scache_is_newest(pool, &now, entry))
		return -ENOENT;
	leg = kvp_leg_choose_log(s->v, spot_of(s, e->place), 1);
	if (!leg)
		return -EIO;
	error = kvp_io_page(leg, KVP_IO_READ, spot_of(s, e->place).block, page);
	kvp_leg_unchoose(leg);
	if (error || !kvp_scache_intact(pool, &at))
		return error ?: -ENOENT;
	return kvp_block_sum(pool->seed, kvp_block(e->key), page_address(page)) ==
	       kvp_entry_crc(entry) ? 0 : -EILSEQ;
}

/* Read one SSD's copy. A fault of the copy is counted; lack of memory is no fault. */
static int rescue_from(struct kvp_leg *leg, kvp_lblock_t at, kvp_block_t block, u32 crc,
		       struct page *page)
{
	int error = kvp_io_page(leg, KVP_IO_READ, at, page);

	if (error == -ENOMEM)
		return error;
	if (error) {
		atomic64_inc(&leg->err_read);
		return kvp_error_is_loss(error) ? -ENOENT : -EIO;
	}
	if (kvp_block_sum(leg->pool->seed, block, page_address(page)) == crc)
		return 0;
	atomic64_inc(&leg->err_checksum);
	return -ENOENT;
}

/* Each SSD that has the block is tried, since a copy may be damaged as well. */
int kvp_scache_rescue(struct kvp_pool *pool, kvp_block_t block, u64 entry, struct page *page)
{
	struct kvp_scache *s = pool->scache;
	struct kvp_vdev *v = kvp_scache_in_use(s);
	struct kvp_on_ssd at = { .until = smp_load_acquire(&s->wiped) };
	struct kvp_index_entry e;
	const struct kvp_leg *only;
	int ret = -ENOENT;
	u32 i;

	if (!kvp_scache_asked(pool, 1) || !kvp_index_find(&s->index, kvp_block_nr(block), &e) ||
	    !kvp_scache_is_newest(pool, &e, entry))
		return -ENOENT;
	at.until = safe_until(s, at.until, e.place, 1);
	only = v->ops->only_log_leg(v, spot_of(s, e.place));
	for (i = 0; i < v->nr_legs; i++) {
		int error;

		if (!kvp_leg_in_sync(&v->legs[i]) || (only && &v->legs[i] != only))
			continue;
		error = rescue_from(&v->legs[i], spot_of(s, e.place).block, block,
				    kvp_entry_crc(entry), page);
		if (!kvp_scache_intact(pool, &at))
			return -ENOENT;
		if (!error)
			return 0;
		if (error != -ENOENT)
			ret = error;
	}
	return ret;
}

/* --- for status ---------------------------------------------------------------------------- */

kvp_lsn_t kvp_scache_written(const struct kvp_pool *pool)
{
	const struct kvp_scache *s = pool->scache;

	if (kvp_scache_in_use(s))
		return kvp_lsn_last(READ_ONCE(s->wiped), s->doubt);
	/*
	 * The position is recorded nowhere. While the log is on the cache, recovery finds it. It
	 * matters once the log has left.
	 */
	if (kvp_log_begins_anew(pool->log) && kvp_pool_logs_on_cache(pool))
		return most_written(pool);
	return 0;
}

u32 kvp_scache_unused(const struct kvp_pool *pool)
{
	const struct kvp_scache *s = pool->scache;
	u64 passed = kvp_lsn_since(READ_ONCE(s->wiped), s->base) + READ_ONCE(s->before);

	return kvp_scache_in_use(s) && passed < s->blocks ? s->blocks - (u32)passed : 0;
}

u64 kvp_scache_size(const struct kvp_pool *pool)
{
	return kvp_scache_asked(pool, 1) ? pool->scache->blocks : 0;
}

u64 kvp_scache_used(struct kvp_pool *pool)
{
	struct kvp_index_count sum = { 0 };

	if (kvp_scache_in_use(pool->scache))
		kvp_index_count(&pool->scache->index, &sum);
	return sum.live;
}

u64 kvp_scache_bytes(const struct kvp_pool *pool)
{
	const struct kvp_scache *s = pool->scache;

	if (!kvp_scache_in_use(s))
		return 0;
	return kvp_index_bytes(READ_ONCE(s->index.places), s->index.most);
}
