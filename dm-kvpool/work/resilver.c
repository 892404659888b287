// SPDX-License-Identifier: GPL-2.0-only
/* The steps of a resilver: resilver.h has them in order. */
#include <linux/err.h>
#include <linux/mm.h>

#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/order_ops.h"
#include "core/host.h"
#include "core/shadow.h"
#include "core/vdev_ops.h"
#include "format/stripe.h"
#include "home/heal.h"
#include "log/log.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/leaves.h"
#include "super/members.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/resilver.h"
#include "work/resilver_copy.h"

/* the cursor is noted after this time, or after so many blocks */
#define NOTE_MS		10000u
#define NOTE_BLOCKS	(1u << 18)
#define MIN_PAUSE_MS	1000u		/* after an error; doubled after each further one */
#define MAX_PAUSE_MS	60000u
#define NAP_NS		(50ull * NSEC_PER_MSEC)
#define IDLE_MS		500u		/* without a request for so long, the host counts as idle */
/* seconds: while the host is busy, a step begins at least this often */
#define MOST_REST	1u
/*
 * At the end of a resilver, destage may rest while the host is busy. That ends when it has taken as
 * long as the resilver before it, within these limits in seconds. Then destage is ordered to hurry.
 */
#define LEAST_PATIENCE	60u
#define MOST_PATIENCE	3600u
#define ASK_NAPS	20u		/* destage is asked once a second meanwhile */
#define NONE		kvp_vblock(~0ull)

/* --- helpers -------------------------------------------------------------------- */

static bool interrupted(const struct kvp_resilver *r)
{
	return READ_ONCE(r->quiesce);
}

/*
 * Leg @i of @v. Number v->nr_legs is the shadow of one of them, as in masks of legs. Returns NULL
 * if there is no shadow, or its leg is in another vdev.
 */
static struct kvp_leg *leg_at(const struct kvp_vdev *v, u32 i)
{
	struct kvp_leg *shadow = &v->pool->shadow;

	return i < v->nr_legs ? &v->legs[i] : shadow->v == v ? shadow : NULL;
}

static u32 number_at(const struct kvp_vdev *v, u32 i)
{
	return i < v->nr_legs ? v->legs[i].index : KVP_SHADOW;
}

static bool some_leg_resilvers(const struct kvp_vdev *v)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (kvp_leg_resilvers(&v->legs[i]))
			return true;
	return false;
}

/*
 * True if the walk is for @leg. The legs of a vdev come before the shadow. Its walk begins again
 * after theirs (begin_walk()).
 */
static bool is_walked_for(const struct kvp_leg *leg)
{
	if (!leg || !kvp_leg_resilvers(leg))
		return false;
	return !kvp_leg_is_shadow(leg) ||
	       (!READ_ONCE(leg->pool->shadow_ready) && !some_leg_resilvers(leg->v));
}

/* True if some leg has joined, and its walk has not begun. */
static bool some_joined(const struct kvp_resilver *r)
{
	u32 i;

	for (i = 0; i < r->pool->nr_legs; i++)
		if (kvp_leg_resilvers(&r->pool->legs[i]) && !READ_ONCE(r->walks[i]))
			return true;
	return r->pool->shadow.v && is_walked_for(&r->pool->shadow) &&
	       !READ_ONCE(r->walks[KVP_SHADOW]);
}

/*
 * Rest in short naps, so that a suspend need not wait for the end. With @cut_short the rest also
 * ends when a leg joins.
 */
static void rest(const struct kvp_resilver *r, u64 ns, bool cut_short)
{
	u64 slept;

	for (slept = 0; slept < ns && !interrupted(r); slept += NAP_NS) {
		if (cut_short && some_joined(r))
			break;
		schedule_timeout_uninterruptible(nsecs_to_jiffies(NAP_NS));
	}
}

static bool wants_to_go_on(void *arg)
{
	const struct kvp_resilver *r = arg;

	return interrupted(r) || some_joined(r);
}

/* Rest while the host uses the legs, until it is quiet. */
static void yield_to_host(struct kvp_resilver *r, u64 took)
{
	if (kvp_host_busy(r->pool, &r->host, KVP_HOST_QUIET_MS))
		r->yields++;
	kvp_host_rest(r->pool, &r->host, kvp_yield_rest_of_walk(took, MOST_REST),
		      wants_to_go_on, r);
}

/* Rest after a step of @blocks that took @ns. No step is in flight. */
static void rest_after(struct kvp_resilver *r, u32 blocks, u64 ns)
{
	u64 rate = READ_ONCE(r->pool->tunables[KVP_T_RESILVER_RATE]);

	yield_to_host(r, ns);
	if (rate)
		rest(r, div64_u64(((u64)blocks << KVP_BLOCK_SHIFT) * NSEC_PER_SEC, rate), true);
}

static bool cursor_is_due(const struct kvp_resilver *r)
{
	return r->copied - r->noted_at >= NOTE_BLOCKS ||
	       time_after_eq(jiffies, r->noted + msecs_to_jiffies(NOTE_MS));
}

