// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "cache/scache.h"
#include "core/core.h"
#include "core/vdev_ops.h"
#include "format/logstripe.h"
#include "io/io.h"
#include "io/mirror.h"
#include "policy/index.h"
#include "ram/wbuf.h"

#define AHEAD	(2 * KVP_INDEX_CHUNK)	/* places that the index has before the log comes there */
/* segments that one claim adds for the ring; at most an eighth of them all */
#define CLAIM		64u

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
static u32 places_wanted(const struct kvp_scache *s)
{
	return min_t(u64, kvp_lsn_since(READ_ONCE(s->wiped), s->base) + AHEAD, s->blocks);
}

/*
 * Allocate memory for the wanted places. Until there is memory, blocks that are written home are
 * not noted. A suspend waits for this function (kvp_rebuild_stop()). So reclaim here must not write
 * to the device that is suspended.
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
 * True if the place can be read from an SSD. In a cache of kind parity1 the SSD that has it may be
 * gone.
 */
static bool is_there(const struct kvp_scache *s, u32 place)
{
	const struct kvp_leg *leg = s->v->ops->only_log_leg(s->v, spot_of(s, place));

	return !leg || kvp_leg_in_sync(leg);
}

int kvp_scache_init(struct kvp_scache *s, const struct kvp_vdev *v,
		    const struct kvp_scache_given *given)
{
	s->given = *given;
	INIT_WORK(&s->grow_work, grow_work);
	mutex_init(&s->grow_lock);
	s->blocks = min_t(u64, kvp_log_blocks(v->g), KVP_INDEX_MAX_PLACES);
	s->grow_at = jiffies - 1;
	return kvp_index_init(&s->index, s->blocks, get_random_u64());
}

void kvp_scache_begin(struct kvp_scache *s, struct kvp_vdev *v, kvp_lsn_t wiped, kvp_lsn_t doubt)
{
	kvp_lsn_t at = kvp_lsn_down(wiped, v->g->segment_blocks);

	s->wiped = wiped;
	s->doubt = doubt;
	/* Places are counted from here. */
	s->base = kvp_lsn_nr(at) >= 2ull * s->blocks ? at : kvp_lsn(s->blocks);
	s->before = 0;
	s->claimed = 0;
	smp_store_release(&s->v, v);
}

