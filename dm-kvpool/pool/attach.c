// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives a mirror one leg more (attach), or one less (detach). So a single becomes a mirror, or a
 * mirror a single. No block moves: every leg has every block at the same place.
 *
 * The pool is quiesced. Its log need not be empty, and stays where it is.
 *
 * Attach:
 *   1. The new device is blank, or a spare of the pool (change.h). It gets labels that say JOINING,
 *      of epoch 0, durable in both rings (add.c). In them it has a new UUID, behind the other legs
 *      of the vdev. The leg is stale there, and has nothing: era 0, no cursor.
 *   2. One superblock under a new epoch, which says the same, goes to all legs in use. It does not
 *      go to the new leg, which is out. legreplace.c has the reason.
 *   3. When the pool goes on, the new leg is brought online as any leg that is out (online.c).
 *
 * Detach:
 *   1. One superblock under a new epoch, without the leg, goes to all other legs.
 *   2. The labels of the leg are wiped, if it is there and answers.
 *
 * If the power goes before the superblock, or if no leg that is left has it, the pool is as before.
 * Then nothing was acknowledged without the leg: the pool is quiesced until the superblock is
 * durable. If some legs have it, both states are right. An attached leg is no source before its
 * resilver has ended. A detached leg was a source beside others, which are in sync. Its UUID is in
 * no superblock from then on, so it is never taken for a leg, wiped or not. If it is started by
 * force without all others, it is in sync in another history. The others are not in that history,
 * and so are told apart (kvp_sb_forked()).
 *
 * Later legs get other numbers: in memory while the pool is quiesced, on disk by the superblock. A
 * leg is found by its UUID, and a label gives the number of its leg in the order of its own
 * superblock.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core/core.h"
#include "core/refusal.h"
#include "format/kind.h"
#include "format/replaces.h"
#include "io/flight.h"
#include "log/log.h"
#include "pool/add.h"
#include "pool/online.h"
#include "pool/parts.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "super/events.h"
#include "super/members.h"
#include "work/resilver.h"

/**
 * struct reshape - a change of the number of legs
 * @v: number of the vdev
 * @at: number of the leg that comes or goes
 * @comes: it comes
 * @tried: some leg may have the new superblock
 * @moving: the log was about to move off its SSDs before
 * @old: superblock
 * @next: superblock
 * @legs: all legs as they were
 * @parts: memory for the new shape
 * @page: buffer to look at the new device
 * @name: of the leg, in events
 */
struct reshape {
	u32 v, at;
	bool comes, tried, moving;
	struct kvp_sb *old, *next;
	struct kvp_leg *legs;
	struct kvp_parts parts;
	struct page *page;
	char name[KVP_LEG_WORDS];
};

/* --- what the table asks for ---------------------------------------------------- */

/*
 * Find the single or mirror that has one leg more in @s, or, if not @more, one less. All other
 * vdevs must be as they are. KVP_MAX_VDEVS: there is none.
 */
static u32 changed_vdev(const struct kvp_sb *sb, const struct kvp_start *s, bool more)
{
	u32 found = KVP_MAX_VDEVS, v;

	if (!s->replace || s->nr_vdevs != sb->vdev_count)
		return KVP_MAX_VDEVS;
	for (v = 0; v < s->nr_vdevs; v++) {
		if (kvp_asked_as_is(&sb->vdevs[v], &s->vdevs[v]))
			continue;
		if (found < KVP_MAX_VDEVS || !kvp_asked_copy(&sb->vdevs[v], &s->vdevs[v], more))
			return KVP_MAX_VDEVS;
		found = v;
	}
	return found;
}

u32 kvp_attach_at(const struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 v = changed_vdev(pool->sb, s, true);

	return v == KVP_MAX_VDEVS ? KVP_MAX_LEGS :
	       pool->sb->vdevs[v].first_leg + pool->sb->vdevs[v].leg_count;
}

