// SPDX-License-Identifier: GPL-2.0-only
/*
 * Destage writes the data of the log home, in the background. A checkpoint then frees the log's
 * space.
 *
 * There is one worker. A round takes versions from the head of wbuf->logged, in log order. It takes
 * none at or above the first intent that is not home yet, so that versions of one block go home in
 * order. It sorts them by address and writes them. A discard ends a round that has data already,
 * and comes first in the next round, so that table entries change in log order. Spilled versions
 * are taken by address instead (elevator.h).
 *
 * While a writer waits for space in the log, a checkpoint follows each round, and moves the tail to
 * where the next round begins. So space becomes free with each round, not only when the whole log
 * is home.
 *
 * The way of a round:
 * 1. kvp_destage_kick() starts the worker, at once or after destage_delay().
 * 2. destage_work() runs rounds up to the mark, and a checkpoint after them if one is wanted.
 * 3. take_versions() chooses the versions of a round. apply_holes() applies discards to the table.
 * 4. reload() reads spilled versions back into memory.
 * 5. kvp_home_write() writes the versions home, under their range locks (home/home.c).
 * 6. put_back() returns to the buffer what could not be written.
 * 7. move_tail() takes a checkpoint, which frees space in the log.
 * 8. set_timers() sets the time of the next work.
 *
 * One function decides whether there is work: destage_wanted(). The code that starts the worker
 * asks it, and so does the worker before it stops.
 */
#include <linux/list_sort.h>

#include "cache/pacing.h"
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "core/host.h"
#include "core/log_mark.h"
#include "core/log_ops.h"
#include "core/order_ops.h"
#include "format/logplace.h"
#include "home/heal.h"
#include "home/home.h"
#include "home/pace.h"
#include "home/speed.h"
#include "home/throttle.h"
#include "log/log.h"
#include "log/move.h"
#include "log/renew.h"
#include "log/spill.h"
#include "ram/wbuf.h"
#include "super/members.h"
#include "table/table.h"
#include "work/burst.h"
#include "work/destage.h"
#include "work/destage_ops.h"
#include "work/elevator.h"
#include "work/renew.h"
#include "work/trim.h"

#define MAX_ROUND	4096	/* versions */
/* in a pool with a cache, where each may need a page on the way home */
#define MAX_RELOADED	2048
#define MIN_ROUND	128
#define PACK_AT_ONCE	1024	/* versions */
#define ROUND_JIFFIES	HZ
/* requests to a leg; only between rounds the elevator learns of new versions */
#define MIN_RUNS	32
#define ELEVATOR_JIFFIES	(HZ / 4)
#define SHORT_JIFFIES	(HZ / 20)	/* while the host has requests */
#define SHORT_RUNS	4
#define FEW		32u	/* a round of fewer versions does not show the legs' speed */
#define PASSED_ON	8u	/* the elevator takes a 1/PASSED_ON of the log at a time */
#define PASSED_WALK	16u	/* drop passed versions when more than 1/PASSED_WALK are passed */
#define DROPPED_AT_ONCE	256u	/* then other tasks may take the locks of the buffer */
#define MANY_HOLES	64u	/* discards wait while more than this are pending */
#define DISCARD_LEAVES	1024u	/* the most leaves that a burst changes */
#define EVEN		8u	/* a round on SSDs takes 1/EVEN of the log's versions at most */
#define SORTED		1024u	/* where entries are short: a list is sorted in one piece */
#define NEVER		(~0ul)
/* with more than half of the window used, the tail moves by 1/TAIL_STEPS of it, or less */
#define TAIL_STEPS	16u
/* streams that go home by intent get at most so many times the time that destage gets */
#define YIELD		19u
/*
 * Readers of home get so many times what a host gets beside a log on legs, and so many seconds at
 * most before the next burst.
 */
#define READERS		2u
#define MOST_REST	4u
#define FEW_RUNS	4u	/* half of the stretches that are written home together */

static unsigned long idle_jiffies(struct kvp_pool *pool)
{
	return msecs_to_jiffies(READ_ONCE(pool->tunables[KVP_T_DESTAGE_IDLE_MS]));
}

static bool log_half_full(struct kvp_pool *pool)
{
	u64 used = kvp_log_used(pool->log), window = kvp_log_window(pool->vdevs.log_vdev->g);

	/* Space that is reserved for parity cannot be used otherwise. */
	used += kvp_log_reserved(pool->log);
	return used > window / 8 * kvp_log_ops(&pool->vdevs)->half;
}

static const struct kvp_destage_ops *ops(const struct kvp_pool *pool)
{
	return kvp_log_ops(&pool->vdevs)->destage;
}

/* True if too few versions wait for a round. */
static bool few_are_logged(struct kvp_pool *pool)
{
	return kvp_wbuf_nr_logged(pool->wbuf) < MIN_ROUND;
}

/*
 * True if a recovery would have to look for too many intents at home. With the log on a cache and
 * many dirty versions, it takes long because of those, so more intents are allowed.
 */
static bool many_intents(struct kvp_pool *pool)
{
	u64 most = few_are_logged(pool) ? kvp_log_most_intents(pool->log) :
					  kvp_log_many_intents(pool->log);

	return kvp_log_intents_since(pool->log) > most;
}

/*
 * True if there are many intents, and a checkpoint alone resolves most of them. A long stream past
 * a cache that has much dirty makes them. The tail would move past them only when all of that is
 * home. If little is dirty, it goes home, and the log gets its space.
 */
static bool resolve_wanted(struct kvp_pool *pool)
{
	return !kvp_destage_stops(pool->destage) && !few_are_logged(pool) && many_intents(pool) &&
	       kvp_log_intents_resolvable(pool->log) > kvp_log_many_intents(pool->log) / 2;
}

/*
 * True if renewals make space in the log. False during an order: an order waits until all is home,
 * and would have to wait for the renewed versions, too.
 */
static bool renews(struct kvp_pool *pool)
{
	return kvp_log_renews(pool->log) && !atomic_read(&pool->destage->orders);
}

/*
 * True if renewals make space, or would with fewer dirty blocks. Then destage need not write
 * everything home.
 */
static bool may_renew(const struct kvp_pool *pool)
{
	return kvp_log_may_renew(pool->log) && !atomic_read(&pool->destage->orders);
}

/*
 * Renewals make the space of a cache's log, and cannot run during a burst. A burst that lasts as
 * long as the disks like would fill the log meanwhile. So bursts are short while the host writes,
 * and when so much is dirty that writers are slowed down.
 */
static bool holds_up_renewals(struct kvp_pool *pool, bool busy)
{
	return may_renew(pool) && (busy || kvp_log_streams_pass(pool->log)) &&
	       !pool->destage->hurries;
}

/* True if everything must go home, and a checkpoint must move the tail after that. */
static bool checkpoint_wanted(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;

	if (test_bit(KVP_DESTAGE_DRAIN, &dg->flags) || many_intents(pool) ||
	    kvp_log_again_stuck(pool->log) ||
	    (kvp_log_is_full(pool->log) && !may_renew(pool)))
		return true;
	return ops(pool)->all_must_go(pool);
}

static bool log_or_table_half_full(struct kvp_pool *pool)
{
	return log_half_full(pool) || kvp_table_half_dirty(pool->table);
}

/* From a cache, such a log or table only speeds destage up. */
static bool not_all(struct kvp_pool *pool)
{
	return false;
}

/* A drain from legs rests beside the host instead (burst.h). */
static bool never_put_off(struct kvp_pool *pool)
{
	return false;
}

static void current_mark(struct kvp_pool *pool, struct kvp_log_mark *mark);

/*
 * True if too much of the log is used, and a checkpoint now would free enough of it. Without such a
 * checkpoint writers would be slowed down until all of the log is home. Before a smaller window,
 * too much is what that one has no room for.
 */
