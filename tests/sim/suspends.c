// SPDX-License-Identifier: GPL-2.0-only
/*
 * A suspend arrives while an order of the pool runs. Each order that the pool takes meets each kind
 * of suspend at several points, beside a leg that answers and beside one that does not. Then the
 * order has ended as it tells, or goes on and ends once. No task is left waiting, and all data of
 * users is there, also after a restart.
 *
 * The suspend goes as in target/target.c: a worker of its own waits and writes back while requests
 * are served. Then all orders must have returned, and the pool is quiesced, or halted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "script.h"
#include "core/cache.h"
#include "pool/ahead.h"
#include "pool/cachemode.h"
#include "pool/online.h"
#include "pool/spare.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/members.h"
#include "table/table.h"
#include "work/changed.h"
#include "work/destage.h"
#include "work/resilver.h"
#include "work/scrub.h"
#include "work/trim.h"

#define OLD		80u	/* blocks that are home before the order, each third one */
#define LARGER		4400u	/* blocks of a leg that has grown */
#define SOON_MS		60000u	/* until then all must have ended */
#define MINUTES_MS	130000u	/* after which the kernel reports a task as hung */
#define MOMENT_NS	(20 * NSEC_PER_MSEC)	/* what waits for no request takes less */
#define RATE		(2ull << 20)

enum kind { FLUSH, NOFLUSH, KILLED, GIVEN_UP, KINDS };

static const char *const kinds[KINDS] = { "flush", "noflush", "killed", "given-up" };

/* When the suspend arrives, in ms after the order; by turns. */
static const u32 points[] = { 0, 1, 5, 20, 100, 400 };

struct order {
	const char *name;
	const struct host_start *shape;
	void (*prepare)(struct script *t);
	int (*act)(struct script *t);		/* as the worker of a message */
	/* @result: of the order; it has ended, and the last suspend, too */
	void (*check)(struct script *t, int result);
	bool table;		/* a new table begins it: @act suspends the pool by itself */
	void (*disks)(struct script *t);	/* what the disks are like; or NULL */
};

/* What a case knows besides its script. */
static struct {
	const struct order *order;
	enum kind kind;
	bool hangs;		/* leg 0 does not answer requests for data */
	int result;		/* of the order */
	bool ordered;		/* it has returned */
	u32 suspend;		/* its number */
	bool written_back;	/* the worker of the suspend has ended */
	const char *hung;	/* what that worker waited for when it looked hung; or NULL */
	bool told_to_end;	/* a drain ran when the suspend began, and had not begun to move */
	u8 uuid[16];
} own;

/* --- steps ------------------------------------------------------------------------------- */

static struct kvp_pool *pool_of(struct script *t)
{
	return t->host.pool;
}

static void hold(struct script *t)
{
	disks_stall(0, disks.data_start, disks.img[0].blocks - KVP_LABEL_BLOCKS - 1);
}

static void wait_until(struct script *t, bool (*over)(struct script *t), const char *what)
{
	u32 ms;

	for (ms = 0; !over(t); ms++, host_sleep(1))
		if (ms >= SOON_MS)
			sim_fail("%s: left waiting", what);
}

static bool has_returned(struct script *t)
{
	return own.ordered;
}

static bool has_written_back(struct script *t)
{
	return own.written_back;
}

static u32 events_of(struct script *t, const char *begin)
{
	struct kvp_pool *pool = pool_of(t);
	u64 seq, next = pool->events->next;
	struct kvp_disk_event e;
	u32 n = 0;

	for (seq = next > KVP_EVENT_RING ? next - KVP_EVENT_RING : 0; seq < next; seq++)
		n += kvp_event_get(pool, seq, &e) &&
		     !strncmp((char *)e.text, begin, strlen(begin));
	return n;
}

static void expect_event(struct script *t, const char *begin)
{
	if (events_of(t, begin) != 1)
		sim_fail("%u events %s", events_of(t, begin), begin);
}

static void expect_result(int result, int one, int other)
{
	if (result != one && result != other)
		sim_fail("the order ends with %d", result);
}

static void succeeds(struct script *t, int result)
{
	expect_result(result, 0, 0);
}