/* Mask of the legs of @v that resilver. Either their walk has @begun, or it has not. */
static u64 legs_of(const struct kvp_vdev *v, bool begun)
{
	const struct kvp_resilver *r = v->pool->resilver;
	u64 legs = 0;
	u32 i;

	for (i = 0; i <= v->nr_legs; i++)
		if (is_walked_for(leg_at(v, i)) && READ_ONCE(r->walks[number_at(v, i)]) == begun)
			legs |= BIT_ULL(i);
	return legs;
}

static u64 targets_of(const struct kvp_vdev *v)
{
	return legs_of(v, true);
}

static kvp_vblock_t end_of(const struct kvp_vdev *v)
{
	return kvp_vdev_from(v, kvp_pool_end(v->pool));
}

bool kvp_resilver_runs(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (kvp_leg_resilvers(&pool->legs[i]))
			return true;
	if (!pool->shadow.v || READ_ONCE(pool->shadow_ready))
		return false;
	return kvp_leg_resilvers(&pool->shadow) || kvp_shadow_may_join(pool);
}

void kvp_resilver_figures(struct kvp_pool *pool, struct kvp_resilver_figures *f)
{
	struct kvp_resilver *r = pool->resilver;
	u32 i, k;

	*f = (struct kvp_resilver_figures){ .copied = READ_ONCE(r->copied) };
	for (i = 0; i < pool->vdevs.nr; i++) {
		const struct kvp_vdev *v = &pool->vdevs.v[i];
		kvp_vblock_t least = NONE;

		for (k = 0; k <= v->nr_legs; k++)
			if (is_walked_for(leg_at(v, k)))
				least = kvp_vblock_first(least,
							 READ_ONCE(r->next[number_at(v, k)]));
		if (least == NONE)
			continue;
		f->done += kvp_vblock_nr(kvp_vblock_first(least, end_of(v)));
		f->total += kvp_vblock_nr(end_of(v));
	}
	/* If all legs that missed them are lost, ranges are kept until a leg returns. */
	f->unread = kvp_resilver_runs(pool) ? kvp_skipped_blocks(&r->skipped) : 0;
}

bool kvp_resilver_skipped(struct kvp_pool *pool, kvp_block_t from, kvp_block_t *first, u64 *count)
{
	return kvp_resilver_runs(pool) &&
	       kvp_skipped_next(&pool->resilver->skipped, pool, from, first, count);
}

/* --- joining (1) ---------------------------------------------------------------- */

