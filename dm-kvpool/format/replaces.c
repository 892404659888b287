// SPDX-License-Identifier: GPL-2.0-only
#include "format/kind.h"
#include "format/replaces.h"

static const struct kvp_geometry *vdev_with(const struct kvp_sb *sb, u32 i)
{
	u32 v;

	for (v = 0; v + 1 < sb->vdev_count; v++)
		if (i - sb->vdevs[v].first_leg < sb->vdevs[v].leg_count)
			break;
	return &sb->vdevs[v];
}

u32 kvp_replaces_leg(const struct kvp_sb *sb, u32 i)
{
	return sb->legs[i].replaces ? vdev_with(sb, i)->first_leg + sb->legs[i].replaces - 1 :
				      KVP_MAX_LEGS;
}

u32 kvp_replaced_by(const struct kvp_sb *sb, u32 i)
{
	const struct kvp_geometry *g = vdev_with(sb, i);
	u32 k;

	for (k = g->first_leg; k < g->first_leg + g->leg_count; k++)
		if (kvp_replaces_leg(sb, k) == i)
			return k;
	return KVP_MAX_LEGS;
}

bool kvp_place_taken(const struct kvp_sb *sb, u32 i)
{
	u32 by = kvp_replaced_by(sb, i);

	return by < KVP_MAX_LEGS && sb->legs[by].state == KVP_LEG_IN_SYNC;
}

bool kvp_replaced_may_leave(const struct kvp_sb *sb, u32 i)
{
	const struct kvp_geometry *g = vdev_with(sb, i);
	u32 k;

	if (!kvp_place_taken(sb, i))
		return false;
	for (k = g->first_leg; k < g->first_leg + g->leg_count; k++)
		if (sb->legs[i].state == KVP_LEG_IN_SYNC &&
		    sb->legs[k].state != KVP_LEG_IN_SYNC && !kvp_place_taken(sb, k))
			return false;
	return true;
}

void kvp_replaces_without(struct kvp_sb *sb, u32 i)
{
	const struct kvp_geometry *g = vdev_with(sb, i);
	u32 k, own = i - g->first_leg + 1;

	for (k = g->first_leg; k < g->first_leg + g->leg_count; k++) {
		struct kvp_leg_info *l = &sb->legs[k];

		if (l->replaces == own)
			l->replaces = 0;
		else if (l->replaces > own)
			l->replaces--;
	}
}

const char *kvp_replaces_fault(const struct kvp_sb *sb)
{
	u32 i;

	for (i = 0; i < sb->leg_count; i++) {
		const struct kvp_geometry *g = vdev_with(sb, i);
		u32 old = kvp_replaces_leg(sb, i);

		if (old == KVP_MAX_LEGS)
			continue;
		if (!kvp_kind_copies(g->kind) || sb->legs[i].replaces > g->leg_count || old == i ||
		    kvp_replaced_by(sb, old) != i)
			return "leg that another replaces";
	}
	return NULL;
}