static void may_be_interrupted(struct script *t, int result)
{
	expect_result(result, 0, -EINTR);
}

/* --- scrub, trim, resilver ---------------------------------------------------------------- */

static bool scrub_rests(struct script *t)
{
	return READ_ONCE(pool_of(t)->scrub->info.state) != KVP_SCRUB_RUNNING;
}

static bool trim_rests(struct script *t)
{
	return READ_ONCE(pool_of(t)->trim->info.state) != KVP_TRIM_RUNNING;
}

static void scrub_slowly(struct script *t)
{
	if (kvp_pool_set(pool_of(t), KVP_T_SCRUB_RATE, RATE))
		sim_fail("no rate is set");
}

static int scrub(struct script *t)
{
	return kvp_scrub_start(pool_of(t), 0);
}

static void scrub_ends(struct script *t, int result)
{
	succeeds(t, result);
	wait_until(t, scrub_rests, "a scrub");
	if (pool_of(t)->scrub->info.state != KVP_SCRUB_FINISHED)
		sim_fail("a scrub is in state %u", pool_of(t)->scrub->info.state);
	expect_event(t, "scrub_started");
	expect_event(t, "scrub_finished healed=0 unrepaired=0");
}

static int scrub_and_stop(struct script *t)
{
	if (kvp_scrub_start(pool_of(t), 0))
		return -EIO;
	host_sleep(2);
	return kvp_scrub_stop(pool_of(t));
}

static void scrub_stopped(struct script *t, int result)
{
	succeeds(t, result);
	if (pool_of(t)->scrub->info.state != KVP_SCRUB_STOPPED)
		sim_fail("a scrub is in state %u", pool_of(t)->scrub->info.state);
	expect_event(t, "scrub_stopped");
}

static int scrub_and_pause(struct script *t)
{
	if (kvp_scrub_start(pool_of(t), 0))
		return -EIO;
	host_sleep(2);
	return kvp_scrub_pause(pool_of(t));
}

static void scrub_paused(struct script *t, int result)
{
	succeeds(t, result);
	host_sleep(500);
	if (pool_of(t)->scrub->info.state != KVP_SCRUB_PAUSED)
		sim_fail("a scrub is in state %u", pool_of(t)->scrub->info.state);
	expect_event(t, "scrub_paused");
	scrub_ends(t, kvp_scrub_resume(pool_of(t)));
}

static int trim(struct script *t)
{
	return kvp_trim_start(pool_of(t));
}

static void trim_ends(struct script *t, int result)
{
	succeeds(t, result);
	wait_until(t, trim_rests, "a trim");
	if (pool_of(t)->trim->info.state != KVP_TRIM_FINISHED)
		sim_fail("a trim is in state %u", pool_of(t)->trim->info.state);
	expect_event(t, "trim_finished");
}

static int trim_and_stop(struct script *t)
{
	if (kvp_trim_start(pool_of(t)))
		return -EIO;
	return kvp_trim_stop(pool_of(t));
}

/* It may have ended before it is stopped. */
static void trim_stopped(struct script *t, int result)
{
	expect_result(result, 0, -ENOENT);
	wait_until(t, trim_rests, "a trim");
	if (events_of(t, "trim_stopped") + events_of(t, "trim_finished") != 1)
		sim_fail("a trim has not ended once");
}

static void leave(struct script *t)
{
	if (kvp_leg_offline(pool_of(t), host_leg(&t->host, 1)))
		sim_fail("leg 1 does not leave");
	host_write(&t->host, 200, 40, true);
	host_checkpoint(&t->host);
	if (kvp_pool_set(pool_of(t), KVP_T_RESILVER_RATE, RATE))
		sim_fail("no rate is set");
}

static int online(struct script *t)
{
	return host_online(&t->host, 1);
}

static void expect_in_sync(struct script *t)
{
	u32 i;

	host_wait_resilver(&t->host);
	for (i = 0; i < pool_of(t)->nr_legs; i++)
		if (!kvp_leg_in_sync(&pool_of(t)->legs[i]))
			sim_fail("leg %u is not in sync", i);
}

static void resilver_ends(struct script *t, int result)
{
	succeeds(t, result);
	expect_in_sync(t);
	expect_event(t, "resilver_finished");
}

