// SPDX-License-Identifier: GPL-2.0-only
/*
 * A new pool of any vdevs and sizes, and one that gets a vdev later. The decoder must accept the
 * layout. Input: number of vdevs, and for each: kind, legs, size, log, chunk, window.
 */
#include <stdlib.h>
#include <string.h>

#include "format/logplace.h"
#include "format/regions.h"
#include "fuzz.h"
#include "shapes.h"

#define MAX_NEW		5
#define VDEV		15	/* bytes of an input */
#define MOST_BLOCKS	(1ull << 51)	/* of a device: the kernel counts its bytes in 63 bits */

/* A size as a number and a shift, so that large sizes are as likely as small ones. */
static u64 some_size(struct input *in, u32 bytes)
{
	u64 n = take(in, bytes);

	return n << take(in, 1) % 48;
}

static bool add_vdev(struct input *in, struct kvp_sb *sb, u32 max_roots)
{
	u32 kind = (u32)take(in, 1) % (KVP_VDEV_CACHE_PARITY1 + 2),
		legs = (u32)take(in, 1) % (KVP_MAX_MIRROR_LEGS + 2), i;
	u64 blocks = some_size(in, 2) % MOST_BLOCKS, use = some_size(in, 1), log = some_size(in, 2);
	struct kvp_geometry *g = &sb->vdevs[sb->vdev_count];
	struct kvp_why why = { "" };
	int ret;

	*g = (struct kvp_geometry){ .first_leg = sb->leg_count };
	g->chunk_blocks = kvp_chunk_asked(some_size(in, 1));
	g->log_window = kvp_log_window_asked(some_size(in, 2));
	ret = kvp_layout_one(kind, legs, kvp_leg_room(blocks), use, log, max_roots, g, &why);
	if (ret)
		sure(*why.text, "refused (%d) without a reason", ret);
	if (ret || (kvp_is_cache(g) && (!sb->vdev_count || kvp_cache_find(sb) >= 0)) ||
	    legs > KVP_MAX_LEGS - sb->leg_count)
		return false;
	ret = kvp_geometry_check(g, blocks, &why);
	sure(!ret, "laid out, and not sound: %s", why.text);
	for (i = 0; i < legs; i++)
		sb->legs[sb->leg_count++].size_blocks = blocks;
	sb->vdev_count++;
	return true;
}

static void check_pool(struct kvp_sb *sb)
{
	static struct kvp_disk_sb d;
	static struct kvp_sb back;
	struct kvp_why why = { "" };
	u64 left = 0;
	u32 v;
	int ret;

	if (!kvp_logs_hold_discard(sb, 1))
		return;
	for (v = 0; v < sb->vdev_count; v++) {
		if (kvp_is_parity1(&sb->vdevs[v]) && !kvp_logs_hold_discard(sb,
			sb->vdevs[v].chunk_blocks))
			return;
		left += kvp_has_data(&sb->vdevs[v]) ? sb->vdevs[v].data_blocks : 0;
	}
	shape_fill(sb);
	sure(sb->pool_blocks && sb->pool_blocks <= left, "a pool of %llu blocks, of %llu",
	     (unsigned long long)sb->pool_blocks, (unsigned long long)left);
	if (sb->log_commit - sb->log_tail > kvp_log_window(&sb->vdevs[sb->log_vdev]))
		sb->log_commit = sb->log_tail;
	kvp_sb_encode(sb, &d);
	ret = kvp_sb_decode(&d, sb->self_offset, sb->legs[0].size_blocks, &back, &why);
	sure(!ret, "laid out, and refused: %s", why.text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 n = 1 + (u32)take(&in, 1) % MAX_NEW, later = (u32)take(&in, 1) % MAX_NEW;
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	bool laid_out = true;

	while (laid_out && sb->vdev_count < n)
		laid_out = add_vdev(&in, sb, KVP_MAX_ROOTS / n);
	laid_out = laid_out && !kvp_regions_lay_out(sb);
	reached(laid_out);
	if (laid_out)
		check_pool(sb);
	while (laid_out && later--) {
		u32 first = sb->vdev_count;

		laid_out = kvp_cache_find(sb) < 0 && add_vdev(&in, sb,
							      KVP_MAX_ROOTS -
							      (u32)kvp_sb_roots(sb)) &&
			   kvp_has_data(&sb->vdevs[first]) && !kvp_regions_add(sb, first);
		if (laid_out)
			check_pool(sb);
	}
	free(sb);
	return 0;
}

void fuzz_seeds(void)
{
	static const struct {
		u8 kind, legs;
	} vdevs[] = {
		{ KVP_VDEV_MIRROR, 2 }, { KVP_VDEV_PARITY1, 3 }, { KVP_VDEV_SINGLE, 1 },
			{ KVP_VDEV_CACHE, 2 },
		{ KVP_VDEV_CACHE_PARITY1, 3 },
	};
	u8 text[2 + 2 * VDEV] = { 1, 1 };
	u32 i, k;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 2; k++) {
			u8 *v = text + 2 + VDEV * k;

			memset(v, 0, VDEV);
			v[0] = k ? vdevs[i].kind : vdevs[i % 3].kind;
			v[1] = k ? vdevs[i].legs : vdevs[i % 3].legs;
			v[2] = 3;
			v[4] = 14 + (u8)i;
			/*
			 * a cache's dirty limit that is no whole number of segments: 16385 blocks,
			 * in bytes
			 */
			v[12] = 1;
			v[13] = 64;
			v[14] = KVP_BLOCK_SHIFT;
			if (k)
				seed(text, sizeof(text));
		}
	text[2] = KVP_VDEV_CACHE_PARITY1 + 1;
	seed(text, sizeof(text));
}
