// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "../sim/golden_data.h"
#include "format/generations.h"
#include "format/regions.h"
#include "fuzz.h"
#include "shapes.h"

#define SMALL		3072ull		/* blocks: 12 MiB */
#define LARGE		(1ull << 20)	/* 4 GiB */
#define MAX_SHAPE	4

/* All but the golden one; sizes in blocks. */
static const struct {
	struct {
		u32 kind, legs;
		u64 blocks;
	} vdevs[MAX_SHAPE];
	u32 generations;
} shapes[SHAPES - 1] = {
	{ { { KVP_VDEV_SINGLE, 1, SMALL } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, LARGE } }, 0 },
	{ { { KVP_VDEV_PARITY1, 3, SMALL } }, 0 },
	{ { { KVP_VDEV_PARITY1, 16, LARGE } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, SMALL }, { KVP_VDEV_MIRROR, 2, SMALL } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, SMALL }, { KVP_VDEV_MIRROR, 3, 5 * SMALL } }, 0 },
	{ { { KVP_VDEV_PARITY1, 3, 2 * SMALL }, { KVP_VDEV_MIRROR, 2, SMALL } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, SMALL }, { KVP_VDEV_CACHE, 1, LARGE } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, LARGE }, { KVP_VDEV_CACHE, 2, SMALL } }, 2 },
	{ { { KVP_VDEV_SINGLE, 1, SMALL }, { KVP_VDEV_CACHE, 1, LARGE } }, KVP_MAX_GENERATIONS },
	{ { { KVP_VDEV_MIRROR, 2, SMALL }, { KVP_VDEV_CACHE_PARITY1, 3, LARGE } }, 1 },
	{ { { KVP_VDEV_PARITY1, 4, LARGE }, { KVP_VDEV_CACHE_PARITY1, 16, LARGE } }, 0 },
	{ { { KVP_VDEV_MIRROR, 2, SMALL }, { KVP_VDEV_PARITY1, 5, LARGE },
	    { KVP_VDEV_SINGLE, 1, SMALL },
	    { KVP_VDEV_CACHE, 2, SMALL } }, 0 },
};

static struct kvp_sb *made[SHAPES];
static struct kvp_disk_sb *disks[SHAPES];

void shape_fill(struct kvp_sb *sb)
{
	const struct kvp_geometry *log = &sb->vdevs[sb->log_vdev];
	u32 i;

	memset(sb->pool_uuid, 0x11, sizeof(sb->pool_uuid));
	sb->self_offset = kvp_sb_slot_offset(sb->legs[0].size_blocks, 0, 5);
	sb->epoch = 7;
	sb->sequence = 21;
	sb->nonce = 0x1122334455667788ull;
	sb->log_nonce = 0x99aabbccddeeff00ull;
	sb->log_tail = 3 * kvp_log_blocks(log);
	sb->log_commit = sb->log_tail + (KVP_MAX_GENERATIONS + 1) * log->segment_blocks;
	sb->era = 12;
	sb->pool_blocks = kvp_map_blocks(&sb->map);
	sb->root_count = (u32)kvp_sb_roots(sb);
	for (i = 0; i < sb->leg_count; i++) {
		memset(sb->legs[i].uuid, (int)i + 1, sizeof(sb->legs[i].uuid));
		sb->legs[i].state = KVP_LEG_IN_SYNC;
		sb->legs[i].in_sync_era = 11;
	}
	memcpy(sb->leg_uuid, sb->legs[0].uuid, sizeof(sb->leg_uuid));
	strcpy(sb->name, "pool");
}

static struct kvp_sb *make(u32 which)
{
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	struct kvp_why why;
	u32 v, i;

	for (v = 0; v < MAX_SHAPE && shapes[which].vdevs[v].kind; v++) {
		u32 legs = shapes[which].vdevs[v].legs;
		u64 blocks = shapes[which].vdevs[v].blocks;

		sb->vdevs[v].first_leg = sb->leg_count;
		sure(!kvp_layout_one(shapes[which].vdevs[v].kind, legs, blocks, 0, 0,
				     KVP_MAX_ROOTS / 4,
				     &sb->vdevs[v], &why), "shape %u: %s", which, why.text);
		for (i = 0; i < legs; i++)
			sb->legs[sb->leg_count++].size_blocks = blocks;
	}
	sb->vdev_count = v;
	sure(!kvp_regions_lay_out(sb), "shape %u: regions", which);
	shape_fill(sb);
	for (i = 0; i < shapes[which].generations; i++) {
		u64 next = sb->log_tail + (i + 1) * sb->vdevs[sb->log_vdev].segment_blocks;

		kvp_generation_end(sb, next, next - 7, i);
	}
	return sb;
}

static struct kvp_sb *golden(void)
{
	struct kvp_disk_sb *d = calloc(1, sizeof(*d));
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	struct kvp_why why;
	u32 i;

	for (i = 0; i < sizeof(golden_superblock) / sizeof(golden_superblock[0]); i++)
		memcpy((u8 *)d + golden_superblock[i].at, golden_superblock[i].bytes, 16);
	sure(!kvp_sb_decode(d, le64_to_cpu(d->self_offset), 2304, sb, &why), "golden: %s",
	     why.text);
	free(d);
	return sb;
}

const struct kvp_sb *shape(u32 which)
{
	if (!made[which])
		made[which] = which ? make(which - 1) : golden();
	return made[which];
}

const struct kvp_disk_sb *shape_disk(u32 which)
{
	if (!disks[which]) {
		disks[which] = malloc(sizeof(*disks[which]));
		kvp_sb_encode(shape(which), disks[which]);
	}
	return disks[which];
}