static bool tail_is_worth_it(struct kvp_pool *pool, struct kvp_log_mark *mark)
{
	u64 shrinks = kvp_log_shrinks(pool->log);
	u64 window = shrinks ?: kvp_log_window(pool->vdevs.log_vdev->g);
	u64 step = window / TAIL_STEPS;

	if (may_renew(pool))
		step = min(step, kvp_log_renew_step(pool->log));
	if (!shrinks && !log_half_full(pool))
		return false;
	/*
	 * With a parity1, parity takes as much of the log as versions do. A checkpoint costs the
	 * same.
	 */
	if (2 * kvp_log_limit_empty(pool->log) < window)
		step *= 2;
	current_mark(pool, mark);
	return kvp_log_home_mark(pool->log, mark->lsn, mark) &&
	       kvp_lsn_since(mark->lsn, kvp_log_tail(pool->log)) >= step;
}

bool kvp_destage_tail_waits(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;

	return tail_is_worth_it(pool, &mark);
}

/*
 * True if clean blocks fill half of a log on a cache, and a few dirty ones may lie at its tail. If
 * the dirty ones waited until there are enough for a round, no clean block could enter the log
 * meanwhile.
 */
static bool few_hold_the_tail(struct kvp_pool *pool)
{
	return few_are_logged(pool) && kvp_wbuf_nr_logged(pool->wbuf) && log_half_full(pool);
}

/* True if the buffer is full of durable versions that have pages. */
static bool full_of_pages(struct kvp_pool *pool)
{
	struct kvp_wbuf *w = pool->wbuf;

	return kvp_wbuf_paged(w) > kvp_wbuf_limit(w) - kvp_wbuf_limit(w) / 8;
}

/* True if the worker must spill versions. Without renewals, post_work() does that alone. */
static bool spill_wanted(struct kvp_pool *pool)
{
	return renews(pool) && full_of_pages(pool);
}

/*
 * True if spilling does not free the pages of a full buffer. While renewals make space, that is so
 * only for lack of memory: entries may have ended just now, and their versions are spilled next. A
 * round for them would hold up renewals for as long as the disks take.
 */
static bool spilling_is_not_enough(struct kvp_pool *pool)
{
	return full_of_pages(pool) && (!renews(pool) || kvp_wbuf_spill_failed(pool->wbuf));
}

static bool quarter_is_logged(struct kvp_pool *pool)
{
	u64 room = min_t(u64, kvp_wbuf_limit(pool->wbuf), kvp_log_limit_empty(pool->log));

	return kvp_wbuf_nr_logged(pool->wbuf) > room / 4;
}

static bool pace_is_too_slow(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;

	if (kvp_table_half_dirty(pool->table) || spilling_is_not_enough(pool))
		return true;
	return !renews(pool) && (kvp_log_short(pool->log) || kvp_log_shrinks(pool->log) ||
				 tail_is_worth_it(pool, &mark) || few_hold_the_tail(pool));
}

/* True if destage must run as fast as possible, whatever other work there is. */
static bool destage_pressed(struct kvp_pool *pool)
{
	struct kvp_wbuf *w = pool->wbuf;

	/* The number of pending discards is limited, and a discard beyond the limit waits. */
	return checkpoint_wanted(pool) ||
	       kvp_wbuf_nr_holes(w) > min(MANY_HOLES, kvp_wbuf_most_holes(w) / 2) ||
	       ops(pool)->is_pressed(pool);
}

/* True if renewals make space in the log now, or a checkpoint after them does. */
static bool renewal_wanted(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;

	return renews(pool) && (kvp_log_renew_due(pool->log) || tail_is_worth_it(pool, &mark));
}

/* True if no write came for destage_idle_ms. Notes the newest seq for the next call. */
static bool writers_are_quiet(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;
	u64 seq = kvp_wbuf_seq(pool->wbuf);

	if (seq != READ_ONCE(dg->seq)) {
		WRITE_ONCE(dg->seq, seq);
		WRITE_ONCE(dg->seq_at, jiffies);
		return false;
	}
	return time_after(jiffies, READ_ONCE(dg->seq_at) + idle_jiffies(pool));
}

/*
 * True if users have read blocks from home within KVP_HOST_QUIET_MS. Not only the last request
 * counts: between two requests of a stream nothing may be in flight. What came since the last look
 * counts as new. A look asks all processors, so there is one a jiffy at most.
 */
static bool readers_are_busy(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long now = jiffies;
	u64 reads;

	if (READ_ONCE(dg->read_looked) != now) {
		WRITE_ONCE(dg->read_looked, now);
		reads = kvp_host_read_home(pool);
		if (reads != READ_ONCE(dg->reads)) {
			WRITE_ONCE(dg->reads, reads);
			WRITE_ONCE(dg->read_at, now);
		}
	}
	return time_before(now, READ_ONCE(dg->read_at) + msecs_to_jiffies(KVP_HOST_QUIET_MS));
}

/* True if a caller waits for destage, or writers wait for the space that it makes. */
static bool must_go_on(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;

	return kvp_destage_hurries(dg) || kvp_destage_is_awaited(dg) ||
	       kvp_throttle_any_waits(pool->throttle);
}

/*
 * Jiffies for which the next round from a cache waits for readers of home; 0: it need not. A burst
 * has taken the disks from readers for some time. They get many times that before the next one,
 * also those that come only now.
 */
static unsigned long until_readers_had_theirs(struct kvp_pool *pool)
{
	unsigned long until = READ_ONCE(pool->destage->rest), now = jiffies;

	if (!time_after(until, now) || must_go_on(pool) || !readers_are_busy(pool))
		return 0;
	return min(until - now, msecs_to_jiffies(KVP_HOST_QUIET_MS));
}

/* What need not go home at once does so at the pace, beside readers of home. */
static bool beside_readers(struct kvp_pool *pool)
{
	return !few_are_logged(pool) && readers_are_busy(pool);
}

static unsigned long until_pressed(struct kvp_pool *pool)
{
	return NEVER;
}

static unsigned long until_next(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long at = READ_ONCE(dg->next), yield = READ_ONCE(dg->yield), now = jiffies;
	unsigned long rest = until_readers_had_theirs(pool);
	bool quiet = writers_are_quiet(pool);

	if (few_are_logged(pool))
		return NEVER;
	if (rest)
		return rest;
	if (!kvp_throttle_any_waits(pool->throttle) && time_after(yield, at))
		at = yield;
	return quiet || !time_after(at, now) ? 0 : at - now;
}

/*
 * Jiffies until the next round; 0: now; NEVER: no round is planned, and versions that are too few
 * for a round wait for the idle timer.
 */
static unsigned long round_delay(struct kvp_pool *pool)
{
	return destage_pressed(pool) ? 0 : ops(pool)->delay(pool);
}

/* A burst from a cache is short beside renewals, and beside readers of home, who wait for it. */
static bool is_brief_at_pace(struct kvp_pool *pool, bool busy)
{
	return holds_up_renewals(pool, busy) ||
	       (readers_are_busy(pool) && !must_go_on(pool) && !destage_pressed(pool));
}

/* A log on legs is short: what it has goes home as fast as it can, or in short bursts. */
static bool never_gentle(struct kvp_pool *pool)
{
	return false;
}

/*
 * True if what is dirty on a cache need not go home as fast as it can. Then a round has few
 * requests: a read that comes amid a round waits for the rest of it.
 */
static bool has_time(struct kvp_pool *pool)
{
	return !must_go_on(pool) && !destage_pressed(pool) &&
	       kvp_pacing_wants(pool) < kvp_speed_full(pool);
}

/* Spilled versions that the elevator does not know yet, about. */
static u32 unknown(const struct kvp_pool *pool)
{
	u32 known = kvp_elevator_nr(&pool->destage->elevator);
	u32 spilled = kvp_wbuf_nr_spilled(pool->wbuf);

	return spilled - min(spilled, known);
}

/*
 * True if many versions were spilled since the elevator learned last. It packs what it learns of,
 * and only what is packed takes little memory: that must not wait for a round.
 */
static bool pack_wanted(const struct kvp_pool *pool)
{
	return kvp_log_spills(pool->log) &&
	       unknown(pool) > READ_ONCE(pool->destage->unknown) + PACK_AT_ONCE;
}

