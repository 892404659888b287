// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spilled versions: durable on an SSD cache, without pages. Readers get them, and they go home in
 * order. A version that no SSD has any more is lost, and no other; reads of its block fail.
 */
#include <stdlib.h>

#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <string.h>

#include "cache/client.h"
#include "cache/scache.h"
#include "io/batch.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "table/table.h"
#include "work/destage.h"
#include "work/elevator.h"
#include "script.h"

#define BUFFER	16u	/* pages: so that there is not room for much */
#define FIRST	64u	/* blocks that are written */
#define COUNT	120u

static bool is_lost[POOL_BLOCKS];	/* of one case */
static struct completion discarded;	/* the same */

/* While homes are held. In a parity1, destage has locked whole stripes. */
static void read_spilled(struct script *s)
{
	if (!s->start.parity)
		host_read_each(&s->host, FIRST, COUNT);
}

static void spill(struct script *s)
{
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	host_write_each(&s->host, FIRST, COUNT);
	if (s->host.pool->wbuf->nr_lone < COUNT / 2)
		sim_fail("%u of %u versions are spilled: the case was not set up",
			 s->host.pool->wbuf->nr_lone, COUNT);
	if (s->host.pool->wbuf->pages > BUFFER)
		sim_fail("the buffer may have %u pages, and has %u", BUFFER,
			 s->host.pool->wbuf->pages);
}

/*
 * Waiting versions are in the order of the log, or the tail would pass some that are not home.
 * Between rounds.
 */
