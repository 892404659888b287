// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a discard, a block of a leg may read as anything: as before, as zeros, as data that was
 * never there, and differently on each leg. So a leg is told only of blocks that the pool will not
 * read, whatever happens next. The table calls them unwritten, in memory and in the durable tree,
 * and their entries cannot change until the leg has answered. A batch takes these steps:
 *
 * 1. It takes checkpoint_lock: no checkpoint is running, and no discard is being applied.
 * 2. It takes range locks, those that are free: no block is written home there, and no entry
 *    changes.
 * 3. Under these locks it looks at the entries again; in a parity1, of whole stripes with their
 *    parity.
 * 4. It takes a checkpoint, unless no page of the table is dirty: then memory and disk agree.
 * 5. It releases checkpoint_lock, and tells the legs. When all have answered, it releases the range
 *    locks. No entry of these blocks changes meanwhile, so each later root calls them unwritten as
 *    well. A leg may take long, or hang. Then only writes into these ranges wait to go home.
 *
 * Passing a discard down takes the same steps: a range that was discarded may have been written
 * since. It waits for the next checkpoint, since right after one normally no page is dirty. On a
 * busy pool some page is dirty even then, and each batch takes a checkpoint of its own. So a batch
 * takes as many ranges as it has room for.
 *
 * The cases are in docs/cases/destage.md.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/vdev_ops.h"
#include "home/row.h"
#include "io/io.h"
#include "log/log.h"
#include "super/commit.h"
#include "super/events.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/trim.h"

#define TRIM_RANGES	64u		/* of a batch */
/* of a batch: 256 MiB; then other tasks may have the locks */
#define TRIM_BLOCKS	(1u << 16)
#define TRIM_LEAVES	16u		/* of a batch: each leaf may have to be read */
#define TRIM_LEAST	16u		/* neighbours that are worth a request, without parity */
#define NAP		(HZ / 20)

/* A locked range: @count blocks of @v from @own on. */
struct stretch {
	struct kvp_range lock;
	struct kvp_vdev *v;
	kvp_vblock_t own;
	u32 count;
};

/*
 * Ranges for which legs are told together:
 * @pass: pass discards down, so only SSDs are told
 * @skipped: blocks that were in use, or whose table page was unreadable
 */
struct batch {
	bool pass;
	u32 nr, leaves, nr_ios;
	u64 blocks, skipped;
	struct kvp_io_group group;
	struct stretch stretches[TRIM_RANGES];
	struct kvp_io ios[];	/* one for each stretch and leg */
};

static bool trim_interrupted(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->trim->stop) || READ_ONCE(pool->trim->quiesce);
}

static bool interrupted(const struct kvp_pool *pool, const struct batch *b)
{
	return b->pass ? READ_ONCE(pool->passdown->quiesce) : trim_interrupted(pool);
}

/* --- choosing blocks ------------------------------------------------------------------ */

/* Runs of blocks that are trimmed begin and end at multiples of this, in blocks of the vdev. */
static u32 unit_of(const struct kvp_vdev *v)
{
	return kvp_unit_blocks(v->g);
}

static bool is_unwritten(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block)
{
	if (kvp_entry_state(kvp_table_entry(leaf, block)) != KVP_ENTRY_UNWRITTEN)
		return false;
	return leaf->v->ops->row_is_empty(pool, leaf, block);
}

/* How many blocks from @block on are unwritten, up to @max. */
static u32 run_length(struct kvp_pool *pool, const struct kvp_tpage *leaf, kvp_block_t block,
		      u32 max)
{
	u32 n = 0;

	while (n < max && is_unwritten(pool, leaf, kvp_block_add(block, n)))
		n++;
	return n;
}

/* True if all blocks are unwritten, with or without pages of the table. The range is locked. */
static bool all_unwritten(struct kvp_pool *pool, kvp_block_t block, u64 count)
{
	kvp_block_t end = kvp_block_add(block, count), next;
	struct kvp_tpage *leaf;
	bool good = true;
	u32 n;

	while (good && kvp_block_before(block, end)) {
		if (kvp_table_next_written(pool->table, block, &next))
			return false;
		if (kvp_block_before(block, next)) {
			block = next;
			continue;
		}
		leaf = kvp_table_load(pool->table, block);
		if (IS_ERR(leaf))
			return false;
		n = min_t(u64, kvp_locate(pool, block).left, kvp_block_since(end, block));
		good = run_length(pool, leaf, block, n) == n;
		block = kvp_block_add(block, n);
		kvp_table_put(leaf);
	}
	return good;
}