static int offline(struct script *t)
{
	return kvp_leg_offline(pool_of(t), host_leg(&t->host, 1));
}

static void is_offline(struct script *t, int result)
{
	succeeds(t, result);
	if (kvp_leg_in_sync(host_leg(&t->host, 1)))
		sim_fail("leg 1 is in use");
	expect_event(t, "leg_offline");
	if (online(t))
		sim_fail("leg 1 does not return: %s", t->host.refusal.why);
	resilver_ends(t, 0);
}

/* --- the mode of the cache ---------------------------------------------------------------- */

/* So much in the log that a drain has something to do. */
static void fill_log(struct script *t)
{
	u32 i;

	for (i = 0; i < 60; i++)
		host_write(&t->host, 220 + 4 * i, 3, true);
}

static bool drain_rests(struct script *t)
{
	return !kvp_drain_works(pool_of(t));
}

static int drain(struct script *t)
{
	return kvp_drain_start(pool_of(t), &t->host.refusal);
}

static void expect_on_cache(struct script *t, bool on_cache)
{
	if (kvp_pool_logs_on_cache(pool_of(t)) != on_cache)
		sim_fail("the log is %son the cache", on_cache ? "not " : "");
}

/* It ends at once if a suspend begins before the log moves. */
static void drain_ends(struct script *t, int result)
{
	const struct kvp_drain *d = pool_of(t)->drain;

	succeeds(t, result);
	wait_until(t, drain_rests, "a drain");
	if (d->state != KVP_DRAIN_DONE && d->state != KVP_DRAIN_CANCELLED)
		sim_fail("a drain is in state %u", d->state);
	if (own.told_to_end && d->state != KVP_DRAIN_CANCELLED)
		sim_fail("a drain goes on that a suspend has ended");
	expect_on_cache(t, d->state == KVP_DRAIN_CANCELLED);
	if (d->state == KVP_DRAIN_DONE)
		return;
	expect_event(t, "drain_ended");
	if (drain(t))
		sim_fail("no drain begins: %s", t->host.refusal.why);
	wait_until(t, drain_rests, "another drain");
	expect_on_cache(t, false);
}

static int set_cache_mode(struct script *t)
{
	return kvp_cache_set_mode(pool_of(t), KVP_CACHE_WRITETHROUGH, false, &t->host.refusal);
}

static void mode_is_as_told(struct script *t, int result)
{
	expect_result(result, 0, -ECANCELED);
	expect_on_cache(t, result);
	if (result && set_cache_mode(t))
		sim_fail("the mode is not set: %s", t->host.refusal.why);
	expect_on_cache(t, false);
}

/* --- what is over soon -------------------------------------------------------------------- */

static int checkpoint(struct script *t)
{
	return kvp_destage_order(pool_of(t));
}

static int flush(struct script *t)
{
	return kvp_commit_sync(pool_of(t)->log);
}

static int point(struct script *t)
{
	struct kvp_point p;

	return kvp_changed_point(pool_of(t), &p);
}

static int changed(struct script *t)
{
	kvp_block_t from = kvp_block(0), first;
	u64 count;
	int ret;

	do {
		ret = kvp_changed_next(pool_of(t), 1, &from, &first, &count);
	} while (ret > 0);
	return ret;
}

static int give_up(struct script *t)
{
	return kvp_table_give_up(pool_of(t)->table, kvp_block(5), false);
}

static void nothing_to_give_up(struct script *t, int result)
{
	expect_result(result, -ENOENT, -ENOENT);
}

static int set(struct script *t)
{
	return kvp_pool_set(pool_of(t), KVP_T_RAM_CACHE, 2ull << 20);
}

static void is_set(struct script *t, int result)
{
	succeeds(t, result);
	if (pool_of(t)->tunables[KVP_T_RAM_CACHE] != 2ull << 20)
		sim_fail("the tunable is not set");
}

static int clear(struct script *t)
{
	kvp_pool_clear(pool_of(t), -1);
	return 0;
}

static int drop_caches(struct script *t)
{
	kvp_table_shrink(pool_of(t)->table, true);
	kvp_rcache_drop(pool_of(t)->rcache);
	return 0;
}

