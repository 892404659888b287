// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps 6 and 8 of a start: what is missing, and whether the pool may go on without it (R16, R27).
 */
#include <linux/random.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/sbring.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

/* True if the leg is missing, or in doubt: it may have a superblock that no other leg has. */
static bool is_away(const struct kvp_leg *leg)
{
	return !leg->bdev || leg->doubtful;
}

/* How many legs of a vdev are away, but not recorded out. */
static u32 missing_of(struct kvp_pool *pool, const struct kvp_sb *sb, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += is_away(&pool->legs[i]) && sb->legs[i].state == KVP_LEG_IN_SYNC;
	return n;
}

static u32 usable_of(struct kvp_pool *pool, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += kvp_leg_in_sync(&pool->legs[i]);
	return n;
}

#define GO_BACK	\
	"see why it cannot be read, and try again; or import --degraded --accept-fork, which " \
	"goes back to the newest superblock that can be read, and may lose later writes"

/*
 * Refuse if a newer module may have written the newest superblock of a leg. No order goes back
 * before that, nor does degraded_start: pages of the table may have been overwritten since, and a
 * start without the leg would copy over it later.
 */
static int check_newer(struct kvp_pool *pool, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].doubtful && pool->legs[i].newer)
			return kvp_refuse(r, -EOPNOTSUPP,
				"use a newer module; no order goes back before what it wrote",
				"%s: a newer module wrote slots of its label, and one may hold a newer superblock than any that this module knows; nothing is lost",
				pool->legs[i].path);
	return 0;
}

/* Refuse if a leg of @g is left out because of its label: that is the reason for too few legs. */
static int check_left_out(struct kvp_pool *pool, const struct kvp_geometry *g,
			  struct kvp_refusal *r)
{
	u32 i;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		if (leg->doubtful && !kvp_leg_in_sync(leg))
			return kvp_refuse(r, -EIO, GO_BACK,
				"%s does not answer: %u slots of its label cannot be read, and may hold the newest superblock, and its vdev cannot do without it; nothing is lost yet",
				leg->path, leg->unreadable);
		if (leg->lag)
			return kvp_refuse(r, -ESTALE,
				"connect the leg that was in use last, or one that was copied after the pool was exported",
				"%s is outdated: its label is %llu superblocks behind that of the other legs, so it was put back to an older state, and without it the legs do not suffice",
				leg->path, (unsigned long long)leg->lag);
	}
	return 0;
}

/*
 * Check that each vdev has enough legs: the pool needs all of them. Not a cache: it may have to be
 * waited for, but cannot have gone on by itself (cachevdev.c).
 */
static int check_enough(struct kvp_pool *pool, const struct kvp_sb *sb, struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++) {
		const struct kvp_geometry *g = &sb->vdevs[i];
		u32 usable = usable_of(pool, g);
		int ret = usable < kvp_homes_need(g) ? check_left_out(pool, g, r) : 0;

		if (ret)
			return ret;
		if (!usable && sb->vdev_count == 1)
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "no leg that is in sync is present");
		if (!usable && kvp_homes_need(g) == 1)
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
					  "of vdev %u no leg that is in sync is present", i);
		if (usable < kvp_homes_need(g))
			return kvp_refuse(r, -ENXIO, "connect the missing legs",
				"%u of %u legs are present and in sync; a parity1 needs all but one",
				usable, g->leg_count);
	}
	return 0;
}

/*
 * R16: true if the missing legs could have gone on without those that are here. They would need
 * enough legs in every vdev. (If two legs of a parity1 are missing, too few are here as well.)
 */
static bool may_have_gone_on(struct kvp_pool *pool, const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		if (missing_of(pool, sb, &sb->vdevs[i]) < kvp_homes_need(&sb->vdevs[i]))
			return false;
	return true;
}

/* True if the vdev has too few legs, not counting those in doubt. */
static bool needs_doubtful(struct kvp_pool *pool, const struct kvp_geometry *g)
{
	u32 i, n = 0;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
		n += kvp_leg_in_sync(&pool->legs[i]) && !pool->legs[i].doubtful;
	return n < kvp_homes_need(g);
}

/* R16, R27: refuse, since legs that are away and not recorded out may have newer data. */
static int refuse_away(struct kvp_pool *pool, const struct kvp_sb *sb, u32 missing,
		       struct kvp_refusal *r)
{
	bool needed = false;
	u32 i;

