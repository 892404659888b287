// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers read several spilled versions at once. One by one, a stream would wait for the SSD at
 * each block.
 *
 * They take no range lock. If a version is in the buffer both before and after its contents are
 * read, it did not go home in between. So the tail has not passed it, and its place in the log was
 * not written again.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/core.h"
#include "core/log_ops.h"
#include "io/io.h"
#include "io/mirror.h"
#include "log/log.h"
#include "log/spill.h"
#include "ram/wbuf.h"

#define BLOCKS	256u	/* versions at a time: all of a read of 1 MiB */
#define RUNS	16u	/* requests in one piece of memory */
#define EASY	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)	/* readers can do without memory */

/* A version, and the request that reads its contents. */
struct found {
	struct kvp_spilled of;
	u32 request;
};

/* A request for neighbouring blocks on an SSD. */
struct run {
	struct kvp_io io;
	struct kvp_place at;
};

/**
 * struct kvp_spilled_read - versions that were read together
 * @log: their log
 * @v: the vdev that had the log before the first version was found
 * @nr: number of versions, which are in order of their blocks
 * @max: number of versions that there is memory for
 * @next: the first version that the caller has not asked for, while it asks in order
 * @nr_runs: number of requests
 * @found: the versions
 * @pages: pages with their contents
 * @runs: the requests, in pieces of memory that come as they are needed
 */
struct kvp_spilled_read {
	struct kvp_log *log;
	const struct kvp_vdev *v;
	u32 nr, max, next, nr_runs;
	struct found *found;
	struct page **pages;
	struct run *runs[BLOCKS / RUNS];
};

static struct run *run_of(const struct kvp_spilled_read *r, u32 request)
{
	return &r->runs[request / RUNS][request % RUNS];
}

/* True if the newest version of @block is spilled; then *@p receives its place and sum. */
static bool find(struct kvp_log *log, kvp_block_t block, struct kvp_spilled *p)
{
	struct kvp_version *d = kvp_wbuf_find(log->wbuf, block);
	bool spilled = d && !d->page && !d->zero;

	if (spilled)
		*p = (struct kvp_spilled){ block, kvp_lsn_add(d->lsn, d->payload), d->crc, d->row };
	if (d)
		kvp_wbuf_unlock(log->wbuf, block);
	return spilled;
}

/* True if the version is still the newest and not home, and its log has not moved. */
static bool is_still_there(const struct kvp_spilled_read *r, const struct kvp_spilled *p)
{
	struct kvp_spilled now;

	return find(r->log, p->block, &now) && now.lsn == p->lsn &&
	       READ_ONCE(r->log->vdevs->log_vdev) == r->v;
}

static void free_page_of(struct kvp_log *log, struct page *page)
{
	__free_page(page);
	atomic_dec(&log->readers_pages);
}

void kvp_spilled_free(struct kvp_spilled_read *r)
{
	u32 i;

	if (!r)
		return;
	for (i = 0; i < r->nr; i++)
		free_page_of(r->log, r->pages[i]);
	kfree(r->found);
	kfree(r->pages);
	for (i = 0; i < ARRAY_SIZE(r->runs); i++)
		kfree(r->runs[i]);
	kfree(r);
}

static struct kvp_spilled_read *alloc_read(struct kvp_log *log, u32 max)
{
	struct kvp_spilled_read *r = kzalloc(sizeof(*r), EASY);

	if (!r)
		return NULL;
	r->log = log;
	r->max = max;
	r->found = kcalloc(max, sizeof(*r->found), EASY);
	r->pages = kcalloc(max, sizeof(*r->pages), EASY);
	if (r->found && r->pages)
		return r;
	kvp_spilled_free(r);
	return NULL;
}

/* NULL without memory, or if readers have enough. */
static struct page *new_page(struct kvp_log *log)
{
	struct page *page = NULL;

