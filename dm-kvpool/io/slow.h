/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long legs take for requests, and which of them are slow: policy/slow.h decides. A slow leg is
 * chosen last for a read. In a parity1 the others make its blocks (home/stripe_read.h). One read in
 * KVP_SLOW_PROBE still goes to it, to show when it is fast again. It is written and scrubbed as
 * before, and a block that no other leg has, or can make, is read from it.
 *
 * Requests are counted in histograms by atomic operations that order nothing. Of an SSD that is not
 * slow only one request in KVP_SLOW_OF is timed: the clock and the counters then cost next to
 * nothing. The watch of flights looks at the histograms.
 */
#ifndef KVP_SLOW_H
#define KVP_SLOW_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>

#include "core/core.h"
#include "core/stats.h"
#include "format/format.h"
#include "io/io.h"
#include "policy/slow.h"

struct block_device;
struct kvp_leg;
struct kvp_pool;

#define KVP_SLOW_PROBE	64u
#define KVP_SLOW_OF	8u

/**
 * struct kvp_slow - of a pool
 * @leg: by index; changed by the watch of flights only
 * @told: it was reported that the leg is slow; likewise
 * @bdev: the leg's device, to see whether the number belongs to another leg by now; likewise
 * @counts: requests of the present windows
 */
struct kvp_slow {
	struct kvp_slow_leg leg[KVP_MAX_LEGS];
	bool told[KVP_MAX_LEGS];
	const struct block_device *bdev[KVP_MAX_LEGS];
	struct kvp_slow_counts {
		atomic_t nr[KVP_SLOW_KINDS][KVP_SLOW_BUCKETS];
	} counts[KVP_MAX_LEGS];
};

/**
 * struct kvp_slow_figures - for status
 * @state: "no"; "yes"; "expected": a disk that seeks is slower than SSDs of its vdev
 * @by: the kind of requests, or NULL if @state is "no"
 * @others: 99th percentile of that kind on the leg that it was compared with, ns
 * @p99: 99th percentile of the last window of each kind, ns; 0: not known
 */
struct kvp_slow_figures {
	const char *state, *by;
	u64 others;
	u64 p99[KVP_SLOW_KINDS];
};

extern const char *const kvp_slow_kinds[KVP_SLOW_KINDS];

/** kvp_slow_factor() - a leg this many times as slow as others is slow; 0: none is. Any context. */
static inline u32 kvp_slow_factor(const struct kvp_pool *pool)
{
	return (u32)READ_ONCE(pool->tunables[KVP_T_SLOW_LEG]);
}

/**
 * kvp_slow_is_judged() - true if @leg is compared with the other legs of its vdev
 *
 * A leg alone cannot be compared. The shadow is never read, and starts have their own limits.
 * Context: any.
 */
static inline bool kvp_slow_is_judged(const struct kvp_leg *leg)
{
	return leg->v && leg->v->nr_legs > 1 && !kvp_leg_is_shadow(leg) &&
	       kvp_slow_factor(leg->pool);
}

/**
 * kvp_slow_is_sampled() - true for one request in KVP_SLOW_OF; call it once for each
 *
 * Requests to the legs of a mirror go to one leg after the other. If each eighth were sampled, all
 * could be of the same leg. Steps of the golden ratio meet all legs alike. Context: any.
 */
static inline bool kvp_slow_is_sampled(struct kvp_pool *pool)
{
	u32 n = (u32)this_cpu_inc_return(pool->stats->untimed) * 2654435769u;

	return n < U32_MAX / KVP_SLOW_OF;
}

/**
 * kvp_slow_timed_of() - one request to @leg in this many is timed
 *
 * A disk has few requests, and a slow leg gets few reads: of those, all are timed. Context: any.
 */
static inline u32 kvp_slow_timed_of(const struct kvp_leg *leg)
{
	return leg->rotational || READ_ONCE(leg->slow) ? 1 : KVP_SLOW_OF;
}

/** kvp_slow_begin() - a request to @leg begins; ns, or 0: it is not timed. Any context. */
static inline u64 kvp_slow_begin(struct kvp_leg *leg)
{
	if (!kvp_slow_is_judged(leg) ||
	    (kvp_slow_timed_of(leg) > 1 && !kvp_slow_is_sampled(leg->pool)))
		return 0;
	return ktime_get_ns();
}

/**
 * kvp_slow_end() - a request of @nr blocks has ended well
 * @since: from kvp_slow_begin()
 *
 * Any context. @leg exists.
 */
static inline void kvp_slow_end(struct kvp_leg *leg, enum kvp_io_op op, u32 nr, u64 since)
{
	bool is_long = nr > KVP_SLOW_SHORT;
	enum kvp_slow_kind kind;
	u64 took;

	if (!since || op == KVP_IO_DISCARD || (is_long && op != KVP_IO_READ))
		return;
	took = ktime_get_ns() - since;
	if (is_long)
		took = div_u64(took * KVP_SLOW_SHORT, nr);
	kind = op == KVP_IO_FLUSH ? KVP_SLOW_FLUSH : op != KVP_IO_READ ? KVP_SLOW_WRITE :
	       is_long ? KVP_SLOW_LONG : KVP_SLOW_READ;
	atomic_inc(&leg->pool->slow->counts[leg->index].nr[kind][kvp_slow_bucket(took)]);
}

/**
 * kvp_slow_probes() - true if this read is to go to @leg, which is slow, to see whether it still is
 *
 * Counts the read. Any context.
 */
bool kvp_slow_probes(struct kvp_leg *leg);

/** kvp_slow_look() - end windows that are complete, and judge. Context: the watch of flights. */
void kvp_slow_look(struct kvp_pool *pool);

/** kvp_slow_figures() - what is known of @leg, a leg of a pool. Any context. */
void kvp_slow_figures(const struct kvp_leg *leg, struct kvp_slow_figures *f);

#endif /* KVP_SLOW_H */
