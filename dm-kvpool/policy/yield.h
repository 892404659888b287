/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of the disks background work gets while the host asks for something: destage, and the
 * resilver. It works in short steps, and rests after each. A host that is quiet costs it nothing.
 *
 * Pure: no lock, no clock, no memory.
 */
#ifndef KVP_YIELD_H
#define KVP_YIELD_H

#include <linux/types.h>

#define KVP_YIELD_OTHERS	31u	/* of 32 parts of the time, the host gets so many */

/**
 * struct kvp_yield - what was seen of the host. Zeros to begin with.
 * @asked: how much it had asked for at the last look
 * @at: time, in ns, of the last look that found @asked changed; 0: none did
 */
struct kvp_yield {
	u64 asked, at;
};

/** kvp_yield_begin() - forget what the host did before @asked */
void kvp_yield_begin(struct kvp_yield *y, u64 asked);

/**
 * kvp_yield_busy() - true if the host has asked for something lately
 * @asked: how much it has asked for so far, in any unit
 * @now: ns, of a clock that never goes back
 * @within: ns
 *
 * Between two looks it may have asked at any time: the time of the later look counts.
 */
bool kvp_yield_busy(struct kvp_yield *y, u64 asked, u64 now, u64 within);

/**
 * kvp_yield_others() - how many of 32 parts of the time the host gets
 * @full: per cent that are in use of what the background work makes free
 * @seek: both go to disks that seek
 *
 * KVP_YIELD_OTHERS up to a half. From there on fewer, and none from three quarters on: then the
 * host would soon have to wait for the background work. On disks that seek each request of that
 * work delays the host by milliseconds. So there are fewer slowly at first, and none from 95 per
 * cent on.
 */
u32 kvp_yield_others(u32 full, bool seek);

/** kvp_yield_rest() - how long to rest after a step that took @took ns: @most seconds at most */
u64 kvp_yield_rest(u64 took, u32 others, u32 most);

/**
 * kvp_yield_rest_of_walk() - the same for steps of a walk, of which each delays a request or two
 *
 * A step takes as long as two or three requests of the host, and the rest is 63 times as long. So
 * of a host with one request after the other, fewer than one in a hundred meets a step: the 99th
 * percentile is that of a host that is alone.
 */
u64 kvp_yield_rest_of_walk(u64 took, u32 most);

#endif /* KVP_YIELD_H */
