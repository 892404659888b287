/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of the disks background work (destage, resilver) gets while the host sends requests.
 * Background work is done in short steps, with a rest after each. It does not rest while the host
 * is quiet.
 *
 * Pure: no lock, no clock, no memory.
 */
#ifndef KVP_YIELD_H
#define KVP_YIELD_H

#include <linux/types.h>

#define KVP_YIELD_OTHERS	31u	/* parts of 32 of the time that the host gets */

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
 * A request may have come at any time between two calls. The time of the later call counts.
 */
bool kvp_yield_busy(struct kvp_yield *y, u64 asked, u64 now, u64 within);

/**
 * kvp_yield_others() - how many of 32 parts of the time the host gets
 * @full: per cent in use of the space that the background work makes free
 * @seek: host and background work use disks that seek
 *
 * The host gets KVP_YIELD_OTHERS parts while @full is at most 50. Above that it gets fewer, and
 * none from 75 on, since it would soon have to wait for the background work. On disks that seek,
 * each request of that work delays the host by milliseconds. There the host's parts fall slowly at
 * first, and are none only from 95 on.
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