/*
 * Jiffies until the next round or renewal, or until versions must be spilled, or should be packed.
 */
static unsigned long destage_delay(struct kvp_pool *pool)
{
	return renewal_wanted(pool) || spill_wanted(pool) || pack_wanted(pool) ?
	       0 : round_delay(pool);
}

static bool destage_wanted(struct kvp_pool *pool)
{
	return !destage_delay(pool);
}

/* --- a round ------------------------------------------------------------------- */

static u32 all_of_round(struct kvp_pool *pool, u32 n)
{
	return n;
}

static u32 round_at_pace(struct kvp_pool *pool, u32 n)
{
	const struct kvp_destage *dg = pool->destage;

	if (checkpoint_wanted(pool))
		return n;
	if (dg->yields || (kvp_burst_is_short(&dg->burst) && readers_are_busy(pool)))
		return MIN_ROUND;
	return clamp_t(u64, kvp_pacing_wants(pool), MIN_ROUND, n);
}

/* True if entries are short, so that none holds up writers. Then no round does, either. */
static bool quick(const struct kvp_pool *pool)
{
	return kvp_log_ops(&pool->vdevs)->quick_data < KVP_ENTRY_MAX_DATA;
}

/*
 * How many versions a round takes: fewer at a slow pace, and fewer if the log is small and a writer
 * waits for the space that the round frees. In a larger round more versions are neighbours at home,
 * and the checkpoint after it writes each leaf for more of them.
 */
static u32 round_versions(struct kvp_pool *pool)
{
	bool cache = kvp_log_spills(pool->log);
	u32 n = min(pool->destage->round, cache ? MAX_RELOADED : MAX_ROUND);

	/*
	 * Without a cache, versions of the elevator have pages. The number of requests limits the
	 * round.
	 */
	if (kvp_elevator_nr(&pool->destage->elevator) && !cache)
		return MAX_ROUND;

	n = ops(pool)->round(pool, n);
	/* The tail moves between rounds. Where a round is quick, it moves evenly that way. */
	if (!cache && !kvp_destage_legs_seek(pool))
		n = min_t(u64, max(kvp_log_limit_empty(pool->log) / EVEN, MIN_ROUND),
			  quick(pool) ? min(n, SORTED) : n);
	if (!kvp_log_short(pool->log))
		return n;
	return min_t(u64, kvp_log_window(pool->vdevs.log_vdev->g) / (cache ? 8 : 4), n);
}

/**
 * struct round - the versions of a round
 * @data: versions, in log order until they are sorted to go home
 * @holes: discards that come before those, in log order
 * @rest: versions that were taken, and not written home
 * @nr: number taken
 * @live: of these, those that newer ones have not outlived; with the log on legs, all
 * @next: place in the log of the first version that stays, in the rows of those taken
 * @by_address: they are from the elevator
 */
struct round {
	struct list_head data, holes, rest;
	u32 nr, live;
	struct kvp_log_at next;
	bool by_address;
};

/* Drop the versions in parts: discards may cover all spilled versions. */
static void drop_in_parts(struct kvp_pool *pool, struct list_head *versions)
{
	LIST_HEAD(part);
	u32 n;

	while (!list_empty(versions)) {
		for (n = 0; n < DROPPED_AT_ONCE && !list_empty(versions); n++)
			list_move_tail(versions->next, &part);
		kvp_wbuf_drop_list(pool->wbuf, &part);
		cond_resched();
	}
}

/*
 * Drop all versions that a stream has passed, wherever they lie in the log. That takes no request,
 * and frees pages and log space, which streams need. It needs no range lock: a version that was
 * passed stays so, and the table has the newer block, which is home. The tail passes the dropped
 * version only with a checkpoint, which flushes that block first.
 */
void kvp_destage_drop_passed(struct kvp_pool *pool)
{
	LIST_HEAD(passed);

	lockdep_assert_held(&pool->checkpoint_lock);
	kvp_elevator_take_passed(&pool->destage->elevator, &passed);
	if (!kvp_log_spills(pool->log))
		kvp_wbuf_take_passed(pool->wbuf, &passed);
	drop_in_parts(pool, &passed);
}

bool kvp_destage_many_passed(const struct kvp_pool *pool)
{
	u32 most = max(kvp_wbuf_nr_logged(pool->wbuf) / PASSED_WALK, FEW);

	return kvp_wbuf_nr_passed(pool->wbuf) > most;
}

/* True if the next discard has met a silent page of the table just now. */
static bool holes_rest(const struct kvp_pool *pool)
{
	const struct kvp_destage *dg = pool->destage;

	return dg->holes_kept && kvp_wbuf_nr_holes(pool->wbuf) &&
	       time_before(jiffies, dg->holes_rest);
}

/*
 * Take the discards that come next among spilled versions. All versions that the elevator knows are
 * older. With parity, all of those go home first, since rows are written at the ends of a discard.
 * Without parity, versions that the discards cover are dropped: they must never go home after them.
 * The order of other versions does not matter.
 */
static void take_holes(struct kvp_pool *pool, kvp_lsn_t limit, struct round *r)
{
	struct kvp_version *d;
	LIST_HEAD(covered);

	if (kvp_elevator_nr(&pool->destage->elevator) > pool->vdevs.order->most_passed)
		return;
	if (holes_rest(pool)) {
		pool->destage->kept = true;
		return;
	}
	r->nr = kvp_wbuf_take_spilled_holes(pool->wbuf, limit, MANY_HOLES, &r->holes);
	list_for_each_entry(d, &r->holes, list)
		kvp_elevator_drop(&pool->destage->elevator, d, &covered);
	drop_in_parts(pool, &covered);
}

/* The number of requests to a leg in a round of the elevator. */
static u32 elevator_runs(const struct kvp_pool *pool)
{
	const struct kvp_destage *dg = pool->destage;

	if (kvp_burst_is_short(&dg->burst))
		return dg->few_runs;
	return dg->gentle ? min(dg->runs, FEW_RUNS) : dg->runs;
}

bool kvp_destage_legs_seek(const struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (pool->legs[i].rotational)
			return true;
	return false;
}

/* Disks that seek, and short bursts, take versions by address. */
static bool by_address(const struct kvp_pool *pool)
{
	return !kvp_elevator_nr(&pool->destage->elevator) &&
	       (kvp_burst_is_short(&pool->destage->burst) || kvp_destage_legs_seek(pool));
}

/* From a cache, versions go home by address once they are spilled. */
static bool once_spilled(const struct kvp_pool *pool)
{
	return false;
}

/*
 * Give some of the oldest versions to the elevator, so few at a time that the tail moves often. All
 * go there while it has some that are kept back: younger ones pass those only there. Without
 * parity, so do discards.
 */
static void pass_on(struct kvp_pool *pool, kvp_lsn_t limit)
{
	/* Counted in versions: with a parity1 each needs several blocks of the log. */
	u64 most = kvp_log_limit_empty(pool->log) / PASSED_ON;

	if (!pool->destage->kept && !ops(pool)->takes_by_address(pool))
		return;
	pool->vdevs.order->pass_on(pool->wbuf, limit, clamp_t(u64, most, MIN_ROUND, MAX_ROUND),
				   pool->destage->kept);
}

/* Let the elevator learn of versions below @limit. Returns true if there may be more. */
static bool learn(struct kvp_pool *pool, kvp_lsn_t limit)
{
	bool more = kvp_elevator_gather(&pool->destage->elevator, limit);

	WRITE_ONCE(pool->destage->unknown, more ? 0 : unknown(pool));
	return more;
}

static void begin_round(struct kvp_pool *pool, kvp_lsn_t limit, struct round *r)
{
	INIT_LIST_HEAD(&r->data);
	INIT_LIST_HEAD(&r->holes);
	INIT_LIST_HEAD(&r->rest);
	r->nr = r->live = 0;
	r->next = (struct kvp_log_at){ limit, 0 };
	r->by_address = false;
	pass_on(pool, limit);
	learn(pool, limit);
	if (kvp_destage_many_passed(pool))
		kvp_destage_drop_passed(pool);
	take_holes(pool, limit, r);
}

