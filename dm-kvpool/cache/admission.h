/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admission: blocks that are read from home enter the SSD cache, if they are worth it.
 *
 * ssdpolicy.h decides which blocks are worth it.
 *
 *  1. Before a read that neither RAM nor SSD can answer, kvp_admit_begin() takes a candidate for a
 *     block. The read drops it if it finds no page, no room, or another user in the way.
 *  2. After the read, kvp_admit_add() leaves a copy of the verified block here.
 *  3. A worker, fill_work(), appends some of these copies to the log as clean records. It does so
 *     while no FLUSH waits for the log and the log has room. If the log is not on the cache, the
 *     copies go into the ring.
 *  4. When that is durable, kvp_admit_durable() lets them enter the index.
 *
 * No request waits for any of this.
 *
 * The rule is that of scache.h: if a block is in the index and not in the buffer, then its place
 * holds the version that the table names. A block was read before its entry of the log was even
 * built. So a look at the table is not enough: other contents may have the same sum, and an
 * attacker may make some that do. So changes are counted, by stretches of neighbouring blocks:
 * kvp_admit_changed() is called where the table's entries change. A block that was read enters only
 * if no change was counted in its stretch since before the read. That is tested under the lock of
 * the index under which a change takes the block out.
 *
 * The place cannot belong to another block by then. A block enters before its entry goes to
 * destage. So the tail has not passed the entry, and the log does not overwrite it before.
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
struct kvp_log_hdr;
struct kvp_reinsert;
struct kvp_scache;
struct kvp_scache_given;
struct kvp_wbuf;
struct page;

#define KVP_ADMIT_BLOCKS		128u	/* candidates; 512 KiB of pages */
/* blocks of an entry, 128 KiB with its header: a FLUSH may have to wait for it */
#define KVP_ADMIT_ENTRY		31u
/* ms that fewer blocks wait for others: a header for each would double their cost for the SSD */
#define KVP_ADMIT_GATHER_MS	100u
#define KVP_FROM_HOME		(~0u)
#define KVP_ADMIT_STRETCH_SHIFT	4
#define KVP_ADMIT_COUNT_BITS	14

/**
 * struct kvp_admit_plan - a read of some blocks that may be admitted
 * @first, @count: its blocks
 * @token: sum of the counts of changes of their stretches, taken before the read
 * @ask: KVP_ASK_*
 */
struct kvp_admit_plan {
	kvp_block_t first;
	u32 count, token;
	u8 ask;
};

/**
 * struct kvp_candidate - a block that may enter
 * @list: of the free ones, the waiting ones, or those in flight; by kvp_admission.lock
 * @added: link of kvp_admission.added
 * @block: KVP_BLOCK_NONE: none
 * @crc: sum of the page
 * @changes: the count of its stretch before it was read
 * @from: its old place on the SSD, if it is reinserted (reinsert.h); or KVP_FROM_HOME
 * @meta: it is metadata
 * @written: it was written, and has just been written home: the policy does not count it
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
 * struct kvp_admission - admission to an SSD cache; it knows no pool
 * @scache, @given: the cache, and what it was given, with a client that appends to the log
 * @wbuf: the write buffer: a block with a newer version there does not enter
 * @reinsert: stops with admission
 * @lock: irqsave; protects all down to @count, but not @runs
 * @free, @waiting, @sent: candidates; @sent has those of the entry in flight, in its order
 * @runs: finds out which reads are parts of long streams; it has locks of its own
 * @count: how much the index holds; updated once a second
 * @added: candidates that wait behind @waiting, the newest first; added without the lock
 * @nr_waiting: how many candidates wait, in both lists; never less than the lists have
 * @counted: the second in which @count was updated; by @work
 * @candidates: KVP_ADMIT_BLOCKS of them; NULL: nothing is ever admitted
 * @changes: counts of changes, by stretch
 * @gather: jiffies, KVP_ADMIT_GATHER_MS; 0 in simulated races
 * @busy: an entry is in flight, or a write to the ring; set under log->build_lock
 * @stopped: nothing is appended, and no candidate taken
 */
