/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is read from home enters the SSD cache, if it is worth it.
 *
 * A read that neither RAM nor SSD could answer, and that was verified, leaves a copy of a
 * block here; a worker appends some of them to the log as clean records, while no FLUSH waits
 * for the log and it has room; and when the entry is durable they are in the index. What
 * is worth it, ssdpolicy.h decides. Nothing ever waits for any of this: a read that finds
 * no page, no room or another user in the way drops its copy.
 *
 * The rule is that of scache.h: if a block is in the index and not in the buffer, then
 * what lies at its place is the version that the table names. For what was read before its
 * entry was even built, that needs more than a look at the table: other contents may have
 * the same sum, and may be made to. So changes are counted by regions of neighbours
 * (kvp_admit_changed(), called where the table's entries change), and a block that was read
 * enters only if none was counted in its region since before it was read. That is looked
 * up under the lock of the index under which a change takes the block out.
 *
 * The place cannot be another block's by then: a block enters before its entry is handed
 * to destage, so the tail has not passed it, and the log does not go there before.
 */
#ifndef KVP_ADMISSION_H
#define KVP_ADMISSION_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "io/io.h"
#include "policy/runs.h"
#include "policy/ssdpolicy.h"
#include "kvpool_format.h"

struct kvp_version;
struct kvp_entry_io;
struct kvp_pool;
struct page;

#define KVP_ADMIT_BLOCKS		128u	/* on their way: 512 KiB of pages */
#define KVP_ADMIT_ENTRY		31u	/* blocks of an entry, 128 KiB with its header: a FLUSH may have to wait for one */
#define KVP_ADMIT_GATHER_MS	100u	/* that fewer wait for others: a header for each would double what they cost the SSD */
#define KVP_FROM_HOME		(~0u)
#define KVP_ADMIT_REGION_SHIFT	4
#define KVP_ADMIT_COUNT_BITS	14

/**
 * struct kvp_admit_plan - a read of some blocks, that may fill
 * @first, @count: its blocks
 * @token: changes that were counted before it
 * @ask: KVP_ASK_*
 */
struct kvp_admit_plan {
	u64 first;
	u32 count, token;
	u8 ask;
};

/**
 * struct kvp_candidate - a block on its way
 * @list: of those that are free, wait, or are in the entry in flight; by kvp_admission.lock
 * @block: ~0: none
 * @crc: of what is in the page
 * @changes: counted in its region before it was read
 * @from: where it was read from on the SSD, to be written there again (reinsert.h); KVP_FROM_HOME
 * @meta: it is metadata
 * @written: it is what was written, and has just come home: no fill that the policy counts
 * @page: allocated when it is first needed, and kept
 */
struct kvp_candidate {
	struct list_head list;
	u64 block;
	u32 crc, changes, from;
	bool meta, written;
	struct page *page;
};

/**
 * struct kvp_admission - fills of a pool
 * @lock: irqsave; for all down to @count
 * @free, @waiting, @sent: candidates; the last are in the entry in flight, in its order
 * @runs: which reads are parts of long streams
 * @nr_waiting: how many wait
 * @count: of the index
 * @counted: second of which that is; by @work
 * @candidates: KVP_ADMIT_BLOCKS of them; NULL: nothing is ever filled
 * @changes: counted, by region
 * @gather: jiffies, KVP_ADMIT_GATHER_MS; 0 in simulated races
 * @busy: an entry is in flight, or what goes into the ring; set under log->build_lock
 * @stopped: nothing is appended, and nothing taken
 */
struct kvp_admission {
	struct kvp_pool *pool;
	spinlock_t lock;
	struct list_head free, waiting, sent;
	u32 nr_waiting;
	struct kvp_ssd_policy policy;
	struct kvp_runs runs;
	struct kvp_index_count count;
	u64 counted;
	struct kvp_candidate *candidates;
	atomic_t *changes;
	bool busy, stopped;
	unsigned long gather;
	struct delayed_work work;
	/* Into the ring of a cache that does not carry the log. */
	struct work_struct ring_work;
	atomic_t ring_pending;
	u64 ring_lsn;
	u32 ring_nr, ring_again;
	struct page *ring_pages[KVP_ADMIT_ENTRY];
	struct kvp_io ring_ios[KVP_MAX_MIRROR_LEGS];
};

/**
 * kvp_admit_start() - begin to fill, if what is in the log is noted (kvp_scache_start())
 *
 * Return: 0, or -ENOMEM: the pool does without. Context: process, may sleep.
 */
int __must_check kvp_admit_start(struct kvp_pool *pool);

/** kvp_admit_exit() - after the last other user of the pool is gone; before kvp_scache_exit(). May sleep. */
void kvp_admit_exit(struct kvp_pool *pool);

/** kvp_admit_stop() - append nothing more, and wait until what is in flight has ended. May sleep. */
void kvp_admit_stop(struct kvp_pool *pool);
void kvp_admit_unstop(struct kvp_pool *pool);

/**
 * kvp_admit_changed() - the entry of @block in the table has changed
 *
 * Before it is taken out of the index, and before the version that the entry names leaves
 * the buffer. Context: any.
 */
void kvp_admit_changed(struct kvp_pool *pool, u64 block);

/**
 * kvp_admit_plan() - @count blocks at @first are about to be read from home
 * @ask: KVP_ASK_*
 * @plan: filled in
 *
 * Before anything of them is read, also their entries.
 * Return: may some of them fill? Context: any.
 */
bool kvp_admit_plan(struct kvp_pool *pool, u64 first, u32 count, u32 ask,
		   struct kvp_admit_plan *plan);

/**
 * kvp_admit_begin() - block @block of the read has come: is it to enter?
 *
 * After its entry was read with which it is going to be verified. The caller copies it to
 * c->page, verifies it there (R23), and calls kvp_admit_add(), or kvp_admit_drop().
 * Return: NULL: no. Context: any.
 */
struct kvp_candidate *kvp_admit_begin(struct kvp_pool *pool, u64 block,
				     const struct kvp_admit_plan *plan);

/** kvp_admit_keep() - kvp_ssd_reinsert(), by the policy of fills. Context: process. */
u32 kvp_admit_keep(struct kvp_pool *pool, const struct kvp_index_entry *e, u32 n, bool *keep);

/**
 * kvp_admit_begin_again() - block @e->key, which lies on the SSD, is to be written there again
 *
 * Before its entry in the table is read, and before the place is looked at. Not in the budget of fills.
 * Return: as kvp_admit_begin(); NULL: none is free. Context: process.
 */
struct kvp_candidate *kvp_admit_begin_again(struct kvp_pool *pool, const struct kvp_index_entry *e);

/** kvp_admit_add() - c->page holds the block, verified, with sum @crc. Context: any. */
void kvp_admit_add(struct kvp_pool *pool, struct kvp_candidate *c, u32 crc);

/** kvp_admit_drop() - it does not verify. Context: any. */
void kvp_admit_drop(struct kvp_pool *pool, struct kvp_candidate *c);

/** kvp_admit_waiting() - does something wait to be appended? Any context. */
static inline bool kvp_admit_waiting(const struct kvp_admission *f)
{
	return READ_ONCE(f->nr_waiting);
}

/** kvp_admit_busy() - is something on its way to a cache past the log? Any context. */
static inline bool kvp_admit_busy(const struct kvp_admission *f)
{
	return READ_ONCE(f->busy);
}

/** kvp_admit_kick() - append what waits, if something does: at once if it is an entry full, else soon. Context: any. */
void kvp_admit_kick(struct kvp_pool *pool);

/** kvp_admit_durable() - @e, an entry of clean blocks, is: they enter. Before the tail can pass it; process. */
void kvp_admit_durable(struct kvp_pool *pool, const struct kvp_entry_io *e);

/**
 * kvp_admit_written() - @d has come home, and is in the table: in the mode writethrough it enters the ring
 *
 * Under its range lock; it still has its page. Context: process.
 */
void kvp_admit_written(struct kvp_pool *pool, const struct kvp_version *d);

/** kvp_admit_failed() - no SSD took the entry. Context: process. */
void kvp_admit_failed(struct kvp_pool *pool);

/**
 * kvp_admit_bytes() - memory that it takes: the ghost, which grows with the cache, and pages
 *
 * Context: as a reader of stats.
 */
u64 kvp_admit_bytes(const struct kvp_pool *pool);

/** kvp_admit_check() - for tests: NULL, or what is wrong. The caller is the only user, and no entry is in flight. */
const char *kvp_admit_check(struct kvp_pool *pool);

#endif /* KVP_ADMISSION_H */