/* Step 3. Discards end a round that has data, and begin the next one. */
static void take_versions(struct kvp_pool *pool, kvp_lsn_t limit, struct round *r)
{
	struct kvp_version *d;

	begin_round(pool, limit, r);
	r->by_address = !r->nr && kvp_elevator_nr(&pool->destage->elevator);
	if (r->by_address)
		r->nr = kvp_elevator_take(&pool->destage->elevator, round_versions(pool),
					  elevator_runs(pool), &r->data, &r->next);
	else if (!r->nr)
		r->nr = kvp_wbuf_take_logged(pool->wbuf, limit, round_versions(pool), &r->data,
					     &r->holes, &r->next);
	list_for_each_entry(d, &r->data, list)
		kvp_wbuf_advance(d, KVP_VERSION_HOMING);
}

static int by_lsn(void *priv, const struct list_head *a, const struct list_head *b)
{
	return kvp_version_after(list_entry(a, struct kvp_version, list),
				 list_entry(b, struct kvp_version, list));
}

/*
 * Step 6. Put versions back before all others. Versions of the elevator go before those that it
 * does not know. All of them count as spilled then, even those that have pages.
 */
static void put_back(struct kvp_pool *pool, struct round *r)
{
	list_splice_init(&r->holes, &r->rest);
	list_sort(NULL, &r->rest, by_lsn);
	if (r->by_address) {
		kvp_elevator_put_back(&pool->destage->elevator, &r->rest,
				      pool->destage->kept);
		return;
	}
	kvp_wbuf_put_spilled(pool->wbuf, &r->rest);
}

void kvp_destage_drop_outlived(struct kvp_pool *pool, struct list_head *versions)
{
	struct kvp_version *d, *next;
	LIST_HEAD(outlived);

	list_for_each_entry_safe(d, next, versions, list)
		if (kvp_wbuf_outlived(pool->wbuf, d))
			list_move_tail(&d->list, &outlived);
	if (!list_empty(&outlived))
		kvp_wbuf_drop_list(pool->wbuf, &outlived);
}

/* The progress of discard @d, if an earlier burst has begun it; else a new one. */
static struct kvp_discard_at *discard_at(struct kvp_destage *dg, const struct kvp_version *d)
{
	if (dg->discard.hole.lsn != d->lsn || dg->discard.hole.rec != d->rec ||
	    dg->discard.seq != d->seq)
		dg->discard = (struct kvp_discard_at){ .hole = { d->lsn, d->rec }, .seq = d->seq };
	return &dg->discard;
}

/*
 * Apply discards to the table. A discard of 1 GiB changes 512 pages, and it may be larger. A burst
 * changes no more pages than the table has room for, and the rest of the discard is put back. So a
 * checkpoint can write pages before they exceed the budget. Returns 0; 1: a part is left; or
 * -errno. The 1 is no errno, since a device may end a request with any errno.
 */
static int apply_holes(struct kvp_pool *pool, struct list_head *holes)
{
	u32 leaves = clamp_t(u32, kvp_table_budget(pool->table) / 8, 16, DISCARD_LEAVES);
	struct kvp_destage *dg = pool->destage;
	struct kvp_version *d, *next;
	LIST_HEAD(done);
	int ret = 0;

	list_for_each_entry_safe(d, next, holes, list) {
		ret = leaves ? kvp_home_discard(dg->home, d, discard_at(dg, d), &leaves) : 1;
		if (ret == -EIO && kvp_table_keep_silent(pool->table, NULL, NULL)) {
			dg->kept = true;
			dg->holes_kept = true;
			dg->holes_rest = jiffies + msecs_to_jiffies(KVP_TABLE_REST_MS);
			ret = 1;
		}
		if (ret)
			break;
		dg->discard.hole.lsn = KVP_LSN_MAX;
		dg->holes_kept = false;
		kvp_passdown_note(pool, d->block, d->count);
		list_move_tail(&d->list, &done);
	}
	kvp_wbuf_drop_list(pool->wbuf, &done);
	return ret;
}

/* No SSD has these versions any more. Poison their blocks, unless a newer version is durable. */
static int give_up(struct kvp_pool *pool, struct list_head *lost)
{
	struct kvp_version *d, *next;
	int ret = 0;

	list_for_each_entry_safe(d, next, lost, list) {
		ret = kvp_block_lose(pool, d);
		if (ret)
			break;
	}
	return ret;
}

/*
 * Step 4. Read spilled versions back into memory. A version that cannot be read now ends the round
 * before it. Lost versions come first in the round. So the table changes, and parity counts, in log
 * order.
 */
static int reload(struct kvp_pool *pool, struct round *r)
{
	struct kvp_version *first;
	LIST_HEAD(lost);
	int ret;

	if (!kvp_log_spills(pool->log))
		return 0;
	ret = kvp_reload(pool->log, &r->data, &lost, &r->rest);
	/*
	 * This is no failure of the pool, which goes on. Only the drain stops, and returns -EINTR.
	 */
	if (ret == -EINTR)
		set_bit(KVP_DESTAGE_STOP, &pool->destage->flags);
	if (!ret)
		ret = give_up(pool, &lost);
	list_splice(&lost, &r->rest);
	first = list_first_entry_or_null(&r->rest, struct kvp_version, list);
	if (first)
		r->next = (struct kvp_log_at){ first->lsn, first->rec };
	return ret;
}

/*
 * Set how many requests the next round of the elevator has, by the time of this one, which began at
 * @start. A gentle one, which has few, does not tell how many take too long.
 */
static void pace_elevator(struct kvp_pool *pool, unsigned long start)
{
	struct kvp_destage *dg = pool->destage;

	if (kvp_burst_is_short(&pool->destage->burst))
		dg->few_runs = kvp_pace(dg->few_runs, start, SHORT_JIFFIES, SHORT_RUNS,
					MAX_RELOADED);
	else if (!dg->gentle)
		dg->runs = kvp_pace(dg->runs, start, ELEVATOR_JIFFIES, MIN_RUNS, MAX_RELOADED);
}

/*
 * Set how many versions the next round takes, by the time of this one, which began at @start. From
 * a cache, a round is short: a writer that finds the log full waits for the rest of it. One that
 * wrote little took little time, and does not tell how long the next one takes.
 */
static void pace_round(struct kvp_pool *pool, const struct round *r, unsigned long start)
{
	struct kvp_destage *dg = pool->destage;
	bool cache = kvp_log_spills(pool->log);
	u32 n;

	if (r->nr * 2 <= dg->round)
		return;
	n = kvp_pace(dg->round, start, cache ? ELEVATOR_JIFFIES : ROUND_JIFFIES,
		     cache ? MIN_RUNS : MIN_ROUND, MAX_ROUND);
	if (n < dg->round || r->live > r->nr / 2)
		dg->round = n;
}

/* Count the versions of a round that are written home. From a log on legs, that is not needed. */
static void count_live(struct kvp_pool *pool, struct round *r)
{
	bool cache = kvp_log_spills(pool->log);
	struct kvp_version *d;

	r->live = cache ? 0 : r->nr;
	list_for_each_entry(d, &r->data, list)
		r->live += cache && !kvp_wbuf_outlived(pool->wbuf, d);
}

/*
 * Keep back the versions below pages of the table that are silent (table/patience.c). They stay in
 * the buffer and in the log, and hold the tail. Returns true if there are any.
 */
static bool keep_silent(struct kvp_pool *pool, struct list_head *versions, struct list_head *kept)
{
	if (!kvp_table_keep_silent(pool->table, versions, kept))
		return false;
	pool->destage->kept = true;
	return true;
}

