// SPDX-License-Identifier: GPL-2.0-only
#include "format/shadow.h"

u32 kvp_shadow_leg(const struct kvp_sb *sb)
{
	const struct kvp_shadow_info *s = &sb->shadow;

	return s->of ? sb->vdevs[s->vdev].first_leg + s->of - 1 : KVP_MAX_LEGS;
}

const char *kvp_shadow_fault(const struct kvp_sb *sb)
{
	const struct kvp_shadow_info *s = &sb->shadow;
	const struct kvp_geometry *g = &sb->vdevs[s->vdev < sb->vdev_count ? s->vdev : 0];
	u32 i;

	if (!s->of)
		return NULL;
	/* The decoder has found two. */
	if (s->vdev >= sb->vdev_count)
		return "number of devices that are to take a place";
	if (!kvp_is_parity1(g) || !kvp_has_data(g) || s->of > g->leg_count)
		return "leg whose place is to be taken";
	if (kvp_vblock_nr(s->cursor) > g->data_blocks || s->cursor_era > sb->era ||
	    (!s->cursor && s->cursor_era))
		return "cursor of a device that is to take a place";
	for (i = 0; i < sb->leg_count; i++)
		if (!memcmp(sb->legs[i].uuid, s->uuid, sizeof(s->uuid)))
			return "UUID of a device that is to take a place";
	return NULL;
}

void kvp_shadow_encode(const struct kvp_shadow_info *shadow, struct kvp_disk_sb *d)
{
	struct kvp_disk_vdev *v = &d->vdevs[shadow->vdev];

	if (!shadow->of)
		return;
	memcpy(v->shadow_uuid, shadow->uuid, sizeof(v->shadow_uuid));
	v->shadow_blocks = cpu_to_le64(shadow->size_blocks);
	v->shadow_cursor = cpu_to_le64(kvp_vblock_nr(shadow->cursor));
	v->shadow_era = cpu_to_le32(shadow->cursor_era);
	v->shadow_of = (u8)shadow->of;
	v->shadow_label = cpu_to_le64(shadow->label);
}

void kvp_shadow_decode(const struct kvp_disk_sb *d, struct kvp_sb *sb)
{
	struct kvp_shadow_info *s = &sb->shadow;
	u32 i;

	for (i = 0; i < sb->vdev_count; i++) {
		const struct kvp_disk_vdev *v = &d->vdevs[i];

		if (!v->shadow_of)
			continue;
		s->vdev = s->of ? KVP_MAX_VDEVS : i;
		s->of = v->shadow_of;
		memcpy(s->uuid, v->shadow_uuid, sizeof(s->uuid));
		s->size_blocks = le64_to_cpu(v->shadow_blocks);
		s->cursor = kvp_vblock(le64_to_cpu(v->shadow_cursor));
		s->cursor_era = le32_to_cpu(v->shadow_era);
		s->label = le64_to_cpu(v->shadow_label);
	}
}