static int checkpoint(struct kvp_pool *pool)
{
	int ret;

	mutex_lock(&pool->checkpoint_lock);
	ret = kvp_checkpoint(pool, NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

int kvp_resilver_join(struct kvp_leg *leg, u32 in_sync_era, kvp_vblock_t cursor, u32 cursor_era)
{
	struct kvp_pool *pool = leg->pool;
	struct kvp_resilver *r = pool->resilver;
	char name[KVP_LEG_WORDS];
	int ret;

	/* Otherwise a checkpoint that is running would not write its pages to the leg. */
	mutex_lock(&pool->checkpoint_lock);
	mutex_lock(&pool->sb_lock);
	WRITE_ONCE(r->walks[leg->index], false);
	WRITE_ONCE(r->next[leg->index], 0);
	r->joined[leg->index] = (struct kvp_leg_info){ .in_sync_era = in_sync_era, .cursor = cursor,
						       .cursor_era = cursor_era };
	ret = kvp_leg_resilver(leg, in_sync_era, cursor, cursor_era);
	mutex_unlock(&pool->sb_lock);
	mutex_unlock(&pool->checkpoint_lock);
	if (ret == -EBUSY)
		return ret;
	/* Do so even after an error: the pool goes on after 'clear', and so does the resilver. */
	if (kvp_leg_resilvers(leg) && !interrupted(r))
		queue_work(pool->scrub_wq, &r->work);
	if (ret || !kvp_leg_resilvers(leg))
		return -EIO;
	kvp_event(pool, "resilver_started leg=%u%s", leg->index, kvp_leg_words(leg, name));
	return 0;
}

/*
 * The shadow joins as a leg does, but no superblock says so. Its leg has everything, so nothing
 * depends on the shadow until it has everything, too.
 */
static int join_shadow(struct kvp_resilver *r)
{
	const struct kvp_shadow_info *order = &r->pool->sb->shadow;
	struct kvp_pool *pool = r->pool;
	char name[KVP_LEG_WORDS];
	bool joins;

	if (!kvp_shadow_may_join(pool))
		return 0;
	mutex_lock(&pool->checkpoint_lock);
	mutex_lock(&pool->sb_lock);
	WRITE_ONCE(r->walks[KVP_SHADOW], false);
	WRITE_ONCE(r->next[KVP_SHADOW], 0);
	r->joined[KVP_SHADOW] = (struct kvp_leg_info){ .cursor = order->cursor,
						       .cursor_era = order->cursor_era };
	joins = kvp_shadow_resilver(pool);
	mutex_unlock(&pool->sb_lock);
	mutex_unlock(&pool->checkpoint_lock);
	if (joins)
		kvp_event(pool, "shadow_started leg=%u%s", kvp_shadowed(pool)->index,
			  kvp_leg_words(&pool->shadow, name));
	return joins ? 0 : -EAGAIN;
}

/*
 * A leg of @v joins while the walk is for the shadow of another one. That walk begins again later,
 * at the noted cursor. Otherwise what it skipped would be forgotten.
 */
static void stop_for_legs(struct kvp_resilver *r, const struct kvp_vdev *v)
{
	const struct kvp_shadow_info *order = &r->pool->sb->shadow;

	lockdep_assert_held(&r->pool->sb_lock);
	if (r->pool->shadow.v != v || !some_leg_resilvers(v))
		return;
	WRITE_ONCE(r->walks[KVP_SHADOW], false);
	WRITE_ONCE(r->next[KVP_SHADOW], 0);
	r->joined[KVP_SHADOW] = (struct kvp_leg_info){ .cursor = order->cursor,
						       .cursor_era = order->cursor_era };
}

/*
 * Begin the walk of legs that joined. A write that was on its way home before holds its range lock,
 * and has changed the table when it releases the lock. The checkpoint is for the walk, which skips
 * what the pointers of the table on disk call old.
 */
static int begin_walk(struct kvp_resilver *r, struct kvp_vdev *v, u64 legs)
{
	struct kvp_pool *pool = r->pool;
	u32 i;
	int ret;

	/* The legs that missed these blocks are lost, and begin again when they return. */
	if (!targets_of(v))
		kvp_skipped_forget(&r->skipped, v);
	mutex_lock(&pool->sb_lock);
	stop_for_legs(r, v);
	for (i = 0; i <= v->nr_legs; i++) {
		u32 leg = number_at(v, i);

		if (!(legs >> i & 1))
			continue;
		r->sync[leg] = r->joined[leg];
		r->next[leg] = 0;
		r->copied_at[leg] = r->copied;
		r->began = ktime_get_ns();
		WRITE_ONCE(r->walks[leg], true);
	}
	mutex_unlock(&pool->sb_lock);
	kvp_range_wait_all(&pool->ranges);
	ret = checkpoint(pool);
	for (i = 0; ret && i <= v->nr_legs; i++)
		if (legs >> i & 1)
			WRITE_ONCE(r->walks[number_at(v, i)], false);
	return ret;
}

/* --- the walk (2) --------------------------------------------------------------- */

/* Entries of @own and later blocks that leg @i misses are of this era or a later one. */
static u32 since_of(const struct kvp_resilver *r, u32 i, kvp_vblock_t own)
{
	const struct kvp_leg_info *s = &r->sync[i];

	if (kvp_vblock_before(own, s->cursor))
		return s->cursor_era + 1;
	return s->in_sync_era ? s->in_sync_era + 1 : 0;
}

/**
 * struct stretch - blocks of a vdev that are walked over for the same legs
 * @v: the vdev
 * @legs: mask of the legs that this is for: all whose walk has reached @own
 * @own: all blocks of the vdev below are done
 * @ahead: all blocks below are done, or belong to steps in flight
 * @end: some leg has got further, or has another era from here on
 * @since: the oldest era that one of @legs misses
 * @again: it was skipped, and the walk has passed it
 */
struct stretch {
	struct kvp_vdev *v;
	u64 legs;
	kvp_vblock_t own, ahead, end;
	u32 since;
	bool again;
};

/* The next stretch of @v. Returns false if all legs that resilver are at the end. */
static bool next_stretch(const struct kvp_resilver *r, struct kvp_vdev *v, struct stretch *s)
{
	u64 targets = targets_of(v);
	u32 i;

	*s = (struct stretch){ .v = v, .own = end_of(v), .end = end_of(v), .since = KVP_ERA_MAX };
	for (i = 0; i <= v->nr_legs; i++)
		if (targets >> i & 1)
			s->own = kvp_vblock_first(s->own, r->next[number_at(v, i)]);
	for (i = 0; i <= v->nr_legs; i++) {
		u32 leg = number_at(v, i);

		if (!(targets >> i & 1))
			continue;
		if (kvp_vblock_before(s->own, r->next[leg])) {
			s->end = kvp_vblock_first(s->end, r->next[leg]);
			continue;
		}
		s->legs |= BIT_ULL(i);
		s->since = min(s->since, since_of(r, leg, s->own));
		if (kvp_vblock_before(s->own, r->sync[leg].cursor))
			s->end = kvp_vblock_first(s->end, r->sync[leg].cursor);
	}
	return kvp_vblock_before(s->own, end_of(v));
}

/* The legs have everything below @s->own, except what was skipped. */
static void advance(struct kvp_resilver *r, const struct stretch *s)
{
	u32 i;

	for (i = 0; i <= s->v->nr_legs; i++)
		if (s->legs >> i & 1)
			WRITE_ONCE(r->next[number_at(s->v, i)], s->own);
}

/* Note that @n blocks from @own on could not be copied. */
static void note_skipped(struct kvp_resilver *r, const struct stretch *s, kvp_vblock_t own, u64 n)
{
	struct kvp_skipped_range range = { .v = s->v, .own = own, .legs = s->legs, .n = n };

	kvp_skipped_note(&r->skipped, &range);
}

/*
 * True if the newest version of @block is data in the log, durably. Its record lives until it is
 * home. A version of an intent is not in the log.
 */
static bool is_logged(struct kvp_pool *pool, kvp_block_t block)
{
	struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);
	bool logged = d && READ_ONCE(d->state) >= KVP_VERSION_LOGGED && !d->intent && !d->outdone;

	if (d)
		kvp_wbuf_unlock(pool->wbuf, block);
	return logged;
}

/*
 * If the log was retained over a restart, destage may have been cut short: home has neither the
 * table's version nor the newer one, and no leg is at fault. The newer version is durable in the
 * log, and goes home to the leg as well. That may take hours, in which it is renewed, or a user
 * writes it again: whichever is the newest in the log will do. If the newest is not durable yet, or
 * is a discard, return -EAGAIN: later.
 */
int kvp_resilver_look_for_newer(struct kvp_pool *pool, kvp_block_t block)
{
	if (!pool->recovery.kept || !kvp_wbuf_any(pool->wbuf, block, 1))
		return 0;
	return is_logged(pool, block) ? 1 : -EAGAIN;
}

/*
 * Copy the data of @block. If a newer version goes home later, the table's is copied all the same
 * if some leg has it: until then it is what the leg should have.
 */
static int copy_data(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		     kvp_block_t block)
{
	struct kvp_pool *pool = r->pool;
	int ret = pool->vdevs.order->look_before_copy(pool, block);

	if (!ret)
		return kvp_resilver_block(pool, io, leaf, block);
	return kvp_resilver_block_if_sound(pool, io, leaf, block) ? 0 : min(ret, 0);
}

/* Copy one block, and the parity that belongs to it. */
static int copy_block(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_tpage *leaf,
		      kvp_block_t block)
{
	struct kvp_pool *pool = r->pool;
	struct kvp_range range;
	int ret, parity = 0;

	kvp_block_lock(pool, &range, block);
	ret = copy_data(r, io, leaf, block);
	if (ret != -ENOMEM)
		parity = leaf->v->ops->copy_missed_parity(pool, io, leaf, block);
	kvp_range_unlock(&pool->ranges, &range);
	/* A block that no leg has is poisoned now, or was before. */
	if (ret == -EBADMSG || ret == -ENODATA || parity == -EBADMSG)
		kvp_poison_note(pool);
	if (ret == -EBADMSG || ret == -ENODATA)
		ret = 0;
	return ret ?: parity == -EBADMSG ? 0 : parity;
}

/* Copy a step block by block. -ENOMEM, -EINTR: the step is not done. */
static int copy_closely(struct kvp_resilver *r, struct kvp_resilver_io *io, const struct stretch *s,
			const struct kvp_resilver_step *step)
{
	const struct kvp_resilver_part *p = step->parts;
	u32 i;

	io->since = s->since;
	io->legs = s->legs;
	for (i = 0; i < step->n; i++) {
		int ret;

		if (i == p->first + p->n)
			p++;
		ret = copy_block(r, io, p->leaf, kvp_block_add(p->block, i - p->first));
		if (ret == -ENOMEM)
			return ret;
		if (ret)
			note_skipped(r, s, kvp_vblock_add(step->own, i), 1);
		if (interrupted(r))
			return -EINTR;
	}
	return 0;
}

/* The @i-th step in flight, from the oldest on. */
static struct kvp_resilver_step *nth(struct kvp_resilver_io *io, u32 i)
{
	return &io->steps[(io->first + i) % KVP_RESILVER_STEPS];
}

/* How many steps may be in flight: one if the walk must rest after it. */
static u32 steps_at_once(struct kvp_resilver *r)
{
	bool alone = READ_ONCE(r->pool->tunables[KVP_T_RESILVER_RATE]) ||
		     kvp_host_busy(r->pool, &r->host, IDLE_MS);

	return alone ? 1 : KVP_RESILVER_STEPS;
}

static kvp_vblock_t step_end(const struct kvp_resilver_step *step)
{
	return kvp_vblock_add(step->own, step->n);
}

/*
 * Pass over blocks of the vdev that the pool does not have: they lie between two regions. Returns
 * false if s->ahead is a block of the pool. Then *@end is behind it and its neighbours, before
 * s->end.
 */
static bool pass_no_blocks(struct stretch *s, kvp_vblock_t *end)
{
	kvp_vblock_t first = kvp_vdev_stretch(s->v, s->ahead, end);

	*end = kvp_vblock_first(*end, s->end);
	if (first == s->ahead)
		return false;
	s->ahead = kvp_vblock_first(first, s->end);
	return true;
}

/*
 * Begin a step at s->ahead, or skip what has not changed. Returns 0; 1: do not begin another one
 * now; or -ENOMEM. With steps in flight it waits for no lock, and does not handle errors before
 * those have ended.
 */
static int begin_step(struct kvp_resilver *r, struct kvp_resilver_io *io, struct stretch *s)
{
	struct kvp_resilver_step *step = nth(io, io->nr);
	kvp_vblock_t next, behind, end;
	int ret;

	if (pass_no_blocks(s, &end))
		return !io->nr;
	ret = kvp_table_next_of_vdev(s->v->pool->table, s->v, s->ahead, s->end, s->since, &next,
				     &behind);
	if (ret && (io->nr || ret == -ENOMEM))
		return io->nr ? 1 : ret;
	if (ret) {
		behind = kvp_vblock_first(behind, s->end);
		note_skipped(r, s, next, kvp_vblock_since(behind, next));
		next = behind;
	}
	if (kvp_vblock_before(s->ahead, next)) {
		s->ahead = next;
		return !io->nr;
	}
	step->v = s->v;
	step->own = s->ahead;
	step->legs = s->legs;
	step->since = s->since;
	ret = kvp_resilver_begin(r->pool, step, end, !io->nr);
	if (ret && (io->nr || ret == -ENOMEM))
		return io->nr ? 1 : ret;
	r->begun_ahead += !!io->nr;
	if (ret)
		note_skipped(r, s, step->own, step->n);
	else
		io->nr++;
	s->ahead = step_end(step);
	return !io->nr;
}

/* Forget all steps in flight: they begin again. */
static void cancel_steps(struct kvp_resilver *r, struct kvp_resilver_io *io)
{
	u32 i;

	for (i = 0; i < io->nr; i++) {
		struct kvp_resilver_step *step = nth(io, i);

		if (i >= io->writing)
			kvp_resilver_cancel(step);
		/* The cursor is before these blocks, so all of them are copied again. */
		kvp_resilver_end(r->pool, step);
		kvp_resilver_put(step);
	}
	io->nr = 0;
	io->writing = 0;
}

/* End the oldest step in flight. -ENOMEM, -EINTR: it is not done, and must begin again. */
static int end_step(struct kvp_resilver *r, struct kvp_resilver_io *io, struct stretch *s)
{
	struct kvp_resilver_step *step = nth(io, 0);
	int copied = kvp_resilver_end(r->pool, step), ret = 0;

	io->first = (io->first + 1) % KVP_RESILVER_STEPS;
	io->nr--;
	io->writing--;
	io->copied += max(copied, 0);
	if (copied < 0) {
		cancel_steps(r, io);
		s->ahead = step_end(step);
		ret = copy_closely(r, io, s, step);
	}
	r->copied = io->copied;
	kvp_resilver_put(step);
	if (ret)
		return ret;
	s->own = step_end(step);
	kvp_table_shrink(r->pool->table, false);
	cond_resched();
	if (!io->nr)
		rest_after(r, step->n, ktime_get_ns() - step->began);
	return 0;
}

/*
 * Begin to write the next step that is read, while the one before is written; or end the oldest
 * step.
 */
static int bring_on(struct kvp_resilver *r, struct kvp_resilver_io *io, struct stretch *s)
{
	if (io->writing < io->nr)
		kvp_resilver_write(r->pool, nth(io, io->writing++));
	return io->writing < 2 && io->writing < io->nr ? 0 : end_step(r, io, s);
}

/*
 * True if other work comes first; then no step may be in flight. A skipped range is tried again as
 * a whole: the cursor stays below it.
 */
static bool must_stop(const struct kvp_resilver *r, const struct stretch *s)
{
	if (!s->again && (some_joined(r) || cursor_is_due(r)))
		return true;
	return interrupted(r) || s->legs & ~targets_of(s->v);
}

/*
 * Walk on, at least a step, and at most to the end of @s. Steps begin in order, and end in order.
 * -ENOMEM: try again; -EINTR: not now.
 */
static int walk_on(struct kvp_resilver *r, struct kvp_resilver_io *io, struct stretch *s)
{
	bool more = true;
	int ret = 0;

	s->ahead = s->own;
	do {
		int begun = 0;

		while (more && !begun && kvp_vblock_before(s->ahead, s->end) &&
		       io->nr < steps_at_once(r))
			begun = begin_step(r, io, s);
		if (io->nr)
			ret = bring_on(r, io, s);
		else if (begun < 0)
			ret = begun;
		if (!ret && !io->nr)
			s->own = s->ahead;
		if (!ret && !s->again)
			advance(r, s);
		more = !ret && kvp_vblock_before(s->ahead, s->end) && !must_stop(r, s);
	} while (io->nr || more);
	return ret;
}

/* Walk over @h again. What still cannot be copied is noted again. */
static void try_again(struct kvp_resilver *r, struct kvp_resilver_io *io,
		      const struct kvp_skipped_range *h)
{
	struct stretch s = { .v = h->v, .legs = h->legs & targets_of(h->v), .own = h->own,
			     .end = kvp_skipped_end(h), .since = KVP_ERA_MAX, .again = true };
	int ret = 0;
	u32 i;

	for (i = 0; i <= h->v->nr_legs; i++)
		if (s.legs >> i & 1)
			s.since = min3(s.since, since_of(r, number_at(h->v, i), s.own),
				       since_of(r, number_at(h->v, i),
						kvp_vblock_add(h->own, h->n - 1)));
	while (s.legs && kvp_vblock_before(s.own, s.end) && !ret)
		ret = interrupted(r) ? -EINTR : walk_on(r, io, &s);
	if (s.legs && kvp_vblock_before(s.own, s.end))
		note_skipped(r, &s, s.own, kvp_vblock_since(s.end, s.own));
}

/* Try again what was skipped of @v. Returns true if nothing is left. */
static bool try_skipped(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_vdev *v)
{
	u32 i, n = kvp_skipped_take(&r->skipped, v);
	kvp_vblock_t first;

	for (i = 0; i < n; i++)
		try_again(r, io, &r->skipped.again[i]);
	kvp_skipped_tried(&r->skipped);
	return !kvp_skipped_first(&r->skipped, v, &first);
}

/* --- the cursor (3) ------------------------------------------------------------- */

/*
 * Note that leg @leg of @v has all below @at that was born before the era of the last checkpoint.
 */
static void note_cursor_of(const struct kvp_vdev *v, u32 leg, kvp_vblock_t at)
{
	struct kvp_pool *pool = v->pool;
	struct kvp_shadow_info *order = &pool->sb->shadow;
	struct kvp_leg_info *info = &pool->sb->legs[leg];
	kvp_vblock_t *cursor = leg == KVP_SHADOW ? &order->cursor : &info->cursor;
	u32 *era = leg == KVP_SHADOW ? &order->cursor_era : &info->cursor_era;

	/* The superblock calls it in sync, and waits for legs to take it: no cursor beside that. */
	if (leg != KVP_SHADOW && pool->legs[leg].joins)
		return;
	if (!kvp_vblock_before(*cursor, at))
		return;
	*cursor = kvp_vblock_first(at, kvp_vblock(v->g->data_blocks));
	*era = pool->sb->era - 1;
}

/*
 * Note how far the legs of @v are. They have all below @next, but perhaps not durably. A checkpoint
 * flushes them. What was born before its era was at home, and in the table, before that flush.
 *
 * A cursor that is further on stays until the walk has passed it: a superblock has room for two
 * eras, not three. The cursor must not pass a block that could not be copied.
 */
static void note_cursor(struct kvp_resilver *r, struct kvp_vdev *v)
{
	struct kvp_pool *pool = r->pool;
	kvp_vblock_t at[KVP_MAX_MIRROR_LEGS + 1], skipped = NONE;
	u32 i;

	kvp_skipped_first(&r->skipped, v, &skipped);
	/* Do this before the checkpoint: a leg that returns meanwhile begins another walk. */
	for (i = 0; i <= v->nr_legs; i++)
		at[i] = kvp_vblock_first(r->next[number_at(v, i)], skipped);
	r->noted = jiffies;
	r->noted_at = r->copied;
	if (checkpoint(pool))
		return;
	mutex_lock(&pool->sb_lock);
	for (i = 0; i <= v->nr_legs; i++)
		if (targets_of(v) >> i & 1 && pool->sb->era)
			note_cursor_of(v, number_at(v, i), at[i]);
	/*
	 * The shadow's label says how far it is, too. So if an older state is put back, it is
	 * noticed.
	 */
	if (targets_of(v) >> v->nr_legs & 1)
		kvp_sb_note_shadow(pool);
	else
		kvp_sb_note(pool);
	mutex_unlock(&pool->sb_lock);
}

/* --- the end (4 to 6) ----------------------------------------------------------- */

/* The next table pages: a single one if the host is not idle, as with steps. */
static int copy_some_pages(struct kvp_resilver *r, struct kvp_table_copy *c)
{
	struct kvp_pool *pool = r->pool;
	u64 began;
	int ret;

	mutex_lock(&pool->checkpoint_lock);
	/* While it waited, the legs were another's. That is no part of the step. */
	began = ktime_get_ns();
	ret = kvp_table_copy_some(c, steps_at_once(r) > 1 ? KVP_COPY_PAGES : 1);
	mutex_unlock(&pool->checkpoint_lock);
	kvp_table_shrink(pool->table, false);
	cond_resched();
	yield_to_host(r, ktime_get_ns() - began);
	return ret;
}

/* Copy the table pages that changed since the oldest era that a leg of @v has. */
static int copy_pages(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_vdev *v)
{
	struct kvp_table_copy *c = &io->table;
	u64 targets = targets_of(v);
	int ret = 1, error = 0;
	u32 i;

	c->t = r->pool->table;
	c->v = v;
	c->since = KVP_ERA_MAX;
	c->level = 0;
	c->own = kvp_vblock(0);
	c->batch = io->steps[0].batch;
	c->pages = io->steps[0].pages;
	for (i = 0; i <= v->nr_legs; i++)
		if (targets >> i & 1)
			c->since = min(c->since, since_of(r, number_at(v, i), NONE));
	while (ret && !interrupted(r)) {
		ret = copy_some_pages(r, c);
		if (ret == -ENOMEM)
			return ret;
		/*
		 * A leg may have the page later. If it is above the leaves and lost on all legs,
		 * this goes on until it is given up, by order or by a write below.
		 */
		if (ret < 0)
			error = ret;
	}
	return interrupted(r) ? -EINTR : error;
}

/*
 * Let entries of the log go to the legs from now on. Returns the first lsn that all of them have.
 */
static kvp_lsn_t include_in_log(struct kvp_vdev *v, u64 targets, u64 *nonce)
{
	kvp_lsn_t first = 0;
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (targets >> i & 1)
			first = kvp_lsn_last(first, kvp_log_include(v->pool->log, &v->legs[i],
								    nonce));
	return first;
}

/*
 * True if the legs of @v need no entry that is older than @first. If other vdevs carry the log,
 * they need none at all.
 */
static bool tail_has_passed(const struct kvp_vdev *v, kvp_lsn_t first)
{
	return !kvp_vdev_carries_log(v) || !kvp_lsn_before(kvp_log_tail(v->pool->log), first);
}

/*
 * Wait until the tail has passed @first, while the host uses the legs. Destage brings older entries
 * home by the way, and rests in between. An order would let it take the legs from the host. The
 * host may never rest, so this ends in any case.
 */
static void wait_for_tail(struct kvp_resilver *r, struct kvp_vdev *v, kvp_lsn_t first)
{
	u64 least = LEAST_PATIENCE * NSEC_PER_SEC, most = MOST_PATIENCE * NSEC_PER_SEC;
	u64 patience = clamp(ktime_get_ns() - r->began, least, most);
	u32 naps;

	for (naps = 0; naps * NAP_NS < patience && !tail_has_passed(v, first); naps++) {
		if (wants_to_go_on(r) || kvp_pool_faulted(r->pool) || !targets_of(v) ||
		    !kvp_host_busy(r->pool, &r->host, KVP_HOST_QUIET_MS))
			return;
		if (naps % ASK_NAPS == 0)
			kvp_destage_ask(r->pool);
		schedule_timeout_uninterruptible(nsecs_to_jiffies(NAP_NS));
	}
}

/*
 * Step 5. Everything older than @first must be home. The last checkpoint flushes the legs.
 *
 * If the wait was interrupted, or all legs that it is for are lost, nothing is gained by an order:
 * it would take the legs from the host. If another leg has joined, its walk waits for this end, and
 * the order makes the pool safer now. In a faulted pool the order ends with an error.
 */
static int close_log(struct kvp_resilver *r, struct kvp_vdev *v, kvp_lsn_t first)
{
	struct kvp_pool *pool = r->pool;
	int ret = 0;

	wait_for_tail(r, v, first);
	if (interrupted(r))
		return -EINTR;
	if (!targets_of(v))
		return -EAGAIN;
	if (!tail_has_passed(v, first)) {
		r->ordered++;
		ret = kvp_destage_order(pool);
	}
	return ret ?: checkpoint(pool);
}

/*
 * Step 6. Returns -EAGAIN if the log has moved, or its tail has not passed @first, or no leg is
 * left that this is for.
 */
static int end_resilver(struct kvp_vdev *v, u64 targets, kvp_lsn_t first, u64 nonce)
{
	struct kvp_pool *pool = v->pool;
	const struct kvp_sb *sb = pool->sb;
	int ret = -EAGAIN;

	mutex_lock(&pool->sb_lock);
	/* A leg that was lost meanwhile, and has returned, begins again. */
	targets &= targets_of(v);
	if (targets && (!kvp_vdev_carries_log(v) ||
			(sb->log_nonce == nonce && !kvp_lsn_before(sb->log_tail, first))))
		ret = kvp_legs_resilvered(v, targets);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static void tell_ended(struct kvp_resilver *r, struct kvp_vdev *v, u64 targets)
{
	char name[KVP_LEG_WORDS];
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if ((targets >> i & 1) && kvp_leg_in_sync(&v->legs[i]))
			kvp_event(r->pool, "resilver_finished leg=%u copied=%llu%s",
				  v->legs[i].index,
				  (unsigned long long)(r->copied - r->copied_at[v->legs[i].index]),
				  kvp_leg_words(&v->legs[i], name));
}

/*
 * The shadow has all blocks and pages, and changes go there as well. A checkpoint writes the pages
 * that are dirty, and flushes it. It gets no log: it takes its place when the log is empty
 * (pool/shadow.c).
 */
static int finish_shadow(struct kvp_resilver *r, struct kvp_vdev *v)
{
	struct kvp_pool *pool = r->pool;
	char name[KVP_LEG_WORDS];
	bool complete = false;
	int ret = checkpoint(pool);

	if (ret)
		return ret;
	mutex_lock(&pool->sb_lock);
	/* If the shadow was given up meanwhile, and has joined again, it begins again. */
	if (targets_of(v) >> v->nr_legs & 1)
		complete = kvp_shadow_complete(pool);
	if (complete && pool->sb->era)
		note_cursor_of(v, KVP_SHADOW, kvp_vblock(v->g->data_blocks));
	complete = complete && kvp_sb_note_shadow(pool);
	mutex_unlock(&pool->sb_lock);
	if (complete)
		kvp_event(pool, "shadow_complete leg=%u copied=%llu%s", kvp_shadowed(pool)->index,
			  (unsigned long long)(r->copied - r->copied_at[KVP_SHADOW]),
			  kvp_leg_words(&pool->shadow, name));
	return 0;
}

/* Before they are in sync: their rings may have lines of a history that was given up. */
static void give_events(struct kvp_vdev *v, u64 targets)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (targets >> i & 1)
			kvp_events_lack(&v->legs[i]);
	kvp_events_give(v->pool);
}

/* The walk of @v has ended: do steps 4 to 6. Returns 0, or -errno: not yet. */
static int finish(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_vdev *v)
{
	u64 targets = targets_of(v), nonce = 0;
	kvp_lsn_t first;
	int ret;

	if (!targets)
		return 0;
	if (!try_skipped(r, io, v))
		return -EIO;
	ret = copy_pages(r, io, v);
	if (ret)
		return ret;
	if (targets >> v->nr_legs & 1)
		return finish_shadow(r, v);
	give_events(v, targets);
	first = include_in_log(v, targets, &nonce);
	ret = close_log(r, v, first) ?: end_resilver(v, targets, first, nonce);
	if (!ret)
		tell_ended(r, v, targets);
	return ret;
}

/* --- the worker ----------------------------------------------------------------- */

/* Go on with one vdev until none of its legs resilvers. Returns -errno if it must wait. */
static int resilver_vdev(struct kvp_resilver *r, struct kvp_resilver_io *io, struct kvp_vdev *v)
{
	struct stretch s;
	int ret = 0;

	while (!ret && !interrupted(r) && (targets_of(v) || legs_of(v, false))) {
		/* Let a leg of another vdev join first. */
		if (!legs_of(v, false) && some_joined(r))
			return 0;
		if (legs_of(v, false)) {
			ret = begin_walk(r, v, legs_of(v, false));
		} else if (next_stretch(r, v, &s)) {
			ret = walk_on(r, io, &s);
		} else {
			ret = finish(r, io, v);
		}
		if (cursor_is_due(r))
			note_cursor(r, v);
	}
	return ret;
}

/* Resilver one vdev after the other. A vdev that must wait does not stop the others. */
static void resilver_all(struct kvp_resilver *r, struct kvp_resilver_io *io)
{
	struct kvp_pool *pool = r->pool;
	int error = 0;
	u32 i;

	error = join_shadow(r);
	/* The shadow may not answer for long. Legs of other vdevs can leave meanwhile. */
	if (error)
		error = kvp_replaced_leave(pool) ?: error;
	for (i = 0; i < pool->vdevs.nr; i++)
		error = resilver_vdev(r, io, &pool->vdevs.v[i]) ?: error;
	r->pause = error ? clamp(2 * r->pause, MIN_PAUSE_MS, MAX_PAUSE_MS) : 0;
	rest(r, (u64)r->pause * NSEC_PER_MSEC, false);
}

/* Wait for memory, as long as that takes, then resilver. */
static void resilver_legs(struct kvp_resilver *r)
{
	struct kvp_pool *pool = r->pool;
	struct kvp_resilver_io *io = NULL;

	while (kvp_resilver_runs(pool) && !interrupted(r) && !io) {
		io = kvp_resilver_alloc(pool);
		if (!io)
			kvp_wait_for_memory();
	}
	if (!io)
		return;
	io->copied = r->copied;
	r->noted = jiffies;
	kvp_yield_begin(&r->host, kvp_host_asked(pool));
	while (kvp_resilver_runs(pool) && !interrupted(r))
		resilver_all(r, io);
	kvp_resilver_free(io);
}

/*
 * Remove the legs whose new legs are in sync. That fails while the pool is faulted, or a leg is not
 * recorded out yet. So this tries again until no leg has to leave. It ends sooner if a resilver
 * begins, or if the worker is told to end.
 */
static void let_leave(struct kvp_resilver *r)
{
	while (!interrupted(r) && !kvp_resilver_runs(r->pool) && kvp_replaced_leave(r->pool))
		rest(r, MIN_PAUSE_MS * NSEC_PER_MSEC, true);
}

/* The one worker. A leg that joins queues it again. */
static void resilver_work(struct work_struct *work)
{
	struct kvp_resilver *r = container_of(work, struct kvp_resilver, work);

	resilver_legs(r);
	let_leave(r);
}

void kvp_resilver_end_soon(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->resilver->quiesce, true);
}