/* Step 5. What lies below a page that turns out to be silent is kept back, and the rest goes on. */
static int write_home(struct kvp_pool *pool, struct round *r, struct list_head *kept)
{
	int ret = 0;

	kvp_home_sort(&r->data);
	while (!list_empty(&r->data)) {
		ret = kvp_home_write(pool->destage->home, &r->data, r->next);
		if (ret != -EIO || kvp_pool_faulted(pool) || !keep_silent(pool, &r->data, kept))
			break;
		ret = 0;
		list_sort(NULL, &r->data, by_lsn);
		kvp_home_sort(&r->data);
	}
	return ret;
}

/* Count the versions that were taken since one went home last. */
static void note_vain(struct kvp_destage *dg, const struct round *r)
{
	const struct kvp_version *d;
	u32 left = 0;

	list_for_each_entry(d, &r->rest, list)
		left++;
	list_for_each_entry(d, &r->holes, list)
		left++;
	dg->in_vain = left < r->nr ? 0 : dg->in_vain + r->nr;
	dg->homed |= left < r->nr;
}

/*
 * True if rounds have taken all that may go home, and only what is kept back is left. Then the run
 * ends, and a later one tries again.
 */
static bool only_kept(const struct kvp_destage *dg)
{
	u32 nr = kvp_elevator_nr(&dg->elevator);

	/*
	 * The count exceeds all versions. So a round has begun since, and the elevator has the new
	 * ones.
	 */
	return dg->kept && nr && dg->in_vain > nr;
}

/* Steps 3 to 6. Write a round of versions below @limit home. */
static int destage_round(struct kvp_pool *pool, kvp_lsn_t limit, u32 *taken)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long start = jiffies;
	struct round r;
	LIST_HEAD(kept);
	int ret;

	take_versions(pool, limit, &r);
	*taken = r.nr;
	if (!r.nr)
		return r.by_address && dg->elevator.short_of_memory ? -ENOMEM : 0;
	kvp_trace_destage(pool, r.nr);
	kvp_speed_begin(pool, r.nr);
	ret = apply_holes(pool, &r.holes);
	/* They need not be read. */
	if (r.by_address)
		pool->vdevs.order->drop_outlived(pool, &r.data);
	keep_silent(pool, &r.data, &kept);
	if (!ret)
		ret = reload(pool, &r);
	if (!ret) {
		count_live(pool, &r);
		ret = write_home(pool, &r, &kept);
	}
	list_splice_init(&r.data, &r.rest);
	list_splice_init(&kept, &r.rest);
	note_vain(dg, &r);
	put_back(pool, &r);
	if (ret > 0)
		ret = 0;
	pace_round(pool, &r, start);
	if (r.by_address)
		pace_elevator(pool, start);
	return ret;
}

/* --- the worker -------------------------------------------------------------------- */

/* The place where the tail may move once everything below it is home. Its lsn limits the rounds. */
static void current_mark(struct kvp_pool *pool, struct kvp_log_mark *mark)
{
	kvp_log_passed_mark(pool->log, mark);
	kvp_log_floor(pool->log, mark);
}

/* True if a writer waits for space in the log. */
static bool writer_waits(struct kvp_pool *pool)
{
	return kvp_log_short(pool->log);
}

/* The same, or a stream past a cache will soon need the space of old intents. */
static bool writer_or_stream_waits(struct kvp_pool *pool)
{
	return kvp_log_short(pool->log) || many_intents(pool);
}

/*
 * Take a checkpoint between two rounds, if the table has too many dirty pages, or the builder needs
 * space in the log. Everything below the oldest version that still waits is home, and so are
 * intents below @limit.
 */
static int checkpoint_between(struct kvp_pool *pool, kvp_lsn_t limit)
{
	struct kvp_log_mark mark;

	if (tail_is_worth_it(pool, &mark))
		return kvp_checkpoint(pool, &mark);
	if (ops(pool)->wants_tail(pool) && kvp_log_home_mark(pool->log, limit, &mark))
		return kvp_checkpoint(pool, &mark);
	return kvp_table_half_dirty(pool->table) ? kvp_checkpoint(pool, NULL) : 0;
}

/*
 * Streams that go home by intent get most of the time: on a disk that seeks, one request of destage
 * costs as much as one of theirs. But their records fill the log, too, though more slowly. So their
 * share shrinks to a half when no space is left.
 */
static unsigned long yield_for(struct kvp_pool *pool, unsigned long took)
{
	u32 left = kvp_pacing_room(pool);

	return min_t(unsigned long, took * min(1 + 2 * left, YIELD), 10 * HZ);
}

/*
 * Jiffies for which readers of home have the disks after a burst that took @ns, and @taken versions
 * home: many times as long, and less as the cache fills up. They get more than a host does beside a
 * log on legs: what is dirty on SSDs is safe there, and can be read. A least rate that was set
 * holds all the same.
 */
static unsigned long rest_for(struct kvp_pool *pool, u32 taken, u64 ns)
{
	u64 least = READ_ONCE(pool->tunables[KVP_T_DESTAGE_MIN_RATE]) >> KVP_BLOCK_SHIFT;
	u32 others = kvp_yield_others(100 - kvp_pacing_room(pool), kvp_destage_legs_seek(pool));
	u64 rest = nsecs_to_jiffies(kvp_yield_rest(READERS * ns, others, MOST_REST));

	return least ? min(rest, div64_u64((u64)taken * HZ, least)) : rest;
}

/* What an earlier burst has taken from readers counts, too. */
static void set_rest(struct kvp_pool *pool, u32 taken, u64 ns)
{
	unsigned long until = jiffies + rest_for(pool, taken, ns);

	if (time_after(until, READ_ONCE(pool->destage->rest)))
		WRITE_ONCE(pool->destage->rest, until);
}

static void no_pace(struct kvp_pool *pool, u32 taken, unsigned long start, u64 ns)
{
}

static void set_next(struct kvp_pool *pool, u32 taken, unsigned long start, u64 ns)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long took = jiffies - start, next = start;
	u64 rate = kvp_pacing_wants(pool);

	if (!taken)
		next = jiffies + HZ / 4;	/* no version could be taken: try again later */
	else if (rate && rate < kvp_speed_full(pool))
		next += min_t(u64, div64_u64((u64)taken * HZ, rate), 60 * HZ);
	WRITE_ONCE(dg->next, next);
	WRITE_ONCE(dg->yield, dg->yields ? jiffies + yield_for(pool, took) : jiffies);
	set_rest(pool, taken, ns);
}

/* Note whether streams went home by intent meanwhile, and set the time of the next round. */
static void end_round(struct kvp_pool *pool, u32 taken, unsigned long start, u64 ns)
{
	u64 intents = kvp_log_intent_blocks(pool->log);
	struct kvp_destage *dg = pool->destage;

	dg->yields = intents != dg->intents;
	dg->intents = intents;
	ops(pool)->set_pace(pool, taken, start, ns);
}

/*
 * What the burst shows of the legs' speed. One that took next to nothing shows none: its time is
 * that of a checkpoint. A short burst from legs shares these with the host. With the log on a
 * cache, it uses the legs as much as any other.
 */
static enum kvp_speed_burst burst_tells(const struct kvp_pool *pool, u32 taken)
{
	const struct kvp_destage *dg = pool->destage;
	bool brief = kvp_burst_is_short(&dg->burst);

	if (taken < (brief || dg->gentle ? min(elevator_runs(pool), FEW) : FEW))
		return KVP_SPEED_NOTHING;
	return brief ? ops(pool)->brief : KVP_SPEED_FULL;
}

/*
 * Run a round, and take a checkpoint if one is needed. If there is no memory for a table page,
 * dirty pages take it up. A checkpoint writes those, and then they can be reused. So each burst
 * makes progress (R24).
 */
