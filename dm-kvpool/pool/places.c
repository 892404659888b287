// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps 4, 5 and 7 of a start: put the legs into the order of the superblock, and decide what each
 * of them is, by the superblock and by its own label. The same for the shadow.
 */
#include "core/core.h"
#include "core/refusal.h"
#include "format/sbring.h"
#include "pool/pool.h"
#include "pool/start.h"
#include "pool/start_steps.h"

/*
 * Judge a leg that @best calls in sync, by its own label; NULL: the leg is not here.
 *
 * R29: a leg is not in sync if its label is further behind than power cuts can leave it. An older
 * state was put back onto it: by dd of an image, or as a disk of a virtual machine. It is stale,
 * whatever its label says about the time when it was written. The other legs have the present
 * state. If these are too few, no leg has it.
 */
static void judge_leg(struct kvp_leg *leg, const struct kvp_label *label, const struct kvp_sb *best)
{
	u64 held;

	/* The oldest superblock that a missing leg can have and still be in sync. */
	leg->has_sequence = best->behind_known ?
		best->sequence - 1 - min_t(u64, best->behind, best->sequence - 1) : 0;
	leg->has_era = best->era;
	if (!label)
		return;
	held = kvp_sb_rings_may_hold(&label->rings, label->sb->sequence);
	leg->unreadable = label->unreadable + label->bad;
	leg->newer = label->newer;
	leg->has_sequence = label->sb->sequence;
	leg->has_era = min(best->era, label->sb->era);
	leg->lag = kvp_sb_lag(best, label->sb, held);
	leg->doubtful = !leg->lag && held > best->sequence;
	if (leg->lag)
		leg->state = KVP_LEG_STALE;
}

/* Note that the leg may lack any block. */
void kvp_leg_info_forget(struct kvp_leg_info *info)
{
	info->in_sync_era = 0;
	info->cursor = 0;
	info->cursor_era = 0;
}

void kvp_leg_note_slots(struct kvp_leg *leg, const struct kvp_label *label)
{
	u32 end;

	leg->torn = kvp_sb_rings_torn(&label->rings);
	leg->front_last = kvp_sb_rings_last_two(&label->rings, KVP_RING_FRONT);
	for (end = 0; end < 2; end++) {
		leg->gaps[end] = kvp_sb_rings_gaps(&label->rings, end, label->sb->sequence);
		leg->missed[end] = kvp_sb_rings_missed(&label->rings, end, label->sb);
	}
}

/* Decide the state of @leg, number @i in the superblock, by the superblock and by its own label. */
static void set_leg_state(struct kvp_pool *pool, u32 i, const struct kvp_label *label,
			  struct kvp_sb *best)
{
	struct kvp_leg_info *info = &best->legs[i];
	struct kvp_leg *leg = &pool->legs[i];

	leg->pool = pool;
	leg->index = i;
	if (label)
		kvp_leg_note_slots(leg, label);
	/* A resilver ends with the run of the pool. */
	leg->state = info->state == KVP_LEG_RESILVERING ? KVP_LEG_STALE : info->state;
	/*
	 * Its history is given up. So it must not be a source, even if the chosen superblock calls
	 * it in sync.
	 */
	leg->adopt = label && label->forked;
	leg->passed = label && label->passed;
	if (leg->adopt)
		kvp_leg_info_forget(info);
	if (leg->adopt && leg->state == KVP_LEG_IN_SYNC)
		leg->state = KVP_LEG_STALE;
	else if (leg->state == KVP_LEG_IN_SYNC)
		judge_leg(leg, label, best);
	atomic64_set(&leg->err_read, info->err_read);
	atomic64_set(&leg->err_write, info->err_write);
	atomic64_set(&leg->err_checksum, info->err_checksum);
	atomic64_set(&leg->healed, info->healed);
}

static bool calls_in_sync(const struct kvp_sb *sb, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++)
		if (!memcmp(sb->legs[i].uuid, uuid, sizeof(sb->legs[i].uuid)))
			return sb->legs[i].state == KVP_LEG_IN_SYNC;
	return false;
}

/*
 * R16: the power may have gone when only some legs had the superblock that first calls a leg in
 * sync. The labels of the others say that they can do without it. So it joins with the first
 * superblock of this start: none of the others is given up for it before.
 */
static void note_joins(struct kvp_pool *pool, struct kvp_labels *l, const struct kvp_sb *best)
{
	u32 v, i, j;

	/* A read-only pool writes no superblock that would end it, and records no loss. */
	if (kvp_pool_readonly(pool))
		return;
	for (v = 0; v < best->vdev_count; v++) {
		u32 first = best->vdevs[v].first_leg, end = first + best->vdevs[v].leg_count;

		for (i = first; i < end; i++)
			for (j = first; j < end; j++)
				if (i != j && kvp_leg_in_sync(&pool->legs[i]) &&
				    kvp_leg_in_sync(&pool->legs[j]) &&
				    !calls_in_sync(l->ordered_label[j]->sb, best->legs[i].uuid))
					pool->legs[i].joins = true;
	}
}

