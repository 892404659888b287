// SPDX-License-Identifier: GPL-2.0-only
#include <linux/jiffies.h>

#include "core/core.h"
#include "super/events.h"
#include "super/finds.h"

#define FIRST_INTERVAL_MS	1000u
#define LONGEST_INTERVAL_MS	600000u

/* Names of the events, and of what they count, by enum kvp_find. */
static const struct {
	const char *event, *at, *many;
} words[] = {
	[KVP_FIND_HEALED] = { "healed", "block", "blocks" },
	[KVP_FIND_HEALED_ROW] = { "healed", "row", "rows" },
	[KVP_FIND_HEALED_PAGE] = { "table_healed", "index", "pages" },
	[KVP_FIND_LOST] = { "unrepaired", "block", "blocks" },
	[KVP_FIND_LOST_PAGE] = { "table_lost", "index", "pages" },
	[KVP_FIND_SILENT_PAGE] = { "table_silent", "index", "pages" },
};

/* True if a find of this kind is a page of the table with all that is below it. */
static bool is_part(u8 kind)
{
	return kind == KVP_FIND_LOST_PAGE || kind == KVP_FIND_SILENT_PAGE;
}

/* Make one event of all pending finds of @run. A single find gives only its place. */
static void __tell(struct kvp_pool *pool, struct kvp_find_run *run)
{
	char where[48] = "", below[56] = "", range[96] = "";

	lockdep_assert_held(&pool->finds->lock);
	if (!run->count)
		return;
	if (run->kind == KVP_FIND_HEALED_PAGE)
		snprintf(where, sizeof(where), " leg=%u level=%u", run->leg, run->level);
	else if (is_part(run->kind))
		snprintf(where, sizeof(where), " level=%u", run->level);
	else if (run->kind != KVP_FIND_LOST)
		snprintf(where, sizeof(where), " leg=%u", run->leg);
	if (is_part(run->kind))
		snprintf(below, sizeof(below), " block=%llu blocks=%llu", kvp_block_nr(run->block),
			 (unsigned long long)run->blocks);
	if (run->count > 1)
		snprintf(range, sizeof(range), " last=%llu %s=%llu", (unsigned long long)run->last,
			 words[run->kind].many, (unsigned long long)run->count);
	kvp_event(pool, "%s%s %s=%llu%s%s%s", words[run->kind].event, where, words[run->kind].at,
		  (unsigned long long)run->first, below, range, run->name);
	run->count = 0;
}

static void __queue(struct kvp_pool *pool)
{
	const struct kvp_find_run *run;
	u64 next = U64_MAX, now = get_jiffies_64();

	for (run = pool->finds->runs; run < pool->finds->runs + KVP_FIND_RUNS; run++)
		if (run->used)
			next = min(next, run->due);
	if (next != U64_MAX)
		mod_delayed_work(pool->work_wq, &pool->finds->work, next > now ? next - now : 0);
}

static void finds_work(struct work_struct *work)
{
	struct kvp_finds *f = container_of(to_delayed_work(work), struct kvp_finds, work);
	struct kvp_pool *pool = f->pool;
	u64 now = get_jiffies_64();
	struct kvp_find_run *run;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	for (run = f->runs; run < f->runs + KVP_FIND_RUNS; run++) {
		if (!run->used || run->due > now)
			continue;
		run->used = run->count;
		__tell(pool, run);
		run->interval_ms = min(2 * run->interval_ms, LONGEST_INTERVAL_MS);
		run->due = now + msecs_to_jiffies(run->interval_ms);
	}
	__queue(pool);
	spin_unlock_irqrestore(&f->lock, flags);
}

/*
 * The run of these finds; else a free one; else the one that is due first, after its event is made.
 */
static struct kvp_find_run *__run_of(struct kvp_pool *pool, u8 kind, u32 leg, u8 level)
{
	struct kvp_find_run *run, *best = NULL;

	for (run = pool->finds->runs; run < pool->finds->runs + KVP_FIND_RUNS; run++) {
		if (run->used && run->kind == kind && run->leg == leg && run->level == level)
			return run;
		if (!best || (best->used && (!run->used || run->due < best->due)))
			best = run;
	}
	if (best->used)
		__tell(pool, best);
	*best = (struct kvp_find_run){ .kind = kind, .leg = leg, .level = level };
	return best;
}

/* Add a find at @at to @run. The first find of a run becomes an event at once. */
static void __add(struct kvp_pool *pool, struct kvp_find_run *run, u64 at)
{
	run->first = run->count ? min(run->first, at) : at;
	run->last = run->count ? max(run->last, at) : at;
	run->count++;
	/*
	 * What is asked for below such a page finds the page again: do not count more finds than
	 * there are places.
	 */
	if (is_part(run->kind))
		run->count = min(run->count, run->last - run->first + 1);
	if (run->used)
		return;
	__tell(pool, run);
	run->used = true;
	run->interval_ms = FIRST_INTERVAL_MS;
	run->due = get_jiffies_64() + msecs_to_jiffies(run->interval_ms);
	__queue(pool);
}

void kvp_found(struct kvp_pool *pool, enum kvp_find kind, struct kvp_leg *leg, u32 level, u64 at)
{
	struct kvp_finds *f = pool->finds;
	struct kvp_find_run *run;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	run = __run_of(pool, (u8)kind, leg ? leg->index : 0, (u8)level);
	if (!run->used && leg)
		kvp_leg_words(leg, run->name);
	__add(pool, run, at);
	spin_unlock_irqrestore(&f->lock, flags);
}

void kvp_found_part(struct kvp_pool *pool, enum kvp_find kind, const struct kvp_table_part *page)
{
	struct kvp_finds *f = pool->finds;
	struct kvp_find_run *run;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	run = __run_of(pool, (u8)kind, page->vdev, (u8)page->level);
	if (!run->count || page->index < run->first) {
		run->block = page->first;
		run->blocks = page->blocks;
	}
	__add(pool, run, page->index);
	spin_unlock_irqrestore(&f->lock, flags);
}

void kvp_finds_report(struct kvp_pool *pool)
{
	struct kvp_find_run *run;
	unsigned long flags;

	spin_lock_irqsave(&pool->finds->lock, flags);
	for (run = pool->finds->runs; run < pool->finds->runs + KVP_FIND_RUNS; run++)
		__tell(pool, run);
	spin_unlock_irqrestore(&pool->finds->lock, flags);
}

void kvp_finds_stop(struct kvp_pool *pool)
{
	kvp_finds_report(pool);
	cancel_delayed_work_sync(&pool->finds->work);
	memset(pool->finds->runs, 0, sizeof(pool->finds->runs));
}

void kvp_finds_init(struct kvp_pool *pool)
{
	pool->finds->pool = pool;
	spin_lock_init(&pool->finds->lock);
	INIT_DELAYED_WORK(&pool->finds->work, finds_work);
}