static int mark(struct script *t)
{
	return kvp_pool_mark(pool_of(t), KVP_SB_EXPORTED, KVP_SB_DESTROYED) ?:
	       kvp_pool_mark(pool_of(t), 0, KVP_SB_EXPORTED | KVP_SB_DESTROYED);
}

static int name(struct script *t)
{
	return kvp_pool_set_comment(pool_of(t), "suspended") ?:
	       kvp_pool_rename(pool_of(t), "other") ?: kvp_pool_rename(pool_of(t), "sim");
}

static int note_spare(struct script *t)
{
	static const u8 uuid[16] = { 7, 7 };

	return kvp_spare_note(pool_of(t), uuid, true) ?: kvp_spare_note(pool_of(t), uuid, false);
}

/* --- new tables --------------------------------------------------------------------------- */

static void more_disks(struct script *t)
{
	blank_disks(&t->img[t->disks++], 1, POOL_LEG_BLOCKS);
}

static int attach(struct script *t)
{
	t->start.legs++;
	return host_attach(&t->host, &t->start);
}

static int attach_and_detach(struct script *t)
{
	int ret = attach(t);

	if (ret)
		return ret;
	host_wait_resilver(&t->host);
	t->start.legs--;
	return host_detach(&t->host, &t->start);
}

static int replace(struct script *t)
{
	static const u8 on[] = { 1, 2 };
	struct host_start hs = t->start;
	int ret;

	hs.legs++;
	memcpy(own.uuid, pool_of(t)->sb->legs[0].uuid, sizeof(own.uuid));
	hs.replaces = own.uuid;
	ret = host_attach(&t->host, &hs);
	t->start.on = on;	/* leg 0 has left at the next start */
	return ret;
}

static void replaced(struct script *t, int result)
{
	succeeds(t, result);
	host_wait_resilver(&t->host);
	if (!kvp_leg_in_sync(host_leg(&t->host, 2)))
		sim_fail("the new leg is not in sync");
	expect_event(t, "resilver_finished");
	host_wait_replaced(&t->host);
	if (host_detach(&t->host, &t->start))
		sim_fail("not detached: %s", t->host.refusal.why);
}

static int add(struct script *t)
{
	t->start.legs++;
	t->start.second = 1;
	t->start.grown = true;
	return host_grow(&t->host, &t->start);
}

static int remove_cache(struct script *t)
{
	t->start.cache = 0;
	t->start.legs--;
	return host_shrink(&t->host, &t->start);
}

/* The disks are larger than the pool knows. */
static void more_room(struct script *t)
{
	struct image larger;
	u32 i, block;

	for (i = 0; i < t->legs; i++) {
		image_init(&larger, LARGER);
		for (block = 0; block < t->img[i].blocks; block++)
			image_write(&larger, block, image_blk(&t->img[i], block), ALL_SECTORS);
		image_free(&t->img[i]);
		t->img[i] = larger;
	}
	t->start.leg_blocks = POOL_LEG_BLOCKS;
}

/* --- the table is copied ahead of a growth ------------------------------------------------- */

static void slowly(struct script *t)
{
	pool_of(t)->ahead->step = 1;
}

static int grow(struct script *t)
{
	struct host_start hs = t->start;

	hs.leg_blocks = LARGER;
	return host_grow_ahead(&t->host, &hs);
}

static bool ahead_rests(struct script *t)
{
	return kvp_ahead_state(pool_of(t)->ahead) != KVP_AHEAD_RUNNING;
}

static void copied_ahead(struct script *t, int result)
{
	succeeds(t, result);
	wait_until(t, ahead_rests, "a copy of a table");
	if (kvp_ahead_state(pool_of(t)->ahead) != KVP_AHEAD_READY)
		sim_fail("a copy is in state %u", kvp_ahead_state(pool_of(t)->ahead));
}

static int grow_and_stop(struct script *t)
{
	int ret = grow(t);

	if (ret)
		return ret;
	host_sleep(1);
	return kvp_ahead_stop(pool_of(t));
}

/* A stop may also find the worker at its last page: then the copy is ready. */
static void copy_stopped(struct script *t, int result)
{
	u32 state = kvp_ahead_state(pool_of(t)->ahead);

	expect_result(result, 0, -ENOENT);
	if (state != KVP_AHEAD_READY && (result || state != KVP_AHEAD_STOPPED))
		sim_fail("a copy is in state %u", state);
}