static bool is_full(const struct batch *b)
{
	return b->nr == TRIM_RANGES || b->blocks >= TRIM_BLOCKS || b->leaves == TRIM_LEAVES;
}

/* Add a range to the batch, if its locks are free and it is still unwritten. */
static void take(struct kvp_pool *pool, struct batch *b, kvp_block_t block, u32 count)
{
	struct stretch *s = &b->stretches[b->nr];
	struct kvp_spot at = kvp_locate(pool, block);

	if (!kvp_range_trylock(&pool->ranges, &s->lock, block, kvp_block_add(block, count - 1))) {
		b->skipped += count;
		return;
	}
	if (!all_unwritten(pool, block, count)) {
		kvp_range_unlock(&pool->ranges, &s->lock);
		return;
	}
	s->v = at.v;
	s->own = at.block;
	s->count = count;
	b->nr++;
	b->blocks += count;
}

/*
 * How many of @n blocks from @own on lie in whole units. *@skip: the blocks before the first unit.
 */
static u32 whole_units(const struct kvp_vdev *v, kvp_vblock_t own, u32 n, u32 *skip)
{
	u32 unit = unit_of(v);

	*skip = min_t(u32, n, (unit - kvp_vblock_nr(own) % unit) % unit);
	n -= *skip;
	return n - n % unit;
}

/*
 * Add blocks from @block to before @next, where the table has no pages. Returns the end of what was
 * added.
 */
static kvp_block_t take_nothing_there(struct kvp_pool *pool, struct batch *b, kvp_block_t block,
				      kvp_block_t next)
{
	struct kvp_spot at = kvp_locate(pool, block);
	u32 most = pool->vdevs.nr == 1 ? TRIM_BLOCKS : at.left, skip, whole;
	u32 n = min_t(u64, kvp_block_since(next, block), most);

	whole = whole_units(at.v, at.block, n, &skip);
	if (!whole)
		return kvp_block_add(block, n);
	take(pool, b, kvp_block_add(block, skip), whole);
	return kvp_block_add(block, skip + whole);
}

/*
 * Add unwritten runs below one leaf, before @end, which may lie within the leaf. Returns the block
 * reached; sets *@error.
 */
static kvp_block_t take_runs(struct kvp_pool *pool, struct batch *b, kvp_block_t block,
			     kvp_block_t end, int *error)
{
	struct kvp_spot at = kvp_locate(pool, block);
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);
	u32 n, skip, whole, unit = kvp_unit_blocks(at.v->g), least = unit > 1 ? unit : TRIM_LEAST;

	b->leaves++;
	if (IS_ERR(leaf)) {
		*error = PTR_ERR(leaf);
		return block;
	}
	end = kvp_block_first(kvp_block_add(block, at.left), end);
	for (; kvp_block_before(block, end) && b->nr < TRIM_RANGES;
	     block = kvp_block_add(block, max(n, 1u))) {
		n = run_length(pool, leaf, block, kvp_block_since(end, block));
		whole = whole_units(at.v, kvp_vdev_block(leaf, block), n, &skip);
		if (whole >= least)
			take(pool, b, kvp_block_add(block, skip), whole);
	}
	kvp_table_put(leaf);
	return block;
}

static void begin_batch(struct batch *b)
{
	b->nr = b->leaves = 0;
	b->blocks = b->skipped = 0;
}

/*
 * Put blocks from *@cursor on, before @end, into the batch. Blocks whose table page cannot be read
 * are left out. Returns -ENOMEM: not now, and the batch is empty.
 */
