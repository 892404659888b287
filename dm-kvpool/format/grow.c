// SPDX-License-Identifier: GPL-2.0-only
#include "format/grow.h"
#include "format/regions.h"

const char *kvp_grow_mend(int error)
{
	if (error == -ENODEV)
		return "give the device back its size, or take it offline: it may have been pulled out";
	return error == -ENOSPC ?
	       "replace all legs of a vdev by larger devices, and wait until they are in sync" :
	       "make another pool";
}

/* Returns the smallest leg of vdev @v, or KVP_MAX_LEGS and @why if some leg is not in sync. */
static u32 smallest_leg(const struct kvp_sb *sb, const struct kvp_grow *w, u32 v,
			struct kvp_why *why)
{
	const struct kvp_geometry *g = &sb->vdevs[v];
	u32 least = g->first_leg, i;

	for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
		if (!(w->sources >> i & 1)) {
			snprintf(why->text, sizeof(why->text),
				 "leg %u of vdev %u is not in sync", i, v);
			return KVP_MAX_LEGS;
		}
		if (w->leg_blocks[i] < w->leg_blocks[least])
			least = i;
	}
	return least;
}

/* Returns the number of roots of all other vdevs. */
static u32 other_roots(const struct kvp_sb *sb, u32 v)
{
	return (u32)kvp_sb_roots(sb) - kvp_root_count(&sb->vdevs[v]);
}

static int grow_vdev(struct kvp_sb *sb, struct kvp_grow *w, u32 v, struct kvp_why *why)
{
	u32 leg = smallest_leg(sb, w, v, why);
	struct kvp_geometry g;
	u64 room;
	int ret;

	if (leg == KVP_MAX_LEGS)
		return -ENOSPC;
	room = kvp_leg_room(w->leg_blocks[leg]);
	ret = kvp_layout_larger(&sb->vdevs[v], room, KVP_MAX_ROOTS - other_roots(sb, v), &g);
	if (ret == -EOVERFLOW)
		snprintf(why->text, sizeof(why->text),
			 "the table of vdev %u would have too many roots", v);
	else if (ret)
		snprintf(why->text, sizeof(why->text),
			 "leg %u of vdev %u has %llu bytes, which is not enough to grow", leg, v,
			 (unsigned long long)w->leg_blocks[leg] << KVP_BLOCK_SHIFT);
	if (ret)
		return ret;
	sb->vdevs[v] = g;
	w->grown |= 1u << v;
	return 0;
}

/* A vdev behind one that has grown finds its roots further on. */
static void move_roots(struct kvp_sb *sb, const struct kvp_sb *old, u32 grown)
{
	u32 from = 0, to = 0, v, n;

	sb->root_count = (u32)kvp_sb_roots(sb);
	memset(sb->roots, 0, sizeof(sb->roots));
	for (v = 0; v < sb->vdev_count; v++) {
		if (!kvp_has_data(&sb->vdevs[v]))
			continue;
		n = kvp_root_count(&old->vdevs[v]);
		if (!(grown >> v & 1))
			memcpy(&sb->roots[to], &old->roots[from], n * sizeof(sb->roots[0]));
		from += n;
		to += kvp_root_count(&sb->vdevs[v]);
	}
}

void kvp_grow_take_roots(struct kvp_sb *sb, u32 v, const u64 *roots)
{
	u32 first = 0, i;

	for (i = 0; i < v; i++)
		first += kvp_has_data(&sb->vdevs[i]) ? kvp_root_count(&sb->vdevs[i]) : 0;
	memcpy(&sb->roots[first], roots, kvp_root_count(&sb->vdevs[v]) * sizeof(*roots));
}

/*
 * A device that was pulled out shows no blocks, and one that was cut short shows too few. No
 * superblock may name that size: no start would believe it, on any leg.
 */
static int check_sizes(const struct kvp_sb *sb, const struct kvp_grow *w, struct kvp_why *why)
{
	const struct kvp_geometry *g;
	struct kvp_why fault;
	u32 i;

	for (g = sb->vdevs; g < sb->vdevs + sb->vdev_count; g++)
		for (i = g->first_leg; i < g->first_leg + g->leg_count; i++) {
			if (!(w->sources >> i & 1) ||
			    !kvp_geometry_check(g, w->leg_blocks[i], &fault))
				continue;
			snprintf(why->text, sizeof(why->text),
				 "leg %u has %llu bytes, fewer than are in use", i,
				 (unsigned long long)w->leg_blocks[i] << KVP_BLOCK_SHIFT);
			return -ENODEV;
		}
	return 0;
}

static int take_regions(struct kvp_sb *sb, const struct kvp_grow *w, struct kvp_why *why)
{
	if (!kvp_regions_grow(sb, w->grown))
		return 0;
	snprintf(why->text, sizeof(why->text), "the pool has no region left");
	return -EOVERFLOW;
}

int kvp_grow_plan(struct kvp_sb *sb, const struct kvp_sb *old, struct kvp_grow *w,
		  struct kvp_why *why)
{
	int ret = check_sizes(old, w, why);
	u32 v, i;

	w->grown = 0;
	if (ret)
		return ret;
	*sb = *old;
	snprintf(why->text, sizeof(why->text), "no vdev has data");
	for (v = 0; ret != -EOVERFLOW && v < sb->vdev_count; v++)
		if (kvp_has_data(&sb->vdevs[v]))
			ret = grow_vdev(sb, w, v, why);
	if (ret != -EOVERFLOW)
		ret = w->grown ? take_regions(sb, w, why) : -ENOSPC;
	if (ret)
		return ret;
	for (i = 0; i < sb->leg_count; i++)
		if (w->leg_blocks[i] > sb->legs[i].size_blocks)
			sb->legs[i].size_blocks = w->leg_blocks[i];
	move_roots(sb, old, w->grown);
	sb->incompat |= KVP_INCOMPAT_TABLE_BEHIND;
	sb->pool_blocks = kvp_map_blocks(&sb->map);
	return 0;
}

bool kvp_grow_same_places(const struct kvp_sb *a, const struct kvp_sb *b, u32 grown)
{
	u32 v;

	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		const struct kvp_geometry *g = &a->vdevs[v], *h = &b->vdevs[v];

		if ((grown >> v & 1) &&
		    (g->levels != h->levels || g->data_blocks != h->data_blocks ||
		     g->table_start != h->table_start || g->table_copy != h->table_copy))
			return false;
	}
	return true;
}
