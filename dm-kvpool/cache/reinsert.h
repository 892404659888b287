/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reinsertion: before the log of an SSD cache comes round to a segment, blocks there that are worth
 * it are written again. The same holds for the ring of a cache that does not carry the log.
 *
 *  1. kvp_reinsert_kick() wakes a worker when the head comes near.
 *  2. next_segment() looks at the next segment ahead of the head. ssdpolicy.h says which blocks
 *     should stay.
 *  3. reinsert() reads each of them from the SSD and verifies it against the table.
 *  4. Like an admitted block, it becomes a clean record when no request waits for the log and the
 *     log has room (admission.h). When that record is durable, the index gets the new place, if the
 *     block has not changed since before it was read.
 *
 * No request waits for any of this, and no space is reserved for it. If a block is not written
 * again before the log gets there, the cache loses it; it still lies at home.
 */
#ifndef KVP_REINSERT_H
#define KVP_REINSERT_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct kvp_admission;
struct kvp_cache_log;
struct kvp_index_entry;
struct kvp_scache;
struct kvp_scache_given;

/**
 * struct kvp_reinsert - reinsertion into an SSD cache; it knows no pool. All fields by @work
 * @scache, @given: the cache, and what it was given
 * @admission: the way into it
 * @e: known blocks of the segment that was looked at last; NULL: nothing is ever written again
 * @keep: for each block in @e, whether it should stay
 * @nr, @at: number of blocks in @e; the next one to look at
 * @walked: place in the log behind that segment
 */
struct kvp_reinsert {
	struct kvp_scache *scache;
	const struct kvp_scache_given *given;
	struct kvp_admission *admission;
	struct work_struct work;
	struct kvp_index_entry *e;
	bool *keep;
	u32 nr, at;
	kvp_lsn_t walked;
};

/**
 * kvp_reinsert_start() - begin reinsertion into @s, if @f, its admission, is in use
 *
 * Return: 0, or -ENOMEM: nothing is written again. Context: process, may sleep.
 */
int __must_check kvp_reinsert_start(struct kvp_reinsert *r, struct kvp_scache *s,
				    struct kvp_admission *f);

/**
 * kvp_reinsert_exit() - stop, and free the memory. Call it after the last other user of the pool is
 * gone. May sleep.
 */
void kvp_reinsert_exit(struct kvp_reinsert *r);

/**
 * kvp_reinsert_stop() - cancel the worker, and wait for it. Call it when admission is stopped: then
 * the worker takes no more candidates. May sleep.
 */
void kvp_reinsert_stop(struct kvp_reinsert *r);

/**
 * kvp_reinsert_kick() - the log has gone on: queue the worker if it is time to look ahead
 * @log: where the log is now
 *
 * Context: any.
 */
void kvp_reinsert_kick(struct kvp_reinsert *r, const struct kvp_cache_log *log);

#endif /* KVP_REINSERT_H */
