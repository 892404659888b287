/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks that are read from home enter the SSD cache, if they are worth it.
 *
 * A read that neither RAM nor SSD could answer, and that was verified, leaves a copy of a block
 * here. A worker appends some of them to the log as clean records, while no FLUSH waits for the log
 * and the log has room. When the entry is durable they are in the index. ssdpolicy.h decides which
 * blocks are worth it. No request waits for any of this: a read that finds no page, no room or
 * another user in the way drops its copy.
 *
 * The rule is that of scache.h: if a block is in the index and not in the buffer, then its place
 * holds the version that the table names. For a block that was read before its entry was even
 * built, a look at the table is not enough: other contents may have the same sum, and may be made
 * to. So changes are counted by regions of neighbours (kvp_admit_changed(), called where the
 * table's entries change). A block that was read enters only if no change was counted in its region
 * since before the read. That is tested under the lock of the index under which a change takes the
 * block out.
 *
 * The place cannot belong to another block by then: a block enters before its entry goes to
 * destage, so the tail has not passed it, and the log does not go there before.
 */
#ifndef KVP_ADMISSION_H
#define KVP_ADMISSION_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/core.h"
#include "io/io.h"
#include "policy/runs.h"
#include "policy/ssdpolicy.h"
#include "kvpool_format.h"

struct kvp_version;
struct kvp_entry_io;
struct kvp_pool;
struct page;

#define KVP_ADMIT_BLOCKS		128u	/* at a time; 512 KiB of pages */
/* blocks of an entry, 128 KiB with its header: a FLUSH may have to wait for it */
#define KVP_ADMIT_ENTRY		31u
/* so long fewer blocks wait for others: a header for each would double their cost for the SSD */
#define KVP_ADMIT_GATHER_MS	100u
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
	kvp_block_t first;
	u32 count, token;
	u8 ask;
};

/**
 * struct kvp_candidate - a block that may enter
 * @list: free ones, waiting ones, or those of the entry in flight; by kvp_admission.lock
 * @added: of kvp_admission.added
 * @block: ~0: none
 * @crc: sum of the page
 * @changes: counted in its region before it was read
 * @from: its old place on the SSD, if it is written there again (reinsert.h); or KVP_FROM_HOME
 * @meta: it is metadata
 * @written: it was written, and has just come home: the policy does not count it as a fill
 * @page: allocated at its first use, and kept
 */
struct kvp_candidate {
	struct list_head list;
	struct llist_node added;
	kvp_block_t block;
	u32 crc, changes, from;
	bool meta, written;
	struct page *page;
};

/**
 * struct kvp_admission - fills of a pool
 * @lock: irqsave; for all down to @count, but @runs
 * @free, @waiting, @sent: candidates; the last are in the entry in flight, in its order
 * @runs: finds out which reads are parts of long streams; it has locks of its own
 * @count: of the index
 * @added: candidates that wait behind @waiting, the newest first; added without the lock
 * @nr_waiting: how many wait, in both lists; never less than in the lists
 * @counted: the second of that count; by @work
 * @candidates: KVP_ADMIT_BLOCKS of them; NULL: nothing is ever filled
 * @changes: counted, by region
 * @gather: jiffies, KVP_ADMIT_GATHER_MS; 0 in simulated races
 * @busy: an entry is in flight, or a write to the ring; set under log->build_lock
 * @stopped: nothing is appended, and no candidate taken
 */
struct kvp_admission {
	struct kvp_pool *pool;
	spinlock_t lock;
	struct list_head free, waiting, sent;
	struct kvp_ssd_policy policy;
	struct kvp_runs runs;
	struct kvp_index_count count;
	struct llist_head added;
	atomic_t nr_waiting;
	u64 counted;
	struct kvp_candidate *candidates;
	atomic_t *changes;
	bool busy, stopped;
	unsigned long gather;
	struct delayed_work work;
	/* For the ring of a cache that does not carry the log. */
	struct work_struct ring_work;
	atomic_t ring_pending;
	kvp_lsn_t ring_lsn;
	u32 ring_nr, ring_again;
	struct page *ring_pages[KVP_ADMIT_ENTRY];
	struct kvp_io ring_ios[KVP_MAX_MIRROR_LEGS];
};

/**
 * kvp_admit_start() - begin to fill, if the index is in use (kvp_scache_start())
 *
 * Return: 0, or -ENOMEM: the pool runs without fills. Context: process, may sleep.
 */
int __must_check kvp_admit_start(struct kvp_pool *pool);

/**
 * kvp_admit_exit() - call it after the last other user of the pool is gone, before
 * kvp_scache_exit(). May sleep.
 */
void kvp_admit_exit(struct kvp_pool *pool);

