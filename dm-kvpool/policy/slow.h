/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which leg of a vdev is much slower than the others.
 *
 * A disk that is about to die often answers late long before it answers with errors. Its times are
 * compared with those of the other legs of its vdev, which are asked for much the same. No limit in
 * milliseconds would do for all disks.
 *
 * For each leg and kind of request there is a histogram of a window of time. A window ends when it
 * has lasted KVP_SLOW_WINDOW and has KVP_SLOW_SAMPLES requests. Then its 99th percentile is
 * compared with that of the best other leg, and the next window begins with nothing. So old times
 * do not count, an idle leg keeps its verdict, and one bad moment, as when an SSD collects its
 * garbage, spoils one window.
 *
 * A leg is slow after KVP_SLOW_BAD bad windows in a row. It is well again after some fair ones in a
 * row: a window that is neither leaves a slow leg slow. A leg that becomes slow again within a day
 * must be fair for twice as many windows, up to KVP_SLOW_FLAPS times. So a leg that comes and goes
 * does not do so all day long.
 *
 * These make no verdict:
 *  - few requests, or none to compare with in the same time;
 *  - more than twice as many requests as the other leg has: the leg is busy. In a parity1 the
 *    address decides which leg is read, and a hot spot keeps one leg busy;
 *  - times below a floor. Nothing is gained by reading from another leg.
 *
 * Disks that seek beside SSDs are slower for a reason. So there are two verdicts: beside any leg,
 * which decides the order of reads, and beside a leg that may be expected to be no faster. People
 * are told of the latter.
 *
 * Pure: no lock, no clock, no memory.
 */
#ifndef KVP_SLOW_POLICY_H
#define KVP_SLOW_POLICY_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define KVP_SLOW_BUCKETS	46u
#define KVP_SLOW_SHORTEST	14	/* bucket 0: below 16 us */
#define KVP_SLOW_SAMPLES	256u
#define KVP_SLOW_WINDOW		(10 * 1000000000ull)	/* ns */
#define KVP_SLOW_BAD		3u
#define KVP_SLOW_FAIR		2u
#define KVP_SLOW_FLAPS		5u
#define KVP_SLOW_SHORT		16u	/* blocks: a longer read is a long one */
#define KVP_SLOW_IDLE		32u	/* an SSD with fewer requests in flight is not busy */

/* Longer writes are not counted. */
enum kvp_slow_kind {
	KVP_SLOW_READ,
	KVP_SLOW_LONG,		/* long reads, in ns for each KVP_SLOW_SHORT blocks */
	KVP_SLOW_WRITE,
	KVP_SLOW_FLUSH,
	KVP_SLOW_KINDS,
};

enum kvp_slow_beside { KVP_SLOW_ANY, KVP_SLOW_ALIKE, KVP_SLOW_BESIDES };

/**
 * struct kvp_slow_verdict - of one leg, for one kind of requests
 * @slow: it is slow
 * @bad, @fair: windows in a row
 * @flaps: how often it became slow within a day of being well again
 * @well: when it was well again, ns; 0: it never was slow
 * @others: 99th percentile of the leg that it was compared with last, ns; 0: none yet
 */
struct kvp_slow_verdict {
	bool slow;
	u8 bad, fair, flaps;
	u64 well, others;
};

/**
 * struct kvp_slow_times - of one leg, for one kind of requests. Zeros to begin with.
 * @began: when the present window began, ns; 0: it has not
 * @before: when the last complete window began
 * @ended: when that one ended; 0: there is none
 * @requests: how many that one had, those that were not timed included
 * @p99: upper bound of its 99th percentile, ns; @least: lower bound
 */
struct kvp_slow_times {
	u64 began, before, ended, p99, least, requests;
	struct kvp_slow_verdict verdict[KVP_SLOW_BESIDES];
};

/**
 * struct kvp_slow_leg - what is known of one leg. Zeros to begin with.
 * @counts: it is in use: others may be compared with it
 * @seeks: it is a rotating disk
 */
struct kvp_slow_leg {
	bool counts, seeks;
	struct kvp_slow_times times[KVP_SLOW_KINDS];
};

/** kvp_slow_bucket() - the bucket that @ns belongs to: half a power of two wide */
static inline u32 kvp_slow_bucket(u64 ns)
{
	u32 power;

	if (ns < 1ull << KVP_SLOW_SHORTEST)
		return 0;
	power = (u32)fls64(ns) - 1;
	return min_t(u32, 1 + (power - KVP_SLOW_SHORTEST) * 2 + (ns >> (power - 1)) % 2,
		     KVP_SLOW_BUCKETS - 1);
}

/**
 * kvp_slow_bound() - the bound, in ns, that all in @bucket are below
 *
 * The last one, from a minute on, has longer ones as well.
 */
u64 kvp_slow_bound(u32 bucket);

/**
 * kvp_slow_window_ends() - true if the window has lasted long enough, and has requests enough
 * @samples: how many requests were timed
 * @now: ns, of a clock that never goes back
 */
bool kvp_slow_window_ends(const struct kvp_slow_times *t, u32 samples, u64 now);

/**
 * kvp_slow_end_window() - the window ends with these requests in each bucket; the next begins
 * @of: one request in so many was timed
 */
void kvp_slow_end_window(struct kvp_slow_times *t, const u32 count[KVP_SLOW_BUCKETS], u32 of,
			 u64 now);

/**
 * kvp_slow_judge() - compare the window of leg @me that has just ended with those of other legs
 * @legs: the @nr legs of a vdev
 * @factor: so many times the time of the best other leg is slow; at least 2
 *
 * Return: true if a verdict has changed.
 */
bool kvp_slow_judge(struct kvp_slow_leg *legs, u32 nr, u32 me, enum kvp_slow_kind kind,
		    u32 factor, u64 now);

/** kvp_slow_forget() - begin anew: the leg was out of use, or nothing is to be judged */
void kvp_slow_forget(struct kvp_slow_leg *leg);

/** kvp_slow_reads_last() - true if the leg should be read last */
bool kvp_slow_reads_last(const struct kvp_slow_leg *leg);

/**
 * kvp_slow_leaves_to_others() - true if blocks of a slow leg are better made from the other legs
 * @own: requests that the slow leg has in flight
 * @busiest: the same, of the busiest other leg
 * @seeks: one of the others is a rotating disk
 * @factor: so many times the time of the others is slow
 *
 * One read of a slow leg becomes one of each other leg. That takes as long as their queue. A slow
 * leg takes @factor times as long for a request, or longer. So a queue of @factor requests of
 * another leg lasts about as long as one request of the slow leg. Beyond that the slow leg takes
 * its share, and the others are no busier for it. An SSD serves some requests at once.
 */
bool kvp_slow_leaves_to_others(u32 own, u32 busiest, bool seeks, u32 factor);

/** kvp_slow_by() - the first kind for which people should hear of the leg, or KVP_SLOW_KINDS */
enum kvp_slow_kind kvp_slow_by(const struct kvp_slow_leg *leg);

#endif /* KVP_SLOW_POLICY_H */