/* True if leg @at of the table may be @leg. */
static bool may_be(const struct kvp_leg *leg, const struct kvp_start *s, u32 at)
{
	if (s->legs[at].named)
		return !memcmp(leg->pool->sb->legs[leg->index].uuid, s->legs[at].uuid, 16);
	return s->legs[at].bdev ? s->legs[at].bdev == leg->bdev : !kvp_leg_takes_writes(leg);
}

/* True if the vdev in the table, from leg @first on, is @v without its leg @out. */
static bool is_without(const struct kvp_vdev *v, const struct kvp_start *s, u32 first, u32 out)
{
	u32 i;

	for (i = 0; i < v->nr_legs; i++)
		if (i != out && !may_be(&v->legs[i], s, first + i - (i > out)))
			return false;
	return true;
}

bool kvp_detaches(const struct kvp_pool *pool, const struct kvp_start *s)
{
	return changed_vdev(pool->sb, s, false) < KVP_MAX_VDEVS;
}

u32 kvp_detach_at(const struct kvp_pool *pool, const struct kvp_start *s)
{
	u32 n = changed_vdev(pool->sb, s, false), found = KVP_MAX_LEGS, i;
	const struct kvp_vdev *v = &pool->vdevs.v[n];

	for (i = 0; n < KVP_MAX_VDEVS && i < v->nr_legs; i++) {
		if (!is_without(v, s, v->g->first_leg, i))
			continue;
		if (found < KVP_MAX_LEGS)
			return KVP_MAX_LEGS;
		found = v->legs[i].index;
	}
	return found;
}

/* --- the plans ------------------------------------------------------------------ */

static int check_table(const struct kvp_pool *pool, const struct kvp_start *s,
		       struct kvp_refusal *r)
{
	int ret = kvp_change_able(pool, r);

	if (!ret && s->pool_blocks && s->pool_blocks != pool->sb->pool_blocks)
		ret = kvp_refuse(r, -EINVAL, "use the length that the pool has",
				 "the table is not as long as the pool");
	return ret;
}

/* Check that all other devices are legs of the pool. */
static int check_others(const struct kvp_pool *pool, const struct kvp_start *s, u32 at,
			struct kvp_refusal *r)
{
	u32 i;

	for (i = 0; i < s->nr_legs; i++)
		if (i != at && s->legs[i].bdev && !kvp_pool_has_leg_on(pool, s->legs[i].bdev))
			return kvp_refuse(r, -EINVAL,
					  "attach one leg after the other, behind the others",
					  "the table names another new device, %s",
					  s->legs[i].path);
	return 0;
}

/*
 * The number in @v of the leg that is to leave when the new one is in sync; v->nr_legs: there is
 * none.
 */
static u32 replaced_of(const struct kvp_vdev *v, const struct kvp_start *s)
{
	const struct kvp_sb *sb = v->pool->sb;
	u32 i;

	for (i = 0; s->replaces && i < v->nr_legs; i++)
		if (!memcmp(sb->legs[v->legs[i].index].uuid, s->leaves, 16))
			return i;
	return v->nr_legs;
}

/* Check that the leg to be replaced is a source, and no part of another replacement. */
static int check_replaced(const struct kvp_vdev *v, const struct kvp_start *s,
			  struct kvp_refusal *r)
{
	const struct kvp_sb *sb = v->pool->sb;
	u32 i = replaced_of(v, s);
	const struct kvp_leg *old = &v->legs[i];

	if (!s->replaces)
		return 0;
	if (i == v->nr_legs)
		return kvp_refuse(r, -EINVAL,
				  "name the UUID of a leg of the vdev that gets one more",
				  "the leg that is to be replaced is none of that vdev");
	if (!kvp_leg_in_sync(old))
		return kvp_refuse(r, -EBUSY, "let the new one take its place at once, or wait",
				  "%s is not in sync", old->path);
	if (kvp_replaced_by(sb, old->index) < KVP_MAX_LEGS)
		return kvp_refuse(r, -EBUSY, "wait for the end, or kvpoolctl cancel POOL replace",
				  "%s is being replaced already", old->path);
	if (kvp_replaces_leg(sb, old->index) < KVP_MAX_LEGS)
		return kvp_refuse(r, -EBUSY, "wait for the end (kvpoolctl wait -t replace)",
				  "%s replaces another leg, which has not left yet", old->path);
	return 0;
}

