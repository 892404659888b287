// SPDX-License-Identifier: GPL-2.0-only
#include "format/outs.h"

void kvp_outs_note(struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++)
		if (sb->legs[i].state == KVP_LEG_IN_SYNC)
			sb->legs[i].out = 0;
}

bool kvp_outs_counted(struct kvp_sb *sb)
{
	bool first = false;
	u32 i;

	for (i = 0; i < sb->leg_count; i++) {
		struct kvp_leg_info *l = &sb->legs[i];

		if (l->state == KVP_LEG_IN_SYNC || l->out > KVP_OUT_CALLED)
			continue;
		first |= l->out == KVP_OUT_CALLED;
		l->out = sb->sequence + KVP_OUT_CALLED;
	}
	return first;
}

const char *kvp_outs_fault(const struct kvp_sb *sb)
{
	u32 i;

	/* A label may have a lower sequence than the superblock whose contents it has. */
	for (i = 0; i < sb->leg_count; i++)
		if (sb->legs[i].out > KVP_SB_COUNT_END ||
		    (sb->legs[i].out && sb->legs[i].state == KVP_LEG_IN_SYNC))
			return "superblock that called a leg out";
	return NULL;
}

/* True if both know the same legs, and neither history was given up without the other. */
static bool comparable(const struct kvp_sb *a, const struct kvp_sb *b)
{
	bool same = !memcmp(a->pool_uuid, b->pool_uuid, 16) && a->vdev_count == b->vdev_count &&
		    a->leg_count == b->leg_count && a->fork_count == b->fork_count &&
		    a->log_discards == b->log_discards && !((a->flags | b->flags) & KVP_SB_JOINING);
	u32 i;

	for (i = 0; same && i < a->fork_count; i++)
		same = a->forks[i] == b->forks[i];
	for (i = 0; same && i < a->vdev_count; i++)
		same = a->vdevs[i].kind == b->vdevs[i].kind &&
		       a->vdevs[i].leg_count == b->vdevs[i].leg_count;
	for (i = 0; same && i < a->leg_count; i++)
		same = !memcmp(a->legs[i].uuid, b->legs[i].uuid, 16);
	return same;
}

/*
 * True if nothing was done in the history of @own without leg @i, which @best has in sync. Sets
 * *@called if @own calls it out. The leg must not have returned since, or what @own says of it
 * would be out of date.
 */
static bool took_part(const struct kvp_sb *own, const struct kvp_sb *best, u32 i, bool *called)
{
	const struct kvp_leg_info *l = &own->legs[i];

	if (l->in_sync_epoch != best->legs[i].in_sync_epoch)
		return false;
	if (l->state == KVP_LEG_IN_SYNC)
		return true;
	*called = true;
	return l->out == KVP_OUT_CALLED;
}

/*
 * True if @best calls leg @i out, and the leg has not begun to return. It does not matter whether
 * @best counted: a start goes on from the newest superblock in any case.
 */
static bool calls_out(const struct kvp_sb *best, u32 i)
{
	const struct kvp_leg_info *l = &best->legs[i];

	return l->state != KVP_LEG_IN_SYNC && l->state != KVP_LEG_RESILVERING && l->out;
}

/*
 * False if the numbers show that the legs of @best were put back to an older state (R29). When @own
 * was written, each leg in sync had all superblocks but the last few (@behind). So these legs can
 * only have called leg @at out under a later number. Legs that called it out under a lower number
 * lack what the leg of @own has.
 */
static bool went_on_from_here(const struct kvp_sb *own, const struct kvp_sb *best, u32 at)
{
	u64 out = best->legs[at].out;

	if (out > KVP_OUT_CALLED)
		return out - KVP_OUT_CALLED + own->behind >= own->sequence;
	return best->sequence + own->behind >= own->sequence;
}

bool kvp_sb_never_counted(const struct kvp_sb *own, const struct kvp_sb *best)
{
	u32 at = own->leg_index, i;
	bool called = false;

	if (!comparable(own, best) || !calls_out(best, at) ||
	    best->legs[best->leg_index].state != KVP_LEG_IN_SYNC ||
	    own->legs[at].state != KVP_LEG_IN_SYNC ||
	    own->legs[at].in_sync_epoch != best->legs[at].in_sync_epoch ||
	    !went_on_from_here(own, best, at))
		return false;
	for (i = 0; i < best->leg_count; i++)
		if (best->legs[i].state == KVP_LEG_IN_SYNC && !took_part(own, best, i, &called))
			return false;
	return called;
}

bool kvp_rival_passed(const struct kvp_rival *c, const struct kvp_sb *best)
{
	return c->all_read && kvp_sb_never_counted(c->sb, best);
}

/*
 * True if no label is at odds with @best: each one that is newer, or has parted from any leg in
 * sync, is passed by. Two histories may pass by each other, if both were cut. Then nothing was done
 * in either.
 */
static bool all_follow(const struct kvp_rival *c, u32 nr, const struct kvp_sb *best)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if ((kvp_sb_newer(c[i].sb, best) || kvp_sb_forked(c[i].sb, best, true)) &&
		    !kvp_rival_passed(&c[i], best))
			return false;
	return true;
}

const struct kvp_sb *kvp_rivals_choose(const struct kvp_rival *c, u32 nr)
{
	const struct kvp_sb *newest = NULL, *best = NULL;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!newest || kvp_sb_newer(c[i].sb, newest))
			newest = c[i].sb;
		if ((!best || kvp_sb_newer(c[i].sb, best)) && all_follow(c, nr, c[i].sb))
			best = c[i].sb;
	}
	return best ?: newest;
}