struct kvp_admission {
	struct kvp_scache *scache;
	const struct kvp_scache_given *given;
	struct kvp_wbuf *wbuf;
	struct kvp_reinsert *reinsert;
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
 * kvp_admit_start() - begin to admit blocks to @s, if that is in use
 * @w: the write buffer above it
 * @r: kvp_admit_stop() and kvp_admit_exit() stop it, too
 *
 * Return: 0, or -ENOMEM: the pool runs without admission. Context: process, may sleep.
 */
int __must_check kvp_admit_start(struct kvp_admission *f, struct kvp_scache *s, struct kvp_wbuf *w,
				 struct kvp_reinsert *r);

/**
 * kvp_admit_exit() - free what kvp_admit_start() allocated
 *
 * Call it after the last other user of the pool is gone, before kvp_scache_exit(). May sleep.
 */
void kvp_admit_exit(struct kvp_admission *f);

/**
 * kvp_admit_stop() - append nothing more, and wait until the entry or write in flight has ended;
 * kvp_admit_unstop() goes on. May sleep.
 */
void kvp_admit_stop(struct kvp_admission *f);
void kvp_admit_unstop(struct kvp_admission *f);

/**
 * kvp_admit_changed() - count a change of @count blocks from @block on: their entries in the table
 * have changed
 *
 * Call it before a block is taken out of the index, and before the version that the entry names
 * leaves the buffer. Context: any.
 */
void kvp_admit_changed(struct kvp_admission *f, kvp_block_t block, u32 count);

/** kvp_admit_in_use() - true once blocks can be admitted to an SSD. Any context. */
static inline bool kvp_admit_in_use(const struct kvp_admission *f)
{
	/* All other fields were set before. */
	return smp_load_acquire(&f->candidates);
}

/** kvp_admit_stopped() - true while nothing is appended. Any context. */
static inline bool kvp_admit_stopped(const struct kvp_admission *f)
{
	return READ_ONCE(f->stopped);
}

/** kvp_admit_consider() - kvp_admit_plan() if kvp_admit_in_use() */
bool kvp_admit_consider(struct kvp_admission *f, kvp_block_t first, u32 count, u32 ask,
			struct kvp_admit_plan *plan);

/**
 * kvp_admit_plan() - plan a read from home of @count blocks at @first
 * @ask: KVP_ASK_*
 * @plan: filled in
 *
 * Call it before the blocks are read, and before their entries in the table are. Return: true if
 * some of them may be admitted. Context: any.
 */
static inline bool kvp_admit_plan(struct kvp_admission *f, kvp_block_t first, u32 count, u32 ask,
				  struct kvp_admit_plan *plan)
{
	return kvp_admit_in_use(f) &&
	       kvp_admit_consider(f, first, count, ask, plan);
}

/**
 * kvp_admit_begin() - @block of the read has come: take a candidate for it
 *
 * Call it after reading the entry of the table that the block is verified against. The caller
 * copies the block to c->page and verifies it there (R23). Then it calls kvp_admit_add() or
 * kvp_admit_drop(). Return: NULL: the block must not enter, or there is no candidate or page for
 * it. Context: any.
 */
struct kvp_candidate *kvp_admit_begin(struct kvp_admission *f, kvp_block_t block,
				     const struct kvp_admit_plan *plan);

/** kvp_admit_keep() - kvp_ssd_reinsert() with the policy of admission. Context: process. */
u32 kvp_admit_keep(struct kvp_admission *f, const struct kvp_index_entry *e, u32 n, bool *keep);

/**
 * kvp_admit_begin_again() - take a candidate to reinsert block @e->key, which lies on the SSD
 *
 * Call it before reading the block's entry in the table, and its place. A reinsertion does not
 * count in the budget of admission. Return: as kvp_admit_begin(); NULL: no candidate is free, or
 * there is no page. Context: process.
 */
struct kvp_candidate *kvp_admit_begin_again(struct kvp_admission *f,
					    const struct kvp_index_entry *e);

/** kvp_admit_add() - c->page holds the block, verified, with sum @crc. Context: any. */
void kvp_admit_add(struct kvp_admission *f, struct kvp_candidate *c, u32 crc);

/** kvp_admit_drop() - c->page does not verify: free the candidate. Context: any. */
void kvp_admit_drop(struct kvp_admission *f, struct kvp_candidate *c);

/** kvp_admit_waiting() - true if candidates wait to be appended. Any context. */
static inline bool kvp_admit_waiting(const struct kvp_admission *f)
{
	return atomic_read(&f->nr_waiting);
}

/** kvp_admit_busy() - true if admission has a write to a cache in flight. Any context. */
static inline bool kvp_admit_busy(const struct kvp_admission *f)
{
	return READ_ONCE(f->busy);
}

/**
 * kvp_admit_kick() - append waiting candidates: at once if they fill an entry, else after @gather
 *
 * Context: any.
 */
void kvp_admit_kick(struct kvp_admission *f);

/**
 * kvp_admit_sent() - the candidates in list @taken are about to be sent to the log
 *
 * Their pages do not change until kvp_admit_durable() or kvp_admit_failed(). Called by the client's
 * append(), under its lock.
 */
void kvp_admit_sent(struct kvp_admission *f, struct list_head *taken);

/**
 * kvp_admit_durable() - the entry of clean blocks with header @h is durable: its blocks enter the
 * index
 *
 * Call it before the tail can pass the entry. Context: process.
 */
void kvp_admit_durable(struct kvp_admission *f, const struct kvp_log_hdr *h);

/**
 * kvp_admit_written() - @d has been written home, and is in the table: in the mode writethrough it
 * becomes a candidate for the ring
 *
 * Called under its range lock; @d still has its page. Context: process.
 */
void kvp_admit_written(struct kvp_admission *f, const struct kvp_version *d);

/** kvp_admit_failed() - no SSD took the entry: its candidates become free. Context: process. */
void kvp_admit_failed(struct kvp_admission *f);

/**
 * kvp_admit_bytes() - bytes of memory that admission has: the ghost, which grows with the cache,
 * and pages
 *
 * Context: as a reader of stats.
 */
u64 kvp_admit_bytes(const struct kvp_admission *f);

/**
 * kvp_admit_check() - for tests: look for lost candidates; the caller is the only user, and no
 * entry is in flight
 *
 * Return: NULL, or an error text.
 */
const char *kvp_admit_check(struct kvp_admission *f);

#endif /* KVP_ADMISSION_H */