/**
 * kvp_admit_stop() - append nothing more, and wait until what is in flight has ended. May sleep.
 */
void kvp_admit_stop(struct kvp_pool *pool);
void kvp_admit_unstop(struct kvp_pool *pool);

/**
 * kvp_admit_changed() - entries of @count blocks from @block on in the table have changed
 *
 * Call it before a block is taken out of the index, and before the version that the entry names
 * leaves the buffer. Context: any.
 */
void kvp_admit_changed(struct kvp_pool *pool, kvp_block_t block, u32 count);

/** kvp_admit_in_use() - true once blocks can be admitted to an SSD. Any context. */
static inline bool kvp_admit_in_use(const struct kvp_admission *f)
{
	/* All other fields were set before. */
	return smp_load_acquire(&f->candidates);
}

/** kvp_admit_consider() - kvp_admit_plan() if kvp_admit_in_use() */
bool kvp_admit_consider(struct kvp_pool *pool, kvp_block_t first, u32 count, u32 ask,
			struct kvp_admit_plan *plan);

/**
 * kvp_admit_plan() - @count blocks at @first will be read from home now
 * @ask: KVP_ASK_*
 * @plan: filled in
 *
 * Call it before reading them, and their entries. Return: true if some of them may fill. Context:
 * any.
 */
static inline bool kvp_admit_plan(struct kvp_pool *pool, kvp_block_t first, u32 count, u32 ask,
				  struct kvp_admit_plan *plan)
{
	return kvp_admit_in_use(pool->admission) &&
	       kvp_admit_consider(pool, first, count, ask, plan);
}

/**
 * kvp_admit_begin() - block @block of the read has come: take a candidate for it
 *
 * Call it after reading the entry to verify it against. The caller copies the block to c->page,
 * verifies it there (R23), and calls kvp_admit_add(), or kvp_admit_drop(). Return: NULL: it must
 * not enter. Context: any.
 */
struct kvp_candidate *kvp_admit_begin(struct kvp_pool *pool, kvp_block_t block,
				     const struct kvp_admit_plan *plan);

/** kvp_admit_keep() - kvp_ssd_reinsert(), by the policy of fills. Context: process. */
u32 kvp_admit_keep(struct kvp_pool *pool, const struct kvp_index_entry *e, u32 n, bool *keep);

/**
 * kvp_admit_begin_again() - take a candidate for block @e->key, which lies on the SSD, to write it
 * there again
 *
 * Call it before reading its entry in the table, and its place. It does not count in the budget of
 * fills. Return: as kvp_admit_begin(); NULL: none is free. Context: process.
 */
struct kvp_candidate *kvp_admit_begin_again(struct kvp_pool *pool, const struct kvp_index_entry *e);

/** kvp_admit_add() - c->page holds the block, verified, with sum @crc. Context: any. */
void kvp_admit_add(struct kvp_pool *pool, struct kvp_candidate *c, u32 crc);

/** kvp_admit_drop() - c->page does not verify: free the candidate. Context: any. */
void kvp_admit_drop(struct kvp_pool *pool, struct kvp_candidate *c);

/** kvp_admit_waiting() - true if candidates wait to be appended. Any context. */
static inline bool kvp_admit_waiting(const struct kvp_admission *f)
{
	return atomic_read(&f->nr_waiting);
}

/** kvp_admit_busy() - true if blocks are being written to a cache, by fills. Any context. */
static inline bool kvp_admit_busy(const struct kvp_admission *f)
{
	return READ_ONCE(f->busy);
}

/**
 * kvp_admit_kick() - append waiting candidates: at once if they fill an entry, else soon. Context:
 * any.
 */
void kvp_admit_kick(struct kvp_pool *pool);

/**
 * kvp_admit_durable() - @e, an entry of clean blocks, is durable: they enter. Call it before the
 * tail can pass it; process.
 */
void kvp_admit_durable(struct kvp_pool *pool, const struct kvp_entry_io *e);

/**
 * kvp_admit_written() - @d has come home, and is in the table: in the mode writethrough it enters
 * the ring
 *
 * Called under its range lock; it still has its page. Context: process.
 */
void kvp_admit_written(struct kvp_pool *pool, const struct kvp_version *d);

/** kvp_admit_failed() - no SSD took the entry. Context: process. */
void kvp_admit_failed(struct kvp_pool *pool);

/**
 * kvp_admit_bytes() - memory of fills: the ghost, which grows with the cache, and pages
 *
 * Context: as a reader of stats.
 */
u64 kvp_admit_bytes(const struct kvp_pool *pool);

/**
 * kvp_admit_check() - for tests: NULL, or an error text. The caller is the only user, and no entry
 * is in flight.
 */
const char *kvp_admit_check(struct kvp_pool *pool);

#endif /* KVP_ADMISSION_H */