static int collect(struct kvp_pool *pool, struct batch *b, kvp_block_t *cursor,
		   kvp_block_t end)
{
	kvp_block_t block = *cursor, next;
	int ret = 0;

	while (!ret && kvp_block_before(block, end) && !is_full(b) && !interrupted(pool, b)) {
		ret = kvp_table_next_written(pool->table, block, &next);
		next = kvp_block_first(next, end);
		if (ret && ret != -ENOMEM) {
			ret = 0;
			b->skipped += kvp_block_since(next, block);
			block = next;
		} else if (!ret && kvp_block_before(block, next)) {
			block = take_nothing_there(pool, b, block, next);
		} else if (!ret) {
			next = kvp_block_first(kvp_block_add(block, kvp_locate(pool, block).left),
					       end);
			block = take_runs(pool, b, block, end, &ret);
			if (ret && ret != -ENOMEM) {
				ret = 0;
				b->skipped += kvp_block_since(next, block);
				block = next;
			}
		}
	}
	WRITE_ONCE(*cursor, kvp_block_first(block, end));
	return b->nr ? 0 : ret;
}

/* --- telling ------------------------------------------------------------------------------ */

/*
 * True if @leg may be told. With @pass, legs that seek are not told: a discard may take them long,
 * and few of them gain by it.
 */
static bool may_tell(const struct kvp_leg *leg, bool pass)
{
	return kvp_leg_in_sync(leg) && kvp_io_can_discard(leg) && !(pass && leg->rotational);
}

static void add_requests(struct batch *b, const struct stretch *s)
{
	const struct kvp_geometry *g = s->v->g;
	u32 unit = kvp_unit_blocks(g), on_leg = kvp_unit_on_leg(g), i;

	for (i = 0; i < s->v->nr_legs; i++) {
		struct kvp_leg *leg = &s->v->legs[i];
		struct kvp_io *io = &b->ios[b->nr_ios];

		if (!may_tell(leg, b->pass))
			continue;
		memset(io, 0, sizeof(*io));
		io->leg = leg;
		io->op = KVP_IO_DISCARD;
		io->block = kvp_lblock(g->data_start +
				       kvp_vblock_nr(s->own) / unit * on_leg);
		io->nr = s->count / unit * on_leg;
		b->nr_ios++;
	}
}

/*
 * Tell the legs. It is no fault if a leg refuses or fails: the blocks have no contents. Returns the
 * number of blocks of the batch, or 0 if no leg was told.
 */
static u64 tell_legs(struct batch *b)
{
	u32 i;

	b->nr_ios = 0;
	for (i = 0; i < b->nr; i++)
		add_requests(b, &b->stretches[i]);
	kvp_io_group_init(&b->group);
	kvp_io_group_submit_all(&b->group, b->ios, b->nr_ios);
	kvp_io_group_wait(&b->group);
	return b->nr_ios ? b->blocks : 0;
}

static void unlock_ranges(struct kvp_pool *pool, struct batch *b)
{
	while (b->nr)
		kvp_range_unlock(&pool->ranges, &b->stretches[--b->nr].lock);
}

/* The durable root, too, calls the batch unwritten from here on. After an error it is unlocked. */
static int make_durable(struct kvp_pool *pool, struct batch *b)
{
	int ret = 0;

	lockdep_assert_held(&pool->checkpoint_lock);
	if (b->nr && kvp_table_dirty(pool->table))
		ret = kvp_checkpoint(pool, NULL);
	if (ret)
		unlock_ranges(pool, b);
	return ret;
}

/* Tell the legs of the batch, which is durable, and release its locks. */
static void tell(struct kvp_pool *pool, struct batch *b, u64 *told)
{
	if (b->nr)
		WRITE_ONCE(*told, *told + tell_legs(b));
	unlock_ranges(pool, b);
}

/*
 * Trim a batch from the cursor on. After an error the cursor stays. It moves when the legs have
 * been told: a superblock may have it at any time, also that of the checkpoint in between.
 */
static int trim_some(struct kvp_pool *pool, struct batch *b)
{
	struct kvp_trim_info *info = &pool->trim->info;
	kvp_block_t next = info->cursor;
	int ret;

	mutex_lock(&pool->checkpoint_lock);
	begin_batch(b);
	ret = collect(pool, b, &next, kvp_pool_end(pool)) ?: make_durable(pool, b);
	mutex_unlock(&pool->checkpoint_lock);
	if (!ret) {
		tell(pool, b, &info->blocks);
		WRITE_ONCE(info->cursor, next);
	}
	kvp_table_shrink(pool->table, false);
	return ret;
}

/* --- the worker ----------------------------------------------------------------------------- */