static void check_order(struct kvp_pool *pool)
{
	struct list_head *lists[] = {
		&pool->wbuf->elevator, &pool->wbuf->spilled, &pool->wbuf->logged
	};
	struct kvp_version *d, *before = NULL, *first = NULL;
	struct kvp_packed_rec r;
	struct kvp_log_mark mark;
	u64 from, oldest;
	u32 i;

	spin_lock(&pool->wbuf->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(d, lists[i], list) {
			if (before && kvp_version_after(before, d))
				sim_fail("lsn %llu waits before lsn %llu", before->lsn, d->lsn);
			before = d;
			first = first ?: d;
		}
	spin_unlock(&pool->wbuf->lock);
	oldest = first ? first->lsn : ~0ull;
	for (from = 0; kvp_packs_next(&pool->wbuf->packs, from, &r); from = r.block + 1)
		oldest = min(oldest, kvp_packs_lsn(&pool->wbuf->packs, &r));
	if (pool->wbuf->packs.places.nr != kvp_wbuf_nr_packed(pool->wbuf))
		sim_fail("%u places are counted, and %u versions are packed",
			 pool->wbuf->packs.places.nr, kvp_wbuf_nr_packed(pool->wbuf));
	if (oldest != ~0ull && (oldest < pool->log->tail ||
		      (kvp_log_home_mark(pool->log, ~0ull, &mark) && mark.lsn > oldest)))
		sim_fail("the tail has passed versions that are not home, or may");
}

/* By address, and of each block in the order of the log. */
static void check_elevator(struct kvp_pool *pool)
{
	struct kvp_elevator *s = &pool->destage->elevator;
	struct kvp_version *d, *before = NULL;
	struct rb_node *at;
	u32 n = 0;

	mutex_lock(&pool->checkpoint_lock);
	for (at = rb_first(&s->known); at; at = rb_next(at)) {
		d = rb_entry(at, struct kvp_version, by_block);
		if (before && (before->block > d->block ||
			       (before->block == d->block && kvp_version_after(before, d))))
			sim_fail("block %llu comes before block %llu", before->block, d->block);
		before = d;
		n++;
	}
	if (n != s->nr || n != list_count_nodes(&pool->wbuf->elevator))
		sim_fail("the elevator has %u versions, and says %u", n, s->nr);
	check_order(pool);
	mutex_unlock(&pool->checkpoint_lock);
}

static void write_all_home(struct script *s)
{
	disks_release_all();
	host_checkpoint(&s->host);
	if (s->host.pool->wbuf->nr_lone || s->host.pool->wbuf->nr_spilled)
		sim_fail("some are still spilled");
	host_cache_check(&s->host);
}

/* A block whose newest version is spilled, and the place of its contents on each SSD. */
static u64 some_spilled(struct script *s, u64 *at)
{
	struct kvp_pool *pool = s->host.pool;
	u64 block;

	for (block = FIRST + COUNT / 2; block < FIRST + COUNT; block++) {
		struct kvp_version *d = kvp_wbuf_find(pool->wbuf, block);
		bool spilled = d && !d->page && d->state == KVP_VERSION_LOGGED;

		if (spilled)
			*at = kvp_log_place(pool->vdevs.log_vdev->g, d->lsn + d->payload, 0).block;
		if (d)
			kvp_wbuf_unlock(pool->wbuf, block);
		if (spilled)
			return block;
	}
	sim_fail("none is spilled: the case was not set up");
	return 0;
}

static void rot(struct script *s, u64 at, u32 ssds)
{
	u8 junk[KVP_BLOCK_SIZE];
	u32 i;

	memset(junk, 0x3c, sizeof(junk));
	for (i = 0; i < ssds; i++)
		image_write_data(&disks.img[script_first_ssd(s) + i], at, junk);
}

static void expect_lost(struct script *s, u64 block)
{
	u8 data[KVP_BLOCK_SIZE];
	u64 poisoned = 0;

	if (!host_read(&s->host, block, data))
		sim_fail("block %llu is lost, and was read", block);
	if (s->host.pool->table->poisoned != 1 ||
	    kvp_table_next_poisoned(s->host.pool->table, 0, &poisoned) || poisoned != block)
		sim_fail("block %llu is lost; %llu are poisoned, the first is %llu", block,
			 s->host.pool->table->poisoned, poisoned);
}

static void expect_none_lost(struct script *s)
{
	if (s->host.pool->table->poisoned)
		sim_fail("%llu blocks are poisoned", s->host.pool->table->poisoned);
	host_read_each(&s->host, FIRST, COUNT);
}

/* --- tests ------------------------------------------------------------------------------ */

static void read_back(struct script *s)
{
	spill(s);
	read_spilled(s);
	/* Its log has no room for more. */
	if (s->start.parity)
		disks_release_all();
	/* The newest one counts: a version, a discard, a version over the discard, zeros. */
	host_write_each(&s->host, FIRST + 60, 12);
	host_discard(&s->host, FIRST + 66, 20);
	host_write_each(&s->host, FIRST + 70, 2);
	host_write_zeros(&s->host, FIRST + 90, 2);
	host_flush(&s->host);
	host_write_each(&s->host, FIRST + 91, 1);
	read_spilled(s);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* What a reader of many blocks got of them, at once; NULL: it has to read @block by itself. */
static void expect_page(struct script *s, struct kvp_spilled_read *r, u64 block, bool want)
{
	struct page *page = kvp_spilled_page(r, block);
	u8 data[KVP_BLOCK_SIZE];

	if (!!page != want)
		sim_fail("block %llu was %s with others", block, page ? "read" : "not read");
	if (page && (host_read_slowly(&s->host, block, data) ||
		     memcmp(data, page_address(page), KVP_BLOCK_SIZE)))
		sim_fail("block %llu is not what it should be", block);
}

static bool is_spilled(struct script *s, u64 block)
{
	struct kvp_version *d = kvp_wbuf_find(s->host.pool->wbuf, block);
	bool spilled = d && !d->page;

	if (d)
		kvp_wbuf_unlock(s->host.pool->wbuf, block);
	return spilled;
}

/* A newer version, until it is spilled as well. */
static void write_and_spill(struct script *s, u64 block)
{
	u32 i;

	host_write_each(&s->host, block, 1);
	for (i = 0; i < 2 * BUFFER; i++)
		host_write_each(&s->host, FIRST + COUNT + i, 1);
	if (!is_spilled(s, block))
		sim_fail("block %llu is not spilled: the case was not set up", block);
}

/*
 * Spilled versions are read many at once. Of those that have changed, or are home, when the reader
 * comes to them, nothing is believed.
 */
static void read_together(struct script *s)
{
	struct kvp_spilled_read *r;
	u64 at, block, end;

	spill(s);
	block = some_spilled(s, &at);
	r = kvp_spilled_read(s->host.pool->log, block, 8, &end);
	if (end != block + 8)
		sim_fail("%llu blocks were looked at, not 8", end - block);
	expect_page(s, r, block, true);
	expect_page(s, r, block + 1, true);
	host_write_each(&s->host, block + 2, 1);
	expect_page(s, r, block + 2, false);
	host_discard(&s->host, block + 3, 1);
	expect_page(s, r, block + 3, false);
	expect_page(s, r, block + 4, true);
	if (!s->start.parity) {
		write_and_spill(s, block + 6);
		expect_page(s, r, block + 6, false);
	}
	/* As a read does that looks at its blocks once more. */
	expect_page(s, r, block, true);
	expect_page(s, r, block + 4, true);
	write_all_home(s);
	expect_page(s, r, block + 5, false);
	kvp_spilled_free(r);
	if (kvp_spilled_read(s->host.pool->log, block, 8, &end) || end != block + 8)
		sim_fail("nothing is spilled, and something was read");
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* All readers together have only so many pages. Without one, blocks are read by themselves. */
static void readers_without_pages(struct script *s)
{
	atomic_t *pages = &s->host.pool->log->readers_pages;
	struct kvp_spilled_read *r;
	u64 at, block, end;

	spill(s);
	block = some_spilled(s, &at);
	atomic_add(KVP_READERS_PAGES - 3, pages);
	r = kvp_spilled_read(s->host.pool->log, block, 8, &end);
	if (end != block + 3 || atomic_read(pages) != KVP_READERS_PAGES)
		sim_fail("readers have %d pages, and %llu blocks were looked at",
			 atomic_read(pages), end - block);
	expect_page(s, r, block + 2, true);
	expect_page(s, r, block + 3, false);
	host_read_each(&s->host, FIRST, COUNT);
	kvp_spilled_free(r);
	atomic_sub(KVP_READERS_PAGES - 3, pages);
	write_all_home(s);
	if (atomic_read(pages))
		sim_fail("readers have %d pages, and there are none", atomic_read(pages));
	host_stop(&s->host);
}

/* --- a read of home and of spilled versions at the same time --------------------------------- */

static u64 amid;	/* the block that is read, while something happens to it */

static struct script *script_of(struct host *h)
{
	return container_of(h, struct script, host);
}

static void nothing_happens(struct host *h)
{
	if (!is_spilled(script_of(h), amid))
		sim_fail("block %llu is not spilled: the case was not set up", amid);
}

static void overwrite(struct host *h)
{
	host_write_each(h, amid, 1);
}

static void overwrite_and_spill(struct host *h)
{
	write_and_spill(script_of(h), amid);
}

static void discard_it(struct host *h)
{
	host_discard(h, amid, 1);
	host_flush(h);
}

static void go_home(struct host *h)
{
	write_all_home(script_of(h));
}

/* Its place in the log is written again. */
static void go_home_and_round(struct host *h)
{
	u32 i;

	write_all_home(script_of(h));
	for (i = 0; i < 900; i++)
		host_write_each(h, FIRST + COUNT + i % BUFFER, 1);
}

static void lose_the_ssds(struct host *h)
{
	u32 i;

	for (i = script_first_ssd(script_of(h)); i < script_of(h)->legs; i++)
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
}

/* Read a spilled block, and let @act happen before it is decided which version counts. */
static void read_amid(struct script *s, void (*act)(struct host *h), bool beside)
{
	u32 before = s->host.beside_reads;

	s->host.amid_mixed = act;
	host_read_check(&s->host, amid);
	if (s->host.amid_mixed)
		sim_fail("block %llu was read in another way", amid);
	if ((s->host.beside_reads != before) != beside)
		sim_fail("block %llu was %s beside home", amid, beside ? "not read" : "read");
}

/*
 * Home and the SSDs are read at the same time. A version that was spilled all the time is taken
 * from the SSDs. Nothing that was read counts if something happened to its block.
 */
static void read_beside(struct script *s)
{
	static const struct {
		void (*act)(struct host *h);
		bool beside;
	} cases[] = {
		{ nothing_happens, true }, { overwrite }, { overwrite_and_spill }, { discard_it },
		{ go_home }, { go_home_and_round }, { lose_the_ssds, true },
	};
	u64 at;
	u32 i;

	disks.stalls_writes = true;
	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		spill(s);
		amid = some_spilled(s, &at);
		s->host.mixed_reads = i;
		read_amid(s, cases[i / 2].act, cases[i / 2].beside);
		disks.nr_faults = 0;
		write_all_home(s);
	}
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* One of the two fails. What came from the other counts, and the rest is read anew. */
static void one_side_fails(struct script *s)
{
	u64 at = 0, home;
	u32 i, leg;

	disks.stalls_writes = true;
	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	for (i = 0; i < 4; i++) {
		spill(s);
		amid = some_spilled(s, &at);
		home = kvp_home_block(s->host.pool, amid);
		s->host.mixed_reads = i;
		if (i < 2)
			for (leg = 0; leg < script_first_ssd(s); leg++)
				disks_fault(FAULT_READ_EIO, leg, home, home);
		else
			for (leg = script_first_ssd(s); leg < s->legs; leg++)
				disks_fault(FAULT_READ_EIO, leg, at, at);
		read_amid(s, i < 2 ? nothing_happens : overwrite, i < 2);
		disks.nr_faults = 0;
		write_all_home(s);
	}
	expect_none_lost(s);
	host_stop(&s->host);
}

/* Blocks of zeros have nothing in the log. */
static void zeros(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(h);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	for (i = 0; i < COUNT; i++) {
		if (i % 2)
			host_write_zeros(h, FIRST + i, 1);
		else
			host_write(h, FIRST + i, 1, false);
		host_flush(h);
	}
	if (h->pool->wbuf->nr_lone < COUNT / 2)
		sim_fail("%u are spilled: the case was not set up", h->pool->wbuf->nr_lone);
	read_spilled(s);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(h);
}

/*
 * One SSD's copy is rotten: the other has a good one. With one SSD the block is lost, and no other.
 */
/* @error: of its reads; 0: they tell nothing */
static void rotten_with(struct script *s, int error)
{
	u8 data[KVP_BLOCK_SIZE];
	unsigned long since = jiffies;
	u64 at = 0, block;

	spill(s);
	block = some_spilled(s, &at);
	if (error)
		disks_fault(FAULT_READ_EIO, script_first_ssd(s), at, at)->error = error;
	else
		rot(s, at, 1);
	if (s->start.cache > 1) {
		host_read_each(&s->host, FIRST, COUNT);
		if (host_read_slowly(&s->host, block, data))
			sim_fail("block %llu has a good copy, and was not read", block);
		disks_release_all();
		host_checkpoint(&s->host);
		expect_none_lost(s);
		/* host_cache_check() would see the rotten copy. */
		kvp_cache_mistrust(s->host.pool, block, 1);
		host_stop(&s->host);
		return;
	}
	if (!s->start.parity && !host_read(&s->host, block, data))
		sim_fail("block %llu is rotten, and was read", block);
	write_all_home(s);
	if (error && time_after(jiffies, since + 10 * HZ))
		sim_fail("an SSD that has lost a block was waited for %u ms",
			 jiffies_to_msecs(jiffies - since));
	expect_lost(s, block);
	host_read_each(&s->host, FIRST, block - FIRST);
	host_read_each(&s->host, block + 1, FIRST + COUNT - block - 1);
	host_write_each(&s->host, block, 1);
	host_checkpoint(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

static void rotten(struct script *s)
{
	rotten_with(s, 0);
}

/* The SSD has sums of its own, as dm-integrity has, and finds it. */
static void rotten_by_own_sums(struct script *s)
{
	rotten_with(s, -EILSEQ);
}

/* A version that is rotten, and was overwritten since, is not needed. */
static void rotten_and_overwritten(struct script *s)
{
	u64 at = 0, block;

	spill(s);
	block = some_spilled(s, &at);
	host_write_each(&s->host, block, 1);
	rot(s, at, s->start.cache);
	read_spilled(s);
	write_all_home(s);
	expect_none_lost(s);
	if (atomic64_read(&s->host.pool->work_stats.unrepaired))
		sim_fail("it was poisoned");
	host_stop(&s->host);
}

/* The SSDs are silent for a time: no version is given up, and all go home later. */
static void silent_for_a_time(struct script *s)
{
	u32 i;

	spill(s);
	for (i = script_first_ssd(s); i < s->legs; i++)
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
	disks_release_all();
	host_destage(&s->host);
	host_sleep(3 * KVP_RETRY_MS);
	if (!s->host.pool->wbuf->nr_lone)
		sim_fail("none is spilled any more: the case was not set up");
	check_elevator(s->host.pool);
	disks.nr_faults = 0;
	write_all_home(s);
	expect_none_lost(s);
	host_stop(&s->host);
}

/*
 * SSDs refuse reads of a spilled version. If only one does, the version comes from the other at
 * once. Otherwise a reader waits. Such an SSD has its contents: nothing is lost.
 */
static void refused(struct script *s)
{
	u32 first = script_first_ssd(s), i;
	u8 data[KVP_BLOCK_SIZE];
	unsigned long since;
	u64 at = 0, block;

	spill(s);
	block = some_spilled(s, &at);
	for (i = first; i < s->legs; i++) {
		struct fault *f = disks_fault(FAULT_READ_ONCE, i, 0, ~0ull);

		f->error = i % 2 ? -EBUSY : -ENOMEM;
		f->times = i == first ? 20 : 0;
		since = jiffies;
		if (host_read_slowly(&s->host, block, data))
			sim_fail("block %llu was not read", block);
		if (time_after(jiffies, since + 3 * HZ))
			sim_fail("the read took %u ms", jiffies_to_msecs(jiffies - since));
	}
	/* All refuse for good: they are waited for at the same time. */
	for (i = 0; i < disks.nr_faults; i++)
		disks.faults[i].times = 0;
	since = jiffies;
	if (!host_read_slowly(&s->host, block, data))
		sim_fail("block %llu was read", block);
	if (time_after(jiffies, since + 12 * HZ))
		sim_fail("the read took %u ms", jiffies_to_msecs(jiffies - since));
	disks.nr_faults = 0;
	disks_release_all();
	write_all_home(s);
	expect_none_lost(s);
	host_stop(&s->host);
}

/*
 * The SSDs take no writes any more, as worn SSDs do: spilled versions are read, and the log moves.
 */
static void no_more_writes(struct script *s)
{
	u32 i;

	spill(s);
	for (i = script_first_ssd(s); i < s->legs; i++)
		disks_fault(FAULT_WRITE_EIO, i, 0, ~0ull);
	disks_release_all();
	host_write(&s->host, 8, 1, false);
	host_flush(&s->host);
	if (!kvp_has_data(s->host.pool->vdevs.log_vdev->g))
		sim_fail("the log has not moved");
	expect_none_lost(s);
	host_stop(&s->host);
}

/* The SSDs die with more than RAM holds: spilled versions are lost, and listed, and no others. */
static void ssds_die(struct script *s)
{
	struct host *h = &s->host;
	u8 data[KVP_BLOCK_SIZE];
	u32 i, lost = 0, spilled;

	spill(s);
	for (i = script_first_ssd(s); i < s->legs; i++)
		disks_kill(i);
	spilled = h->pool->wbuf->nr_lone;
	disks_release_all();
	/*
	 * The loss is found: from then on no waiter for durability is answered, until the log has
	 * moved.
	 */
	host_write(h, 8, 1, false);
	host_flush(h);
	if (!kvp_has_data(h->pool->vdevs.log_vdev->g))
		sim_fail("the log has not moved");
	host_checkpoint(h);
	for (i = 0; i < COUNT; i++) {
		is_lost[FIRST + i] = host_read(h, FIRST + i, data);
		lost += is_lost[FIRST + i];
		if (!is_lost[FIRST + i])
			host_read_check(h, FIRST + i);
	}
	/*
	 * Until they are found dead, a full buffer may be spilled once more, until half of it is
	 * free.
	 */
	if (!lost || lost > spilled + BUFFER / 2 || lost != h->pool->table->poisoned)
		sim_fail("%u were spilled, %u are lost, %llu poisoned", spilled, lost,
			 h->pool->table->poisoned);
	host_cache_check(h);
	host_stop(h);
}

/* And a power cut at the end: lost blocks still read EIO afterwards. */
static void still_lost(struct script *s)
{
	u8 data[KVP_BLOCK_SIZE];
	u32 i;

	for (i = 0; i < COUNT; i++)
		if (is_lost[FIRST + i] != !!host_read(&s->host, FIRST + i, data))
			sim_fail("block %u was %slost before the restart", FIRST + i,
				 is_lost[FIRST + i] ? "" : "not ");
		else if (!is_lost[FIRST + i])
			host_read_check(&s->host, FIRST + i);
	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* More than the log has room for: the tail moves while some versions are spilled. */
static void write_much(struct script *s)
{
	u32 i;

	for (i = 0; i < 900; i++)
		host_write_each(&s->host, FIRST + i % COUNT, 1);
}

/* The next life begins with whatever is in the log. */
static void leave_spilled(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	struct kvp_log_mark mark;

	spill(s);
	/* The tail may not pass them. */
	if (kvp_log_home_mark(pool->log, ~0ull, &mark) &&
	    mark.lsn > list_first_entry(&pool->wbuf->spilled, struct kvp_version, list)->lsn)
		sim_fail("a place behind spilled versions may become the tail");
}

/* --- by address ------------------------------------------------------------------------------ */

/*
 * Of the home writes to the first leg since @since: how many there were, and how often one was
 * below the one before.
 */
static u32 turns_back(u32 since, u32 *writes)
{
	const struct trace *t = &disks.trace;
	u64 before = 0;
	u32 i, n = 0;

	*writes = 0;
	for (i = since; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];

		if (r->disk || r->op != KVP_IO_WRITE || r->block < disks.data_start ||
		    r->block >= disks.data_start + POOL_BLOCKS)
			continue;
		n += r->block < before;
		before = r->block;
		++*writes;
	}
	return n;
}

/*
 * Blocks are written in no order; spilled ones go home in order of address: one pass, and those
 * with a page.
 */
static void by_address(struct script *s)
{
	u32 i, since, turns, writes;

	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	/* Every second block, so that none is a neighbour; 37 and 60 have no factor in common. */
	for (i = 0; i < COUNT / 2; i++)
		host_write_each(&s->host, FIRST + 2 * (i * 37 % (COUNT / 2)), 1);
	if (s->host.pool->wbuf->nr_lone < COUNT / 4)
		sim_fail("%u are spilled: the case was not set up", s->host.pool->wbuf->nr_lone);
	since = disks.trace.nr_requests;
	write_all_home(s);
	turns = turns_back(since, &writes);
	if (writes < COUNT / 4 || turns > 3)
		sim_fail("of %u writes home %u went back", writes, turns);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/*
 * More versions of the same blocks than a round takes, and more while they go: none goes home after
 * one that is newer.
 */
static void many_versions(struct script *s)
{
	u32 i;

	/* Rounds alone make space in the log; the suite renew has the rest. */
	if (kvp_pool_set(s->host.pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the tunable cannot be set");
	host_write_each(&s->host, FIRST, COUNT / 4);
	host_checkpoint(&s->host);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	/* The log of a parity1 has no room for more. */
	for (i = 0; i < (s->start.parity ? 4 : 12); i++)
		host_write_each(&s->host, FIRST, COUNT / 4);
	disks_release_all();
	host_destage(&s->host);
	for (i = 0; i < 2 * COUNT; i++) {
		host_write_each(&s->host, FIRST + i % (COUNT / 4), 1);
		check_elevator(s->host.pool);
	}
	host_read_each(&s->host, FIRST, COUNT);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* Check that @block is unwritten in the table, or that it is written. */
static void expect_gone(struct script *s, u64 block, bool want)
{
	struct kvp_tpage *leaf = kvp_table_load(s->host.pool->table, block);

	if ((kvp_entry_state(kvp_table_entry(leaf, block)) ==
	     KVP_ENTRY_UNWRITTEN) != want)
		sim_fail("block %llu is %s", block, want ? "at home, and was discarded" : "not at home");
	kvp_table_put(leaf);
}

/*
 * A discard is applied before older spilled versions have been written home. Versions that it
 * covers do not are written home, also where a newer version exists that is not durable.
 */
static void discard_goes_ahead(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 block;

	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	spill(s);
	host_discard(&s->host, FIRST + 4, 20);
	host_flush(&s->host);
	host_write_each(&s->host, FIRST + 60, 30);
	/* No task flushes this, or waits for it. */
	host_write(&s->host, FIRST + 10, 2, false);
	disks_release_all();
	host_destage(&s->host);
	flush_work(&pool->destage->work);
	for (block = FIRST + 4; block < FIRST + 24; block++)
		expect_gone(s, block, true);
	host_read_each(&s->host, FIRST, COUNT);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

#define GROUP	12u	/* blocks, with two discards: of 0 to 7, and of 4 to 6 */

/* True if the only durable change of block @i of a group is its discard. */
static bool gone(u32 i)
{
	return i < 8 && i != 2 && i != 3;
}

/* Discards between versions of the same blocks: each discards all older versions, and no others. */
static void discards_amid_versions(struct script *s)
{
	struct host *h = &s->host;
	u64 block;
	u32 i;

	host_write_each(h, FIRST, COUNT);
	host_checkpoint(h);
	spill(s);
	for (block = FIRST; block < FIRST + COUNT; block += GROUP) {
		host_discard(h, block, 8);
		host_write_each(h, block + 2, 4);
		host_discard(h, block + 4, 3);
		host_write_each(h, block + 8, 2);
	}
	/* Neither durable nor waited for: only the discard hides older versions. */
	host_write(h, FIRST + 3 * GROUP + 4, 1, false);
	host_write(h, FIRST + 3 * GROUP + 7, 1, false);
	disks_release_all();
	host_destage(h);
	flush_work(&h->pool->destage->work);
	check_elevator(h->pool);
	for (i = 0; i < COUNT; i++)
		expect_gone(s, FIRST + i, gone(i % GROUP));
	host_read_each(h, FIRST, COUNT);
	write_all_home(s);
	host_read_each(h, FIRST, COUNT);
	host_stop(h);
}

/* The elevator learns of spilled versions in parts. */
static void learn_slowly(struct script *s)
{
	s->host.pool->destage->elevator.part = 5;
}

static void many_versions_in_parts(struct script *s)
{
	learn_slowly(s);
	many_versions(s);
}

static void discards_in_parts(struct script *s)
{
	learn_slowly(s);
	discards_amid_versions(s);
}

/* A discard behind more than one part of the spilled versions: no round comes before it. */
static void discard_before_rounds(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i;

	learn_slowly(s);
	spill(s);
	host_discard(&s->host, FIRST + 2, 3);
	host_write_each(&s->host, FIRST + COUNT, BUFFER);
	/* The block that destage writes now goes home, and no later one does. */
	disks_release_all();
	for (i = 0; i < script_first_ssd(s); i++)
		disks_stall(i, disks.data_start + FIRST, disks.data_start + POOL_BLOCKS);
	host_destage(&s->host);
	host_sleep(KVP_RETRY_MS);
	if (w->nr_lone < COUNT / 2)
		sim_fail("%u are spilled: the case was not set up", w->nr_lone);
	if (w->nr_holes)
		sim_fail("a discard waits for older versions");
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT + BUFFER);
	host_stop(&s->host);
}

/*
 * Rounds that take some of the spilled versions, and can read none: those go back to their places.
 */
static void silent_by_address(struct script *s)
{
	u32 i;

	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	for (i = 0; i < 3 * COUNT; i++)
		host_write_each(&s->host, FIRST + i * 37 % COUNT, 1);
	for (i = script_first_ssd(s); i < s->legs; i++)
		disks_fault(FAULT_READ_EIO, i, 0, ~0ull);
	disks_release_all();
	host_destage(&s->host);
	for (i = 0; i < 6; i++) {
		host_sleep(KVP_RETRY_MS / 2);
		check_elevator(s->host.pool);
	}
	if (!s->host.pool->destage->elevator.nr)
		sim_fail("the elevator is empty: the case was not set up");
	disks.nr_faults = 0;
	write_all_home(s);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* --- packed versions ------------------------------------------------------------------------- */

/* Write versions, and let the elevator learn of them. No round is due. */
static void pack(struct script *s, u64 first, u32 count)
{
	struct kvp_pool *pool = s->host.pool;

	WRITE_ONCE(pool->destage->next, jiffies + 600 * HZ);
	host_write_each(&s->host, first, count);
	mutex_lock(&pool->checkpoint_lock);
	kvp_elevator_gather(&pool->destage->elevator, kvp_log_durable(pool->log));
	mutex_unlock(&pool->checkpoint_lock);
	check_elevator(pool);
}

static bool is_packed(struct kvp_pool *pool, u64 block, u8 flags)
{
	struct kvp_packed_rec r;

	return kvp_packs_find(&pool->wbuf->packs, block, &r) &&
	       (r.flags & ~KVP_PACKED_RESERVED) == flags;
}

static void pack_most(struct script *s)
{
	pack(s, FIRST, COUNT);
	if (kvp_wbuf_nr_packed(s->host.pool->wbuf) < COUNT - BUFFER)
		sim_fail("%u of %u versions are packed: the case was not set up",
			 kvp_wbuf_nr_packed(s->host.pool->wbuf), COUNT);
}

/* A newer version, or a discard, leaves the record until it is durable. */
static void packed_and_overwritten(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i, live;

	pack_most(s);
	live = kvp_wbuf_live(w);
	for (i = 0; i < 3 * 8; i += 3) {
		host_write(&s->host, FIRST + i, 1, false);
		if (!is_packed(s->host.pool, FIRST + i, KVP_PACKED_SUPERSEDED))
			sim_fail("block %u is only in RAM", FIRST + i);
	}
	if (kvp_wbuf_live(w) != live)
		sim_fail("%u blocks are dirty, not %u", kvp_wbuf_live(w), live);
	host_discard(&s->host, FIRST + 31, 5);
	for (i = 0; i < 5; i++)
		if (!is_packed(s->host.pool, FIRST + 31 + i, KVP_PACKED_SUPERSEDED))
			sim_fail("nothing holds the tail for block %u", FIRST + 31 + i);
	if (kvp_wbuf_live(w) != live - 5)
		sim_fail("%u blocks are dirty, not %u", kvp_wbuf_live(w), live - 5);
	check_elevator(s->host.pool);
	host_read_each(&s->host, FIRST, COUNT);
	/* The next life must find all of it. */
	host_flush(&s->host);
}

/* Nothing of that is lost, or comes back, on the way home. */
static void packed_go_home(struct script *s)
{
	packed_and_overwritten(s);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_destage(&s->host);
	host_sleep(50);
	read_spilled(s);
	write_all_home(s);
	if (kvp_wbuf_nr_packed(s->host.pool->wbuf))
		sim_fail("some are still packed");
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* Blocks that are written again and again take no more than a record each, without parity. */
static void packed_again(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	pack_most(s);
	pack(s, FIRST, COUNT);
	for (i = 0; i < COUNT - BUFFER; i++)
		if (!is_packed(pool, FIRST + i, 0))
			sim_fail("block %u is not packed again", FIRST + i);
	/* Some were overwritten while they had pages. */
	if (pool->destage->elevator.nr > BUFFER)
		sim_fail("%u old versions are kept", pool->destage->elevator.nr);
	if (kvp_wbuf_live(pool->wbuf) != COUNT || pool->wbuf->nr_lone > COUNT + BUFFER)
		sim_fail("%u blocks are dirty, and %u versions have no page",
			 kvp_wbuf_live(pool->wbuf), pool->wbuf->nr_lone);
	host_read_each(&s->host, FIRST, COUNT);
}

/* With parity all versions of a block count for their row: none replaces another's record. */
static void packed_again_in_rows(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i, ended, replaced = 0;

	pack_most(s);
	ended = pool->destage->ended;
	pack(s, FIRST, COUNT / 4);
	for (i = 0; i < COUNT / 4; i++)
		replaced += is_packed(pool, FIRST + i, 0);
	/* A round may have taken older ones home. The last few have pages, and are not known. */
	if (ended == pool->destage->ended && replaced > BUFFER)
		sim_fail("older versions of %u blocks are gone", replaced);
	if (kvp_wbuf_live(pool->wbuf) != COUNT && ended == pool->destage->ended)
		sim_fail("%u blocks are dirty, not %u", kvp_wbuf_live(pool->wbuf), COUNT);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* Versions that were overwritten before the elevator learned of them. */
static void overwritten_and_packed(struct script *s)
{
	u32 i;

	WRITE_ONCE(s->host.pool->destage->next, jiffies + 600 * HZ);
	host_write_each(&s->host, FIRST, COUNT);
	host_write_each(&s->host, FIRST + 8, COUNT / 4);
	/* The newer ones of these still have pages. */
	host_write_each(&s->host, FIRST, 4);
	pack(s, FIRST, 0);
	for (i = 0; i < 4; i++)
		if (is_packed(s->host.pool, FIRST + i, 0))
			sim_fail("block %u has two newest versions", FIRST + i);
	host_read_each(&s->host, FIRST, COUNT);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_destage(&s->host);
	host_sleep(50);
	read_spilled(s);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* --- a discard that is still looking for versions -------------------------------------------- */

#define WIDE	(POOL_BLOCKS - 8 - FIRST)	/* blocks that a slow discard covers */

static void slow_discarder(void *arg)
{
	struct script *s = arg;

	host_discard(&s->host, FIRST, WIDE);
	complete_all(&discarded);
}

/* Begin a discard of WIDE blocks. It has its place in the order, and has looked at few blocks. */
static void begin_discard(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i;

	init_completion(&discarded);
	sim_slow = "discarder";
	sim_spawn("discarder", slow_discarder, s);
	for (i = 0; i < 1000 && !w->nr_holes; i++)
		host_sleep(1);
}

static void end_discard(struct script *s)
{
	wait_for_completion(&discarded);
	sim_slow = NULL;
}

/*
 * Blocks are written behind a discard that has not come to them yet, and a round applies it. In the
 * log, and so after a start, the new versions count. The discard must not take them for older ones.
 */
static void packed_amid_a_discard(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i, first = FIRST + WIDE - COUNT / 2;
	static const u8 zeros[KVP_BLOCK_SIZE];
	u8 data[KVP_BLOCK_SIZE];

	host_write(&s->host, FIRST, WIDE, false);
	host_checkpoint(&s->host);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	begin_discard(s);
	host_write_each(&s->host, first, COUNT / 2);
	host_destage(&s->host);
	for (i = 0; i < 200 && w->nr_holes; i++)
		host_sleep(1);
	host_sleep(1);
	if (w->nr_holes || !w->nr_discarding)
		sim_fail("no round was within the discard: the case was not set up");
	end_discard(s);
	for (i = 0; i < COUNT / 2; i++)
		if (host_read(&s->host, first + i, data) || !memcmp(data, zeros, sizeof(data)))
			sim_fail("block %u was discarded before it was written, and is lost",
				 first + i);
	write_all_home(s);
	for (i = 0; i < COUNT / 2; i++)
		if (host_read(&s->host, first + i, data) || !memcmp(data, zeros, sizeof(data)))
			sim_fail("block %u has not come home", first + i);
	host_stop(&s->host);
}

/*
 * A discard of more blocks than the hash table has buckets looks at all records, and then at all
 * buckets. Meanwhile destage makes versions whole: those leave the records for the table.
 */
static void whole_amid_a_discard(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;

	/* Fewer buckets than the pool has blocks; the buffer is empty. */
	kvfree(kvp_wbuf_use_buckets(w, kvp_wbuf_buckets(5), 5));
	pack_most(s);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	begin_discard(s);
	host_sleep(100);
	host_destage(&s->host);
	host_sleep(20);
	if (kvp_wbuf_nr_packed(w) > COUNT / 4 || !w->nr_discarding)
		sim_fail("%u are still packed: the case was not set up", kvp_wbuf_nr_packed(w));
	end_discard(s);
	host_read_each(&s->host, FIRST, COUNT);
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* --- packed versions without memory, and at a start ------------------------------------------- */

/* While there is no memory, packed versions go home with what is kept for them (R24). */
static void packed_without_memory(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i;

	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	pack_most(s);
	sim_memory_short = 1000;
	for (i = 0; kvp_wbuf_nr_packed(w) && i < 40; i++) {
		host_destage(&s->host);
		host_sleep(KVP_RETRY_MS);
	}
	if (kvp_wbuf_nr_packed(w))
		sim_fail("%u of %u versions stay packed", kvp_wbuf_nr_packed(w), COUNT);
	sim_memory_short = 0;
	write_all_home(s);
	host_read_each(&s->host, FIRST, COUNT);
	host_stop(&s->host);
}

/* The next start packs what the log still has. */
static void packed_by_a_start(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;

	if (kvp_wbuf_nr_packed(w) < COUNT / 2)
		sim_fail("only %u versions are packed", kvp_wbuf_nr_packed(w));
	if (w->nr_lone != kvp_wbuf_nr_packed(w))
		sim_fail("%u versions are whole", w->nr_lone - kvp_wbuf_nr_packed(w));
	check_elevator(s->host.pool);
	expect_none_lost(s);
	host_stop(&s->host);
}

/* --- gaps ------------------------------------------------------------------------------------- */

#define GAPS	3u	/* every third block goes home */

/* The event with which @disk has flushed writes that had ended at @ended; 0: it has not. */
static u32 flushed(u32 disk, u32 ended)
{
	const struct trace *t = &disks.trace;
	u32 i;

	for (i = 0; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];

		if (r->disk == disk && r->op == KVP_IO_FLUSH && r->submitted > ended && r->ended &&
		    !r->error)
			return r->ended;
	}
	return 0;
}

static const struct trace_request *write_of(u32 since, u32 disk, u64 block)
{
	const struct trace *t = &disks.trace;
	u32 i;

	for (i = since; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];

		if (r->disk == disk && r->op == KVP_IO_WRITE && block >= r->block &&
		    block - r->block < r->nr)
			return r;
	}
	return NULL;
}

/* The last one before @until. */
static const struct trace_request *last_write(u32 until, u32 disk, u64 block)
{
	const struct trace *t = &disks.trace;

	while (until--) {
		const struct trace_request *r = &t->requests[until];

		if (r->disk == disk && r->op == KVP_IO_WRITE && block >= r->block &&
		    block - r->block < r->nr)
			return r;
	}
	return NULL;
}

/*
 * Blocks in gaps are written to one leg, and to the other when that is durable. Returns how many.
 */
static u32 check_turns(u32 since)
{
	u32 i, n = 0, end;

	for (i = 0; i < COUNT; i++) {
		u64 at = disks.data_start + FIRST + i;
		const struct trace_request *a = write_of(since, 0, at), *b = write_of(since, 1, at);

		if (i % GAPS == 0 || !a || !b)
			continue;
		n++;
		end = a->submitted < b->submitted ? flushed(0, a->ended) : flushed(1, b->ended);
		if (!end || end > max(a->submitted, b->submitted))
			sim_fail("block %u is in a gap, and is written to both legs at a time", FIRST + i);
	}
	return n;
}

/*
 * Blocks in between go home once more, except those that are rotten on a leg: these are healed
 * later.
 */
static void gaps(struct script *s)
{
	u64 healed, unrepaired;
	u8 junk[KVP_BLOCK_SIZE];
	u32 i, since;

	memset(junk, 0xa5, sizeof(junk));
	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	for (i = 1; i < COUNT; i += 5 * GAPS)
		image_write_data(&disks.img[i % 2], disks.data_start + FIRST + i, junk);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	for (i = 0; i < COUNT; i += GAPS)
		host_write_each(&s->host, FIRST + i, 1);
	since = disks.trace.nr_requests;
	write_all_home(s);
	if (check_turns(since) < COUNT / 4)
		sim_fail("there was nothing in gaps: the case was not set up");
	/* The SSDs have them, too. */
	for (i = 1; i < COUNT; i += 5 * GAPS)
		kvp_cache_mistrust(s->host.pool, FIRST + i, 1);
	host_scrub(&s->host, &healed, &unrepaired);
	if (unrepaired || !healed)
		sim_fail("%llu healed, %llu lost", healed, unrepaired);
	expect_none_lost(s);
	host_stop(&s->host);
}

/*
 * Write the present contents once more, as one staggered run. Returns the number of flushes of the
 * first leg.
 */
static u32 write_again(struct script *s, struct kvp_batch *batch, struct page *page,
		       u64 block)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i, n = 0, since = disks.trace.nr_requests;

	if (host_read(&s->host, block, page_address(page)))
		sim_fail("block %llu cannot be read", block);
	batch->staggered = true;
	batch->losses = atomic_read(&pool->losses.seen);
	if (!kvp_batch_add(batch, kvp_locate(pool, block).v, kvp_home_block(pool, block), page) ||
	    kvp_batch_write(batch))
		sim_fail("block %llu cannot be written", block);
	for (i = since; i < disks.trace.nr_requests; i++)
		n += !disks.trace.requests[i].disk && disks.trace.requests[i].op == KVP_IO_FLUSH;
	return n;
}

/*
 * No leg is written at a place that another leg still has in its volatile cache; other places do
 * not matter.
 */
static void gaps_in_a_row(struct script *s)
{
	struct page *page = alloc_page(GFP_KERNEL);
	const struct trace_request *last, *next;
	struct kvp_batch *batch;
	u32 since, flushes, end;

	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	batch = kvp_batch_alloc(&s->host.pool->vdevs);
	if (write_again(s, batch, page, FIRST) != 1 || write_again(s, batch, page, FIRST + 1) != 1)
		sim_fail("it was flushed too often");
	since = disks.trace.nr_requests;
	flushes = write_again(s, batch, page, FIRST + 1);
	if (flushes != 2)
		sim_fail("there were %u flushes", flushes);
	last = last_write(since, 1, disks.data_start + FIRST + 1);
	next = write_of(since, 0, disks.data_start + FIRST + 1);
	end = flushed(1, last->ended);
	if (!end || end > next->submitted)
		sim_fail("both legs may be writing the same block");
	kvp_batch_free(batch);
	__free_page(page);
	expect_none_lost(s);
	host_stop(&s->host);
}

/*
 * A leg fails its first write, so the other one is the last: that one gets only blocks that must go
 * home.
 */
static void gaps_on_the_last(struct script *s)
{
	const struct trace *t = &disks.trace;
	u32 i, since;

	host_write_each(&s->host, FIRST, COUNT);
	host_checkpoint(&s->host);
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_occupy_destage(&s->host);
	for (i = 0; i < COUNT; i += GAPS)
		host_write_each(&s->host, FIRST + i, 1);
	since = t->nr_requests;
	/* The one stretch is led by the first leg. */
	disks_fault(FAULT_WRITE_EIO, 0, disks.data_start + FIRST + 1,
		    disks.data_start + FIRST + COUNT);
	write_all_home(s);
	if (kvp_leg_in_sync(&s->host.pool->legs[0]))
		sim_fail("nothing was written that lies in gaps: the case was not set up");
	for (i = 0; i < COUNT; i++)
		if (!write_of(since, 1, disks.data_start + FIRST + i) != !!(i % GAPS))
			sim_fail("block %u is %swritten to the only leg that has it", FIRST + i,
				 i % GAPS ? "" : "not ");
	expect_none_lost(s);
	host_stop(&s->host);
}

#define STRETCH		256u	/* blocks, of which FEW go home */
#define FEW		8u
#define STRETCHES	8u
#define HOLEY		512u	/* where the first begins */

/* True for a block that holes() writes home. */
static bool goes_home(u64 block)
{
	return block >= HOLEY && block < HOLEY + STRETCHES * STRETCH &&
		!((block - HOLEY) % (STRETCH / FEW));
}

/*
 * The writes home since @since, each of blocks that go home alone. Returns the most between two
 * flushes.
 */
static u32 check_homes(u32 since)
{
	const struct trace *t = &disks.trace;
	u32 i, n = 0, most = 0;

	for (i = since; i < t->nr_requests; i++) {
		const struct trace_request *r = &t->requests[i];
		u64 block = r->block - disks.data_start;

		if (r->disk < 2 && r->op == KVP_IO_FLUSH)
			n = 0;
		if (r->disk >= 2 || r->op != KVP_IO_WRITE || block < HOLEY ||
		    block >= HOLEY + STRETCHES * STRETCH)
			continue;
		if (!goes_home(block) || r->nr != 1)
			sim_fail("%u blocks from %llu are written, amid which some are unwritten", r->nr,
				 block);
		most = max(most, ++n);
	}
	return most;
}

/*
 * In many stretches at a time every second block was never written. Those blocks are left out, and
 * all others are written home.
 */
static void holes(struct script *s)
{
	u32 i, since, leg, last = HOLEY + STRETCHES * STRETCH;
	struct host *h = &s->host;
	u64 healed, unrepaired;

	for (i = HOLEY; i < last; i += 2)
		host_write(h, i, 1, false);
	host_checkpoint(h);
	for (leg = 0; leg < script_first_ssd(s); leg++)
		disks_stall(leg, disks.data_start, disks.data_start + LARGE_BLOCKS);
	host_occupy_destage(&s->host);
	for (i = HOLEY; i < last; i += STRETCH / FEW)
		host_write_each(&s->host, i, 1);
	since = disks.trace.nr_requests;
	write_all_home(s);
	for (i = HOLEY; i < last; i += STRETCH / FEW)
		for (leg = 0; leg < script_first_ssd(s); leg++)
			if (!write_of(since, leg, disks.data_start + i))
				sim_fail("block %u is not home on leg %u", i, leg);
	if (check_homes(since) < 6 * FEW)
		sim_fail("there were not many at a time: the case was not set up");
	/* The SSDs have them, too. */
	kvp_cache_mistrust(h->pool, HOLEY, last - HOLEY);
	host_scrub(h, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("%llu healed, %llu lost", healed, unrepaired);
	host_read_each(&s->host, HOLEY, last - HOLEY);
	host_stop(h);
}

/* For a moment there is no memory to spill, until all pages are in use; and homes take long. */
static void no_memory_to_spill(struct script *s)
{
	struct kvp_wbuf *w = s->host.pool->wbuf;
	u32 i;

	for (i = 0; i < 8; i++) {
		host_write_each(&s->host, FIRST, COUNT);
		host_checkpoint(&s->host);
	}
	disks_hold_homes(script_first_ssd(s), POOL_BLOCKS);
	host_write_each(&s->host, FIRST, 40);
	sim_memory_short = 1000;
	for (i = 40; kvp_wbuf_used(w) < w->pages; i++)
		host_write_each(&s->host, FIRST + i, 1);
	host_sleep(50);
	if (w->nr_logged < w->pages / 2)
		sim_fail("only %u of %u pages cannot be spilled", w->nr_logged, w->pages);
	sim_memory_short = 0;
	/* Nothing has been written home. */
	host_write_each(&s->host, FIRST + i, 1);
	write_all_home(s);
	host_stop(&s->host);
}

/* One block that does not get home holds the tail, and a stream goes past the cache. */
static void stream_behind_the_tail(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u64 limit, before = pool->log->intent_blocks;
	u32 i, turns;

	sim_many_intents = 1024;	/* reached before the log is full of blocks that follow */
	limit = kvp_log_intents_limit(pool->log);
	kvp_wbuf_set_limit(pool->wbuf, 1024);
	/* The cache has none of its blocks: those would stay there. */
	host_discard(&s->host, 256, 240);
	host_checkpoint(&s->host);
	for (i = 0; i < script_first_ssd(s); i++)
		disks_stall(i, disks.data_start, disks.data_start);
	host_occupy_destage(&s->host);
	for (i = 0; i < 300 && kvp_log_takes_intents(pool->log); i++) {
		host_write(&s->host, 256, 240, false);
		kvp_commit_now(pool->log);
		kvp_commit_kick(pool->log, true);
		for (turns = 0; kvp_wbuf_used(pool->wbuf) > 8 && turns < 500; turns++)
			host_sleep(2);
		if (kvp_log_intents_since(pool->log) > limit)
			sim_fail("%llu intents behind the tail, and %llu at most",
				 kvp_log_intents_since(pool->log), limit);
	}
	if (pool->log->intent_blocks - before < limit / 2)
		sim_fail("the case was not set up");
	if (kvp_log_takes_intents(pool->log))
		sim_fail("%llu intents behind the tail, and no end",
			 kvp_log_intents_since(pool->log));
	/* Later blocks are data. */
	before = pool->log->intent_blocks;
	host_write(&s->host, 256, 240, false);
	host_flush(&s->host);
	if (pool->log->intent_blocks != before)
		sim_fail("a stream still goes past the cache");
	write_all_home(s);
	if (kvp_log_intents_since(pool->log))
		sim_fail("all is home, and %llu intents count", kvp_log_intents_since(pool->log));
	sim_many_intents = 1u << 17;
	host_stop(&s->host);
}

/* --- another life ------------------------------------------------------------ */

static void look_again(struct script *s)
{
	expect_none_lost(s);
	host_stop(&s->host);
}

/* --- running them --------------------------------------------------------------------------- */

static void begin(struct script *s)
{
	kvp_wbuf_set_limit(s->host.pool->wbuf, BUFFER);
}

/* A life; the power goes in its end, or anywhere. Any mixture of what was on its way is there. */
static bool life(struct script *s, void (*act)(struct script *s), bool anywhere)
{
	bool good = script_live(s, act, true);
	struct rng rng = { mix64(s->seed, s->lives) };

	script_cut(s, anywhere ? (u32)(mix64(s->seed, s->lives) % (disks.trace.nr + 1)) :
		   disks.trace.nr, 2, &rng);
	return good;
}

/*
 * The power goes while a life begins: all writes in flight are there, or none, or any mixture, by
 * the number of the turn.
 */
static bool cut_start(struct script *s)
{
	struct rng rng = { mix64(s->seed, s->lives) };
	bool good = script_live(s, NULL, true);

	script_cut(s, rng_below(&rng, disks.trace.nr + 1), s->turn, &rng);
	return good;
}

/*
 * A second life that only looks may be cut anywhere, and the next one finds the same. Of every
 * third second life the start is cut, whatever it does.
 */
static bool all_lives(struct script *s)
{
	void (*second)(struct script *s) = s->c->then;

	if (!life(s, s->c->act, false))
		return false;
	if (second && s->turn % 3 == 2 && !cut_start(s))
		return false;
	if (second == look_again && s->turn % 3 != 2 && !life(s, second, true))
		return false;
	return !second || life(s, second, false);
}

static void test(const char *what, const struct host_start *shape,
		 void (*first)(struct script *s), void (*second)(struct script *s))
{
	char name[128];
	struct script_case c = {
		.name = name, .shape = shape, .begin = begin, .act = first, .then = second,
		.play = all_lives, .turns = 64, .life_seeds = true,
		.own = is_lost, .own_size = sizeof(is_lost),
	};

	snprintf(name, sizeof(name), "spilled:%s+%u%s:%s%s", shape->parity ? "parity" : "mirror",
		 shape->cache, host_window(shape), what, shape->rotational ? "-on-disks" : "");
	script_run(&c);
}

void run_spilled(void)
{
	static const struct host_start shapes[] = {
		{ .legs = 3, .cache = 1 }, { .legs = 4, .cache = 2 },
		{ .legs = 4, .parity = true, .cache = 1 },
		{ .legs = 4, .cache = 2, .rotational = true },
	};
	static const struct host_start large =
		{ .legs = 4, .cache = 2, .rotational = true, .large = true };
	static const struct host_start wide = { .legs = 4, .cache = 2, .cache_dirty = WIDE_WINDOW };
	static const struct host_start wide_parity =
		{ .legs = 4, .parity = true, .cache = 1, .cache_dirty = WIDE_WINDOW };
	u32 i;

	test("holes", &large, holes, NULL);
	test("no-memory-to-spill", &shapes[0], no_memory_to_spill, NULL);
	test("stream-behind-the-tail", &wide, stream_behind_the_tail, NULL);
	test("log-is-full", &wide, write_much, look_again);
	test("power-cut", &wide, leave_spilled, look_again);
	test("many-versions", &wide, many_versions, NULL);
	test("many-versions-in-parts", &shapes[0], many_versions_in_parts, NULL);
	test("many-versions-in-parts", &shapes[2], many_versions_in_parts, NULL);
	test("discards-in-parts", &shapes[0], discards_in_parts, look_again);
	test("discard-before-rounds", &shapes[0], discard_before_rounds, look_again);
	test("packed-by-a-start", &wide, pack_most, packed_by_a_start);
	test("packed-and-overwritten", &wide, packed_and_overwritten, look_again);
	test("packed-and-overwritten", &wide_parity, packed_and_overwritten, look_again);
	test("packed-go-home", &wide, packed_go_home, NULL);
	test("packed-go-home", &wide_parity, packed_go_home, NULL);
	test("packed-again", &wide, packed_again, look_again);
	test("packed-again-in-rows", &wide_parity, packed_again_in_rows, NULL);
	test("packed-amid-a-discard", &wide, packed_amid_a_discard, NULL);
	test("whole-amid-a-discard", &wide, whole_amid_a_discard, NULL);
	test("overwritten-and-packed", &wide, overwritten_and_packed, NULL);
	test("packed-without-memory", &wide, packed_without_memory, NULL);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		test("read-back", &shapes[i], read_back, NULL);
		test("read-together", &shapes[i], read_together, NULL);
		if (i < 2)
			test("read-beside", &shapes[i], read_beside, NULL);
		if (i < 2)
			test("readers-without-pages", &shapes[i], readers_without_pages, NULL);
		if (i < 2)
			test("one-side-fails", &shapes[i], one_side_fails, NULL);
		test("zeros", &shapes[i], zeros, NULL);
		test("rotten", &shapes[i], rotten, NULL);
		test("rotten-by-own-sums", &shapes[i], rotten_by_own_sums, NULL);
		test("rotten-and-overwritten", &shapes[i], rotten_and_overwritten, NULL);
		test("silent-for-a-time", &shapes[i], silent_for_a_time, NULL);
		test("refused", &shapes[i], refused, NULL);
		test("ssds-die", &shapes[i], ssds_die, still_lost);
		test("no-more-writes", &shapes[i], no_more_writes, NULL);
		test("log-is-full", &shapes[i], write_much, look_again);
		test("power-cut", &shapes[i], leave_spilled, look_again);
		test("many-versions", &shapes[i], many_versions, NULL);
		if (shapes[i].rotational)
			test("gaps-in-a-row", &shapes[i], gaps_in_a_row, NULL);
		if (shapes[i].rotational)
			test("gaps-on-the-last-leg", &shapes[i], gaps_on_the_last, NULL);
		if (shapes[i].rotational)
			test("gaps", &shapes[i], gaps, NULL);
		else if (!shapes[i].parity)
			test("by-address", &shapes[i], by_address, NULL);
		if (!shapes[i].parity)
			test("silent-by-address", &shapes[i], silent_by_address, NULL);
		if (!shapes[i].parity)
			test("discard-goes-ahead", &shapes[i], discard_goes_ahead, look_again);
		if (!shapes[i].parity)
			test("discards-amid-versions", &shapes[i], discards_amid_versions, look_again);
	}
}
