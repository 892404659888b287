// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hash.h>
#include <linux/kernel.h>

#include "policy/runs.h"

#define SETS		(1u << KVP_RUN_SET_BITS)
#define PLACE_SHIFT	9	/* 2 MiB: few requests look into two sets */

/* A request, and when it came. */
struct asked {
	u64 first, end;
	u32 blocks, now;
	bool write;
};

static u32 place_of(u64 block)
{
	return hash_64(block >> PLACE_SHIFT, KVP_RUN_SET_BITS);
}

/* Most runs of a set end elsewhere, so that is looked at first. */
static bool belongs(const struct kvp_run *run, u64 first, bool write)
{
	return run->end + KVP_RUN_SLACK - first <= 2 * KVP_RUN_SLACK && run->blocks &&
	       run->write == write;
}

/* The run of the set that ends nearest to @first; or NULL. */
static struct kvp_run *find_run(const struct kvp_run_set *set, u64 first, bool write)
{
	struct kvp_run *run, *near = NULL;
	u64 distance, least = ~0ull;

	list_for_each_entry(run, &set->runs, list) {
		if (!belongs(run, first, write))
			continue;
		distance = run->end > first ? run->end - first : first - run->end;
		if (distance < least) {
			least = distance;
			near = run;
		}
	}
	return near;
}

/* --- sets: by the set's lock ------------------------------------------------------------ */

static void note_oldest(struct kvp_run_set *set)
{
	/* Pairs with age_of(), which thus sees the clock at least as it was here. */
	if (set->nr)
		smp_store_release(&set->oldest,
				  list_last_entry(&set->runs, struct kvp_run, list)->used);
}

static void put_first(struct kvp_run_set *set, struct kvp_run *run)
{
	list_add(&run->list, &set->runs);
	WRITE_ONCE(set->nr, set->nr + 1);
	note_oldest(set);
}

static void take(struct kvp_run_set *set, struct kvp_run *run)
{
	list_del(&run->list);
	WRITE_ONCE(set->nr, set->nr - 1);
	note_oldest(set);
}

/* --- steps, of one set each ------------------------------------------------------------- */

static void enter(struct kvp_runs *s, struct kvp_run *run)
{
	struct kvp_run_set *set = &s->set[place_of(run->end)];
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	put_first(set, run);
	spin_unlock_irqrestore(&set->lock, flags);
}

static void grow(struct kvp_run *run, const struct asked *q)
{
	/* Blocks that overlap have been counted. */
	u32 blocks = min_t(u64, q->blocks, q->end - run->end);

	run->blocks += min(blocks, ~0u - run->blocks);
	run->end = q->end;
	run->used = q->now;
}

/*
 * Blocks of the set's run that the request belongs to; 0: there is none. A run that grew may move.
 */
static u32 go_on(struct kvp_runs *s, u32 nr, const struct asked *q)
{
	struct kvp_run_set *set = &s->set[nr];
	struct kvp_run *run, *moved = NULL;
	unsigned long flags;
	u32 blocks = 0;

	spin_lock_irqsave(&set->lock, flags);
	run = find_run(set, q->first, q->write);
	if (run && q->end > run->end) {
		grow(run, q);
		take(set, run);
		if (place_of(run->end) == nr)
			put_first(set, run);
		else
			moved = run;
	}
	if (run)
		blocks = run->blocks;
	spin_unlock_irqrestore(&set->lock, flags);
	if (moved)
		enter(s, moved);
	return blocks;
}

/*
 * The age of the last run of the set, and in *@oldest when it grew last. The clock is read after
 * that, so the clock is not behind. Pairs with note_oldest().
 */
static u32 age_of(struct kvp_runs *s, const struct kvp_run_set *set, u32 *oldest)
{
	*oldest = smp_load_acquire(&set->oldest);
	return (u32)atomic_read(&s->clock) - *oldest;
}

/*
 * The set with the run that has not grown for the longest time; *@used: when it grew last. NULL:
 * all runs are moving.
 */
static struct kvp_run_set *oldest_set(struct kvp_runs *s, u32 *used)
{
	struct kvp_run_set *set, *old = NULL;
	u32 age, most = 0;

	for (set = s->set; set < s->set + SETS; set++) {
		u32 oldest;

		if (!READ_ONCE(set->nr))
			continue;
		age = age_of(s, set, &oldest);
		if (!old || age > most) {
			most = age;
			old = set;
			*used = oldest;
		}
	}
	return old;
}

/*
 * Take the run of the set that grew last when the clock was @used. NULL: another request took it
 * first. The last run of the set may be that of a stream that goes on by now.
 */
static struct kvp_run *take_last(struct kvp_run_set *set, u32 used)
{
	struct kvp_run *run = NULL;
	unsigned long flags;

	spin_lock_irqsave(&set->lock, flags);
	if (set->nr && set->oldest == used) {
		run = list_last_entry(&set->runs, struct kvp_run, list);
		take(set, run);
	}
	spin_unlock_irqrestore(&set->lock, flags);
	return run;
}

/*
 * Take the run that has not grown for the longest time. NULL: there is none, or other requests were
 * faster each time.
 */
static struct kvp_run *take_oldest(struct kvp_runs *s)
{
	struct kvp_run *run = NULL;
	struct kvp_run_set *set;
	u32 tries, used = 0;

	for (tries = 0; !run && tries < SETS; tries++) {
		set = oldest_set(s, &used);
		if (!set)
			return NULL;
		run = take_last(set, used);
	}
	return run;
}

static u32 begin(struct kvp_runs *s, const struct asked *q)
{
	struct kvp_run *run = take_oldest(s);

	if (run) {
		run->end = q->end;
		run->blocks = q->blocks;
		run->used = q->now;
		run->write = q->write;
		enter(s, run);
	}
	return q->blocks;
}

/*
 * A run that the request belongs to may end in the set beside that of @first. Returns that set, or
 * the same.
 */
static u32 beside(u64 first)
{
	u32 own = place_of(first), before = place_of(first - min_t(u64, first, KVP_RUN_SLACK));

	return before != own ? before : place_of(first + KVP_RUN_SLACK);
}

u32 kvp_run_note(struct kvp_runs *s, u64 first, u32 blocks, bool write)
{
	struct asked q = {
		.first = first, .end = first + blocks, .blocks = blocks, .write = write,
		.now = (u32)atomic_inc_return(&s->clock),
	};
	u32 own = place_of(first), near = beside(first);
	u32 run = go_on(s, own, &q);

	if (!run && near != own)
		run = go_on(s, near, &q);
	return run ?: begin(s, &q);
}

void kvp_runs_init(struct kvp_runs *s)
{
	u32 i;

	atomic_set(&s->clock, 0);
	for (i = 0; i < SETS; i++) {
		spin_lock_init(&s->set[i].lock);
		INIT_LIST_HEAD(&s->set[i].runs);
		s->set[i].nr = s->set[i].oldest = 0;
	}
	for (i = 0; i < KVP_RUNS; i++) {
		s->run[i] = (struct kvp_run){ .blocks = 0 };
		put_first(&s->set[i % SETS], &s->run[i]);
	}
}
