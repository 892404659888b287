// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scrub: read and verify every copy of every written block and of every table page, while the pool
 * is in use; heal bad copies. Its progress survives a restart. After a restart, a scrub of what
 * changed since an era goes on as a scrub of everything.
 *
 * 1. kvp_scrub_start(), or kvp_scrub_resume(), starts the worker.
 * 2. scrub_work() runs from the cursor to the end of the pool, or until it is stopped.
 * 3. scrub_some() skips blocks that were never written, and verifies the table pages above.
 * 4. scrub_step() reads some blocks of each leg, in long requests, and verifies them.
 * 5. If step 4 found a bad one, scrub_closely() does the same block by block, and heals.
 * 6. scrub_ended() counts, raises the event, and notes the result in the superblock.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/order_ops.h"
#include "core/vdev_ops.h"
#include "format/stripe.h"
#include "home/heal.h"
#include "home/home.h"
#include "home/row.h"
#include "io/io.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/finds.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/scrub.h"

struct kvp_scrub_io {
	struct kvp_io_group group;
	struct kvp_io io, ios[KVP_STRIPE_MAX_LEGS];
	u32 nr_pages;
	struct page *pages[KVP_SCRUB_PIECES];
};

static void free_buffer(struct kvp_scrub_io *s)
{
	u32 i;

	if (!s)
		return;
	for (i = 0; i < s->nr_pages; i++)
		if (s->pages[i])
			__free_page(s->pages[i]);
	kvfree(s);
}

static struct kvp_scrub_io *alloc_buffer(struct kvp_pool *pool)
{
	struct kvp_scrub_io *s = kvzalloc(sizeof(*s), GFP_KERNEL);
	u32 i;

	if (!s)
		return NULL;
	s->nr_pages = pool->vdevs.order->scrub_pages;
	for (i = 0; i < s->nr_pages; i++) {
		s->pages[i] = alloc_page(GFP_KERNEL);
		if (!s->pages[i]) {
			free_buffer(s);
			return NULL;
		}
	}
	return s;
}

/* True if one leg's copies of a step are good. If not, each block must be read separately. */
static bool leg_verifies(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_leg *leg,
			 struct kvp_tpage *leaf, kvp_block_t block, u32 n)
{
	u32 i;

	memset(&s->io, 0, sizeof(s->io));
	s->io.leg = leg;
	s->io.op = KVP_IO_READ;
	s->io.background = true;
	s->io.block = kvp_home_block(pool, block);
	s->io.nr = n;
	s->io.pages = s->pages;
	if (kvp_io_sync(&s->io))
		return false;
	for (i = 0; i < n; i++) {
		u64 entry = kvp_table_entry(leaf, kvp_block_add(block, i));

		if (kvp_entry_state(entry) == KVP_ENTRY_VALID &&
		    kvp_block_sum(pool->seed, kvp_block_add(block, i),
				  page_address(s->pages[i])) != kvp_entry_crc(entry))
			return false;
	}
	return true;
}

bool kvp_scrub_copies(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf,
		      kvp_block_t block, u32 n)
{
	const struct kvp_vdev *v = leaf->v;
	bool good = true;
	u32 i;

	for (i = 0; good && i < v->nr_legs; i++)
		if (kvp_leg_in_sync(&v->legs[i]))
			good = leg_verifies(pool, s, &v->legs[i], leaf, block, n);
	return good;
}

/*
 * The same for one row of a parity1, with all its pieces. Those of leg i begin at pages[i * rows].
 */
static bool row_verifies(struct kvp_scrub_io *s, struct kvp_tpage *leaf, u64 row, u32 rows,
			 u32 number)
{
	const struct kvp_vdev *v = leaf->v;
	u32 i;

	for (i = 0; i < v->nr_legs; i++) {
		u64 entry = kvp_row_entry(leaf, row, i);
		u32 leg = kvp_row_place(v->g, row, i).leg;

		/* Poisoned parity can be computed again: scrub_closely() does that. */
		if (!i && kvp_entry_state(entry) == KVP_ENTRY_POISONED)
			return false;
		if (kvp_entry_state(entry) != KVP_ENTRY_VALID || !s->ios[leg].leg)
			continue;
		if (s->ios[leg].error ||
		    kvp_row_sum(leaf, row, i, s->pages[leg * rows + number]) !=
		    kvp_entry_crc(entry))
			return false;
	}
	return true;
}

