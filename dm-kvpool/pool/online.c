// SPDX-License-Identifier: GPL-2.0-only
/* Bringing a leg online that is out: online.h has the steps. */
#include "core/core.h"
#include "core/refusal.h"
#include "format/replaces.h"
#include "io/flight.h"
#include "pool/online.h"
#include "pool/start.h"
#include "pool/start_steps.h"
#include "super/events.h"
#include "super/members.h"
#include "work/resilver.h"

#define RETRY_MS	5000u	/* before another try with a leg that still has strays */

static int check_label(const struct kvp_pool *pool, const struct kvp_leg *leg,
		       const struct kvp_label *label, struct kvp_refusal *r)
{
	const struct kvp_sb *own = label->sb;

	if (!label->found)
		return kvp_label_missing(leg, label, r);
	/*
	 * The label may say JOINING: the leg has just taken the place of another one
	 * (legreplace.c).
	 */
	if (memcmp(own->pool_uuid, pool->sb->pool_uuid, 16) ||
	    memcmp(own->leg_uuid, pool->sb->legs[leg->index].uuid, 16))
		return kvp_refuse(r, -EINVAL, "connect the leg that was lost",
				  "%s carries the label of another leg now", leg->path);
	if (kvp_sb_forked(own, pool->sb, true) || kvp_sb_newer(own, pool->sb))
		return kvp_refuse(r, -ESTALE,
			"save what only that leg has, then wipe its label",
			"%s was written in a history that this pool does not know", leg->path);
	/* As above: a newer module may have gone on with that leg alone. */
	if (kvp_label_may_be_newer(label))
		return kvp_refuse(r, -EOPNOTSUPP, "use a newer module",
			"%s: a newer module wrote slots of its label, and may have gone on with that leg alone",
			leg->path);
	return 0;
}

/* An image of a leg that resilvered may have been put back. Its label tells how far it had got. */
static void no_more_than(struct kvp_leg_info *has, const struct kvp_leg_info *own)
{
	has->in_sync_era = min(has->in_sync_era, own->in_sync_era);
	has->cursor = kvp_vblock_first(has->cursor, own->cursor);
	has->cursor_era = has->cursor ? min(has->cursor_era, own->cursor_era) : 0;
}

/*
 * Fill in what the leg has: what the superblock says, but no more than the leg's own label says. A
 * leg that was put back to an older state has an older label. Suppose that the label calls the leg
 * in sync. Changes of the era that it names may have come later. So the leg has everything only up
 * to the era before.
 */
static void what_it_has(const struct kvp_leg_info *info, const struct kvp_sb *own,
			struct kvp_leg_info *has)
{
	u32 era = own->era ? own->era - 1 : 0;

	*has = *info;
	if (own->legs[own->leg_index].state != KVP_LEG_IN_SYNC) {
		no_more_than(has, &own->legs[own->leg_index]);
		return;
	}
	if (era < has->in_sync_era || (has->cursor && era < has->cursor_era)) {
		has->cursor = 0;
		has->cursor_era = 0;
	}
	has->in_sync_era = min(has->in_sync_era, era);
}

/*
 * True if the leg may have been in use in another history. Then the resilver copies all that was
 * ever written. That is so if there was a forced start that its label does not know. It is also so
 * if slots of its label cannot be read, and may hold a newer superblock (R27).
 */
static bool has_nothing(const struct kvp_pool *pool, const struct kvp_label *label)
{
	const struct kvp_sb *own = label->sb;

	return !kvp_sb_knows_forks(own, pool->sb) ||
	       kvp_sb_rings_may_hold(&label->rings, own->sequence) > own->sequence;
}

