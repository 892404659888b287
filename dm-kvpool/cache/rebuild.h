/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rebuild: clean blocks on the SSD cache are known again after a restart.
 *
 * Behind each segment of a cache lies a summary (format/summary.h). It names the blocks of the pool
 * that the segment holds and that were home when the summary was written. A worker writes it when
 * the log has left the segment. It writes it once more when all blocks of the segment are home. A
 * stop writes the summaries that are left. Each SSD has a summary of its own. In a cache of kind
 * parity1 a segment is on all SSDs, and two of them have its summary. After a start another worker
 * reads the summaries, newest first. Their blocks enter the index as *old*. The pool serves
 * requests meanwhile.
 *
 * Two things may have happened to a block since. Each has an exact test, as sums are not exact:
 *
 *   - Its contents have changed. Then its entry in the table was born in the summary's era or a
 *     later one (kvp_scache_era()). That era was chosen so that every later change has at least
 *     it, also a change by a later recovery. Readers test this, since they have the entry at hand.
 *     So a restart reads no page of the table for it.
 *   - Its place was overwritten. Then the log, or the ring, has been there since. So the summary's
 *     lsn is not the last one of this segment before their present place.
 *
 * No request waits for any of this, and no promise depends on it. If a summary is not written or
 * cannot be read, the cache loses its blocks; they still lie at home.
 */
#ifndef KVP_REBUILD_H
#define KVP_REBUILD_H

#include <linux/ktime.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "format/format.h"

struct kvp_cache_log;
struct kvp_index_entry;
struct kvp_rebuild_batch;
struct kvp_scache;
struct kvp_scache_given;
struct page;

/* summaries that are read together, while the blocks of as many others enter the index */
#define KVP_REBUILD_READS	4u

/**
 * struct kvp_rebuild - reading and writing summaries of an SSD cache; it knows no pool
 * @scache, @given: the cache, and what it was given
 * @restore_work: reads summaries after a start
 * @seal_work: writes summaries
 * @in, @in_pages: twice KVP_REBUILD_READS summaries that are being read, and their pages; by
 *	@restore_work
 * @batches: the two halves of @in
 * @out, @out_pages: the summary that is being written, and its pages; by @seal_work, or by the code
 *	that has stopped it
 * @live: the known blocks of its segment; locked as @out. NULL: summaries are never read, nor
 *	written
 * @next: lsn behind the segment that is restored next; by @restore_work
 * @most: no summary that was written before the start names an era above this
 * @left, @home: the next segment to summarise because the log has left it, and because all its
 *	blocks are home; locked as @out
 * @all_home: all blocks below this lsn were home at the last checkpoint
 * @era: of the newest checkpoint that is durable
 * @ring: the log is elsewhere, or about to move here
 * @stopped: no summary may be read or written
 * @restoring: not all summaries were read yet
 * @restored, @summaries: blocks that are known again, and segments that they are in; for statistics
 * @ms: how long the rebuild took, from the start on; 0 until it has ended
 */
struct kvp_rebuild {
	struct kvp_scache *scache;
	const struct kvp_scache_given *given;
	struct work_struct restore_work;
	struct delayed_work seal_work;
	struct kvp_disk_summary *in, *out;
	struct kvp_rebuild_batch *batches;
	struct page *in_pages[2 * KVP_REBUILD_READS * KVP_SUMMARY_BLOCKS],
		    *out_pages[KVP_SUMMARY_BLOCKS];
	struct kvp_index_entry *live;
	kvp_lsn_t next, left, home, all_home;
	u32 era, most;
	bool ring, stopped, restoring;
	u64 restored, summaries, ms;
	ktime_t since;
};

/**
 * kvp_rebuild_start() - begin to read summaries of @s, and to write them, if it is in use
 *
 * Return: 0, or -ENOMEM: the pool runs without summaries. Context: process, may sleep.
 */
int __must_check kvp_rebuild_start(struct kvp_rebuild *w, struct kvp_scache *s);

/**
 * kvp_rebuild_exit() - stop, and free the memory
 *
 * Call it after the last other user of the pool is gone, before kvp_scache_exit(). May sleep.
 */
void kvp_rebuild_exit(struct kvp_rebuild *w);

/**
 * kvp_rebuild_stop() - read and write nothing more, and wait for running work; kvp_rebuild_unstop()
 * goes on
 *
 * Context: process, may sleep.
 */
void kvp_rebuild_stop(struct kvp_rebuild *w);
void kvp_rebuild_unstop(struct kvp_rebuild *w);

/**
 * kvp_rebuild_write_rest() - write the summaries that are left, also of the log's present segment
 *
 * Call it after kvp_rebuild_stop(), when nothing is in flight, and nothing changes. Return: true if
 * the cache is in use, and a ring. Context: process, waits for I/O.
 */
bool kvp_rebuild_write_rest(struct kvp_rebuild *w);

/**
 * kvp_rebuild_kick() - the log has gone on: queue the worker if a summary can be written
 * @log: where the log is now
 *
 * Context: any.
 */
void kvp_rebuild_kick(struct kvp_rebuild *w, const struct kvp_cache_log *log);

/**
 * kvp_rebuild_checkpointed() - a checkpoint is durable
 * @era: its era
 * @passed: where the log on the cache, or the ring, stood before the checkpoint took its snapshot
 * @home: all before it in the log is home; 0: the checkpoint has not moved the tail
 * @log: where the log is now
 *
 * Context: process; one checkpoint at a time.
 */
void kvp_rebuild_checkpointed(struct kvp_rebuild *w, u32 era, kvp_lsn_t passed, kvp_lsn_t home,
			      const struct kvp_cache_log *log);

/**
 * kvp_rebuild_unsealed() - number of summaries that should be written and are not yet
 *
 * Context: as a reader of stats.
 */
u64 kvp_rebuild_unsealed(const struct kvp_rebuild *w);

/** struct kvp_rebuild_figures - for status: blocks that are known again, and how long that took */
struct kvp_rebuild_figures {
	u64 restored, ms;
};

/** kvp_rebuild_figures() - fill in @f. Context: any; takes no lock. */
static inline void kvp_rebuild_figures(const struct kvp_rebuild *w, struct kvp_rebuild_figures *f)
{
	f->restored = READ_ONCE(w->restored);
	f->ms = READ_ONCE(w->ms);
}

/** kvp_rebuild_bytes() - bytes of memory for summaries. Context: as a reader of stats. */
u64 kvp_rebuild_bytes(const struct kvp_rebuild *w);

/**
 * kvp_rebuild_jumped() - the log has moved to the cache (@here), where it goes on at @lsn; or off
 * the cache
 *
 * Caller holds log->build_lock.
 */
void kvp_rebuild_jumped(struct kvp_rebuild *w, bool here, kvp_lsn_t lsn);

#endif /* KVP_REBUILD_H */