/* --- a suspend ----------------------------------------------------------------------------- */

static void order_task(void *arg)
{
	struct script *t = arg;

	own.result = own.order->act(t);
	own.ordered = true;
}

/* As act_write_back() in target/target.c. */
static void write_back_task(void *arg)
{
	struct script *t = arg;
	u32 suspend = own.suspend;

	if (kvp_pool_wait_suspending(pool_of(t), suspend))
		kvp_pool_write_back(pool_of(t), suspend, own.kind == NOFLUSH);
	own.hung = sim_current->hung;
	own.written_back = true;
}

static void presuspend(struct script *t)
{
	u64 before = ktime_get_ns();

	own.written_back = false;
	own.told_to_end = READ_ONCE(pool_of(t)->drain->state) == KVP_DRAIN_RUNNING &&
			  READ_ONCE(pool_of(t)->drain->order) == KVP_DRAIN_WANTED;
	own.suspend = kvp_pool_suspending(pool_of(t));
	if (ktime_get_ns() - before > MOMENT_NS)
		sim_fail("the wish to suspend waits");
	sim_spawn("suspend", write_back_task, t);
	/* Requests are served meanwhile. */
	host_write(&t->host, 100, 3, false);
	host_read_check(&t->host, 100);
}

/* The caller is killed. If requests are in flight, device-mapper gives the suspend up. */
static void kill_caller(struct script *t, bool undo)
{
	u64 before = ktime_get_ns();

	kvp_pool_hasten(pool_of(t));
	if (undo)
		kvp_pool_not_suspending(pool_of(t));
	if (ktime_get_ns() - before > MOMENT_NS)
		sim_fail("the caller of a suspend is killed, and waits");
	host_sleep(5);
	if (!own.written_back)
		sim_fail("the worker of a suspend whose caller was killed goes on");
}

/* Nothing goes on while the pool is suspended, and all accepted data is durable. */
static void stand_still(struct script *t)
{
	u32 requests, i;

	if (own.kind == FLUSH)
		kvp_pool_quiesce(pool_of(t));
	else
		kvp_pool_halt(pool_of(t));
	if (kvp_wbuf_buffered(pool_of(t)->wbuf))
		sim_fail("the pool is suspended, and data is not durable");
	requests = disks.requests;
	for (i = 0; i < 10; i++)
		host_sleep(50);
	if (disks.requests != requests)
		sim_fail("%u requests while the pool is suspended", disks.requests - requests);
	kvp_pool_unquiesce(pool_of(t));
}

static void suspend(struct script *t, enum kind kind)
{
	own.kind = kind;
	presuspend(t);
	if (kind == KILLED || kind == GIVEN_UP) {
		host_sleep(20);
		kill_caller(t, kind == GIVEN_UP);
	}
	if (own.hangs)
		host_sleep(200);
	disks_release_all();
	if (kind == GIVEN_UP)
		return;
	wait_until(t, has_written_back, "the worker of a suspend");
	wait_until(t, has_returned, "an order beside a suspend");
	stand_still(t);
}

static void act(struct script *t)
{
	const struct order *o = own.order;
	struct host *h = &t->host;
	enum kind kind = own.kind;
	bool told;
	u32 i;

	for (i = 0; i < OLD; i += 3)
		host_write(h, i, 2, false);
	host_checkpoint(h);
	if (o->prepare)
		o->prepare(t);
	h->haste = kind != FLUSH;
	if (own.hangs && !o->table)
		hold(t);
	if (o->table)
		order_task(t);
	else
		sim_spawn("order", order_task, t);
	if (own.hangs && o->table)
		hold(t);
	host_sleep(points[t->turn % ARRAY_SIZE(points)]);
	suspend(t, kind);
	told = own.told_to_end;
	host_write(h, 120, 3, true);
	/* And once more, while it goes on. */
	own.hangs = false;
	suspend(t, FLUSH);
	own.told_to_end |= told;
	wait_until(t, has_returned, "an order");
	o->check(t, own.result);
	host_write(h, 140, 3, true);
	host_checkpoint(h);
	host_read_each(h, 0, OLD);
	host_read_each(h, 100, 100);
}