	for (i = 0; i < sb->vdev_count; i++)
		needed |= needs_doubtful(pool, &sb->vdevs[i]);
	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].doubtful)
			return kvp_refuse(r, -EIO, needed ? GO_BACK :
				"see why, and try again; or import --degraded, without it, if it will not come back",
				"%s does not answer: %u slots of its label cannot be read, and may hold a newer superblock than any that can; nothing is lost",
				pool->legs[i].path, pool->legs[i].unreadable);
	return kvp_refuse(r, -ENOTCONN,
		"connect it, or import --degraded if it will not come back",
		"%u leg%s in sync when last seen, but missing now: newer data may be there",
		missing, missing > 1 ? "s were" : " was");
}

/*
 * Let the pool go on without legs that are away: the next superblock records them out. With @fork
 * these legs may have gone on as well. Without @fork, no request was answered by a superblock that
 * only a leg in doubt has, so that leg stays in use. By order (@back), a leg that the pool needs
 * stays in use, too.
 */
static void leave_out(struct kvp_pool *pool, const struct kvp_sb *sb, bool fork, bool back,
		      bool readonly)
{
	u32 i, v;

	for (v = 0; v < sb->vdev_count; v++) {
		const struct kvp_geometry *g = &sb->vdevs[v];
		bool keep = !fork || (back && needs_doubtful(pool, g));

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
			struct kvp_leg *leg = &pool->legs[i];

			if (sb->legs[i].state == KVP_LEG_IN_SYNC &&
			    (leg->bdev ? leg->doubtful && !keep : !readonly))
				leg->state = KVP_LEG_STALE;
		}
	}
}

/*
 * A leg in use may have newer superblocks that cannot be read, and may become readable later. So
 * the next superblock must be newer than all of these: each may have raised the epoch twice, by a
 * loss and by an activation. Its sequence has the slot of the first of them, so that readable
 * superblocks are overwritten last (R13). This is done whether or not a request was answered by
 * them: a superblock that the last leg of another vdev did not take is written again under the next
 * sequence, so one leg alone may have several.
 *
 * Returns true if there is such a leg.
 */
static bool pass_unreadable(struct kvp_pool *pool, struct kvp_sb *sb)
{
	bool used = false;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		used |= pool->legs[i].doubtful && kvp_leg_in_sync(&pool->legs[i]);
		pool->legs[i].doubtful = false;
	}
	if (!used)
		return false;
	sb->epoch += 2 * KVP_SB_RING;
	sb->sequence += KVP_SB_RING;
	return true;
}

/*
 * True if the next superblock may be in one ring of a leg, where it cannot be read, and not in the
 * other ring: the power went between the two. It does not count, but may become readable later.
 * Looks at legs in any state: that superblock may be the one that brought the leg back.
 */
bool kvp_next_is_unread(const struct kvp_pool *pool, const struct kvp_labels *l,
			const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (l->ordered_label[i] && !pool->legs[i].doubtful &&
		    kvp_sb_rings_unread(&l->ordered_label[i]->rings, sb->sequence + 1))
			return true;
	return false;
}

/*
 * This start gives up a history, or goes on beside one. A leg that is out or away now may have
 * blocks of that history. Its eras do not tell which, as they were counted in that history, too. A
 * leg that resilvered got writes of it, too.
 */
void kvp_forget_eras(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++) {
		struct kvp_leg_info *info = &pool->sb->legs[i];

		if (kvp_leg_in_sync(&pool->legs[i]))
			continue;
		pool->legs[i].has_era = 0;
		kvp_leg_info_forget(info);
	}
	pool->sb->shadow.cursor = 0;
	pool->sb->shadow.cursor_era = 0;
}

int kvp_check_missing(struct kvp_pool *pool, struct kvp_sb *sb, const struct kvp_start *s,
		      bool auto_start, struct kvp_refusal *r)
{
	bool fork = may_have_gone_on(pool, sb), passed;
	int ret = check_newer(pool, r) ?: check_enough(pool, sb, r);
	u32 i, missing = 0;

	if (ret)
		return ret;
	for (i = 0; i < sb->vdev_count; i++)
		missing += missing_of(pool, sb, &sb->vdevs[i]);
	if (!missing)
		return 0;
	if (fork && !s->degraded && !auto_start)
		return refuse_away(pool, sb, missing, r);
	leave_out(pool, sb, fork, s->degraded && s->accept_fork, s->readonly);
	ret = check_enough(pool, sb, r);
	if (ret)
		return ret;
	passed = pass_unreadable(pool, sb);
	if (!fork)
		return 0;
	pool->recovery.went_back = passed;
	kvp_forget_eras(pool);
	pool->recovery.parted = s->readonly;
	if (s->readonly)
		return 0;
	if (sb->fork_count == KVP_MAX_FORKS)
		memmove(sb->forks, sb->forks + 1, (--sb->fork_count) * sizeof(sb->forks[0]));
	get_random_bytes(&sb->forks[sb->fork_count++], sizeof(sb->forks[0]));
	return 0;
}