kvp_lsn_t kvp_scache_next_lsn(const struct kvp_scache *s, const struct kvp_vdev *v, kvp_lsn_t lsn)
{
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
void kvp_scache_log_moved(struct kvp_scache *s, kvp_lsn_t lsn)
{
	u64 rounds = div_u64(kvp_lsn_since(lsn, s->wiped), s->blocks);

	WRITE_ONCE(s->base, kvp_lsn_add(s->base, rounds * s->blocks));
	smp_store_release(&s->wiped, lsn);
}

void kvp_scache_renumber(struct kvp_scache *s, struct kvp_vdev *v)
{
	/* If the cache has left, kvp_scache_exit() drops it. */
	if (kvp_scache_in_use(s) && v)
		smp_store_release(&s->v, v);
}

void kvp_scache_exit(struct kvp_scache *s)
{
	if (!kvp_scache_in_use(s))
		return;
	cancel_work_sync(&s->grow_work);
	kvp_index_exit(&s->index);
	kvfree(s->eras);
	s->eras = NULL;
	s->v = NULL;
}

/* --- known blocks ------------------------------------------------------------------------ */

void kvp_scache_home_written(struct kvp_scache *s, const struct kvp_version *d)
{
	struct kvp_index_entry old, e = { .key = kvp_block_nr(d->block), .crc = d->crc };

	e.place = place_of(s, kvp_lsn_add(d->lsn, d->payload));
	if (e.place < READ_ONCE(s->index.places))
		WARN_ON_ONCE(kvp_index_set(&s->index, &e, &old) < 0);
}

int kvp_scache_fill(struct kvp_scache *s, kvp_lsn_t lsn, struct kvp_index_entry *e,
		    const atomic_t *changes, u32 seen)
{
	if (!kvp_scache_in_use(s))
		return -EINVAL;
	e->place = place_of(s, lsn);
	if (!is_there(s, e->place))
		return -ENODEV;
	return kvp_index_fill_unless(&s->index, e, changes, seen);
}

int kvp_scache_move(struct kvp_scache *s, kvp_lsn_t lsn, struct kvp_index_entry *e,
		    const atomic_t *changes, u32 seen)
{
	int ret;

	if (!kvp_scache_in_use(s))
		return -EINVAL;
	if (!is_there(s, place_of(s, lsn)))
		return -ENODEV;
	ret = kvp_index_move_unless(&s->index, e->key, e->place, place_of(s, lsn), changes, seen);
	/*
	 * The log may have overwritten the old place meanwhile: then the index does not know the
	 * block.
	 */
	return ret == -ENOENT ? kvp_scache_fill(s, lsn, e, changes, seen) : ret;
}

u32 kvp_scache_live(struct kvp_scache *s, kvp_lsn_t lsn, u32 nr, struct kvp_index_entry *e)
{
	u32 place = place_of(s, lsn), end = min(place + nr, READ_ONCE(s->index.places)), n = 0;

	while (place < end && n < nr && kvp_index_next(&s->index, &place, end, &e[n])) {
		n++;
		place++;
	}
	return n;
}

u32 kvp_scache_place(const struct kvp_scache *s, kvp_lsn_t lsn)
{
	return place_of(s, lsn);
}

bool kvp_scache_make_room(struct kvp_scache *s, kvp_lsn_t lsn)
{
	u32 end = place_of(s, lsn) + s->v->g->segment_blocks;

	end = min(end, s->blocks);
	if (READ_ONCE(s->index.places) >= end)
		return true;
	kvp_given_lock(&s->given);
	WRITE_ONCE(s->wanted, max(s->wanted, end));
	kvp_given_unlock(&s->given);
	grow(s);
	return READ_ONCE(s->index.places) >= end;
}

int kvp_scache_restore(struct kvp_scache *s, kvp_lsn_t lsn, const struct kvp_index_entry *e, u32 n)
{
	int kept = 0;
	u32 i;

	/* An append calls kvp_scache_overwrite() under this lock. */
	kvp_given_lock(&s->given);
	if (kvp_lsn_before(kvp_lsn_add(lsn, s->blocks), s->wiped))
		kept = -ESTALE;
	for (i = 0; kept >= 0 && i < n; i++)
		kept += is_there(s, e[i].place) && !kvp_index_fill(&s->index, &e[i]);
	if (kept > 0 && kvp_lsn_before(lsn, s->base))
		WRITE_ONCE(s->before, s->before + kept);
	kvp_given_unlock(&s->given);
	return kept;
}

bool kvp_scache_may_have_old(const struct kvp_scache *s, kvp_lsn_t lsn)
{
	return !kvp_lsn_before(kvp_lsn_add(lsn, s->blocks), s->doubt) &&
	       kvp_lsn_nr(lsn) >= s->blocks;
}

static u32 segments(const struct kvp_scache *s)
{
	return DIV_ROUND_UP(s->blocks, s->v->g->segment_blocks);
}

int kvp_scache_expect_old(struct kvp_scache *s)
{
	u32 *eras;

	if (s->eras)
		return 0;
	eras = kvcalloc(segments(s), sizeof(*eras), GFP_KERNEL);
	if (eras)
		smp_store_release(&s->eras, eras);
	return eras ? 0 : -ENOMEM;
}

void kvp_scache_set_era(struct kvp_scache *s, u32 place, u32 era)
{
	WRITE_ONCE(s->eras[place / s->v->g->segment_blocks], era);
	smp_wmb();	/* the era before the blocks: a reader that finds a block needs its era */
}

void kvp_scache_forget(struct kvp_scache *s, kvp_block_t block, u32 count)
{
	struct kvp_index_entry old;

	if (kvp_scache_in_use(s))
		for (; count--; block = kvp_block_add(block, 1))
			kvp_index_remove(&s->index, kvp_block_nr(block), &old);
}

static void forget_places(struct kvp_index *ix, u32 place, u32 end)
{
	struct kvp_index_entry e;

	end = min(end, READ_ONCE(ix->places));
	while (place < end && kvp_index_next(ix, &place, end, &e))
		kvp_index_remove_at(ix, e.key, place++);
}

void kvp_scache_overwrite(struct kvp_scache *s, kvp_lsn_t lsn, u32 nr)
{
	/* All these blocks lie in one segment. */
	u32 place = place_of(s, lsn);

	forget_places(&s->index, place, place + nr);
	/*
	 * A read that has found a block there before does not know of this. It calls
	 * kvp_scache_intact() when the block has come.
	 */
	if (kvp_lsn_before(s->wiped, kvp_lsn_add(lsn, nr)))
		smp_store_release(&s->wiped, kvp_lsn_add(lsn, nr));
	WRITE_ONCE(s->wanted, max(s->wanted, places_wanted(s)));
	if (READ_ONCE(s->index.places) < s->wanted && time_after(jiffies, READ_ONCE(s->grow_at)))
		queue_work(s->given.wq, &s->grow_work);
}

/* --- the ring ------------------------------------------------------------------------------ */

kvp_lsn_t kvp_scache_ring(struct kvp_scache *s, u32 nr)
{
	kvp_lsn_t lsn = s->wiped, end = kvp_log_segment_end(s->v->g, lsn);

	if (kvp_lsn_before(end, kvp_lsn_add(lsn, nr + kvp_log_kept(s->v->g))))
		lsn = end;
	kvp_scache_overwrite(s, lsn, nr);
	return lsn;
}

bool kvp_scache_claimed(const struct kvp_scache *s)
{
	return !kvp_lsn_before(READ_ONCE(s->claimed),
			       kvp_lsn_add(READ_ONCE(s->wiped), 2 * s->v->g->segment_blocks));
}

bool kvp_scache_claim(struct kvp_scache *s)
{
	u32 segment = s->v->g->segment_blocks, most = s->blocks / 8;
	struct kvp_cache_log log;
	kvp_lsn_t claim;
	int ret;

	kvp_given_look(&s->given, &log);
	if (log.here || kvp_scache_claimed(s))
		return true;
	claim = kvp_lsn_add(READ_ONCE(s->wiped), 2 * segment + min(CLAIM * segment, most));
	ret = s->given.client->claim(s->given.of, claim);
	if (!ret)
		WRITE_ONCE(s->claimed, claim);
	return !ret;
}

kvp_lsn_t kvp_scache_end_claim(struct kvp_scache *s)
{
	s->claimed = kvp_scache_written(s);
	return s->claimed;
}

/* --- reading ---------------------------------------------------------------------------- */

/*
 * The log stands at @wiped. It may go up to the lsn that is returned before it overwrites @nr
 * neighbouring blocks on a leg.
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

u32 kvp_scache_find(struct kvp_scache *s, kvp_block_t block, u32 count, struct kvp_on_ssd *at)
{
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
			at->before = min(at->before, kvp_scache_era(s, e.place));
		if (here)
			kvp_index_hit(&s->index, kvp_block_nr(block) + i, e.place);
	}
	at->until = safe_until(s, wiped, first, i);
	return i;
}

bool kvp_scache_intact(const struct kvp_scache *s, const struct kvp_on_ssd *at)
{
	return !kvp_lsn_before(at->until, smp_load_acquire(&s->wiped));
}

u32 kvp_scache_era(const struct kvp_scache *s, u32 place)
{
	/* pairs with kvp_scache_expect_old() */
	const u32 *eras = smp_load_acquire(&s->eras);

	return eras ? READ_ONCE(eras[place / s->v->g->segment_blocks]) : 0;
}