/* In whole stripes the rows are neighbours on every leg. */
bool kvp_scrub_rows(struct kvp_pool *pool, struct kvp_scrub_io *s, struct kvp_tpage *leaf,
		    kvp_block_t block, u32 n)
{
	kvp_vblock_t own = kvp_vdev_block(leaf, block);
	u64 row = kvp_row_of(leaf->v->g, own);
	u32 stripe = kvp_stripe_blocks(leaf->v->g), rows, i;
	const struct kvp_vdev *v = leaf->v;
	bool good = true;

	if (kvp_vblock_nr(own) % stripe || n % stripe)
		return false;
	rows = n / (v->nr_legs - 1);
	memset(s->ios, 0, sizeof(s->ios));
	kvp_io_group_init(&s->group);
	for (i = 0; i < v->nr_legs; i++) {
		if (!kvp_leg_in_sync(&v->legs[i]))
			continue;
		s->ios[i].leg = &v->legs[i];
		s->ios[i].op = KVP_IO_READ;
		s->ios[i].background = true;
		s->ios[i].block = kvp_lblock(v->g->data_start + row);
		s->ios[i].nr = rows;
		s->ios[i].pages = &s->pages[i * rows];
		kvp_io_group_submit(&s->group, &s->ios[i]);
	}
	kvp_io_group_wait(&s->group);
	for (i = 0; good && i < rows; i++)
		good = row_verifies(s, leaf, row + i, rows, i);
	return good;
}

/* True if any of @n blocks is valid, and changed in era @since or later. */
static bool any_valid(struct kvp_tpage *leaf, kvp_block_t block, u32 n, u32 since)
{
	u32 i;

	for (i = 0; i < n; i++) {
		u64 entry = kvp_table_entry(leaf, kvp_block_add(block, i));

		if (kvp_entry_state(entry) == KVP_ENTRY_VALID && kvp_entry_era(entry) >= since)
			return true;
	}
	return false;
}

/* Scrub the parity of the block's row, which has no block number of its own. */
static int scrub_row(struct kvp_pool *pool, struct kvp_scrub_io *s, kvp_block_t block)
{
	struct kvp_spot at = kvp_locate(pool, block);

	return at.v->ops->scrub_row(&at, block, s->pages[0], s->pages[1]);
}

/*
 * True if a newer version is going home. If the log was retained over a restart, destage may have
 * been cut short. Then home has neither the table's version nor the newer one, and no leg is at
 * fault.
 */
static bool about_to_change(struct kvp_pool *pool, kvp_block_t block)
{
	return pool->vdevs.order->changes(pool, block);
}

static bool interrupted(struct kvp_scrub *sc)
{
	return READ_ONCE(sc->stop) || READ_ONCE(sc->pause) || READ_ONCE(sc->quiesce);
}

/*
 * Step 5. Read every copy, block by block, and heal; count blocks that stay bad. The cursor moves
 * with each block, so that no block is counted twice if memory runs short half way.
 */
static int scrub_closely(struct kvp_pool *pool, struct kvp_scrub_io *s, kvp_block_t block, u32 n)
{
	struct kvp_scrub_info *info = &pool->scrub->info;
	u64 healed = atomic64_read(&pool->work_stats.healed);
	bool poisoned = false;
	int ret = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		kvp_block_t one = kvp_block_add(block, i);
		struct kvp_range range;

		kvp_block_lock(pool, &range, one);
		ret = about_to_change(pool, one) ? 0 :
		      kvp_home_read(pool, one, s->pages[0], s->pages[1]);
		if (ret != -ENOMEM && scrub_row(pool, s, one) == -ENOMEM)
			ret = -ENOMEM;
		kvp_range_unlock(&pool->ranges, &range);
		if (ret == -ENOMEM)
			break;
		if (ret == -EBADMSG || ret == -EIO)
			info->unrepaired++;
		poisoned |= ret == -EBADMSG;
		WRITE_ONCE(info->cursor, kvp_block_add(one, 1));
		/* Each block may wait for a leg for seconds. */
		if (interrupted(pool->scrub))
			break;
	}
	info->healed += atomic64_read(&pool->work_stats.healed) - healed;
	if (poisoned)
		kvp_poison_note(pool);
	return ret == -ENOMEM ? ret : 0;
}