static int check_leg(struct kvp_pool *pool, struct kvp_leg *leg, struct kvp_refusal *r)
{
	if (kvp_pool_readonly(pool))
		return kvp_refuse(r, -EROFS, "start it without the option readonly",
				  "the pool was started read-only");
	if (!kvp_vdev_needed(leg->v))
		return kvp_refuse(r, -EINVAL, "load a table that names all SSDs as they are",
				  "it is an SSD of a cache, which begins anew");
	if (!leg->bdev)
		return kvp_refuse(r, -ENODEV,
				  "connect it, and let kvpoolctl online name the device",
				  "it is missing");
	if (kvp_place_taken(pool->sb, leg->index) && !kvp_leg_in_sync(leg))
		return kvp_refuse(r, -EBUSY,
				  "kvpoolctl wait -t replace ends that; attach it again then",
				  "another leg has taken its place");
	if (kvp_leg_takes_writes(leg))
		return kvp_refuse(r, -EALREADY, "nothing needs to be done", "%s",
				  kvp_leg_in_sync(leg) ? "it is online" : "it is resilvering");
	if (kvp_pool_faulted(pool))
		return kvp_refuse(r, -EIO, "mend what is wrong, then 'clear'",
				  "the pool is faulted");
	return 0;
}

/*
 * Refuse a device that is too small for what its vdev uses by now. Its label does not tell that if
 * it is of before the pool grew: an old copy of the leg was put back. The second label would lie
 * amid the leg's data.
 */
static int check_size(const struct kvp_leg *leg, struct kvp_refusal *r)
{
	struct kvp_why why;

	return kvp_geometry_check(leg->v->g, leg->size_blocks, &why) ?
	       kvp_refuse_small(leg, &why, r) : 0;
}

/*
 * Read the label, and join. Not with strays: a late write would overwrite what the resilver writes.
 */
static int join(struct kvp_pool *pool, struct kvp_leg *leg, struct kvp_labels *l,
		struct kvp_refusal *r)
{
	struct kvp_leg_info has;
	int ret;

	if (kvp_leg_has_strays(leg) || atomic_read(&leg->in_flight) > 0)
		return kvp_refuse(r, -EBUSY, "wait until it answers, or disconnect it",
				  "%s has not answered all requests yet", leg->path);
	/* Its eras are noted when its loss is recorded, so that must be done first. */
	if (kvp_members_settle(pool))
		return kvp_refuse(r, -EIO, "mend what is wrong, then 'clear'",
				  "the pool is faulted");
	ret = kvp_label_read(l, leg, 0, r) ?: check_label(pool, leg, &l->legs[0], r) ?:
	      check_size(leg, r);
	if (ret)
		return ret;
	mutex_lock(&pool->sb_lock);
	if (has_nothing(pool, &l->legs[0]))
		memset(&has, 0, sizeof(has));
	else
		what_it_has(&pool->sb->legs[leg->index], l->legs[0].sb, &has);
	leg->has_sequence = l->legs[0].sb->sequence;
	kvp_leg_note_slots(leg, &l->legs[0]);
	mutex_unlock(&pool->sb_lock);
	ret = kvp_resilver_join(leg, has.in_sync_era, has.cursor, has.cursor_era);
	if (ret == -EBUSY)
		return kvp_refuse(r, ret, "wait until it answers, or disconnect it",
				  "%s has not answered all requests yet", leg->path);
	return !ret ? 0 : kvp_refuse(r, ret, "see kvpoolctl status",
				     "%s failed as it was written to", leg->path);
}

int kvp_leg_online(struct kvp_pool *pool, struct kvp_leg *leg, struct kvp_refusal *r)
{
	struct kvp_labels *l;
	int ret;

	mutex_lock(&pool->returns->lock);
	ret = check_leg(pool, leg, r);
	if (!ret) {
		l = kvp_labels_alloc();
		ret = l ? join(pool, leg, l, r) :
		      kvp_refuse(r, -ENOMEM, "free some memory and try again", "out of memory");
		kvp_labels_free(l);
	}
	mutex_unlock(&pool->returns->lock);
	return ret;
}

void kvp_leg_resized(struct kvp_leg *leg, u64 blocks)
{
	struct kvp_returns *rt = leg->pool->returns;

	mutex_lock(&rt->lock);
	if (leg->bdev && !kvp_leg_takes_writes(leg))
		leg->size_blocks = blocks;
	mutex_unlock(&rt->lock);
}

/* --- by itself --------------------------------------------------------------------------- */