bool kvp_scache_is_newest(const struct kvp_scache *s, const struct kvp_index_entry *e, u64 entry)
{
	return !e->old ||
	       (kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_crc(entry) == e->crc &&
			   kvp_entry_era(entry) < kvp_scache_era(s, e->place));
}

void kvp_scache_forget_older(struct kvp_scache *s, kvp_block_t block, u64 entry)
{
	struct kvp_index_entry e;

	if (kvp_index_find(&s->index, kvp_block_nr(block), &e) &&
	    !kvp_scache_is_newest(s, &e, entry))
		kvp_index_remove_at(&s->index, kvp_block_nr(block), e.place);
}

struct kvp_leg *kvp_scache_choose(struct kvp_scache *s, const struct kvp_on_ssd *at, u32 nr)
{
	return kvp_leg_choose_log(kvp_scache_in_use(s), (struct kvp_place){ at->leg, at->block },
				  nr);
}

int kvp_scache_reread(struct kvp_scache *s, const struct kvp_index_entry *e, u64 entry,
		      struct page *page)
{
	struct kvp_on_ssd at = { .until = smp_load_acquire(&s->wiped) };
	struct kvp_index_entry now;
	struct kvp_leg *leg;
	int error;

	at.until = safe_until(s, at.until, e->place, 1);
	if (!kvp_index_find(&s->index, e->key, &now) || now.place != e->place ||
	    !kvp_scache_is_newest(s, &now, entry))
		return -ENOENT;
	leg = kvp_leg_choose_log(s->v, spot_of(s, e->place), 1);
	if (!leg)
		return -EIO;
	error = kvp_io_page(leg, KVP_IO_READ, spot_of(s, e->place).block, page);
	kvp_leg_unchoose(leg);
	if (error || !kvp_scache_intact(s, &at))
		return error ?: -ENOENT;
	return kvp_block_sum(s->given.seed, kvp_block(e->key), page_address(page)) ==
	       kvp_entry_crc(entry) ? 0 : -EILSEQ;
}

