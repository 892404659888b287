/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between the kernels simdisk builds against.
 *
 * Up to 6.8 the limits of a queue are set one call at a time on a disk that
 * already exists; from 6.11 they, and the features, are handed over in one
 * struct when the disk is allocated. 6.9 and 6.10 mixed the two and are not
 * supported.
 */
#ifndef SIMDISK_COMPAT_H
#define SIMDISK_COMPAT_H

#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/version.h>

/* Limits of a simulated disk. Sizes in bytes, lengths in 512-byte sectors. */
struct sim_limits {
	unsigned int logical_block_size;
	unsigned int physical_block_size;
	unsigned int max_sectors;
	unsigned int max_discard_sectors;	/* 0: not offered */
	unsigned int max_write_zeroes_sectors;	/* 0: not offered */
	bool cache;
	bool rotational;
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)

static inline struct gendisk *sim_compat_alloc_disk(const struct sim_limits *l)
{
	struct queue_limits lim = {
		.logical_block_size = l->logical_block_size,
		.physical_block_size = l->physical_block_size,
		.max_hw_sectors = l->max_sectors,
		.max_segments = USHRT_MAX,
		.max_segment_size = UINT_MAX,
		.max_hw_discard_sectors = l->max_discard_sectors,
		.max_write_zeroes_sectors = l->max_write_zeroes_sectors,
		.features = BLK_FEAT_IO_STAT,
	};

	if (l->max_discard_sectors)
		lim.discard_granularity = l->physical_block_size;
	if (l->cache)
		lim.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (l->rotational)
		lim.features |= BLK_FEAT_ROTATIONAL;
	return blk_alloc_disk(&lim, NUMA_NO_NODE);
}

#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)

static inline struct gendisk *sim_compat_alloc_disk(const struct sim_limits *l)
{
	struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);
	struct request_queue *q;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	q = disk->queue;
	blk_queue_logical_block_size(q, l->logical_block_size);
	blk_queue_physical_block_size(q, l->physical_block_size);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	blk_queue_max_segments(q, USHRT_MAX);
	blk_queue_max_segment_size(q, UINT_MAX);
	blk_queue_max_discard_sectors(q, l->max_discard_sectors);
	if (l->max_discard_sectors)
		q->limits.discard_granularity = l->physical_block_size;
	blk_queue_max_write_zeroes_sectors(q, l->max_write_zeroes_sectors);
	blk_queue_write_cache(q, l->cache, l->cache);
	blk_queue_flag_set(QUEUE_FLAG_IO_STAT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
	if (!l->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	return disk;
}

#else
#error "simdisk supports 6.1 to 6.8 and 6.11 to 6.12"
#endif

#endif