	if (atomic_inc_return(&log->readers_pages) <= KVP_READERS_PAGES)
		page = alloc_page(EASY);
	if (!page)
		atomic_dec(&log->readers_pages);
	return page;
}

/* NULL without memory. */
static struct run *new_run(struct kvp_spilled_read *r)
{
	struct run **piece = &r->runs[r->nr_runs / RUNS];

	if (!*piece)
		*piece = kcalloc(RUNS, sizeof(**piece), EASY);
	return *piece ? run_of(r, r->nr_runs++) : NULL;
}

/* Add a version to those that are read. Returns false without memory. */
static bool add(struct kvp_spilled_read *r, const struct kvp_spilled *p)
{
	struct kvp_place at = kvp_log_place(r->v->g, p->lsn, 0);
	struct run *run = r->nr_runs ? run_of(r, r->nr_runs - 1) : NULL;
	bool joins = run && at.leg == run->at.leg &&
		     at.block == kvp_lblock_add(run->io.block, run->io.nr);
	struct page *page = new_page(r->log);

	if (!page)
		return false;
	run = joins ? run : new_run(r);
	if (!run) {
		free_page_of(r->log, page);
		return false;
	}
	if (!joins) {
		run->at = at;
		run->io.op = KVP_IO_READ;
		run->io.block = at.block;
		run->io.pages = &r->pages[r->nr];
	}
	run->io.nr++;
	r->pages[r->nr] = page;
	r->found[r->nr++] = (struct found){ *p, r->nr_runs - 1 };
	return true;
}

static void read_all(struct kvp_spilled_read *r)
{
	struct kvp_io_group group;
	u32 i;

	kvp_io_group_init(&group);
	for (i = 0; i < r->nr_runs; i++) {
		struct run *run = run_of(r, i);

		run->io.leg = kvp_leg_choose_log(r->v, run->at, run->io.nr);
		run->io.chosen = run->io.leg;
		if (run->io.leg)
			kvp_io_group_submit(&group, &run->io);
	}
	kvp_io_group_wait(&group);
}

struct kvp_spilled_read *kvp_log_of_cache_read(struct kvp_log *log, kvp_block_t block, u32 count,
					       kvp_block_t *end)
{
	/* Read this before versions are found: while there is a version, its log does not move. */
	const struct kvp_vdev *v = READ_ONCE(log->vdevs->log_vdev);
	struct kvp_spilled_read *r = NULL;
	struct kvp_spilled p;
	u32 i;

	*end = kvp_block_add(block, count);
	if (!kvp_wbuf_any(log->wbuf, block, count))
		return NULL;
	r = alloc_read(log, min(count, BLOCKS));
	if (!r)
		return NULL;
	r->v = v;
	for (i = 0; i < count && r->nr < r->max; i++)
		if (find(log, kvp_block_add(block, i), &p) && !add(r, &p))
			break;
	/* Without a page for the first one, the caller reads that block by itself. */
	*end = kvp_block_add(block, max(i, 1u));
	if (r->nr)
		read_all(r);
	return r;
}

/*
 * The sum alone does not prove that the contents are right, since sums are linear. So the version
 * must still be there.
 */
struct page *kvp_spilled_page(struct kvp_spilled_read *r, kvp_block_t block)
{
	const struct kvp_io *io;
	const struct found *f;
	struct page *page;

	if (r && r->next && !kvp_block_before(r->found[r->next - 1].of.block, block))
		r->next = 0;
	while (r && r->next < r->nr && kvp_block_before(r->found[r->next].of.block, block))
		r->next++;
	if (!r || r->next == r->nr || r->found[r->next].of.block != block)
		return NULL;
	f = &r->found[r->next];
	page = r->pages[r->next];
	io = &run_of(r, f->request)->io;
	if (!io->leg || io->error || !is_still_there(r, &f->of) ||
	    kvp_block_sum(r->log->seed, block, page_address(page)) != f->of.crc)
		return NULL;
	return page;
}