static int destage_burst(struct kvp_pool *pool, kvp_lsn_t limit, bool all, bool *more)
{
	unsigned long start = jiffies;
	u64 ns = kvp_speed_clock(pool);
	u32 taken;
	int ret;

	kvp_burst_begin(&pool->destage->burst, pool->destage->home);
	pool->destage->gentle = ops(pool)->is_gentle(pool);
	ret = destage_round(pool, limit, &taken);
	if (ret == -ENOMEM && kvp_table_dirty(pool->table)) {
		*more = true;
		return kvp_checkpoint(pool, NULL);
	}
	if (!ret)
		ret = checkpoint_between(pool, limit);
	ns = kvp_speed_clock(pool) - ns;
	kvp_speed_note(pool, taken, ns, burst_tells(pool, taken));
	kvp_burst_end(&pool->destage->burst, ns);
	end_round(pool, taken, start, ns);
	*more = taken && !only_kept(pool->destage) &&
		(all || (!round_delay(pool) && !renewal_wanted(pool)));
	return ret;
}

/*
 * A discard need not wait until older versions are home, but only until the elevator knows all of
 * them. After a restart these may be millions, so release the lock in between.
 */
void kvp_destage_gather_to_holes(struct kvp_pool *pool, kvp_lsn_t limit)
{
	bool more = true;

	while (more && kvp_wbuf_nr_holes(pool->wbuf) &&
	       !kvp_destage_stops(pool->destage)) {
		mutex_lock(&pool->checkpoint_lock);
		more = kvp_elevator_gather(&pool->destage->elevator, limit);
		mutex_unlock(&pool->checkpoint_lock);
	}
}

/*
 * True if the drain that runs ends for now: only the idle timer wants it, and users read from home.
 * The pace goes on, and the timer comes again.
 */
static bool is_put_off(struct kvp_pool *pool)
{
	return ops(pool)->puts_off(pool) && !must_go_on(pool) && !checkpoint_wanted(pool);
}

/*
 * Write everything below @limit home. For spilled versions that may take minutes, so other tasks
 * may take a checkpoint between two bursts. Returns -EINTR if the pool stops, or the drain is put
 * off, and some versions are not home.
 */
static int destage_below(struct kvp_pool *pool, kvp_lsn_t limit, bool all)
{
	bool more;
	int ret;

	do {
		kvp_burst_rest(&pool->destage->burst);
		pool->vdevs.order->gather(pool, limit);
		mutex_lock(&pool->checkpoint_lock);
		ret = destage_burst(pool, limit, all, &more);
		mutex_unlock(&pool->checkpoint_lock);
		if (!ret && more && (kvp_destage_stops(pool->destage) ||
				     (all && is_put_off(pool))))
			ret = -EINTR;
	} while (!ret && more);
	return ret;
}

/*
 * Step 7. Move the tail to @mark, if everything below is home. If the log has moved since, @mark is
 * no place in it: take a checkpoint that leaves the tail.
 *
 * A round that takes no version does not prove that everything is home. A version that is spilled
 * between its looks at the two lists is found on neither. So look at both here, under the lock that
 * keeps rounds away (R2). Return: 1: a version below @mark still waits, and the tail stays; 0; or
 * -errno.
 */
