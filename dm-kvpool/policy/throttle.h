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
 * @capacity: the number of blocks that may be dirty
 * @dirty: the number of blocks that are dirty now
 * @full: blocks a second that the data vdevs can take
 *
 * Up to three quarters of the capacity there is no limit, and the function returns ~0. Above that,
 * the rate is a multiple of @full that falls steadily. It is @full itself at nine tenths of the
 * capacity, and 0 when all of it is dirty. So writers become as slow as destage before they have
 * to stop.
 * Context: any.
 */
u64 kvp_throttle_rate(u64 capacity, u64 dirty, u64 full);

/**
 * kvp_throttle_slows() - true if writers are slowed down. The same as kvp_throttle_rate() != ~0,
 * without a division.
 */
bool kvp_throttle_slows(u64 capacity, u64 dirty);

/**
 * struct kvp_bucket - the pace of writers. The owner sets it to zeros at first.
 * @next: time, in ns, from which on the next write may go
 * @rate: blocks a second; @next was calculated with this rate
 */
struct kvp_bucket {
	u64 next, rate;
};

/**
 * kvp_bucket_take() - let a write of @blocks go, if the pace allows it
 * @now: ns, of a clock that never goes back
 * @rate: blocks a second, not 0
 *
 * After a pause, writers may catch up on the last 1/32 second of it, and on no more. If @rate has
 * changed, the time that is left to wait is converted to the new rate. Without that, a large write
 * at the slowest rate would keep all writers waiting for seconds after there is room again.
 * Return: 0 if the write may go; else the ns after which to ask again. Context: any; one call at a
 * time.
 */
u64 kvp_bucket_take(struct kvp_bucket *b, u64 now, u32 blocks, u64 rate);

#endif /* KVP_POLICY_THROTTLE_H */
