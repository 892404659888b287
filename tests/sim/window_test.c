// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window of a cache's log changes while the pool is in use. The power goes at every step, or a
 * leg or an SSD fails.
 */
#include <string.h>

#include "cache/pacing.h"
#include "core/cache.h"
#include "inuse.h"
#include "log/log.h"
#include "log/renew.h"
#include "pool/cachemode.h"
#include "pool/cachewindow.h"
#include "ram/wbuf.h"
#include "script.h"
#include "super/members.h"
#include "work/destage.h"

#define NO_DISK		IN_USE_NO_DISK

enum size { NARROW, WIDE };

/* One window after the other. */
static const struct course {
	const char *name;
	enum size first, windows[3];
	u32 nr;
} courses[] = {
	{ "grow", NARROW, { WIDE }, 1 },
	{ "shrink", WIDE, { NARROW }, 1 },
	{ "there-and-back", NARROW, { WIDE, NARROW, WIDE }, 3 },
};

/* Windows in which blocks are renewed. */
#define WIDE_RENEWING	6144u
#define NARROW_RENEWING	5120u
#define KEPT		400u	/* blocks that stay dirty in the smaller one */
#define TOO_MANY	2600u	/* more than may be dirty there */
#define FIRST_KEPT	64u
#define HOT		3000u	/* a few that are written all the time */

static const struct host_start renewing = { .legs = 4, .cache = 2, .large = true };

static const struct host_start shapes[] = {
	{ .legs = 4, .cache = 2 }, { .legs = 4, .parity = true, .cache = 1 },
	{ .legs = 5, .cache = 3, .cache_parity = true },
};

static struct {
	const struct course *course;
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
} variant;

static struct {
	struct in_use use;
	bool busy;
	u32 writers;
	bool is_set;
	int error;
} own;

static const struct kvp_geometry *cache_of(const struct script *s)
{
	return kvp_pool_cache(s->host.pool)->g;
}

/* Blocks of a window: rows need more, and so do the chunks of a parity1. */
static u32 blocks_of(const struct host_start *hs, enum size size)
{
	if (hs->large)
		return size == WIDE ? WIDE_RENEWING : NARROW_RENEWING;
	if (size == WIDE)
		return hs->cache_parity ? WIDE_WINDOW_OF_ROWS : WIDE_WINDOW;
	return hs->cache_parity ? 2048 : hs->parity ? USUAL_WINDOW : NARROW_WINDOW;
}

static u32 blocks(const struct script *s, enum size size)
{
	return blocks_of(&s->start, size);
}

static u64 bytes(const struct script *s, enum size size)
{
	return (u64)blocks(s, size) << KVP_BLOCK_SHIFT;
}

static void expect_window(struct script *s, enum size size)
{
	if (kvp_log_window(cache_of(s)) != blocks(s, size))
		sim_fail("the window has %llu blocks, not %u", kvp_log_window(cache_of(s)),
			 blocks(s, size));
}

static void read_all(struct script *s)
{
	host_read_each(&s->host, 0, s->o.blocks);
}

/* Blocks from the tail's segment on that were appended to. */
static u64 used(const struct script *s)
{
	struct kvp_log *log = s->host.pool->log;
	const struct kvp_geometry *g = s->host.pool->vdevs.log_vdev->g;

	return kvp_lsn_since(kvp_log_head(log), kvp_lsn_down(kvp_log_tail(log), g->segment_blocks));
}

/* Let as much of the log be in use as may be. */
static void fill(struct script *s)
{
	u32 i;

	for (i = 0; i < blocks(s, WIDE) / 16; i++) {
		host_write(&s->host, 16 * (i % 30), 14, false);
		host_flush(&s->host);
	}
}

/* No change is under way. */
static void expect_all_of_it(const struct script *s)
{
	const struct kvp_log *log = s->host.pool->log;

	if (READ_ONCE(log->narrow) || READ_ONCE(log->squeeze) || READ_ONCE(log->shrinks))
		sim_fail("the log may still use only a part of its window");
}

static void set_window(struct script *s, enum size size)
{
	struct host *h = &s->host;
	int ret = kvp_cache_set_window(h->pool, bytes(s, size), &h->refusal);

	if (!ret && !kvp_has_data(h->pool->vdevs.log_vdev->g) &&
	    used(s) > kvp_log_window(cache_of(s)))
		sim_fail("%llu blocks are in use", used(s));
	if (!ret)
		expect_window(s, size);
	else if (variant.victim == NO_DISK)
		sim_fail("window not set: %s", h->refusal.why);
	else if (!h->refusal.why[0])
		sim_fail("refused with %d and no reason", ret);
	expect_all_of_it(s);
}

