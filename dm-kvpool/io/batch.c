// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sort.h>

#include "core/core.h"
#include "core/crowd.h"
#include "core/shadow.h"
#include "io/batch.h"
#include "io/io.h"
#include "io/mirror.h"

/* Requests that are sent together, without giving way to other tasks. */
#define AT_ONCE	8u

struct kvp_batch *kvp_batch_alloc(const struct kvp_vdevs *vdevs)
{
	struct kvp_batch *b = kvmalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	/*
	 * The arrays behind are written before they are read. They are large, so do not clear them.
	 */
	memset(b, 0, offsetof(struct kvp_batch, pages));
	b->vdevs = vdevs;
	b->pool = vdevs->pool;
	b->ios = kvmalloc_array(KVP_BATCH_RUNS * vdevs->max_legs, sizeof(*b->ios), GFP_KERNEL);
	if (!b->ios) {
		kvfree(b);
		return NULL;
	}
	return b;
}

void kvp_batch_free(struct kvp_batch *b)
{
	if (!b)
		return;
	kvfree(b->ios);
	kvfree(b);
}

/* The run that a page for @block belongs to, if there is room: the last one, or a new one. */
static struct kvp_batch_run *run_for(struct kvp_batch *b, const struct kvp_vdev *v,
				     struct kvp_leg *leg, kvp_lblock_t block)
{
	struct kvp_batch_run *run = b->nr_runs ? &b->runs[b->nr_runs - 1] : NULL;

	if (b->nr_pages == KVP_BATCH_PAGES)
		return NULL;
	if (run && run->v == v && run->leg == leg && run->nr < KVP_BATCH_RUN_PAGES &&
	    kvp_lblock_add(run->block, run->nr) == block)
		return run;
	if (b->nr_runs == KVP_BATCH_RUNS)
		return NULL;
	run = &b->runs[b->nr_runs++];
	run->v = v;
	run->leg = leg;
	run->led = NULL;
	run->block = block;
	run->first = b->nr_pages;
	run->nr = 0;
	return run;
}

static bool add(struct kvp_batch *b, const struct kvp_vdev *v, struct kvp_leg *leg,
		kvp_lblock_t block, struct page *page)
{
	struct kvp_batch_run *run = run_for(b, v, leg, block);

	if (!run)
		return false;
	b->pages[b->nr_pages++] = page;
	run->nr++;
	return true;
}

bool kvp_batch_add(struct kvp_batch *b, const struct kvp_vdev *v, kvp_lblock_t block,
		   struct page *page)
{
	return add(b, v, NULL, block, page);
}

bool kvp_batch_add_pages(struct kvp_batch *b, const struct kvp_vdev *v, kvp_lblock_t block,
			 struct page *const *pages, u32 nr)
{
	u32 n;

	for (; nr; nr -= n, pages += n, block = kvp_lblock_add(block, n)) {
		struct kvp_batch_run *run = run_for(b, v, NULL, block);

		if (!run)
			return false;
		n = min3(nr, KVP_BATCH_RUN_PAGES - run->nr, KVP_BATCH_PAGES - b->nr_pages);
		memcpy(&b->pages[b->nr_pages], pages, n * sizeof(*pages));
		b->nr_pages += n;
		run->nr += n;
	}
	return true;
}

bool kvp_batch_add_shadow(struct kvp_batch *b, kvp_lblock_t block, struct page *page)
{
	return add(b, b->pool->shadow.v, &b->pool->shadow, block, page);
}

bool kvp_batch_add_at(struct kvp_batch *b, const struct kvp_vdev *v, struct kvp_place at,
		      struct page *page)
{
	return add(b, v, &v->legs[at.leg], at.block, page);
}

bool kvp_batch_add_target(struct kvp_batch *b, const struct kvp_vdev *v, struct kvp_place at,
			  struct page *page)
{
	const struct kvp_leg *leg = &v->legs[at.leg];

	if (b->pool && kvp_leg_shadow(leg) && !READ_ONCE(b->pool->shadow_ready))
		return kvp_batch_add_shadow(b, at.block, page);
	return !kvp_leg_resilvers(leg) || kvp_batch_add_at(b, v, at, page);
}

static int by_place(const void *a, const void *b)
{
	const struct kvp_batch_run *x = a, *y = b;

	if (x->v != y->v)
		return x->v < y->v ? -1 : 1;
	if (x->leg != y->leg)
		return x->leg < y->leg ? -1 : 1;
	return kvp_lblock_before(x->block, y->block) ? -1 : x->block != y->block;
}