static int move_tail(struct kvp_pool *pool, const struct kvp_log_mark *mark)
{
	int ret = 0;

	mutex_lock(&pool->checkpoint_lock);
	if (kvp_wbuf_waits_below(pool->wbuf, mark->lsn))
		ret = 1;
	else if (kvp_lsn_before(kvp_log_tail(pool->log), mark->lsn) || kvp_table_dirty(pool->table))
		ret = kvp_checkpoint(pool, kvp_lsn_before(mark->lsn, kvp_log_tail(pool->log)) ?
				     NULL : mark);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

/* Something is kept back: move the tail to it, and write all changed pages of the table. */
static int move_tail_to_kept(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;
	int ret = 0;

	mutex_lock(&pool->checkpoint_lock);
	current_mark(pool, &mark);
	if (kvp_log_home_mark(pool->log, mark.lsn, &mark))
		ret = kvp_checkpoint(pool, &mark);
	else if (kvp_table_dirty(pool->table))
		ret = kvp_checkpoint(pool, NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

/* Write everything below the current mark home, and move the tail to the mark. */
static int destage_and_checkpoint(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;
	int ret;

	current_mark(pool, &mark);
	do {
		ret = destage_below(pool, mark.lsn, true);
		if (!ret)
			ret = move_tail(pool, &mark);
	} while (ret == 1 && !pool->destage->kept);
	if (ret == 1)
		return move_tail_to_kept(pool);
	if (ret)
		return ret;
	WRITE_ONCE(pool->destage->done_lsn, mark.lsn);
	wake_up_all(&pool->destage->wait);
	return 0;
}

/*
 * Spill first: a buffer full of versions that can be spilled is no reason for a round. Renewals
 * would wait for that round, which takes as long as the disks do.
 */
static void spill_first(struct kvp_pool *pool)
{
	while (renews(pool) && kvp_spill(pool->log))
		cond_resched();
}

/* Let the elevator learn of the versions that are spilled, up to a discard. */
static void pack_spilled(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;
	bool more = true;

	while (more && !kvp_destage_stops(pool->destage)) {
		mutex_lock(&pool->checkpoint_lock);
		current_mark(pool, &mark);
		more = learn(pool, mark.lsn);
		mutex_unlock(&pool->checkpoint_lock);
	}
}

static int destage_some(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;

	spill_first(pool);
	if (pack_wanted(pool))
		pack_spilled(pool);
	if (round_delay(pool))
		return 0;
	current_mark(pool, &mark);
	return destage_below(pool, mark.lsn, false);
}

/* Resolve intents with a checkpoint that leaves the tail where it is. Returns true if it did. */
static bool resolve_intents(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;

	mutex_lock(&pool->checkpoint_lock);
	dg->error = resolve_wanted(pool) ? kvp_checkpoint(pool, NULL) : 0;
	mutex_unlock(&pool->checkpoint_lock);
	return !dg->error;
}

/* --- renewal ----------------------------------------------------------------------- */

/* Apply the discards that come next. Discards are not renewed, so they would hold the tail. */
static int apply_next_holes(struct kvp_pool *pool, kvp_lsn_t limit, u32 *taken)
{
	struct round r;
	int ret;

	begin_round(pool, limit, &r);
	*taken = r.nr;
	ret = apply_holes(pool, &r.holes);
	put_back(pool, &r);
	return min(ret, 0);
}

/* Move the tail past the versions that were renewed. */
static int pass_renewed(struct kvp_pool *pool)
{
	struct kvp_log_mark mark;

	if (tail_is_worth_it(pool, &mark))
		return kvp_checkpoint(pool, &mark);
	current_mark(pool, &mark);
	if (kvp_log_short(pool->log) && kvp_log_home_mark(pool->log, mark.lsn, &mark))
		return kvp_checkpoint(pool, &mark);
	return 0;
}

/*
 * Make space in the log of a cache without the disks. Returns true if it made progress. If it did
 * not (old versions may be unreadable, or memory short) and users wait for space, destage must make
 * it.
 */
static bool destage_renew(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;
	kvp_lsn_t tail = kvp_log_tail(pool->log);
	struct kvp_log_mark mark;
	u32 holes = 0, done = 0;
	bool got_on;

	mutex_lock(&pool->checkpoint_lock);
	/* An order that begins now waits until this has ended, or renews() sees the order. */
	WRITE_ONCE(dg->renewing, true);
	smp_mb();	/* pairs with the one in destage_all() */
	current_mark(pool, &mark);
	dg->error = renews(pool) ? apply_next_holes(pool, mark.lsn, &holes) : 0;
	if (!dg->error && renews(pool)) {
		done = kvp_renew_some(&dg->renew, mark.lsn);
		dg->error = pass_renewed(pool);
	}
	WRITE_ONCE(dg->renewing, false);
	wake_up_all(&dg->wait);
	got_on = done || tail != kvp_log_tail(pool->log);
	if (!got_on && (kvp_log_is_full(pool->log) ||
			(kvp_log_short(pool->log) && !dg->renew.pending)))
		kvp_log_renew_stuck(pool->log);
	mutex_unlock(&pool->checkpoint_lock);
	return got_on;
}

/*
 * The run has kept versions back, and has made no other progress. True if they are in the way of
 * writers: they hold the tail of a full log, where renewals make no space, or fill the buffer.
 */
static bool kept_are_in_the_way(struct kvp_pool *pool)
{
	if (pool->destage->homed)
		return false;
	return (kvp_log_short(pool->log) && !kvp_log_may_renew(pool->log)) ||
	       spilling_is_not_enough(pool);
}

/*
 * The run has ended with an error, or has kept something back. Fault the pool, unless only memory
 * was short, or what was kept back is not in the way of writers.
 */
static void judge_run(struct kvp_pool *pool, bool faulted)
{
	struct kvp_destage *dg = pool->destage;

	/*
	 * If the pool was faulted before, that explains the error. It may have been cleared
	 * meanwhile, so do not fault it again.
	 */
	if (dg->error && dg->error != -ENOMEM && !faulted)
		kvp_fail(&pool->failure, KVP_FAIL_LEGS, "blocks cannot be written home");
	if (dg->error || !dg->kept)
		return;
	dg->error = -EIO;
	if (!faulted && kept_are_in_the_way(pool))
		kvp_fail(&pool->failure, KVP_FAIL_LEGS,
			 "no space is left: a page of the table that blocks need to go home cannot be read");
}

/* Step 8. Set the timers for the next work, after @error or without one. */
static void set_timers(struct kvp_pool *pool, int error)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long delay;

	if (kvp_destage_stops(dg))
		return;
	mod_delayed_work(pool->work_wq, &dg->idle_work,
			 !error ? idle_jiffies(pool) :
			 msecs_to_jiffies(dg->kept ? KVP_TABLE_REST_MS : KVP_RETRY_MS));
	delay = error ? NEVER : destage_delay(pool);
	if (delay && delay != NEVER)
		queue_delayed_work(pool->work_wq, &dg->pace_work, delay);
}

/* What helps without a write home. Returns true if it made progress. */
static bool spare_the_disks(struct kvp_pool *pool)
{
	bool progress = resolve_wanted(pool) && resolve_intents(pool);

	if (!pool->destage->error && !checkpoint_wanted(pool) && renewal_wanted(pool))
		progress |= destage_renew(pool);
	return progress;
}

/* Step 2. Work until there is no more to do, or no progress. */
static void destage_work(struct work_struct *work)
{
	struct kvp_destage *dg = container_of(work, struct kvp_destage, work);
	struct kvp_pool *pool = dg->pool;
	bool faulted, progress;
	kvp_lsn_t before;
	u32 used;

	/* A kick from before the stop may have queued this afterwards. The log may have stopped. */
	if (kvp_destage_stops(dg))
		return;
	do {
		faulted = kvp_pool_faulted(pool);
		before = kvp_log_tail(pool->log);
		used = kvp_wbuf_nr_logged(pool->wbuf);
		dg->error = 0;
		dg->kept = false;
		dg->homed = false;
		dg->in_vain = 0;
		progress = spare_the_disks(pool);
		if (!dg->error && checkpoint_wanted(pool)) {
			dg->hurries = test_and_clear_bit(KVP_DESTAGE_HURRY, &dg->flags);
			clear_bit(KVP_DESTAGE_DRAIN, &dg->flags);
			dg->error = destage_and_checkpoint(pool);
			dg->hurries = false;
		} else if (!dg->error) {
			dg->error = destage_some(pool);
		}
		if (dg->error == -EINTR) {
			dg->error = 0;
			break;
		}
		/*
		 * No progress: intents on their way home are in the way. Their workers kick when
		 * they are home.
		 */
		if (!progress && before == kvp_log_tail(pool->log) &&
		    used <= kvp_wbuf_nr_logged(pool->wbuf))
			break;
	} while (!dg->error && destage_wanted(pool));
	kvp_spell_end(&dg->burst.spell);
	kvp_table_shrink(pool->table, false);
	judge_run(pool, faulted);
	set_timers(pool, dg->error);
	if (!dg->error)
		kvp_log_move_kick(pool->log);
	/* The builder may have found the log full just before space was freed. */
	kvp_commit_kick(pool->log, true);
	WRITE_ONCE(dg->ended, dg->ended + 1);
	wake_up_all(&dg->wait);
}

/* Start the worker. @now: write everything home, and take a checkpoint. */
static void kick(struct kvp_pool *pool, bool now)
{
	struct kvp_destage *dg = pool->destage;
	unsigned long delay;

	if (kvp_destage_stops(dg))
		return;
	if (now)
		set_bit(KVP_DESTAGE_DRAIN, &dg->flags);
	delay = now ? 0 : destage_delay(pool);
	if (!delay) {
		queue_work(pool->work_wq, &dg->work);
		return;
	}
	if (delay != NEVER)
		queue_delayed_work(pool->work_wq, &dg->pace_work, delay);
	if (!delayed_work_pending(&dg->idle_work))
		queue_delayed_work(pool->work_wq, &dg->idle_work, idle_jiffies(pool));
}

/* Write everything home from time to time, so that the log is short when the power goes. */
static void all_goes_home(struct kvp_pool *pool)
{
	if (kvp_log_counts(pool->log) || kvp_table_dirty(pool->table))
		kick(pool, true);
}

/*
 * While there are writers, or readers of home, do not write the whole log of a cache home. If many
 * versions wait, destage writes them home at its pace. If few wait, they are renewed, if there are
 * writers.
 */
static void all_goes_home_if_quiet(struct kvp_pool *pool)
{
	bool later = !writers_are_quiet(pool) && (!few_are_logged(pool) || renews(pool));

	if (!pool->destage->error && (later || beside_readers(pool)))
		kick(pool, false);
	else
		all_goes_home(pool);
}

static void idle_work(struct work_struct *work)
{
	struct kvp_destage *dg = container_of(to_delayed_work(work), struct kvp_destage, idle_work);

	ops(dg->pool)->idle(dg->pool);
}

const struct kvp_destage_ops kvp_destage_soon = {
	.all_must_go = log_or_table_half_full,
	.is_pressed = quarter_is_logged,
	.delay = until_pressed,
	.round = all_of_round,
	.takes_by_address = by_address,
	.wants_tail = writer_waits,
	.set_pace = no_pace,
	.idle = all_goes_home,
	.puts_off = never_put_off,
	.is_brief = kvp_burst_yields,
	.is_gentle = never_gentle,
	.brief = KVP_SPEED_BESIDE,
	.rest = kvp_burst_rest_for,
};

const struct kvp_destage_ops kvp_destage_at_a_pace = {
	.all_must_go = not_all,
	.is_pressed = pace_is_too_slow,
	.delay = until_next,
	.round = round_at_pace,
	.takes_by_address = once_spilled,
	.wants_tail = writer_or_stream_waits,
	.set_pace = set_next,
	.idle = all_goes_home_if_quiet,
	.puts_off = beside_readers,
	.is_brief = is_brief_at_pace,
	.is_gentle = has_time,
	.brief = KVP_SPEED_FULL,
	.rest = kvp_burst_no_rest,
};

static void pace_work(struct work_struct *work)
{
	struct kvp_destage *dg = container_of(to_delayed_work(work), struct kvp_destage, pace_work);

	kick(dg->pool, false);
}

/* Step 1. @now: write everything home, and take a checkpoint; the caller waits for that. */
void kvp_destage_kick(struct kvp_pool *pool, bool now)
{
	if (now && !kvp_destage_stops(pool->destage))
		set_bit(KVP_DESTAGE_HURRY, &pool->destage->flags);
	kick(pool, now);
}

void kvp_destage_ask(struct kvp_pool *pool)
{
	kick(pool, true);
}

void kvp_destage_relieve(struct kvp_pool *pool)
{
	const struct kvp_wbuf *w = pool->wbuf;

	if (kvp_wbuf_used(w) >= kvp_wbuf_limit(w) / 2 ||
	    (kvp_wbuf_to_be_committed(w) && !kvp_log_short(pool->log)))
		return;
	/* A stream that waits for a place would become data, and fill the log. */
	if (!kvp_log_stream_waits(pool->log))
		kvp_commit_now(pool->log);
	/*
	 * The log may have space again, or renewal makes some. If no page can be allocated, write
	 * everything home.
	 */
	kvp_destage_kick(pool, kvp_wbuf_scarce(w) || !kvp_log_may_renew(pool->log));
}

/* Why everything is written home. */
struct cause {
	enum {
		QUIET,	/* there are no writers: at the end, wait until the worker has stopped */
		BESIDE,	/* for @suspend, while there are writers: end if that is over */
		ORDER,	/* there are writers; end when the pool is about to be suspended */
	} why;
	u32 suspend;
};

static bool must_give_up(const struct kvp_pool *pool, const struct cause *c)
{
	switch (c->why) {
	case BESIDE:
		return !kvp_is_suspending(pool, c->suspend);
	case ORDER:
		return test_bit(KVP_POOL_SUSPENDING, &pool->flags);
	default:
		return false;
	}
}

/*
 * As flush_work(), but idle: a run may wait for slow disks. One run may be under way, and one
 * queued. Later runs are not waited for: if nothing can be written home, they come again and again.
 */
static void wait_for_worker(struct kvp_destage *dg)
{
	u32 ended = READ_ONCE(dg->ended);

	while (work_busy(&dg->work) && READ_ONCE(dg->ended) - ended < 2)
		schedule_timeout_idle(KVP_WORK_LOOK);
}

/*
 * Let the worker write home everything below @target, or as much as it can in one run, which may
 * take minutes. An order ends when a suspend begins: the suspend would wait for it with all I/O
 * stopped. What a suspend does beforehand ends when that is interrupted. The worker goes on.
 *
 * The run that ends first may have begun before the kick. So the caller calls this again until
 * everything is home. If there are no writers, an error of that run counts only if the next run,
 * where there is one, ends with an error, too.
 */
static int run_worker(struct kvp_pool *pool, kvp_lsn_t target, const struct cause *c)
{
	struct kvp_destage *dg = pool->destage;
	u32 seen = READ_ONCE(dg->ended);

	/* Otherwise all of the log would go home in a hurry. */
	if (must_give_up(pool, c))
		return -EINTR;
	atomic_inc(&dg->awaited);
	kvp_destage_kick(pool, true);
	/* Idle: otherwise the kernel reports the task as hung after two minutes. */
	wait_event_idle(dg->wait, READ_ONCE(dg->ended) != seen ||
			!kvp_lsn_before(READ_ONCE(dg->done_lsn), target) ||
			must_give_up(pool, c) || kvp_destage_stops(dg));
	atomic_dec(&dg->awaited);
	if (must_give_up(pool, c))
		return -EINTR;
	if (!kvp_lsn_before(READ_ONCE(dg->done_lsn), target))
		return 0;
	if (c->why == QUIET && READ_ONCE(dg->error))
		wait_for_worker(dg);
	return READ_ONCE(dg->error);
}

/* Write home everything that was accepted so far, and move the tail past it. */
static int destage_to_end(struct kvp_pool *pool, const struct cause *c)
{
	struct kvp_destage *dg = pool->destage;
	kvp_lsn_t target;
	int ret;

	ret = kvp_commit_sync(pool->log);
	if (ret)
		return ret;
	target = kvp_log_durable(pool->log);
	do {
		kvp_post_flush(pool->log);
		ret = run_worker(pool, target, c);
		if (ret == -ENOMEM) {
			kvp_wait_for_memory();
			ret = 0;
		}
	} while (!ret && kvp_lsn_before(READ_ONCE(dg->done_lsn), target) &&
		 !kvp_pool_faulted(pool) &&
		 !kvp_destage_stops(dg));
	/* A stop with a retained log came in between. */
	if (!ret && kvp_lsn_before(READ_ONCE(dg->done_lsn), target))
		ret = -EINTR;
	return kvp_pool_faulted(pool) ? -EIO : ret;
}

static int destage_all(struct kvp_pool *pool, const struct cause *c)
{
	struct kvp_destage *dg = pool->destage;
	int ret = 0;
	u32 n;

	atomic_inc(&dg->orders);
	smp_mb__after_atomic();	/* pairs with the one in destage_renew() */
	/*
	 * Let a renewal that has begun end first: its versions are committed below with all others.
	 */
	wait_event_idle(dg->wait, !READ_ONCE(dg->renewing) || must_give_up(pool, c));
	/* Parity was logged meanwhile, behind the tail. Write it home as well. */
	for (n = 0; !ret && n < pool->vdevs.order->drains; n++)
		ret = destage_to_end(pool, c);
	/* Everything is home, or an error has ended it. So the worker has little left to do. */
	if (c->why == QUIET)
		wait_for_worker(dg);
	atomic_dec(&dg->orders);
	return ret;
}

int kvp_destage_all(struct kvp_pool *pool)
{
	return destage_all(pool, &(struct cause){ .why = QUIET });
}

int kvp_destage_beside(struct kvp_pool *pool, u32 suspend)
{
	return destage_all(pool, &(struct cause){ .why = BESIDE, .suspend = suspend });
}

int kvp_destage_order(struct kvp_pool *pool)
{
	return destage_all(pool, &(struct cause){ .why = ORDER });
}

int kvp_destage_last_tail(struct kvp_pool *pool)
{
	struct kvp_log_mark mark, floor;
	kvp_lsn_t oldest;
	bool moves;
	int ret = 0;

	mutex_lock(&pool->checkpoint_lock);
	current_mark(pool, &floor);
	kvp_wbuf_lock_lists(pool->wbuf);
	moves = !__kvp_wbuf_oldest(pool->wbuf, &oldest);
	kvp_wbuf_unlock_lists(pool->wbuf);
	mark = floor;
	if (!moves)
		moves = kvp_log_home_mark(pool->log, floor.lsn, &mark);
	moves &= kvp_lsn_before(kvp_log_tail(pool->log), mark.lsn);
	if (moves || kvp_table_dirty(pool->table))
		ret = kvp_checkpoint(pool, moves ? &mark : NULL);
	mutex_unlock(&pool->checkpoint_lock);
	return ret;
}

/* --- life --------------------------------------------------------------------------------- */

int kvp_destage_init(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;

	dg->pool = pool;
	init_waitqueue_head(&dg->wait);
	INIT_WORK(&dg->work, destage_work);
	INIT_DELAYED_WORK(&dg->idle_work, idle_work);
	INIT_DELAYED_WORK(&dg->pace_work, pace_work);
	dg->next = dg->yield = dg->rest = dg->seq_at = jiffies;
	dg->read_at = jiffies - HZ;
	dg->round = MIN_ROUND;
	dg->runs = MIN_RUNS;
	dg->few_runs = SHORT_RUNS;
	kvp_burst_init(&dg->burst, pool);
	kvp_elevator_init(&dg->elevator, pool->wbuf, &pool->vdevs, &dg->burst.spell);
	kvp_renew_init(&dg->renew, pool, &dg->elevator);
	dg->home = kvp_home_alloc(pool, false);
	return dg->home ? 0 : -ENOMEM;
}

void kvp_destage_exit(struct kvp_pool *pool)
{
	kvp_home_free(pool->destage->home);
	pool->destage->home = NULL;
}

void kvp_destage_stop(struct kvp_pool *pool)
{
	struct kvp_destage *dg = pool->destage;

	set_bit(KVP_DESTAGE_STOP, &dg->flags);
	wake_up_all(&dg->wait);
	cancel_delayed_work_sync(&dg->idle_work);
	cancel_delayed_work_sync(&dg->pace_work);
	kvp_work_wait(&dg->work);
	cancel_work_sync(&dg->work);
	cancel_delayed_work_sync(&dg->idle_work);
	cancel_delayed_work_sync(&dg->pace_work);
}

void kvp_destage_start(struct kvp_pool *pool)
{
	clear_bit(KVP_DESTAGE_STOP, &pool->destage->flags);
}