static void change(struct script *s)
{
	u32 i;

	fill(s);
	own.use.pause = 5;
	in_use_begin(&own.use, s, variant.victim, variant.after);
	for (i = 0; i < variant.course->nr; i++) {
		set_window(s, variant.course->windows[i]);
		in_use_step(s, i);
	}
	in_use_end(&own.use);
	script_note_lost(s);
}

/* More and more is written than a smaller window holds, and a stop and a start follow. */
static void whole(struct script *s)
{
	u32 i;

	disks.forgets = true;
	for (i = 0; i < variant.course->nr; i++) {
		fill(s);
		set_window(s, variant.course->windows[i]);
		fill(s);
		host_stop(&s->host);
		script_start(s);
		expect_window(s, variant.course->windows[i]);
		read_all(s);
	}
	/* With the log elsewhere the window is noted; it counts when the log is back. */
	if (kvp_cache_set_mode(s->host.pool, KVP_CACHE_WRITETHROUGH, true, &s->host.refusal))
		sim_fail("mode: %s", s->host.refusal.why);
	set_window(s, variant.course->first);
	if (kvp_cache_set_mode(s->host.pool, KVP_CACHE_WRITEBACK, true, &s->host.refusal))
		sim_fail("mode: %s", s->host.refusal.why);
	expect_window(s, variant.course->first);
	fill(s);
	read_all(s);
}

/* --- step by step ------------------------------------------------------------------------ */

static void setter(void *arg)
{
	struct script *s = arg;

	own.error = kvp_cache_set_window(s->host.pool, bytes(s, variant.course->windows[0]),
					 &s->host.refusal);
	own.is_set = true;
}

static void filler(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; own.busy && i < 150; i++) {
		host_write(&s->host, 16 * (i % 30), 14, false);
		host_flush(&s->host);
	}
	own.writers--;
}

static void stall_all(struct script *s, u32 end, u64 from, u64 to)
{
	u32 i;

	for (i = 0; i < end; i++)
		disks_stall(i, from, to);
}

/* Another superblock; the machine ends before it counts. */
static void other_setter(void *arg)
{
	struct script *s = arg;
	int ret = kvp_pool_set(s->host.pool, KVP_T_SCRUB_RATE, 0);

	if (ret)
		sim_fail("set: %d", ret);
}

/*
 * Nothing goes home, and superblocks hang: nothing is appended beyond either window. Before a
 * smaller window there is another superblock on its way.
 */
static void between(struct script *s)
{
	struct host *h = &s->host;
	u32 data = s->start.legs - s->start.cache;
	u32 least = blocks(s, NARROW);

	if (variant.course->first == NARROW)
		stall_all(s, data, disks.data_start, disks.data_start + POOL_BLOCKS);
	host_write(h, 3, 5, true);
	script_cut_from_here(s);
	stall_all(s, s->start.legs, 0, KVP_LABEL_BLOCKS);
	if (variant.course->first == WIDE) {
		sim_spawn("other_setter", other_setter, s);
		while (!mutex_is_locked(&h->pool->sb_lock))
			host_sleep(10);
	}
	sim_spawn("setter", setter, s);
	host_sleep(400);
	own.busy = true;
	own.writers = 1;
	sim_spawn("filler", filler, s);
	host_sleep(3000);
	if (own.is_set)
		sim_fail("the window is set before a superblock says so");
	if (used(s) > least)
		sim_fail("%llu blocks are in use before the window is set", used(s));
	if (used(s) + kvp_log_reserved(h->pool->log) < least / 3)
		sim_fail("%llu blocks are in use: the case was not set up", used(s));
	own.busy = false;
}

/* Each block once: while none of them goes home, a checkpoint gives no room. */
static void once_each(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; own.busy && i < s->o.blocks; i++) {
		host_write(&s->host, i, 1, false);
		host_flush(&s->host);
	}
	own.writers--;
}

/*
 * Nothing goes home any more, and the log is filled. Nothing is renewed, which would make room. No
 * superblock says so: it would record the window, too.
 */
static void fill_hanging(struct script *s)
{
	WRITE_ONCE(s->host.pool->tunables[KVP_T_RENEW_MARK], 0);
	stall_all(s, s->start.legs - s->start.cache, disks.data_start,
		  disks.data_start + POOL_BLOCKS);
	own.busy = true;
	own.writers = 1;
	sim_spawn("once_each", once_each, s);
	host_sleep(3000);
	if (used(s) + kvp_log_reserved(s->host.pool->log) <= blocks(s, NARROW))
		sim_fail("%llu blocks are in use: the case was not set up", used(s));
	own.busy = false;
}