/* True if the leg returns without an order. The superblock still says what the start found. */
static bool returns_by_itself(const struct kvp_pool *pool, const struct kvp_leg *leg)
{
	u32 state = READ_ONCE(pool->sb->legs[leg->index].state);

	/* A leg whose history this start gave up is overwritten by order only. */
	if (!leg->bdev || leg->adopt || kvp_leg_takes_writes(leg) || !kvp_vdev_needed(leg->v) ||
	    kvp_place_taken(pool->sb, leg->index))
		return false;
	return state == KVP_LEG_RESILVERING ||
	       (state != KVP_LEG_OFFLINE && READ_ONCE(pool->tunables[KVP_T_ONLINE_AUTO]));
}

static void tell_refused(struct kvp_pool *pool, const struct kvp_leg *leg,
			 const struct kvp_refusal *r)
{
	char name[KVP_LEG_WORDS];

	kvp_event(pool, "leg_stays_out leg=%u%s why=%s", leg->index, kvp_leg_words(leg, name),
		  r->why);
}

static void returns_work(struct work_struct *work)
{
	struct kvp_returns *rt = container_of(to_delayed_work(work), struct kvp_returns, work);
	struct kvp_pool *pool = rt->pool;
	u32 i;

	for (i = 0; i < pool->nr_legs && !READ_ONCE(rt->quiesce); i++) {
		struct kvp_refusal r = { .what = "online" };
		int ret;

		if (!test_bit(i, rt->wanted))
			continue;
		ret = kvp_leg_online(pool, &pool->legs[i], &r);
		if (ret == -EBUSY || ret == -ENOMEM)
			continue;
		kvp_return_wanted(&pool->legs[i], false);
		if (ret && ret != -EALREADY)
			tell_refused(pool, &pool->legs[i], &r);
	}
	if (kvp_returns_wait(pool) && !READ_ONCE(rt->quiesce))
		queue_delayed_work(pool->scrub_wq, &rt->work, msecs_to_jiffies(RETRY_MS));
}

void kvp_returns_end_soon(struct kvp_pool *pool)
{
	WRITE_ONCE(pool->returns->quiesce, true);
}

bool kvp_returns_work(struct kvp_pool *pool)
{
	/* Not if it only waits for the time of the next try. */
	return work_busy(&pool->returns->work.work) & WORK_BUSY_RUNNING;
}

void kvp_returns_quiesce(struct kvp_pool *pool)
{
	kvp_returns_end_soon(pool);
	cancel_delayed_work_sync(&pool->returns->work);
}

void kvp_returns_unquiesce(struct kvp_pool *pool)
{
	struct kvp_returns *rt = pool->returns;

	WRITE_ONCE(rt->quiesce, false);
	if (kvp_returns_wait(pool))
		queue_delayed_work(pool->scrub_wq, &rt->work, 0);
}

void kvp_return_wanted(struct kvp_leg *leg, bool wanted)
{
	if (wanted)
		set_bit(leg->index, leg->pool->returns->wanted);
	else
		clear_bit(leg->index, leg->pool->returns->wanted);
}

void kvp_returns_shift(struct kvp_pool *pool, u32 at, bool up)
{
	struct kvp_returns *rt = pool->returns;
	u32 i;

	for (i = KVP_MAX_LEGS; up && i-- > at + 1;)
		assign_bit(i, rt->wanted, test_bit(i - 1, rt->wanted));
	for (i = at; !up && i + 1 < KVP_MAX_LEGS; i++)
		assign_bit(i, rt->wanted, test_bit(i + 1, rt->wanted));
	clear_bit(up ? at : KVP_MAX_LEGS - 1, rt->wanted);
}

void kvp_returns_init(struct kvp_pool *pool)
{
	struct kvp_returns *rt = pool->returns;
	u32 i;

	rt->pool = pool;
	mutex_init(&rt->lock);
	INIT_DELAYED_WORK(&rt->work, returns_work);
	rt->quiesce = true;
	bitmap_zero(rt->wanted, KVP_MAX_LEGS);
	for (i = 0; i < pool->nr_legs; i++)
		if (returns_by_itself(pool, &pool->legs[i]))
			set_bit(i, rt->wanted);
}
