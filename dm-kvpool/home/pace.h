/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much to do at a time, learned from how long it took: what a disk says of
 * itself does not tell (a slow one behind a virtual disk, a fast array of disks
 * that seek).
 */
#ifndef KVP_PACE_H
#define KVP_PACE_H

#include <linux/jiffies.h>
#include <linux/minmax.h>

/**
 * kvp_pace() - how much to do next, after @n that were begun at @start (jiffies)
 * @slow: jiffies it should not take longer than
 *
 * Half of it if it took longer, twice as much if it took less than a quarter of
 * that; between @low and @high.
 */
static inline u32 kvp_pace(u32 n, unsigned long start, unsigned long slow, u32 low, u32 high)
{
	unsigned long took = jiffies - start;

	if (took > slow)
		n /= 2;
	else if (took < slow / 4)
		n *= 2;
	return clamp(n, low, high);
}

#endif /* KVP_PACE_H */