/* Returns how many pages of @next can join @run's request. In b->gathered they follow @run's. */
static u32 joins(const struct kvp_batch_run *run, const struct kvp_batch_run *next)
{
	if (run->v != next->v || run->leg != next->leg ||
	    kvp_lblock_add(run->block, run->nr) != next->block)
		return 0;
	return min(next->nr, KVP_BATCH_RUN_PAGES - run->nr);
}

/*
 * Sort the runs, and join neighbours to long requests. A stream goes to the vdevs in turns, but its
 * parts for one vdev are neighbours there.
 */
static void gather(struct kvp_batch *b)
{
	struct kvp_batch_run *last = NULL;
	u32 i, n = 0, joined;

	sort(b->runs, b->nr_runs, sizeof(b->runs[0]), by_place, NULL);
	for (i = 0; i < b->nr_runs; i++) {
		struct kvp_batch_run run = b->runs[i];

		memcpy(&b->gathered[n], &b->pages[run.first], run.nr * sizeof(b->pages[0]));
		joined = last ? joins(last, &run) : 0;
		if (joined)
			last->nr += joined;
		run.first = n + joined;
		n += run.nr;
		run.block = kvp_lblock_add(run.block, joined);
		run.nr -= joined;
		if (!run.nr)
			continue;
		last = last ? last + 1 : b->runs;
		*last = run;
	}
	memcpy(b->pages, b->gathered, n * sizeof(b->pages[0]));
	b->nr_runs = last ? (u32)(last - b->runs) + 1 : 0;
}

static void add_io(struct kvp_batch *b, struct kvp_batch_run *run, struct kvp_leg *leg)
{
	struct kvp_io *io = &b->ios[b->nr_ios++];

	memset(io, 0, sizeof(*io));
	io->leg = leg;
	io->op = KVP_IO_WRITE;
	io->block = run->block;
	io->nr = run->nr;
	io->pages = &b->pages[run->first];
}

void kvp_batch_give_way(struct kvp_batch *b)
{
	if (b->spell)
		kvp_give_way(b->spell);
}

static void submit(struct kvp_batch *b)
{
	u32 i, n;

	kvp_io_group_init(&b->group);
	for (i = 0; i < b->nr_ios; i += n) {
		kvp_batch_give_way(b);
		n = b->spell ? min(b->nr_ios - i, AT_ONCE) : b->nr_ios;
		kvp_io_group_submit_all(&b->group, &b->ios[i], n);
	}
}

static void submit_and_wait(struct kvp_batch *b)
{
	submit(b);
	kvp_io_group_wait(&b->group);
}

/* Try each failed write once more: the disk may have found a spare sector by now. */
static int retry_failed(struct kvp_batch *b)
{
	u32 i;

	for (i = 0; i < b->nr_ios; i++) {
		struct kvp_io *io = &b->ios[i];
		int error = io->error;

		if (!error || !kvp_leg_takes_writes(io->leg))
			continue;
		error = kvp_io_sync(io);
		if (!error)
			continue;
		if (!b->pool)
			return -EIO;
		kvp_leg_failed_write(io->leg);
		if (!kvp_leg_fail(io->leg, "a write failed")) {
			kvp_fail(&b->pool->failure, KVP_FAIL_LEGS,
				 "a write failed on the last leg");
			return -EIO;
		}
	}
	return 0;
}

void kvp_batch_reset(struct kvp_batch *b)
{
	b->nr_pages = 0;
	b->nr_runs = 0;
	b->staggered = false;
}

/* The leg that gets @run first: the first leg in sync from the @turn-th on, round and round. */
static struct kvp_leg *leading(const struct kvp_batch_run *run, u32 turn)
{
	u32 i;

	for (i = 0; i < run->v->nr_legs; i++) {
		struct kvp_leg *leg = &run->v->legs[(turn + i) % run->v->nr_legs];

		if (kvp_leg_in_sync(leg))
			return leg;
	}
	return NULL;
}

/*
 * Add the requests of all runs for the @l-th leg of their vdev. Returns true if a run is for one
 * leg alone, or one leg has it already.
 */
static bool add_for_leg(struct kvp_batch *b, u32 l)
{
	bool somewhere = false;
	u32 i;

	for (i = 0; i < b->nr_runs; i++) {
		struct kvp_batch_run *run = &b->runs[i];
		struct kvp_leg *leg = &run->v->legs[l];

		if (l >= run->v->nr_legs || (run->leg && run->leg != leg) || run->led == leg)
			continue;
		somewhere |= run->leg || run->led;
		if (kvp_leg_takes_writes(leg))
			add_io(b, run, leg);
	}
	return somewhere;
}

