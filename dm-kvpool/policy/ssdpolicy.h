/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy of an SSD cache: which blocks enter it, which stay, and how fast dirty ones go home.
 *
 * The cache is a log: segments are written in order, and the oldest is reclaimed for the
 * next. Small writes of the host go into the log in any case. The policy decides
 *
 *   which large requests bypass it			kvp_ssd_bypass(), kvp_ssd_cutoff_write()
 *   which blocks that were read from home enter		kvp_ssd_admit()
 *   which live blocks of the oldest segment are copied	kvp_ssd_reinsert()
 *   and how fast dirty blocks go home			kvp_ssd_destage()
 *
 * Admission. Each admitted block wears the SSD, and most blocks that are read once are never
 * read again. While the cache still has room, each block enters. After that a block has to be
 * missed two or three times while the ghost (ghost.h) remembers it. The number is chosen so
 * that half of the blocks that enter are hit (kvp_ssd_reinsert()). Metadata enters at once, up
 * to a tenth of the cache. A block that is only read ahead does not count as missed. All
 * admitted blocks together must not exceed the budget, @fill_percent of the cache a day. Host
 * writes and reinsertion have no such limit.
 *
 * Reinsertion is the second chance of CLOCK. Blocks that reads have hit since they were written
 * are written again, most hits first, up to a quarter of a segment. An overwrite is no hit.
 *
 * Memory: that of the ghost, less than a byte for each block of the cache.
 *
 * Pure: no I/O, no lock. Clock and random numbers come from the caller. Calls for one cache must
 * be made one at a time, except calls that take a const policy.
 */
#ifndef KVP_SSDPOLICY_H
#define KVP_SSDPOLICY_H

#include <linux/types.h>

#include "policy/ghost.h"
#include "policy/index.h"

#define KVP_SSD_MAX_FILL	10000	/* percent of the cache a day */

/* Of a request. */
#define KVP_ASK_META	0x1u	/* REQ_META or REQ_PRIO */
#define KVP_ASK_AHEAD	0x2u	/* REQ_RAHEAD or REQ_BACKGROUND: no caller waits for it */
#define KVP_ASK_SYNC	0x4u	/* REQ_FUA or REQ_SYNC: a caller waits for it */

/** enum kvp_ssd_verdict - may a block enter, or why not; for statistics, too */
enum kvp_ssd_verdict {
	KVP_SSD_ADMIT,
	KVP_SSD_UNPROVEN,	/* seen too seldom */
	KVP_SSD_AHEAD,		/* only read ahead */
	KVP_SSD_BUDGET,		/* it would, but enough has been written */
};

/**
 * struct kvp_ssd_policy - of one cache
 * @capacity: its places
 * @segment: places of a segment
 * @fill_percent: of @capacity that fills may write a day; kvp_ssd_set_budget()
 * @credit: blocks that fills may write now, in 1 / CREDIT_UNIT (ssdpolicy.c), at most a day's
 * @credited: when @credit was last raised, seconds
 * @need: sightings that let a block in: 2 or 3
 * @left, @left_hit: clean blocks that were reclaimed since @need was judged; and hit ones
 * @ghost: which blocks that are not there were asked for lately
 */
struct kvp_ssd_policy {
	u32 capacity, segment, fill_percent;
	u64 credit, credited;
	u32 need, left, left_hit;
	struct kvp_ghost ghost;
};

/**
 * struct kvp_ssd_state - what the caller knows of the cache
 * @now: seconds, from a clock that never goes back
 * @unused: places of segments that are empty
 * @count: of the index; may be some seconds old
 */
struct kvp_ssd_state {
	u64 now;
	u32 unused;
	struct kvp_index_count count;
};

/**
 * kvp_ssd_init() - the policy of an empty cache
 * @capacity: places, at most KVP_INDEX_MAX_PLACES
 * @segment: places of a segment, not 0, and at most @capacity
 * @fill_percent: budget, of @capacity a day, at most KVP_SSD_MAX_FILL. It begins with that
 *	of one day, so that a new cache can be filled at once; in any 24 hours fills write
 *	at most twice as much.
 * @now: seconds
 * @seed: random
 * @gfp: GFP_KERNEL, or GFP_NOIO where I/O may wait for the caller
 *
 * Return: 0, -EINVAL or -ENOMEM. Context: may sleep.
 */
int __must_check kvp_ssd_init(struct kvp_ssd_policy *p, u32 capacity, u32 segment, u32 fill_percent,
			      u64 now, u64 seed, gfp_t gfp);

/** kvp_ssd_exit() - free its memory. May sleep. */
void kvp_ssd_exit(struct kvp_ssd_policy *p);