/*
 * Wait until all that was accepted before is home: then its discards are in the table. Wait in
 * naps, since a suspend may come.
 */
static int wait_for_homes(struct kvp_pool *pool)
{
	int ret = kvp_commit_sync(pool->log);
	kvp_lsn_t target;

	target = kvp_log_durable(pool->log);
	while (!ret && !trim_interrupted(pool) &&
	       !kvp_destage_is_past(pool->destage, target)) {
		kvp_post_kick(pool->log);
		kvp_destage_kick(pool, true);
		schedule_timeout_uninterruptible(NAP);
		ret = kvp_pool_faulted(pool) ? -EIO : 0;
	}
	return ret;
}

/* Write the state of the trim into the superblock, unless the pool can write none. */
static void note_trim(struct kvp_pool *pool)
{
	mutex_lock(&pool->sb_lock);
	pool->sb->trim = pool->trim->info;
	if (!kvp_pool_faulted(pool))
		kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
	pool->trim->noted = jiffies;
}

static void trim_ended(struct kvp_pool *pool, enum kvp_trim_state state)
{
	unsigned long long blocks = pool->trim->info.blocks;

	WRITE_ONCE(pool->trim->info.state, state);
	if (state == KVP_TRIM_FINISHED)
		kvp_event(pool, "trim_finished blocks=%llu", blocks);
	else if (state == KVP_TRIM_STOPPED)
		kvp_event(pool, "trim_stopped blocks=%llu", blocks);
	else
		kvp_event(pool, "trim_failed blocks=%llu", blocks);
	note_trim(pool);
}

static int trim_from_cursor(struct kvp_pool *pool, struct batch *b)
{
	struct kvp_trim *t = pool->trim;
	int ret = 0;

	if (!t->waited && !trim_interrupted(pool)) {
		ret = wait_for_homes(pool);
		t->waited = !ret && !trim_interrupted(pool);
	}
	while (!ret && kvp_block_before(t->info.cursor, kvp_pool_end(pool)) &&
	       !trim_interrupted(pool)) {
		ret = trim_some(pool, b);
		if (time_after(jiffies, t->noted + KVP_NOTE_WORK))
			note_trim(pool);
		if (ret == -ENOMEM) {
			kvp_wait_for_memory();
			ret = 0;
		}
		cond_resched();
	}
	return ret;
}

static struct batch *alloc_batch(const struct kvp_pool *pool, bool pass)
{
	size_t ios = TRIM_RANGES * pool->vdevs.max_legs * sizeof(struct kvp_io);
	struct batch *b = kvzalloc(sizeof(*b) + ios, GFP_KERNEL);

	if (b)
		b->pass = pass;
	return b;
}

static void trim_work(struct work_struct *work)
{
	struct kvp_trim *t = container_of(work, struct kvp_trim, work);
	struct kvp_pool *pool = t->pool;
	struct batch *b;
	int ret;

	/* An interrupted suspend queues this work again, and the trim may have ended meanwhile. */
	if (READ_ONCE(t->info.state) != KVP_TRIM_RUNNING)
		return;
	b = alloc_batch(pool, false);
	ret = b ? trim_from_cursor(pool, b) : -ENOMEM;
	kvfree(b);
	if (ret)
		trim_ended(pool, KVP_TRIM_FAILED);
	else if (READ_ONCE(t->stop))
		trim_ended(pool, KVP_TRIM_STOPPED);
	else if (!kvp_block_before(t->info.cursor, kvp_pool_end(pool)))
		trim_ended(pool, KVP_TRIM_FINISHED);
}

static bool any_leg_can(struct kvp_pool *pool, bool pass)
{
	u32 i, k;

	for (i = 0; i < pool->vdevs.nr_with_data; i++) {
		const struct kvp_vdev *v = pool->vdevs.with_data[i];

		for (k = 0; k < v->nr_legs; k++)
			if (may_tell(&v->legs[k], pass))
				return true;
	}
	return false;
}