/* More is in the log than the old window holds, and nothing goes home: a start finds all of it. */
static void filled(struct script *s)
{
	set_window(s, WIDE);
	fill_hanging(s);
	script_cut_from_here(s);
	host_read_check(&s->host, 3);
}

/* Homes hang, so too much stays in the log: the window stays as it is. The machine ends so. */
static void hanging(struct script *s)
{
	fill_hanging(s);
	script_cut_from_here(s);
	sim_spawn("setter", setter, s);
	host_sleep(2000);
	if (own.is_set)
		sim_fail("the window is set before the log fits it");
	expect_window(s, WIDE);
}

/* --- in the background, and what is refused ------------------------------------------------ */

static void expect_refusal(struct script *s, u64 window_bytes, int error, const char *words)
{
	struct host *h = &s->host;
	int ret = kvp_cache_set_window(h->pool, window_bytes, &h->refusal);

	if (ret != error || !strstr(h->refusal.why, words))
		sim_fail("set gave %d (%s)", ret, h->refusal.why);
}

/* The drain that runs is ended by a suspend, or by a cancel. */
static void end_early(struct script *s, bool suspend)
{
	struct kvp_pool *pool = s->host.pool;

	if (suspend)
		kvp_drain_quiesce(pool);
	else if (kvp_drain_cancel(pool))
		sim_fail("not cancelled");
	while (pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(10);
	if (pool->drain->state != KVP_DRAIN_CANCELLED)
		sim_fail("state %d", pool->drain->state);
	if (suspend)
		kvp_drain_unquiesce(pool);
	expect_window(s, WIDE);
	expect_all_of_it(s);
}

static void stopped_by(struct script *s, bool suspend)
{
	struct host *h = &s->host;
	u32 data = s->start.legs - s->start.cache, i;
	struct kvp_drain_figures f;

	fill_hanging(s);
	if (kvp_cache_start_window(h->pool, bytes(s, NARROW), &h->refusal))
		sim_fail("not begun: %s", h->refusal.why);
	host_sleep(300);
	kvp_drain_figures(h->pool->drain, &f);
	if (f.state != KVP_DRAIN_RUNNING || f.window != blocks(s, NARROW) || !f.left ||
	    f.left > f.total)
		sim_fail("state %d, window %llu, left %llu of %llu", f.state, f.window, f.left,
			 f.total);
	expect_refusal(s, bytes(s, WIDE), -EBUSY, "is being drained");
	end_early(s, suspend);
	for (i = 0; i < data; i++)
		disks_release(i);
	while (own.writers)
		host_sleep(10);
}

static void expect_state(struct script *s, enum kvp_drain_state state)
{
	struct kvp_drain_figures f;

	kvp_drain_figures(s->host.pool->drain, &f);
	if (f.state != state)
		sim_fail("the drain's state is %d, not %d", f.state, state);
}

/* No drain is begun for a window that the log fits. */
static void start_at_once(struct script *s, enum kvp_drain_state state)
{
	if (kvp_cache_start_window(s->host.pool, bytes(s, WIDE), &s->host.refusal))
		sim_fail("not set: %s", s->host.refusal.why);
	expect_state(s, state);
	expect_window(s, WIDE);
}

static void background(struct script *s)
{
	struct host *h = &s->host;

	disks.forgets = true;
	set_window(s, WIDE);
	expect_state(s, KVP_DRAIN_NONE);
	start_at_once(s, KVP_DRAIN_NONE);
	expect_refusal(s, (u64)100 << KVP_BLOCK_SHIFT, -ERANGE, "between 64 MiB and 64 GiB");
	expect_refusal(s, 1ull << 40, -ERANGE, "between 64 MiB and 64 GiB");
	if (s->start.parity)
		expect_refusal(s, (u64)NARROW_WINDOW << KVP_BLOCK_SHIFT, -ERANGE,
			       "too few for the chunks");
	expect_window(s, WIDE);
	stopped_by(s, false);
	stopped_by(s, true);
	if (kvp_cache_start_window(h->pool, bytes(s, NARROW), &h->refusal))
		sim_fail("not begun: %s", h->refusal.why);
	while (h->pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(10);
	expect_window(s, NARROW);
	expect_state(s, KVP_DRAIN_DONE);
	set_window(s, WIDE);
	expect_state(s, KVP_DRAIN_DONE);
	start_at_once(s, KVP_DRAIN_NONE);
	/* No window is larger than the log. */
	if (kvp_cache_set_window(h->pool, 64ull << 30, &h->refusal))
		sim_fail("not set: %s", h->refusal.why);
	if (kvp_log_window(cache_of(s)) != kvp_log_blocks(cache_of(s)))
		sim_fail("the window is not the log");
	read_all(s);
}

/* A log may have no room for blocks: what is asked of it then is an answer, not a fault. */
static void no_room(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u32 room;

	if (kvp_cache_set_window(pool, (u64)NARROW_WINDOW << KVP_BLOCK_SHIFT, &s->host.refusal))
		sim_fail("not set: %s", s->host.refusal.why);
	if (kvp_log_limit_empty(pool->log))
		sim_fail("there is room: the case was not set up");
	room = kvp_pacing_room(pool);
	if (room)
		sim_fail("%u per cent of no room are left", room);
}

/* --- with renewals --------------------------------------------------------------------------- */

static u64 went_home(const struct script *s)
{
	return atomic64_read(&s->host.pool->work_stats.destage_blocks);
}

/* One block, and no round of destage is due for long. */
static void write_one(struct script *s, u64 block, bool wait)
{
	WRITE_ONCE(s->host.pool->destage->next, jiffies + 600 * HZ);
	host_write(&s->host, block, 1, wait);
}

/*
 * @kept blocks are dirty, with others between them that are written again and again. More of the
 * log is in use than a smaller window has.
 */
static void fill_and_keep(struct script *s, u32 kept)
{
	struct kvp_pool *pool = s->host.pool;
	u32 i;

	if (!kvp_log_renew_kept(pool->log))
		sim_fail("nothing is renewed: the case was not set up");
	kvp_wbuf_set_limit(pool->wbuf, 8192);
	for (i = 0; i < kept; i++) {
		write_one(s, FIRST_KEPT + i * 1009 % kept, false);
		if (kept == KEPT || i % 16 == 15)
			write_one(s, HOT + i % 7, true);
		if (kept == KEPT)
			write_one(s, HOT + i % 7, true);
	}
	for (i = 0; used(s) < WIDE_RENEWING / 3 * 2; i++)
		write_one(s, HOT + i % 7, true);
	if (kvp_wbuf_live(pool->wbuf) < kept)
		sim_fail("%u blocks are dirty: the case was not set up", kvp_wbuf_live(pool->wbuf));
}

static void busy_writer(void *arg)
{
	struct script *s = arg;
	u32 i;

	for (i = 0; own.busy; i++) {
		host_write(&s->host, HOT - 100 + i * 37 % 100, 1 + i % 4, false);
		if (i % 4 == 3)
			host_flush(&s->host);
	}
	own.writers--;
}

static void begin_busy(struct script *s, u32 writers)
{
	own.busy = true;
	for (own.writers = 0; own.writers < writers; own.writers++)
		sim_spawn("writer", busy_writer, s);
}

static void end_busy(void)
{
	own.busy = false;
	while (own.writers)
		host_sleep(10);
}

/* What is dirty fits the smaller window: nothing goes home. */
static void renew(struct script *s)
{
	u64 home, renewed;

	disks.forgets = true;
	fill_and_keep(s, KEPT);
	home = went_home(s);
	renewed = atomic64_read(&s->host.pool->work_stats.renewed);
	set_window(s, NARROW);
	if (went_home(s) != home)
		sim_fail("%llu blocks went home", went_home(s) - home);
	if (atomic64_read(&s->host.pool->work_stats.renewed) == renewed)
		sim_fail("nothing was renewed");
	read_all(s);
}

/* More is dirty than may be in the smaller one: some goes home, by large rounds, or all. */
static void renew_over(struct script *s)
{
	u64 home;

	disks.forgets = true;
	fill_and_keep(s, TOO_MANY);
	home = went_home(s);
	begin_busy(s, 1);
	set_window(s, NARROW);
	if (went_home(s) == home)
		sim_fail("nothing went home: the case was not set up");
	end_busy();
	read_all(s);
}

/* Renewal is off: all goes home, as ever. */
static void renew_never(struct script *s)
{
	disks.forgets = true;
	fill_and_keep(s, KEPT);
	if (kvp_pool_set(s->host.pool, KVP_T_RENEW_MARK, 0))
		sim_fail("the mark cannot be set");
	set_window(s, NARROW);
	read_all(s);
}

/* Writers fill all that they may. */
static void renew_busy(struct script *s)
{
	u64 home;

	disks.forgets = true;
	fill_and_keep(s, KEPT);
	begin_busy(s, 4);
	home = went_home(s);
	set_window(s, NARROW);
	if (went_home(s) != home)
		sim_fail("%llu blocks went home", went_home(s) - home);
	end_busy();
	read_all(s);
}

/* Too many are dirty, and homes hang. */
static void renew_cancel(struct script *s)
{
	u32 i;

	disks.forgets = true;
	fill_and_keep(s, TOO_MANY);
	stall_all(s, s->start.legs - s->start.cache, disks.data_start,
		  disks.data_start + LARGE_BLOCKS);
	for (i = 0; i < 2; i++) {
		if (kvp_cache_start_window(s->host.pool, bytes(s, NARROW), &s->host.refusal))
			sim_fail("not begun: %s", s->host.refusal.why);
		host_sleep(1000);
		if (!kvp_log_shrinks(s->host.pool->log))
			sim_fail("it is not renewed");
		end_early(s, i);
	}
	for (i = 0; i < s->start.legs; i++)
		disks_release(i);
	read_all(s);
}

static void renew_cut(struct script *s)
{
	fill_and_keep(s, KEPT);
	change(s);
}

/* --- the cases -------------------------------------------------------------------------------- */

static void set_up(struct script *s)
{
	s->crash.heal_allowed = variant.victim != NO_DISK;
	/* without the last SSD, rows are written home without logged parity: known-gaps.md */
	s->crash.poison_allowed = s->start.parity && s->start.cache == 1 &&
				  variant.victim == s->start.legs - 1;
}

static void case_of(const char *what, const struct host_start *with, const struct course *course,
		    void (*act)(struct script *s), u32 cuts)
{
	struct host_start shape = *with;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .act = act, .leave = cuts,
		.turns = 1, .most = 1, .salt = 1900 + 100 * variant.victim + variant.after,
		.cuts = cuts, .depth = variant.victim == NO_DISK ? CHECK_RECRASH : CHECK_LEGS,
		.own = &own, .own_size = sizeof(own),
	};

	variant.course = course;
	shape.cache_dirty = blocks_of(with, course->first);
	if (shape.cache_dirty == USUAL_WINDOW)
		shape.cache_dirty = 0;
	snprintf(name, sizeof(name), variant.victim == NO_DISK ? "modes:window:%s:%s%s:%s" :
		 "modes:window:%s:%s%s:%s:%u:%u", what, with->parity ? "parity" : "mirror",
		 with->cache_parity ? "+3" : with->cache > 1 ? "+2" : "+1", course->name,
		 variant.victim, variant.after);
	script_run(&c);
}

static void run_renewals(void)
{
	u32 i;

	case_of("renew", &renewing, &courses[1], renew, 0);
	case_of("renew-over", &renewing, &courses[1], renew_over, 0);
	case_of("renew-never", &renewing, &courses[1], renew_never, 0);
	case_of("renew-busy", &renewing, &courses[1], renew_busy, 0);
	case_of("renew-cancel", &renewing, &courses[1], renew_cancel, 0);
	case_of("renew-cut", &renewing, &courses[1], renew_cut, 24);
	for (variant.victim = 0; variant.victim < renewing.legs; variant.victim++)
		for (i = 0; i < 3; i++) {
			variant.after = 300 + 200 * i;
			case_of("renew-lost", &renewing, &courses[1], renew_cut, 2);
		}
	variant.victim = NO_DISK;
	variant.after = 0;
}

static void lose(const struct host_start *with)
{
	u32 i;

	for (i = 0; i < 2; i++)
		for (variant.victim = 0; variant.victim < with->legs; variant.victim++)
			for (variant.after = 0; variant.after < 24;
			     variant.after += opt.thorough ? 1 : 5)
				case_of("lost", with, &courses[i], change, 4);
	variant.victim = NO_DISK;
	variant.after = 0;
}

void run_window_changes(void)
{
	const struct host_start *shape, *end = shapes + ARRAY_SIZE(shapes);
	u32 i;

	variant.victim = NO_DISK;
	variant.after = 0;
	for (shape = shapes; shape < end; shape++) {
		for (i = 0; i < ARRAY_SIZE(courses); i++) {
			case_of("cut", shape, &courses[i], change,
				courses[i].nr > 1 ? 60 : SCRIPT_EVERYWHERE);
			case_of("whole", shape, &courses[i], whole, 0);
		}
		case_of("between", shape, &courses[0], between, 20);
		case_of("between", shape, &courses[1], between, 20);
		case_of("filled", shape, &courses[0], filled, 10);
		case_of("hanging", shape, &courses[1], hanging, 10);
		case_of("background", shape, &courses[1], background, 0);
	}
	for (shape = shapes; shape < end; shape++)
		lose(shape);
	case_of("no-room", &shapes[2], &courses[1], no_room, 0);
	run_renewals();
}