/**
 * kvp_ssd_bypass() - true if this request does not go through the cache
 * @ask: KVP_ASK_*
 * @blocks: of the request
 * @run: of the stream that it belongs to, kvp_run_note()
 * @cutoff: for reads or for writes, blocks
 *
 * Metadata never bypasses the cache. Nor do small writes that a caller waits for: the log of a
 * database is a stream of such writes, and would be slow at home.
 * Context: any.
 */
bool kvp_ssd_bypass(u32 ask, bool write, u32 blocks, u32 run, u32 cutoff);

/**
 * kvp_ssd_may_bypass() - true if such a request bypasses the cache once its stream is long enough
 *
 * If not, the caller need not look for the stream. Context: any.
 */
bool kvp_ssd_may_bypass(u32 ask, bool write, u32 blocks);

/**
 * kvp_ssd_cutoff_write() - how many blocks of a stream of writes enter the cache before the rest
 * bypasses it
 * @set: the tunable, in blocks; 0 if it is not set
 * @slow: true if writers are slowed down, kvp_throttle_slows()
 *
 * By default 4 MiB: a disk that seeks writes that with some twenty requests. But 256 KiB while
 * writers are slowed down: they go on as fast as blocks go home anyway, and large writes go home
 * with the least seeking. Context: any.
 */
u32 kvp_ssd_cutoff_write(u32 set, bool slow);

/**
 * kvp_ssd_least_run() - how many blocks of such a stream must lie together in the buffer to bypass
 * the cache
 * @set: as above
 * @wanted: true if a caller waits for them to be durable
 *
 * 64 KiB suffice: the record is small beside that. So a stream bypasses the cache even if other
 * writes come between its requests. If a caller waits, it takes 256 KiB: for less than that the SSD
 * is faster, as an intent is not durable before its block is home. Context: any.
 */
u32 kvp_ssd_least_run(u32 set, bool wanted);

/**
 * kvp_ssd_stream_passes() - true if a part of such a stream passes the blocks that the cache has
 * @blocks: its length
 * @cached: how many of them the cache has
 * @pieces: how many runs lie between those
 *
 * A stream that goes round them keeps them in the cache, but each piece is a request to a disk, and
 * a disk that seeks takes as long for it as for the whole part. So a part of many pieces passes
 * them. They leave the cache, and a dirty one becomes clean without a request of its own. If the
 * cache has half of the part, all of that fits there, and it stays. Context: any.
 */
bool kvp_ssd_stream_passes(u32 blocks, u32 cached, u32 pieces);

/**
 * kvp_ssd_admit() - block @key was not in the cache, and has been read from home
 *
 * If it may enter, a block of the budget is spent.
 * Context: any.
 */
enum kvp_ssd_verdict kvp_ssd_admit(struct kvp_ssd_policy *p, u64 key, u32 ask,
				   const struct kvp_ssd_state *st);

/**
 * kvp_ssd_set_budget() - change the part of the cache that admitted blocks may write a day
 * @fill_percent: at most KVP_SSD_MAX_FILL
 *
 * Credit beyond one day of the new budget is lost. So a lower budget holds at once, as in a new
 * cache: in any 24 hours at most twice as much is written. There are no debts, so a higher budget
 * helps at once, too. The time since credit was last added counts by the new budget. Context: any.
 */
void kvp_ssd_set_budget(struct kvp_ssd_policy *p, u32 fill_percent);

/**
 * kvp_ssd_refund() - a block that was admitted was not written after all: the budget has it back.
 * Any context.
 */
void kvp_ssd_refund(struct kvp_ssd_policy *p);

/**
 * kvp_ssd_reinsert() - which blocks of the oldest segment are to be written again
 * @e: those that are live, @n of them, at most a segment's
 * @keep: set for each
 *
 * A dirty block is always kept, whatever that costs: there is no other copy.
 *
 * Return: how many are kept.
 * Context: any.
 */
u32 kvp_ssd_reinsert(struct kvp_ssd_policy *p, const struct kvp_index_entry *e, u32 n,
		     const struct kvp_ssd_state *st, bool *keep);

/**
 * kvp_ssd_destage() - how many blocks a second should go home
 * @capacity: blocks that may be dirty
 * @floor: so many at least; 0: as many as drain a full cache in an hour
 * @dirty: blocks that are
 * @full: blocks a second that the data vdevs can take
 *
 * 0 if nothing is dirty; else at least @floor, and from a tenth of the cache on more, up to
 * @full when half of it is dirty. Both the start and the stop of destage ask this
 * function, so that they agree.
 * Context: any.
 */
u64 kvp_ssd_destage(u64 capacity, u64 floor, u64 dirty, u64 full);

/** kvp_ssd_check() - for tests: NULL, or what is wrong. Takes time for the ghost. */
const char *kvp_ssd_check(const struct kvp_ssd_policy *p);

#endif /* KVP_SSDPOLICY_H */