int kvp_trim_start(struct kvp_pool *pool)
{
	struct kvp_trim *t = pool->trim;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&t->lock);
	if (t->info.state == KVP_TRIM_RUNNING) {
		ret = -EBUSY;
	} else if (!any_leg_can(pool, false)) {
		ret = -EOPNOTSUPP;
	} else {
		/* The last trim has ended, but its work may not have returned yet. */
		flush_work(&t->work);
		t->info.cursor = kvp_block(0);
		t->info.blocks = 0;
		t->waited = false;
		WRITE_ONCE(t->stop, false);
		WRITE_ONCE(t->info.state, KVP_TRIM_RUNNING);
		kvp_event(pool, "trim_started");
		note_trim(pool);
		queue_work(pool->scrub_wq, &t->work);
	}
	mutex_unlock(&t->lock);
	return ret;
}

int kvp_trim_stop(struct kvp_pool *pool)
{
	struct kvp_trim *t = pool->trim;
	int ret = 0;

	if (kvp_pool_readonly(pool))
		return -EROFS;
	mutex_lock(&t->lock);
	if (t->info.state == KVP_TRIM_RUNNING) {
		WRITE_ONCE(t->stop, true);
		flush_work(&t->work);
		/* If a suspend is under way, it has no worker that ends it. */
		if (t->info.state == KVP_TRIM_RUNNING)
			trim_ended(pool, KVP_TRIM_STOPPED);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&t->lock);
	return ret;
}

/* --- passing down --------------------------------------------------------------------------- */

static bool passes_down(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->tunables[KVP_T_DISCARD_PASSDOWN]);
}

/* The block behind range @i. */
static kvp_block_t range_end(const struct kvp_passdown *p, u32 i)
{
	return kvp_block_add(p->ranges[i].block, p->ranges[i].count);
}

void kvp_passdown_note(struct kvp_pool *pool, kvp_block_t block, u64 count)
{
	struct kvp_passdown *p = pool->passdown;

	lockdep_assert_held(&pool->checkpoint_lock);
	if (!passes_down(pool) || !any_leg_can(pool, true))
		return;
	/* A range that a checkpoint has must not grow by a discard that none has. */
	if (p->nr > p->ready && range_end(p, p->nr - 1) == block) {
		p->ranges[p->nr - 1].count += count;
	} else if (p->nr < KVP_PASSDOWN_RANGES) {
		p->ranges[p->nr].block = block;
		p->ranges[p->nr++].count = count;
	} else {
		WRITE_ONCE(p->dropped, p->dropped + count);
	}
}

static void queue_passdown(struct kvp_pool *pool)
{
	struct kvp_passdown *p = pool->passdown;

	spin_lock(&p->lock);
	if (!p->quiesce && READ_ONCE(p->ready))
		queue_work(pool->scrub_wq, &p->work);
	spin_unlock(&p->lock);
}

void kvp_passdown_checkpointed(struct kvp_pool *pool)
{
	lockdep_assert_held(&pool->checkpoint_lock);
	WRITE_ONCE(pool->passdown->ready, pool->passdown->nr);
	queue_passdown(pool);
}

/* Drop the oldest @n ranges, and of the next one the part before @block. */
static void __drop_first(struct kvp_passdown *p, u32 n, kvp_block_t block)
{
	p->nr -= n;
	WRITE_ONCE(p->ready, p->ready - n);
	memmove(&p->ranges[0], &p->ranges[n], p->nr * sizeof(p->ranges[0]));
	if (p->ready && kvp_block_before(p->ranges[0].block, block)) {
		p->ranges[0].count -= kvp_block_since(block, p->ranges[0].block);
		p->ranges[0].block = block;
	}
}

static u64 __blocks_of_first(const struct kvp_passdown *p, u32 n)
{
	u64 blocks = 0;

	while (n)
		blocks += p->ranges[--n].count;
	return blocks;
}

/*
 * True if range @n overlaps one before it. In one batch, the lock of that range would be in its
 * way.
 */
static bool __lies_over(const struct kvp_passdown *p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (kvp_block_before(p->ranges[i].block, range_end(p, n)) &&
		    kvp_block_before(p->ranges[n].block, range_end(p, i)))
			return true;
	return false;
}

/*
 * The progress of a batch: @done whole ranges and, if @begun is larger, the part of the next one
 * before @block.
 */
struct progress {
	u32 done, begun;
	kvp_block_t block;
};