int kvp_attach_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	u32 at = kvp_attach_at(pool, s);
	const struct kvp_geometry *g;
	struct kvp_why why;
	int ret = check_table(pool, s, r);

	if (ret)
		return ret;
	if (at == KVP_MAX_LEGS || !s->legs[at].bdev || kvp_pool_has_leg_on(pool, s->legs[at].bdev))
		return kvp_refuse(r, -EINVAL, "name it behind the other legs of its vdev",
				  "the table names no new device");
	if (pool->nr_legs == KVP_MAX_LEGS)
		return kvp_refuse(r, -EINVAL, "detach one first",
				  "the pool has %u legs, and no room for one more", KVP_MAX_LEGS);
	g = &pool->sb->vdevs[changed_vdev(pool->sb, s, true)];
	if (kvp_geometry_check(g, s->legs[at].size_blocks, &why))
		return kvp_refuse(r, -ENOSPC, "use a larger one",
				  "%s has %llu bytes, and a leg of that vdev needs %llu",
				  s->legs[at].path,
				  (unsigned long long)s->legs[at].size_blocks << KVP_BLOCK_SHIFT,
				  (unsigned long long)kvp_leg_least(g) << KVP_BLOCK_SHIFT);
	return check_others(pool, s, at, r) ?:
	       check_replaced(&pool->vdevs.v[changed_vdev(pool->sb, s, true)], s, r);
}

/*
 * Refuse to detach a leg in use unless all others are in sync: the vdev must then have all its
 * copies.
 */
static int check_rest(const struct kvp_leg *leaves, struct kvp_refusal *r)
{
	const struct kvp_vdev *v = leaves->v;
	u32 i;

	for (i = 0; kvp_leg_in_sync(leaves) && i < v->nr_legs; i++)
		if (&v->legs[i] != leaves && !kvp_leg_in_sync(&v->legs[i]))
			return kvp_refuse(r, -EBUSY,
					  "bring that online and let its resilver end, or detach it first",
					  "%s is in use, and leg %s of its vdev is not in sync",
					  leaves->path, v->legs[i].path);
	return 0;
}

int kvp_detach_plan(const struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	u32 at = kvp_detach_at(pool, s);
	int ret = check_table(pool, s, r);

	if (ret)
		return ret;
	if (at == KVP_MAX_LEGS)
		return kvp_refuse(r, -EINVAL,
				  "name the others in the order of status; missing ones by their UUIDs",
				  "the table does not tell which leg leaves");
	return check_others(pool, s, KVP_MAX_LEGS, r) ?: check_rest(&pool->legs[at], r);
}

/* Make @x->next. Legs behind the one in question get other numbers. */
static void write_next(const struct kvp_pool *pool, struct reshape *x)
{
	struct kvp_sb *next = x->next;
	struct kvp_leg_info *legs = next->legs;
	u32 i;

	*next = *pool->sb;
	if (!x->comes)
		kvp_replaces_without(next, x->at);
	if (x->comes)
		memmove(&legs[x->at + 1], &legs[x->at], (next->leg_count - x->at) * sizeof(*legs));
	else
		memmove(&legs[x->at], &legs[x->at + 1],
			(next->leg_count - x->at - 1) * sizeof(*legs));
	next->leg_count += x->comes ? 1 : -1;
	kvp_copies_resize(&next->vdevs[x->v], next->vdevs[x->v].leg_count + (x->comes ? 1 : -1));
	for (i = x->v + 1; i < next->vdev_count; i++)
		next->vdevs[i].first_leg += x->comes ? 1 : -1;
	memset(&legs[x->comes ? x->at : next->leg_count], 0, sizeof(*legs));
}

/* --- the steps ------------------------------------------------------------------------ */

/*
 * Check that no leg from @at on has requests. These legs move in memory, or leave, and requests
 * point to them. Legs before @at stay where they are, and may have some. Reads by users' bios have
 * ended, except those of a leg that hangs.
 */
