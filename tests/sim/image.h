/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents of one device. Images share blocks until one of them changes, so a copy is almost free.
 * A block that was never written is NULL and reads as zeros.
 */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include <linux/types.h>

#define CHUNK_BLOCKS	64u
#define ALL_SECTORS	0xffu

struct blk {
	u32 ref;
	u64 sum[8];		/* of each sector; 0: not known */
	struct blk *next;	/* on the free list */
	u8 data[4096] __attribute__((aligned(64)));	/* whole cache lines */
};

struct chunk {
	u32 ref;
	struct chunk *next;
	struct blk *blk[CHUNK_BLOCKS];
};

struct image {
	u32 blocks, nr_chunks;
	struct chunk **chunk;
};

extern struct blk blk_zeros;	/* contents of blocks without a write */

struct blk *blk_new(const void *data);
struct blk *blk_get(struct blk *b);
void blk_put(struct blk *b);
/** blk_sector_sum() - a sum of sector @s; that of zeros is 0 */
u64 blk_sector_sum(struct blk *b, u32 s);

void image_init(struct image *img, u32 blocks);
void image_copy(struct image *to, const struct image *from);
void image_free(struct image *img);
struct blk *image_blk(const struct image *img, u64 block);
void image_read(const struct image *img, u64 block, void *data);
/** image_write() - sectors of @mask of @block become those of @b */
void image_write(struct image *img, u64 block, struct blk *b, u8 mask);
void image_write_data(struct image *img, u64 block, const void *data);
bool image_same(const struct image *a, const struct image *b, u64 first, u64 count, u64 *where);

#endif