/*
 * Add requests for the shadow: runs for the leg that it is to replace, and runs for the shadow
 * alone. Returns true if some run is for the shadow alone. If the shadow was given up, such a run
 * is not written.
 */
static bool add_for_shadow(struct kvp_batch *b)
{
	struct kvp_leg *leg = b->pool ? kvp_shadowed(b->pool) : NULL;
	struct kvp_leg *shadow = leg ? &b->pool->shadow : NULL;
	bool somewhere = false;
	u32 i;

	if (leg)
		smp_rmb();	/* the legs, then the shadow; pairs with __kvp_leave_shadow() */
	for (i = 0; leg && i < b->nr_runs; i++) {
		struct kvp_batch_run *run = &b->runs[i];

		if (run->leg != leg && run->leg != shadow)
			continue;
		somewhere |= run->leg == shadow;
		if (kvp_leg_resilvers(shadow))
			add_io(b, run, shadow);
	}
	return somewhere;
}

/*
 * Add the requests of a run for all legs that lack it, or for the one leg that it is for. Go leg by
 * leg, since requests for one leg are sent together. Returns as add_for_leg().
 */
static bool add_all(struct kvp_batch *b)
{
	bool somewhere = false;
	u32 l;

	for (l = 0; l < b->vdevs->max_legs; l++)
		somewhere |= add_for_leg(b, l);
	return add_for_shadow(b) || somewhere;
}

/* The lowest and the highest block of the batch on any leg. */
static void find_span(const struct kvp_batch *b, u64 *first, u64 *end)
{
	u32 i;

	*first = U64_MAX;
	*end = 0;
	for (i = 0; i < b->nr_runs; i++) {
		u64 at = kvp_lblock_nr(b->runs[i].block);

		*first = min(*first, at);
		*end = max(*end, at + b->runs[i].nr);
	}
}

/*
 * The last batch sent its blocks to one leg, and then to the other legs. When the power goes, these
 * blocks may still be in the caches of the other legs, or on the way to the medium. Until they are
 * flushed, the same blocks must not be written on the leg that has them. For other blocks the flush
 * of write_leading() is early enough.
 */
static int flush_before(struct kvp_batch *b)
{
	u64 first, end;

	find_span(b, &first, &end);
	return first < b->unflushed_end && b->unflushed_first < end ? kvp_legs_flush(b->pool) : 0;
}

/* Write each run to one leg, durably. */
static int write_leading(struct kvp_batch *b)
{
	u32 i;
	int ret;

	b->nr_ios = 0;
	for (i = 0; i < b->nr_runs; i++) {
		b->runs[i].led = leading(&b->runs[i], i);
		if (b->runs[i].led)
			add_io(b, &b->runs[i], b->runs[i].led);
	}
	submit_and_wait(b);
	ret = b->nr_ios ? retry_failed(b) : -EIO;
	ret = ret ?: kvp_legs_flush(b->pool);
	if (!ret)
		find_span(b, &b->unflushed_first, &b->unflushed_end);
	return ret;
}

/*
 * Staggered: fail if a leg was lost. If the power goes, no other leg may have the blocks that are
 * being written.
 */
static int check_losses(const struct kvp_batch *b)
{
	return atomic_read_acquire(&b->pool->losses.seen) != b->losses ? -ENOMEM : 0;
}

/* Begin to write to all legs, or to all that do not have the run yet. */
static void begin(struct kvp_batch *b)
{
	b->nr_ios = 0;
	b->somewhere = add_all(b);
	submit(b);
}

static int end(struct kvp_batch *b)
{
	kvp_io_group_wait(&b->group);
	/*
	 * A batch without requests is an error, unless @somewhere is set. Then its runs were for
	 * legs that are out, and the parity of their rows covers them, or a leg has them already.
	 */
	return b->nr_ios || b->somewhere ? retry_failed(b) : -EIO;
}

int kvp_batch_write(struct kvp_batch *b)
{
	int ret = 0;

	if (!b->nr_runs)
		return 0;
	if (b->vdevs->nr > 1)
		gather(b);
	if (b->staggered)
		ret = flush_before(b) ?: check_losses(b) ?: write_leading(b) ?: check_losses(b);
	if (!ret) {
		begin(b);
		ret = end(b);
	}
	kvp_batch_reset(b);
	return ret;
}

void kvp_batch_begin(struct kvp_batch *b)
{
	if (b->vdevs->nr > 1)
		gather(b);
	begin(b);
}

int kvp_batch_end(struct kvp_batch *b)
{
	int ret = end(b);

	if (!b->nr_runs)
		ret = 0;
	kvp_batch_reset(b);
	return ret;
}