/* The blocks of a step from @at on; in a parity1 whole stripes, so that whole rows are verified. */
static u32 step_blocks(const struct kvp_spot *at)
{
	u32 unit = kvp_unit_blocks(at->v->g);
	u32 step = max(1u, KVP_SCRUB_STEP / kvp_unit_on_leg(at->v->g)) * unit;

	if (kvp_vblock_nr(at->block) % unit)
		step = unit;
	return min_t(u64, step - kvp_vblock_nr(at->block) % step, at->left);
}

/*
 * Step 4. Verify @n blocks, all below one leaf, and move the cursor. Returns -ENOMEM: try again
 * from the cursor.
 */
static int scrub_step(struct kvp_pool *pool, struct kvp_scrub_io *s, kvp_block_t block, u32 n)
{
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);
	struct kvp_range range;
	bool good = true;

	if (IS_ERR(leaf)) {
		if (PTR_ERR(leaf) == -ENOMEM)
			return -ENOMEM;
		pool->scrub->info.unrepaired += n;
		goto done;
	}
	kvp_range_lock(&pool->ranges, &range, block, kvp_block_add(block, n - 1));
	if (any_valid(leaf, block, n, pool->scrub->since))
		good = leaf->v->ops->verify(pool, s, leaf, block, n);
	kvp_range_unlock(&pool->ranges, &range);
	kvp_table_put(leaf);
	if (!good)
		return scrub_closely(pool, s, block, n);
done:
	WRITE_ONCE(pool->scrub->info.cursor, kvp_block_add(block, n));
	return 0;
}

/*
 * Scrub the table pages above @block, except those that were scrubbed for an earlier block of the
 * vdev. A page is scrubbed when the cursor first comes to any block below it. It cannot be done at
 * the first block below the page: that may be unwritten, and the cursor skips it.
 */
static int scrub_pages(struct kvp_pool *pool, kvp_block_t block, struct page *good,
		       struct page *copy)
{
	struct kvp_spot at = kvp_locate(pool, block);
	u64 *entered = &pool->scrub->entered[at.v->index];
	u64 entry = kvp_entry_index(at.v->g, at.block);
	u32 level;

	for (level = 0; level < at.v->g->levels; level++) {
		u32 shift = KVP_PTRS_SHIFT * (level + 1);
		int bad;

		if (*entered && (*entered - 1) >> shift == entry >> shift)
			break;
		bad = kvp_table_scrub_page(pool->table, block, level, good, copy);
		if (bad == -ENOMEM)
			return bad;
		if (bad > 0)
			pool->scrub->info.healed += bad;
	}
	*entered = entry + 1;
	return 0;
}

/* Rest in short naps, so that a stop or a new rate has an effect soon. */
static void throttle(struct kvp_pool *pool, u32 blocks)
{
	u64 ns = 0, nap = 50 * NSEC_PER_MSEC, rate;

	cond_resched();
	while ((rate = READ_ONCE(pool->tunables[KVP_T_SCRUB_RATE])) && !interrupted(pool->scrub) &&
	       ns < div64_u64(((u64)blocks << KVP_BLOCK_SHIFT) * NSEC_PER_SEC, rate)) {
		schedule_timeout_uninterruptible(nsecs_to_jiffies(nap));
		ns += nap;
	}
}

