/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the supported kernels (6.1 and 6.12), one wrapper each.
 *
 * This folder is the lowest floor. It knows nothing of pools, so every other folder may use it.
 *
 *   compat.h    modes of devices, flags of bios, queue limits, tracepoints: the wrappers below
 *   platform.h  the build fails on a platform where the module would corrupt data
 *   shrinker.h  one way to register a shrinker, for kernels with either way
 *   crc.h       crc32c by the crypto API; the tool has its own version of it
 *   slice.h     a slice of the processor that a worker asks for
 *   xor.h       XOR with the processor's best instructions, or by a plain loop
 *
 * These rules hold:
 *  - Nothing outside this folder asks for a kernel version. A caller looks the same on all kernels.
 *  - A wrapper only translates. It decides nothing about the pool, and keeps no state of it. A
 *    wrapper that decided would have to be tested on each kernel.
 *  - A wrapper that differs between kernels compares LINUX_VERSION_CODE with the kernel that made
 *    the change. So it is plain which branches can go when an old kernel is no longer supported.
 *  - Only crc.c has code of its own to link. All else is inline.
 *
 * To support another kernel, begin here, then read shrinker.h. platform.h, crc.h and xor.h do not
 * depend on the version.
 */
#ifndef KVP_COMPAT_H
#define KVP_COMPAT_H

#include <linux/blkdev.h>
#include <linux/version.h>

#include "compat/platform.h"

/* 6.10 made the source of __assign_str() implicit. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define KVP_ASSIGN_STR(dst, src)	__assign_str(dst)
#else
#define KVP_ASSIGN_STR(dst, src)	__assign_str(dst, src)
#endif

/* Modes of tables and devices got a type and names of their own in 6.5. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define KVP_MODE_WRITE	BLK_OPEN_WRITE
#else
#define KVP_MODE_WRITE	FMODE_WRITE
#endif

/* Since 6.2 bios from the cache of a processor may end in an interrupt. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define KVP_BIO_CACHE	REQ_ALLOC_CACHE
#else
#define KVP_BIO_CACHE	((blk_opf_t)0)
#endif

/**
 * kvp_compat_discard_limits() - set how long a discard may be, in sectors of 512 bytes
 *
 * max_discard_sectors became the user's limit, max_hw_discard_sectors the device's.
 */
static inline void kvp_compat_discard_limits(struct queue_limits *limits, unsigned int sectors)
{
	limits->max_hw_discard_sectors = sectors;
	limits->max_discard_sectors = sectors;
}

/**
 * kvp_compat_io_hints() - what requests the device likes best, in bytes, and how much is read
 * ahead by that
 *
 * Device-mapper has set all limits before. Context: process; the device is suspended.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static inline void kvp_compat_io_hints(struct gendisk *disk, unsigned int min, unsigned int opt)
{
	struct queue_limits limits = queue_limits_start_update(disk->queue);

	limits.io_min = min;
	limits.io_opt = opt;
	/* If these hints contradict other limits, the device goes without them. */
	if (queue_limits_commit_update(disk->queue, &limits))
		pr_warn("dm-kvpool: the device does not report its stripes\n");
}
#else
static inline void kvp_compat_io_hints(struct gendisk *disk, unsigned int min, unsigned int opt)
{
	blk_queue_io_min(disk->queue, min);
	blk_queue_io_opt(disk->queue, opt);
	disk_update_readahead(disk);
}
#endif

#endif /* KVP_COMPAT_H */