/* Put the legs into the order of the superblock, with places for missing ones. */
int kvp_order_legs(struct kvp_pool *pool, struct kvp_labels *l, struct kvp_sb *best,
		   struct kvp_refusal *r)
{
	struct kvp_leg *legs = l->ordered;
	u32 i;

	memset(legs, 0, sizeof(l->ordered));
	memset(l->ordered_label, 0, sizeof(l->ordered_label));
	for (i = 0; i < pool->nr_legs; i++) {
		u32 at;

		if (!l->legs[i].found)
			continue;
		at = kvp_label_place(best, &l->legs[i]);
		if (at == best->leg_count)
			return kvp_refuse(r, -EINVAL, "leave the device out, or clear its label",
					  "%s was once a leg of the pool '%s', but is not any more",
					  pool->legs[i].path, best->name);
		legs[at] = pool->legs[i];
		l->ordered_label[at] = &l->legs[i];
	}
	memcpy(pool->legs, legs, sizeof(pool->legs));
	for (i = 0; i < pool->nr_legs; i++)
		set_leg_state(pool, i, l->ordered_label[i], best);
	kvp_find_put_back(pool, l, best);
	note_joins(pool, l, best);
	return 0;
}

/*
 * Refuse if a device is too small for the layout that counts. Its own label may be of before the
 * pool grew: newer ones at the front cannot be read, and at its end are those of then.
 */
int kvp_check_sizes(struct kvp_pool *pool, const struct kvp_sb *best, struct kvp_refusal *r)
{
	struct kvp_why why;
	u32 v, i;

	for (v = 0; v < best->vdev_count; v++) {
		const struct kvp_geometry *g = &best->vdevs[v];

		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++)
			if (pool->legs[i].bdev && best->legs[i].state == KVP_LEG_IN_SYNC &&
			    kvp_geometry_check(g, pool->legs[i].size_blocks, &why))
				return kvp_refuse_small(&pool->legs[i], &why, r);
	}
	return 0;
}

/* The shadow has only what both its label and the superblock say. */
static void take_cursor(struct kvp_shadow_info *order, const struct kvp_leg_info *own)
{
	order->cursor = kvp_vblock_first(order->cursor, own->cursor);
	order->cursor_era = order->cursor ? min(order->cursor_era, own->cursor_era) : 0;
}

/*
 * True if the labels of the shadow fit the superblock. A superblock names the number of each label
 * before the label is written. So the newest label on the device has that number, or the one before
 * it if the power went between the two. With a later number, the shadow belongs to a history that
 * the legs do not know: all legs were put back to an older state. With an earlier number, the
 * shadow was put back.
 *
 * @newest: number of the newest label that can be read
 * @held: number of the newest label that may be there
 */
static bool knows_label(const struct kvp_shadow_info *order, u64 newest, u64 held)
{
	return held <= order->label && newest + 1 >= order->label;
}

/*
 * Decide whether the device that the table names is the shadow. Its newest label must be that of a
 * shadow. If it is that of a leg, a superblock that no other leg has may have made it one. So may
 * one that a newer module wrote. A device that is not the shadow is not touched, and the order
 * waits.
 */
void kvp_set_shadow_state(struct kvp_pool *pool, const struct kvp_label *label, bool readonly)
{
	struct kvp_shadow_info *order = &pool->sb->shadow;
	struct kvp_leg *shadow = &pool->shadow;
	const struct kvp_sb *own = label->sb;

	shadow->v = NULL;
	if (!order->of || !shadow->bdev || readonly || shadow->silent || !label->found ||
	    kvp_label_may_be_newer(label) ||
	    !(own->flags & KVP_SB_JOINING) || memcmp(own->pool_uuid, pool->sb->pool_uuid, 16) ||
	    memcmp(own->leg_uuid, order->uuid, 16)) {
		/* It may be a leg of another pool: a cancel must not wipe its label. */
		WRITE_ONCE(shadow->bdev, NULL);
		return;
	}
	take_cursor(order, &own->legs[own->leg_index]);
	shadow->has_sequence = kvp_sb_rings_may_hold(&label->rings, own->sequence);
	if (!knows_label(order, own->sequence, shadow->has_sequence) ||
	    !kvp_sb_knows_forks(own, pool->sb)) {
		order->cursor = 0;
		order->cursor_era = 0;
		/* In the other history, the number of its next label is unknown. */
		shadow->has_sequence++;
	}
	/*
	 * The last labels before an exchange have the pool's sequences, so the newest two may be
	 * far apart.
	 */
	shadow->has_sequence = kvp_sb_rings_next(&label->rings, shadow->has_sequence + 1) - 1;
	shadow->state = KVP_LEG_STALE;
	shadow->v = &pool->vdevs.v[order->vdev];
	pool->shadow_of = order->of - 1;
	pool->shadow_ready = false;
}