/* Make a batch of the oldest ranges. */
static int collect_ranges(struct kvp_pool *pool, struct batch *b, struct progress *at)
{
	struct kvp_passdown *p = pool->passdown;
	int ret = 0;

	begin_batch(b);
	*at = (struct progress){ 0 };
	while (!ret && at->done == at->begun && at->done < p->ready && !is_full(b) &&
	       !__lies_over(p, at->done)) {
		kvp_block_t end = range_end(p, at->done);

		at->block = p->ranges[at->done].block;
		at->begun++;
		ret = collect(pool, b, &at->block, end);
		at->done += at->block == end;
	}
	return ret;
}

/*
 * Pass down a batch of the oldest ranges. Returns true if there are more. While the legs are told,
 * others may only add ranges behind these.
 */
static bool pass_some(struct kvp_pool *pool, struct batch *b)
{
	struct kvp_passdown *p = pool->passdown;
	struct progress at;
	bool more;

	mutex_lock(&pool->checkpoint_lock);
	if (!passes_down(pool)) {
		WRITE_ONCE(p->dropped, p->dropped + __blocks_of_first(p, p->ready));
		__drop_first(p, p->ready, 0);
	} else if (collect_ranges(pool, b, &at) || make_durable(pool, b)) {
		/*
		 * Passing down is a hint. It does not wait for memory, nor try a checkpoint again.
		 */
		WRITE_ONCE(p->dropped, p->dropped + __blocks_of_first(p, at.begun));
		__drop_first(p, at.begun, 0);
	} else {
		mutex_unlock(&pool->checkpoint_lock);
		tell(pool, b, &p->blocks);
		mutex_lock(&pool->checkpoint_lock);
		WRITE_ONCE(p->dropped, p->dropped + b->skipped);
		__drop_first(p, at.done, at.begun > at.done ? at.block : 0);
	}
	more = p->ready;
	mutex_unlock(&pool->checkpoint_lock);
	kvp_table_shrink(pool->table, false);
	return more;
}

static void passdown_work(struct work_struct *work)
{
	struct kvp_passdown *p = container_of(work, struct kvp_passdown, work);
	struct kvp_pool *pool = p->pool;
	struct batch *b = alloc_batch(pool, true);

	/* Without memory, try again after the next checkpoint. */
	while (b && !READ_ONCE(p->quiesce) && pass_some(pool, b))
		cond_resched();
	kvfree(b);
}

/* --- life ------------------------------------------------------------------------------ */

void kvp_trim_end_soon(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->trim->quiesce, true);
	spin_lock(&pool->passdown->lock);
	WRITE_ONCE(pool->passdown->quiesce, true);
	spin_unlock(&pool->passdown->lock);
}

bool kvp_trim_works(struct kvp_pool *pool)
{
	return (work_busy(&pool->trim->work) | work_busy(&pool->passdown->work)) &
	       WORK_BUSY_RUNNING;
}

void kvp_trim_quiesce(struct kvp_pool *pool)
{
	kvp_trim_end_soon(pool);
	flush_work(&pool->trim->work);
	flush_work(&pool->passdown->work);
}

void kvp_trim_unquiesce(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->trim->quiesce, false);
	if (READ_ONCE(pool->trim->info.state) == KVP_TRIM_RUNNING && !kvp_pool_readonly(pool))
		queue_work(pool->scrub_wq, &pool->trim->work);
	spin_lock(&pool->passdown->lock);
	WRITE_ONCE(pool->passdown->quiesce, false);
	spin_unlock(&pool->passdown->lock);
	queue_passdown(pool);
}

void kvp_trim_note(struct kvp_pool *pool)
{
	if (READ_ONCE(pool->trim->info.state) == KVP_TRIM_RUNNING)
		pool->sb->trim = pool->trim->info;
}

void kvp_trim_init(struct kvp_pool *pool)
{
	pool->passdown->pool = pool;
	spin_lock_init(&pool->passdown->lock);
	INIT_WORK(&pool->passdown->work, passdown_work);
	pool->passdown->quiesce = true;
	pool->trim->pool = pool;
	mutex_init(&pool->trim->lock);
	INIT_WORK(&pool->trim->work, trim_work);
	pool->trim->info = pool->sb->trim;
	pool->trim->noted = jiffies;
	/* A new pool is quiesced until kvp_trim_unquiesce(). */
	pool->trim->quiesce = true;
}