/* Step 3. Go on at the cursor: skip unwritten blocks, or do a step. Returns -ENOMEM: not now. */
static int scrub_some(struct kvp_pool *pool, struct kvp_scrub_io *s, u32 *blocks)
{
	struct kvp_scrub_info *info = &pool->scrub->info;
	kvp_block_t block = info->cursor, end = kvp_pool_end(pool), next;
	struct kvp_spot at = kvp_locate(pool, block);
	u64 lost = atomic64_read(&pool->work_stats.leaf_lost);
	int ret = kvp_table_next_changed(pool->table, block, pool->scrub->since, &next);

	*blocks = 0;
	if (ret == -ENOMEM)
		return ret;
	next = kvp_block_first(next, end);
	if (ret)
		info->unrepaired += kvp_block_since(next, block);
	if (next != block) {
		WRITE_ONCE(info->cursor, next);
		return 0;
	}
	ret = scrub_pages(pool, block, s->pages[0], s->pages[1]);
	if (ret)
		return ret;
	lost = atomic64_read(&pool->work_stats.leaf_lost) - lost;
	info->unrepaired += lost;
	if (lost)
		kvp_poison_note(pool);
	if (!(kvp_vblock_nr(at.block) % kvp_leaf_blocks(at.v->g)))
		kvp_table_shrink(pool->table, false);
	*blocks = min_t(u64, step_blocks(&at), kvp_block_since(end, block));
	return scrub_step(pool, s, block, *blocks);
}

/* Write the state of the scrub into the superblock. */
static void note_scrub(struct kvp_pool *pool)
{
	mutex_lock(&pool->sb_lock);
	pool->sb->scrub = pool->scrub->info;
	kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
	pool->scrub->noted = jiffies;
}

/*
 * Scrub from the cursor to the end, or until it is stopped. Lack of memory is not damage: blocks
 * that could not be read for that reason are read later, however long that takes.
 */
static void scrub_from_cursor(struct kvp_pool *pool, struct kvp_scrub_io *s)
{
	struct kvp_scrub *sc = pool->scrub;
	u32 blocks;

	while (kvp_block_before(sc->info.cursor, kvp_pool_end(pool)) && !interrupted(sc)) {
		if (scrub_some(pool, s, &blocks) == -ENOMEM)
			kvp_wait_for_memory();
		else if (blocks)
			throttle(pool, blocks);
		if (time_after(jiffies, sc->noted + KVP_NOTE_WORK) && !kvp_pool_faulted(pool))
			note_scrub(pool);
	}
}

/* Step 6. The scrub was stopped, or is at the end. */
static void scrub_ended(struct kvp_pool *pool)
{
	struct kvp_scrub_info *info = &pool->scrub->info;

	info->finished = ktime_get_real_seconds();
	kvp_finds_report(pool);
	if (READ_ONCE(pool->scrub->stop)) {
		info->state = KVP_SCRUB_STOPPED;
		kvp_event(pool, "scrub_stopped");
	} else {
		info->state = KVP_SCRUB_FINISHED;
		kvp_event(pool, "scrub_finished healed=%llu unrepaired=%llu",
			  (unsigned long long)info->healed, (unsigned long long)info->unrepaired);
	}
	note_scrub(pool);
}

/* Step 2. The one worker. It waits for memory as long as that takes. */
static void scrub_work(struct work_struct *work)
{
	struct kvp_scrub *sc = container_of(work, struct kvp_scrub, work);
	struct kvp_pool *pool = sc->pool;
	struct kvp_scrub_io *s;

	/* An interrupted suspend queues this work again, and the scrub may have ended meanwhile. */
	if (sc->info.state != KVP_SCRUB_RUNNING)
		return;
	s = alloc_buffer(pool);
	while (!s && !interrupted(sc)) {
		kvp_wait_for_memory();
		s = alloc_buffer(pool);
	}
	if (s)
		scrub_from_cursor(pool, s);
	free_buffer(s);
	if (READ_ONCE(sc->stop) || !kvp_block_before(sc->info.cursor, kvp_pool_end(pool)))
		scrub_ended(pool);
	else if (READ_ONCE(sc->pause))
		note_scrub(pool);
}