static int check_answered(const struct kvp_pool *pool, u32 at, struct kvp_refusal *r)
{
	u32 i;

	for (i = at; i < pool->nr_legs; i++)
		if (kvp_leg_has_strays(&pool->legs[i]) ||
		    atomic_read(&pool->legs[i].in_flight) > 0)
			return kvp_refuse(r, -EBUSY, "wait until it answers, or disconnect it",
					  "%s has not answered all requests yet",
					  pool->legs[i].path);
	return 0;
}

/* Make the new leg. It is out, so only its label is written. */
static void make_leg(struct kvp_pool *pool, const struct kvp_start *s, struct reshape *x)
{
	struct kvp_leg_info *info = &x->next->legs[x->at];
	struct kvp_leg *leg = &pool->legs[x->at];
	u32 old = replaced_of(&pool->vdevs.v[x->v], s);

	if (old < pool->vdevs.v[x->v].nr_legs)
		info->replaces = (u8)(old + 1);
	memset(leg, 0, sizeof(*leg));
	leg->pool = pool;
	leg->bdev = s->legs[x->at].bdev;
	leg->size_blocks = s->legs[x->at].size_blocks;
	leg->rotational = s->legs[x->at].rotational;
	leg->state = KVP_LEG_STALE;
	memcpy(leg->path, s->legs[x->at].path, sizeof(leg->path));
	kvp_random_uuid(info->uuid);
	info->state = KVP_LEG_STALE;
	info->size_blocks = leg->size_blocks;
}

static void number_legs(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_MAX_LEGS; i++)
		pool->legs[i].index = i;
}

/* Give the pool the shape of @x->next in memory. */
static void take_next(struct kvp_pool *pool, const struct kvp_start *s, struct reshape *x)
{
	struct kvp_leg *legs = pool->legs;
	u32 behind = pool->nr_legs - x->at;

	kvp_events_hold(pool);
	if (x->comes) {
		memmove(&legs[x->at + 1], &legs[x->at], behind * sizeof(*legs));
		make_leg(pool, s, x);
	} else {
		memmove(&legs[x->at], &legs[x->at + 1], (behind - 1) * sizeof(*legs));
		memset(&legs[pool->nr_legs - 1], 0, sizeof(*legs));
	}
	number_legs(pool);
	kvp_take_shape(pool, x->next);
	kvp_events_go_on(pool);
}

/* Steps 3 and 4 of a change (change.h). After an error the caller undoes both. */
static int commit(struct kvp_pool *pool, struct reshape *x, struct kvp_refusal *r)
{
	if (x->comes)
		return kvp_change_join(pool, x->at, x->page, &x->tried, r);
	x->tried = true;
	return kvp_change_commit(pool, r);
}

/*
 * Legs go back to their old places, as they are by now; the one that left, as it was. Returns those
 * that were given up or left, as bits.
 */
static u64 put_legs_back(struct kvp_pool *pool, const struct reshape *x)
{
	struct kvp_leg *legs = pool->legs;
	u32 nr = x->old->leg_count, i;
	u64 out = x->comes ? 0 : BIT_ULL(x->at);

	if (x->comes) {
		memmove(&legs[x->at], &legs[x->at + 1], (nr - x->at) * sizeof(*legs));
		memset(&legs[nr], 0, sizeof(*legs));
	} else {
		memmove(&legs[x->at + 1], &legs[x->at], (nr - x->at - 1) * sizeof(*legs));
		legs[x->at] = x->legs[x->at];
	}
	number_legs(pool);
	for (i = 0; i < nr; i++)
		if (kvp_change_put_back(&legs[i], &x->legs[i]))
			out |= BIT_ULL(i);
	return out;
}

/*
 * Give the pool its old shape. If some leg may have the new superblock, write a newer one with the
 * old shape.
 */