static void look_again(struct script *t)
{
	host_read_each(&t->host, 0, POOL_BLOCKS);
}

/* All is there after a restart, too. */
static bool restart(struct script *t)
{
	script_keep(t);
	return script_live(t, look_again, false);
}

/* --- minutes ------------------------------------------------------------------------------- */

/* The only leg does not answer for minutes. The worker of a suspend that waits never looks hung. */
static void waits_for_minutes(struct script *t)
{
	struct host *h = &t->host;

	if (kvp_pool_set(pool_of(t), KVP_T_LEG_TIMEOUT, 0))
		sim_fail("no timeout is set");
	host_write(h, 0, OLD, true);
	host_checkpoint(h);
	own.ordered = true;
	own.kind = t->turn % 2 ? FLUSH : GIVEN_UP;
	hold(t);
	if (scrub(t))
		sim_fail("no scrub begins");
	host_sleep(50);
	presuspend(t);
	host_sleep(MINUTES_MS);
	if (own.written_back || !disks_wait())
		sim_fail("no suspend waits for a scrub: the case was not set up");
	if (own.kind == GIVEN_UP)
		kill_caller(t, true);
	disks_release_all();
	wait_until(t, has_written_back, "the worker of a suspend");
	if (own.hung)
		sim_fail("the worker of a suspend looks hung: %s", own.hung);
	if (own.kind == FLUSH)
		stand_still(t);
	scrub_ends(t, 0);
}

/* --- a scrub is stopped while the pool is suspended ----------------------------------------- */

static void stops_a_scrub(struct script *t)
{
	host_write(&t->host, 0, OLD, true);
	scrub_slowly(t);
	if (scrub(t))
		sim_fail("no scrub begins");
	host_suspend(&t->host);
	if (t->turn % 2 && kvp_scrub_pause(pool_of(t)))
		sim_fail("the scrub is not paused");
	if (kvp_scrub_stop(pool_of(t)))
		sim_fail("the scrub is not stopped");
	if (t->turn / 2 % 2)
		host_resume(&t->host);
}

static void is_stopped(struct script *t)
{
	if (pool_of(t)->scrub->info.state != KVP_SCRUB_STOPPED)
		sim_fail("a scrub that was stopped is in state %u",
			 pool_of(t)->scrub->info.state);
}

/* The order holds, though the worker had ended before. */
static bool scrub_stays_stopped(struct script *t)
{
	script_keep(t);
	return script_live(t, is_stopped, false);
}

/* The same for a trim. */
static void stops_a_trim(struct script *t)
{
	host_write(&t->host, 0, OLD, true);
	kvp_trim_quiesce(pool_of(t));
	if (trim(t))
		sim_fail("no trim begins");
	host_suspend(&t->host);
	if (kvp_trim_stop(pool_of(t)))
		sim_fail("the trim is not stopped");
	if (t->turn % 2)
		host_resume(&t->host);
}

static void trim_is_stopped(struct script *t)
{
	if (pool_of(t)->trim->info.state != KVP_TRIM_STOPPED)
		sim_fail("a trim that was stopped is in state %u", pool_of(t)->trim->info.state);
}

static bool trim_stays_stopped(struct script *t)
{
	script_keep(t);
	return script_live(t, trim_is_stopped, false);
}

/* --- cases --------------------------------------------------------------------------------- */

static const struct host_start mirror = { .legs = 2 };
static const struct host_start parity1 = { .legs = 3, .parity = true };
static const struct host_start cached = { .legs = 3, .cache = 1 };

static const struct host_start through = { .legs = 3, .cache = 1, .writethrough = true };