/* Read one SSD's copy, and count its faults. */
static int rescue_from(const struct kvp_scache *s, struct kvp_leg *leg, kvp_lblock_t at,
		       kvp_block_t block, u32 crc, struct page *page, struct kvp_patience *p)
{
	int error = kvp_io_ask(leg, at, page, p);

	if (error == -EBUSY)
		return error;
	if (error) {
		atomic64_inc(&leg->err_read);
		return kvp_error_is_loss(error) ? -ENOENT : -EIO;
	}
	if (kvp_block_sum(s->given.seed, block, page_address(page)) == crc)
		return 0;
	atomic64_inc(&leg->err_checksum);
	return -ENOENT;
}

/* Each SSD that has the block is tried, since a copy may be damaged as well. */
int kvp_scache_rescue(struct kvp_scache *s, kvp_block_t block, u64 entry, struct page *page,
		      struct kvp_patience *p)
{
	struct kvp_vdev *v = kvp_scache_in_use(s);
	struct kvp_on_ssd at = { .until = smp_load_acquire(&s->wiped) };
	struct kvp_index_entry e;
	const struct kvp_leg *only;
	int ret = -ENOENT;
	u32 i;

	if (!kvp_scache_asked(s, 1) || !kvp_index_find(&s->index, kvp_block_nr(block), &e) ||
	    !kvp_scache_is_newest(s, &e, entry))
		return -ENOENT;
	at.until = safe_until(s, at.until, e.place, 1);
	only = v->ops->only_log_leg(v, spot_of(s, e.place));
	for (i = 0; i < v->nr_legs; i++) {
		int error;

		if (!kvp_leg_in_sync(&v->legs[i]) || (only && &v->legs[i] != only))
			continue;
		error = rescue_from(s, &v->legs[i], spot_of(s, e.place).block, block,
				    kvp_entry_crc(entry), page, p);
		if (!kvp_scache_intact(s, &at))
			return -ENOENT;
		if (!error)
			return 0;
		if (error != -ENOENT && ret != -EBUSY)
			ret = error;
	}
	return ret;
}

/* --- for status ---------------------------------------------------------------------------- */

kvp_lsn_t kvp_scache_written(const struct kvp_scache *s)
{
	return kvp_lsn_last(READ_ONCE(s->wiped), s->doubt);
}

u32 kvp_scache_unused(const struct kvp_scache *s)
{
	u64 passed = kvp_lsn_since(READ_ONCE(s->wiped), s->base) + READ_ONCE(s->before);

	return kvp_scache_in_use(s) && passed < s->blocks ? s->blocks - (u32)passed : 0;
}

u64 kvp_scache_size(const struct kvp_scache *s)
{
	return kvp_scache_asked(s, 1) ? s->blocks : 0;
}

void kvp_scache_count(struct kvp_scache *s, struct kvp_index_count *count)
{
	kvp_index_count(&s->index, count);
}

u64 kvp_scache_used(struct kvp_scache *s)
{
	struct kvp_index_count sum = { 0 };

	if (kvp_scache_in_use(s))
		kvp_index_count(&s->index, &sum);
	return sum.live;
}

u64 kvp_scache_bytes(const struct kvp_scache *s)
{
	if (!kvp_scache_in_use(s))
		return 0;
	return kvp_index_bytes(READ_ONCE(s->index.places), s->index.most);
}

u64 kvp_scache_eras_bytes(const struct kvp_scache *s)
{
	return READ_ONCE(s->eras) ? segments(s) * sizeof(*s->eras) : 0;
}