static void run(struct kvp_pool *pool)
{
	struct kvp_scrub *sc = pool->scrub;

	WRITE_ONCE(sc->stop, false);
	WRITE_ONCE(sc->pause, false);
	memset(sc->entered, 0, sizeof(sc->entered));
	sc->info.state = KVP_SCRUB_RUNNING;
	queue_work(pool->scrub_wq, &sc->work);
}

int kvp_scrub_start(struct kvp_pool *pool, u32 since)
{
	struct kvp_scrub *sc = pool->scrub;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	if (since > READ_ONCE(pool->sb->era))
		return -ERANGE;
	/* Blocks that are not home have no era yet. */
	if (since)
		ret = kvp_destage_order(pool);
	if (ret)
		return ret;
	mutex_lock(&sc->lock);
	if (sc->info.state == KVP_SCRUB_RUNNING) {
		ret = -EBUSY;
	} else {
		flush_work(&sc->work);
		memset(&sc->info, 0, sizeof(sc->info));
		sc->since = since;
		sc->info.started = ktime_get_real_seconds();
		run(pool);
		if (since)
			kvp_event(pool, "scrub_started since=%u", since);
		else
			kvp_event(pool, "scrub_started");
		note_scrub(pool);
	}
	mutex_unlock(&sc->lock);
	return ret;
}

int kvp_scrub_stop(struct kvp_pool *pool)
{
	struct kvp_scrub *sc = pool->scrub;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&sc->lock);
	if (sc->info.state == KVP_SCRUB_RUNNING || sc->info.state == KVP_SCRUB_PAUSED) {
		WRITE_ONCE(sc->stop, true);
		flush_work(&sc->work);
		/* If it was paused, or a suspend is under way, it has no worker that ends it. */
		if (sc->info.state == KVP_SCRUB_RUNNING || sc->info.state == KVP_SCRUB_PAUSED)
			scrub_ended(pool);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&sc->lock);
	return ret;
}

int kvp_scrub_pause(struct kvp_pool *pool)
{
	struct kvp_scrub *sc = pool->scrub;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&sc->lock);
	if (sc->info.state == KVP_SCRUB_RUNNING) {
		WRITE_ONCE(sc->pause, true);
		flush_work(&sc->work);
		if (sc->info.state == KVP_SCRUB_RUNNING) {
			sc->info.state = KVP_SCRUB_PAUSED;
			note_scrub(pool);
			kvp_event(pool, "scrub_paused");
		}
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&sc->lock);
	return ret;
}

int kvp_scrub_resume(struct kvp_pool *pool)
{
	struct kvp_scrub *sc = pool->scrub;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&sc->lock);
	if (sc->info.state == KVP_SCRUB_PAUSED) {
		kvp_event(pool, "scrub_resumed");
		run(pool);
		note_scrub(pool);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&sc->lock);
	return ret;
}

void kvp_scrub_end_soon(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->scrub->quiesce, true);
}

bool kvp_scrub_works(struct kvp_pool *pool)
{
	return work_busy(&pool->scrub->work) & WORK_BUSY_RUNNING;
}

void kvp_scrub_quiesce(struct kvp_pool *pool)
{
	kvp_scrub_end_soon(pool);
	flush_work(&pool->scrub->work);
}

void kvp_scrub_unquiesce(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->scrub->quiesce, false);
	if (pool->scrub->info.state == KVP_SCRUB_RUNNING && !kvp_pool_readonly(pool))
		queue_work(pool->scrub_wq, &pool->scrub->work);
}

void kvp_scrub_note(struct kvp_pool *pool)
{
	if (READ_ONCE(pool->scrub->info.state) == KVP_SCRUB_RUNNING)
		pool->sb->scrub = pool->scrub->info;
}

void kvp_scrub_init(struct kvp_pool *pool)
{
	struct kvp_scrub *sc = pool->scrub;

	sc->pool = pool;
	mutex_init(&sc->lock);
	INIT_WORK(&sc->work, scrub_work);
	sc->info = pool->sb->scrub;
	sc->noted = jiffies;
	/* A new pool is quiesced until kvp_scrub_unquiesce(). */
	sc->quiesce = true;
}
