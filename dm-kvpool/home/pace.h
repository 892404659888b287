/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much to do at a time, learned from how long the last batch took. Reports of a disk about
 * itself do not help: a slow disk may be behind a virtual one, and an array of disks that seek is
 * fast.
 */
#ifndef KVP_PACE_H
#define KVP_PACE_H

#include <linux/jiffies.h>
#include <linux/minmax.h>

/**
 * kvp_pace() - how much to do next, after @n units that were begun at @start
 * @start: in jiffies
 * @slow: jiffies that they should take at most
 *
 * Return: half of @n if they took longer than @slow, twice @n if they took less than a quarter of
 * it, else @n; between @low and @high. Any context.
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