bool kvp_resilver_works(struct kvp_pool *pool)
{
	return work_busy(&pool->resilver->work) & WORK_BUSY_RUNNING;
}

void kvp_resilver_quiesce(struct kvp_pool *pool)
{
	kvp_resilver_end_soon(pool);
	flush_work(&pool->resilver->work);
}

void kvp_resilver_unquiesce(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->resilver->quiesce, false);
	if ((kvp_resilver_runs(pool) || kvp_replaced_waits(pool)) && !kvp_pool_readonly(pool))
		queue_work(pool->scrub_wq, &pool->resilver->work);
}

void kvp_resilver_renumber(struct kvp_pool *pool)
{
	struct kvp_resilver *r = pool->resilver;
	u32 i;

	lockdep_assert_held(&pool->sb_lock);
	kvp_skipped_forget(&r->skipped, NULL);
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg_info *info = &pool->sb->legs[i];

		WRITE_ONCE(r->walks[i], false);
		WRITE_ONCE(r->next[i], 0);
		r->joined[i] = (struct kvp_leg_info){ .in_sync_era = info->in_sync_era,
						      .cursor = info->cursor,
						      .cursor_era = info->cursor_era };
	}
	WRITE_ONCE(r->walks[KVP_SHADOW], false);
	WRITE_ONCE(r->next[KVP_SHADOW], 0);
	r->joined[KVP_SHADOW] = (struct kvp_leg_info){ .cursor = pool->sb->shadow.cursor,
						       .cursor_era = pool->sb->shadow.cursor_era };
}

void kvp_resilver_init(struct kvp_pool *pool)
{
	pool->resilver->pool = pool;
	kvp_skipped_init(&pool->resilver->skipped);
	INIT_WORK(&pool->resilver->work, resilver_work);
	/* A new pool is quiesced until kvp_resilver_unquiesce(). */
	pool->resilver->quiesce = true;
}
