/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much writers must be slowed down while the log, or the buffer, fills up. They are slowed down
 * early and evenly, and never stopped at once.
 *
 * Pure: no lock, no clock, no memory.
 */
#ifndef KVP_POLICY_THROTTLE_H
#define KVP_POLICY_THROTTLE_H

#include <linux/types.h>

/**
 * kvp_throttle_rate() - how many blocks a second writers may make dirty
 * @capacity: so many blocks may be dirty
 * @dirty: so many are
 * @full: blocks a second that the data vdevs can take
 *
 * All they want below three quarters of the capacity, ~0. From there on a multiple of @full
 * that falls steadily, to @full itself at nine tenths and to nothing at the very end:
 * writers are slowed down to what can go home, and never stopped at once.
 * Context: any.
 */
u64 kvp_throttle_rate(u64 capacity, u64 dirty, u64 full);

/**
 * kvp_throttle_slows() - true if writers are slowed down. The same as kvp_throttle_rate() != ~0,
 * without a division.
 */
bool kvp_throttle_slows(u64 capacity, u64 dirty);

/**
 * struct kvp_bucket - a pace. Zeros to begin with.
 * @next: when the next one may go, ns
 * @rate: blocks a second at which @next was reckoned
 */
struct kvp_bucket {
	u64 next, rate;
};

/**
 * kvp_bucket_take() - go, @blocks of them, if the pace allows it
 * @now: ns, of a clock that never goes back
 * @rate: blocks a second, not 0
 *
 * After a pause, a writer may make up for a thirty-second of a second of it, no more. The wait
 * that is left counts at the present pace: else a large write at the slowest pace would keep
 * all writers waiting for seconds after there is room again.
 * Return: 0: gone; else in so many ns. Context: any; one at a time.
 */
u64 kvp_bucket_take(struct kvp_bucket *b, u64 now, u32 blocks, u64 rate);

#endif /* KVP_POLICY_THROTTLE_H */