static const struct order orders[] = {
	{ "scrub", &mirror, scrub_slowly, scrub, scrub_ends },
	{ "scrub-rows", &parity1, scrub_slowly, scrub, scrub_ends },
	{ "scrub-stop", &mirror, scrub_slowly, scrub_and_stop, scrub_stopped },
	{ "scrub-pause", &mirror, scrub_slowly, scrub_and_pause, scrub_paused },
	{ "trim", &mirror, NULL, trim, trim_ends },
	{ "trim-rows", &parity1, NULL, trim, trim_ends },
	{ "trim-stop", &mirror, NULL, trim_and_stop, trim_stopped },
	{ "online", &mirror, leave, online, resilver_ends },
	{ "online-rows", &parity1, leave, online, resilver_ends },
	{ "offline", &mirror, NULL, offline, is_offline },
	{ "drain", &cached, fill_log, drain, drain_ends },
	{ "cache-mode", &cached, fill_log, set_cache_mode, mode_is_as_told },
	{ "checkpoint", &mirror, fill_log, checkpoint, may_be_interrupted },
	{ "checkpoint-cached", &cached, fill_log, checkpoint, may_be_interrupted },
	{ "flush", &mirror, fill_log, flush, succeeds },
	{ "point", &mirror, fill_log, point, may_be_interrupted },
	{ "changed", &mirror, NULL, changed, may_be_interrupted },
	{ "give-up", &mirror, NULL, give_up, nothing_to_give_up },
	{ "set", &mirror, NULL, set, is_set },
	{ "clear", &mirror, fill_log, clear, succeeds },
	{ "drop-caches", &mirror, fill_log, drop_caches, succeeds },
	{ "mark", &mirror, NULL, mark, succeeds },
	{ "name", &mirror, NULL, name, succeeds },
	{ "spare", &mirror, NULL, note_spare, succeeds },
	{ "grow", &mirror, slowly, grow, copied_ahead, .disks = more_room },
	{ "grow-stop", &mirror, slowly, grow_and_stop, copy_stopped, .disks = more_room },
	{ "attach", &mirror, fill_log, attach, resilver_ends, true, more_disks },
	{ "detach", &mirror, fill_log, attach_and_detach, succeeds, true, more_disks },
	{ "replace", &mirror, fill_log, replace, replaced, true, more_disks },
	{ "add", &mirror, fill_log, add, succeeds, true, more_disks },
	{ "remove", &through, fill_log, remove_cache, succeeds, true },
};

/* What the cases of now are about: @own is zeroed for each turn. */
static struct {
	const struct order *order;
	enum kind kind;
	bool hangs;
} now;

static void set_up(struct script *t)
{
	own.order = now.order;
	own.kind = now.kind;
	own.hangs = now.hangs;
	if (now.order && now.order->disks)
		now.order->disks(t);
}

static void beside(const struct order *o, enum kind kind, bool hangs)
{
	char name[80];
	struct script_case c = {
		.name = name, .shape = o->shape, .set_up = set_up, .act = act, .after = restart,
		.turns = ARRAY_SIZE(points), .salt = 21000, .life_seeds = true, .own = &own,
		.own_size = sizeof(own),
	};

	now.order = o;
	now.kind = kind;
	now.hangs = hangs;
	snprintf(name, sizeof(name), "suspends:%s:%s%s", o->name, kinds[kind],
		 hangs ? ":hangs" : "");
	script_run(&c);
}

void run_suspends(void)
{
	static const struct host_start single = { .legs = 1 };
	static const struct script_case minutes = {
		.name = "suspends:minutes", .shape = &single, .set_up = set_up,
		.act = waits_for_minutes, .turns = 2, .salt = 21100, .own = &own,
		.own_size = sizeof(own),
	};
	static const struct script_case late_stop = {
		.name = "suspends:scrub-stop-late", .shape = &mirror, .set_up = set_up,
		.act = stops_a_scrub, .after = scrub_stays_stopped, .turns = 4, .salt = 21200,
		.own = &own, .own_size = sizeof(own),
	};
	static const struct script_case late_trim_stop = {
		.name = "suspends:trim-stop-late", .shape = &mirror, .set_up = set_up,
		.act = stops_a_trim, .after = trim_stays_stopped, .turns = 2, .salt = 21300,
		.own = &own, .own_size = sizeof(own),
	};
	enum kind kind;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		for (kind = 0; kind < KINDS; kind++) {
			beside(&orders[i], kind, false);
			beside(&orders[i], kind, true);
		}
	}
	now.order = NULL;
	script_run(&minutes);
	script_run(&late_stop);
	script_run(&late_trim_stop);
}
