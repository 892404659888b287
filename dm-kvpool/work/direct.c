// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large writes go home once their intents are durable in the log:
 *
 *  1. The end of the commit wakes the workers (kvp_direct_kick()).
 *  2. next_slice() takes the next part of the oldest entry. make_slices() cuts the entry first.
 *  3. kvp_home_write() writes it home under its range locks, and sets the entries of the table.
 *  4. kvp_direct_end_slice() counts it. When the last slice of an entry is home, FLUSHes that wait
 *     for its intents look again. If many intents are open, the worker closes some.
 *  5. After an error, slice_failed() waits for memory, or the pool fails.
 *  6. On a parity1 that lacks a leg, no stripe is begun: versions that are left become data
 *     (log/again.c).
 *
 * A few workers do that. With parity, the versions of an entry are cut into slices, which the
 * workers share. While one worker computes, or waits for its slowest leg, the others keep the other
 * legs busy. A slice has whole stripes, and all versions of a block. The intents of an entry are
 * home when all its slices are, those of mirrors beside a parity1 included.
 *
 * If there are only mirrors, an entry is not cut: that would cut requests to a disk at any place.
 * For one mirror two workers are enough, and more of them cost 2 % where the processor is the
 * limit. With several mirrors more workers help, since the mirrors do not end at the same time.
 */
#include "core/core.h"
#include "home/home.h"
#include "log/log.h"
#include "log/move.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "work/destage.h"
#include "work/direct.h"

/* True if a slice may end with @a, and the next one begin with @b. */
static bool may_cut(struct kvp_pool *pool, const struct kvp_version *a, const struct kvp_version *b)
{
	struct kvp_spot x = kvp_locate(pool, a->block), y = kvp_locate(pool, b->block);

	return x.v != y.v || kvp_vblock_nr(x.block) / kvp_unit_blocks(x.v->g) !=
			     kvp_vblock_nr(y.block) / kvp_unit_blocks(y.v->g);
}

/* Cut the versions of @b into slices. Returns the number of slices. */
static u32 cut(struct kvp_pool *pool, struct kvp_direct *b)
{
	u32 n = 0, in = 0, most = kvp_direct_slice(pool->log);
	struct kvp_version *d, *last = NULL;

	kvp_home_sort(&b->versions);
	if (!most) {
		list_splice_tail_init(&b->versions, &b->slices[0]);
		return 1;
	}
	list_for_each_entry(d, &b->versions, list) {
		if (in >= most && n + 1 < KVP_DIRECT_SLICES && may_cut(pool, last, d)) {
			list_cut_before(&b->slices[n++], &b->versions, &d->list);
			in = 0;
		}
		last = d;
		in++;
	}
	list_splice_tail_init(&b->versions, &b->slices[n]);
	return n + 1;
}

static void make_slices(struct kvp_pool *pool, struct kvp_direct *b)
{
	u32 n = cut(pool, b);

	kvp_direct_cut(pool->log, b, n);
	if (n > 1)
		kvp_direct_kick(pool->log);
}

/* The next slice to write home; entries are cut as needed. NULL: there is none. */
static struct list_head *next_slice(struct kvp_pool *pool, struct kvp_direct **of)
{
	struct list_head *slice;
	struct kvp_direct *b;

	do {
		b = kvp_direct_next(pool->log, &slice);
		if (b && !slice)
			make_slices(pool, b);
	} while (b && !slice);
	*of = b;
	return slice;
}

/* Handle the error of a slice. Returns false if it makes no sense to go on. */
static bool slice_failed(struct kvp_pool *pool, int error, bool faulted)
{
	if (error != -ENOMEM) {
		if (!faulted)
			kvp_fail(&pool->failure, KVP_FAIL_LEGS,
				 "large writes cannot be written home");
		return false;
	}
	/* Destage takes a checkpoint, after which table pages are free again. */
	kvp_destage_kick(pool, true);
	kvp_wait_for_memory();
	return true;
}

static void direct_work(struct work_struct *work)
{
	struct kvp_direct_worker *worker = container_of(work, struct kvp_direct_worker, work);
	struct kvp_pool *pool = worker->of;
	struct list_head *slice;
	struct kvp_direct *b;

	while ((slice = next_slice(pool, &b))) {
		bool faulted = kvp_pool_faulted(pool);
		int ret = kvp_home_write(worker->home, slice, (struct kvp_log_at){ 0, 0 });

		if (kvp_direct_end_slice(pool->log, b, ret < 0)) {
			kvp_flush_kick(pool->log);
			kvp_log_close_some(pool->log);
		}
		if (ret < 0 && !slice_failed(pool, ret, faulted))
			break;
	}
	kvp_log_again(pool->log);
	kvp_destage_kick(pool, false);
	kvp_log_move_kick(pool->log);
	kvp_commit_kick(pool->log, true);
}

int kvp_direct_init(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_DIRECT_WORKERS; i++) {
		struct kvp_direct_worker *worker = kvp_direct_worker(pool->log, i);

		worker->of = pool;
		INIT_WORK(&worker->work, direct_work);
		worker->home = kvp_home_alloc(pool, true);
		if (!worker->home)
			goto fail;
	}
	return 0;
fail:
	kvp_direct_exit(pool);
	return -ENOMEM;
}

void kvp_direct_exit(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < KVP_DIRECT_WORKERS; i++) {
		struct kvp_direct_worker *worker = kvp_direct_worker(pool->log, i);

		kvp_home_free(worker->home);
		worker->home = NULL;
	}
}