static void undo(struct kvp_pool *pool, struct reshape *x)
{
	u64 out;

	kvp_events_hold(pool);
	out = put_legs_back(pool, x);
	/* The queue of that place may belong to another device by now. */
	pool->legs[x->at].queue = NULL;
	kvp_take_shape(pool, x->old);
	/* The last SSD with the log may have been given up, and is in use again. */
	WRITE_ONCE(pool->vdevs.log_moving, x->moving);
	kvp_change_leave_strays(pool);
	kvp_events_go_on(pool);
	if (!x->tried)
		return;
	WRITE_ONCE(pool->sb->epoch, pool->sb->epoch + 1);
	kvp_change_in_sync_again(pool, out);
	kvp_sb_undone(pool);
}

static int change(struct kvp_pool *pool, const struct kvp_start *s, struct reshape *x,
		  struct kvp_refusal *r)
{
	int ret;

	mutex_lock(&pool->sb_lock);
	if (!x->comes)
		kvp_leg_words(&pool->legs[x->at], x->name);
	write_next(pool, x);
	*x->old = *pool->sb;
	x->moving = READ_ONCE(pool->vdevs.log_moving);
	memcpy(x->legs, pool->legs, sizeof(pool->legs));
	take_next(pool, s, x);
	if (kvp_parts_alloc(pool, &x->parts))
		ret = kvp_change_no_memory(r);
	else
		ret = commit(pool, x, r);
	if (ret)
		undo(pool, x);
	else
		kvp_resilver_renumber(pool);
	mutex_unlock(&pool->sb_lock);
	return ret;
}

static void after(struct kvp_pool *pool, struct reshape *x)
{
	kvp_parts_use(pool, &x->parts);
	kvp_returns_shift(pool, x->at, x->comes);
	kvp_log_limit_buffered(pool->log);
	if (x->comes) {
		kvp_return_wanted(&pool->legs[x->at], true);
		kvp_event(pool, "leg_attached leg=%u%s", x->at,
			  kvp_leg_words(&pool->legs[x->at], x->name));
		return;
	}
	kvp_event(pool, "leg_detached leg=%u%s", x->at, x->name);
	/* Step 2 of detach. */
	if (x->legs[x->at].bdev)
		kvp_label_wipe(pool, &x->legs[x->at]);
}

static int reshape(struct kvp_pool *pool, const struct kvp_start *s, struct reshape *x,
		   struct kvp_refusal *r)
{
	int ret = kvp_change_settled(pool, r);

	if (ret)
		return ret;
	ret = x->comes ? kvp_attach_plan(pool, s, r) : kvp_detach_plan(pool, s, r);
	if (ret)
		return ret;
	x->v = changed_vdev(pool->sb, s, x->comes);
	x->at = x->comes ? kvp_attach_at(pool, s) : kvp_detach_at(pool, s);
	ret = check_answered(pool, x->at, r);
	if (ret)
		return ret;
	ret = change(pool, s, x, r);
	if (!ret)
		after(pool, x);
	kvp_forget_legs(pool);
	return ret;
}

static int alloc_and_reshape(struct kvp_pool *pool, const struct kvp_start *s, bool comes,
			     struct kvp_refusal *r)
{
	struct reshape *x = kzalloc(sizeof(*x), GFP_KERNEL);
	int ret;

	if (!x)
		return kvp_change_no_memory(r);
	x->comes = comes;
	x->old = kvzalloc(sizeof(*x->old), GFP_KERNEL);
	x->next = kvzalloc(sizeof(*x->next), GFP_KERNEL);
	x->legs = kvcalloc(KVP_MAX_LEGS, sizeof(*x->legs), GFP_KERNEL);
	x->page = alloc_page(GFP_KERNEL);
	if (x->old && x->next && x->legs && x->page)
		ret = reshape(pool, s, x, r);
	else
		ret = kvp_change_no_memory(r);
	if (x->page)
		__free_page(x->page);
	kvp_parts_free(&x->parts);
	kvfree(x->legs);
	kvfree(x->next);
	kvfree(x->old);
	kfree(x);
	return ret;
}

int kvp_pool_attach(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	return alloc_and_reshape(pool, s, true, r);
}

int kvp_pool_detach(struct kvp_pool *pool, const struct kvp_start *s, struct kvp_refusal *r)
{
	return alloc_and_reshape(pool, s, false, r);
}
