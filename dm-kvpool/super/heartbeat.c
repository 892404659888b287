// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/random.h>

#include "core/core.h"
#include "core/refusal.h"
#include "super/events.h"
#include "super/heartbeat.h"

/* How long a round may take: two requests, which end after 5 s each (BRIEF_MS of io/flight.c). */
#define ROUND_NS	(10ull * NSEC_PER_SEC)

static u64 interval(const struct kvp_pool *pool)
{
	return kvp_pool_readonly(pool) ? 0 : READ_ONCE(pool->tunables[KVP_T_HEARTBEAT]);
}

static u64 limit_ns(u64 seconds)
{
	return (u64)kvp_beat_limit(seconds) * NSEC_PER_SEC;
}

static void round_work(struct work_struct *work);

/* --- memory ----------------------------------------------------------------------------------- */

void kvp_heartbeat_init(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;

	hb->pool = pool;
	INIT_DELAYED_WORK(&hb->work, round_work);
}

static int get_page_once(struct page **page)
{
	if (!*page)
		*page = alloc_page(GFP_NOIO | __GFP_ZERO);
	return *page ? 0 : -ENOMEM;
}

int kvp_heartbeat_prepare(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;
	int ret = get_page_once(&hb->block) ?: get_page_once(&hb->zeros);
	u32 i, s;

	if (!hb->wq)
		hb->wq = alloc_workqueue("kvpool-beat", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!hb->wq)
		return -ENOMEM;
	for (i = 0; i < pool->nr_legs; i++)
		for (s = 0; s < KVP_BEAT_SLOTS; s++)
			ret = ret ?: get_page_once(&hb->reads[i][s]);
	return ret;
}

static void put_page_once(struct page **page)
{
	if (*page)
		__free_page(*page);
	*page = NULL;
}

void kvp_heartbeat_exit(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;
	u32 i, s;

	kvp_heartbeat_stop(pool);
	if (hb->wq)
		destroy_workqueue(hb->wq);
	hb->wq = NULL;
	for (i = 0; i < KVP_MAX_LEGS; i++)
		for (s = 0; s < KVP_BEAT_SLOTS; s++)
			put_page_once(&hb->reads[i][s]);
	put_page_once(&hb->block);
	put_page_once(&hb->zeros);
}

/* --- requests of a round ----------------------------------------------------------------- */

/*
 * True if @leg has taken no block of this activation yet, but others have: it joined the pool. What
 * its blocks say is not of this history, and is wiped. If another host takes over, the other legs
 * tell.
 */
static bool joins(const struct kvp_heartbeat *hb, u32 leg)
{
	return hb->own.claim && !hb->until[leg];
}

/* A leg that hangs must not hold up the others: its requests end after some seconds (brief). */
static void submit(struct kvp_heartbeat *hb, struct kvp_io_group *group, u32 leg, bool writes)
{
	bool one = writes && !hb->wipes[leg];
	u32 slot = kvp_beat_slot(hb->own.claim);
	struct kvp_io *io = &hb->ios[leg];

	*io = (struct kvp_io) {
		.leg = &hb->pool->legs[leg],
		.op = writes ? KVP_IO_WRITE_FUA : KVP_IO_READ,
		.urgent = true,
		.brief = true,
		/* The block changes in the next round, and this write may come later. */
		.copied = writes,
		.block = kvp_lblock(KVP_BEAT_BLOCK + (one ? slot : 0)),
		.nr = one ? 1 : KVP_BEAT_SLOTS,
		.pages = one ? &hb->block : writes ? hb->all : hb->reads[leg],
	};
	kvp_io_group_submit(group, io);
}

/* Send to all legs with @took set, and clear it where the request failed. */
static void ask_all(struct kvp_heartbeat *hb, bool writes)
{
	struct kvp_io_group group;
	u32 i;

	kvp_io_group_init(&group);
	for (i = 0; i < hb->pool->nr_legs; i++)
		if (hb->took[i])
			submit(hb, &group, i, writes);
	kvp_io_group_wait(&group);
	for (i = 0; i < hb->pool->nr_legs; i++)
		if (hb->took[i] && hb->ios[i].error)
			hb->took[i] = false;
}

static void ask_legs_in_use(struct kvp_heartbeat *hb)
{
	u32 i;

	for (i = 0; i < hb->pool->nr_legs; i++) {
		bool in_use = kvp_leg_takes_writes(&hb->pool->legs[i]);

		if (!in_use)
			hb->until[i] = 0;
		hb->took[i] = in_use && hb->reads[i][KVP_BEAT_SLOTS - 1];
		hb->wipes[i] = joins(hb, i);
	}
	ask_all(hb, false);
}

/* --- what the blocks say ---------------------------------------------------------------------- */

/*
 * Find the block of the newest activation on any leg. With @own, only activations later than that
 * count. Returns false if there is none.
 */
static bool newest(struct kvp_heartbeat *hb, const struct kvp_beat *own, struct kvp_beat *top)
{
	struct kvp_beat b;
	bool found = false;
	u32 i, s;

	for (i = 0; i < hb->pool->nr_legs; i++)
		for (s = 0; hb->took[i] && !hb->wipes[i] && s < KVP_BEAT_SLOTS; s++) {
			if (kvp_beat_decode(page_address(hb->reads[i][s]), s,
					    hb->pool->sb->pool_uuid, &b) ||
			    (own && !kvp_beat_above(&b, own)) ||
			    (found && b.claim <= top->claim))
				continue;
			*top = b;
			found = true;
		}
	return found;
}

/* Begin this host's activation, with a number above all that were found. */
static void claim(struct kvp_heartbeat *hb)
{
	const struct kvp_sb *sb = hb->pool->sb;
	struct kvp_beat top;

	hb->own.claim = newest(hb, NULL, &top) ? top.claim + 1 : 1;
	hb->own.nonce = get_random_u64();
	hb->own.counter = 0;
	memcpy(hb->own.pool_uuid, sb->pool_uuid, sizeof(hb->own.pool_uuid));
	hb->own.host = sb->host;
	memcpy(hb->own.host_name, sb->host_name, sizeof(hb->own.host_name));
}

static void taken_over(struct kvp_pool *pool, const struct kvp_beat *by)
{
	char why[KVP_NAME_LEN + 48];

	snprintf(why, sizeof(why), "another host has taken over the pool: %s",
		 by->host_name[0] ? by->host_name : "its name is unknown");
	kvp_event(pool, "taken_over claim=%llu host=%s", (unsigned long long)by->claim,
		  by->host_name);
	kvp_fail(&pool->failure, KVP_FAIL_HOST, why);
}

/* True if no leg that was read has a block of a later activation. */
static bool still_ours(struct kvp_heartbeat *hb)
{
	struct kvp_beat top;

	if (!newest(hb, &hb->own, &top))
		return true;
	taken_over(hb->pool, &top);
	return false;
}

/* --- time limits ---------------------------------------------------------------------------- */

/* The time limit of the pool: that of the leg in use whose heartbeat is oldest. */
static void set_limit(struct kvp_heartbeat *hb)
{
	u64 until = ~0ull;
	u32 i;

	for (i = 0; i < hb->pool->nr_legs; i++)
		if (kvp_leg_takes_writes(&hb->pool->legs[i]) && hb->until[i])
			until = min(until, hb->until[i]);
	if (until != ~0ull)
		WRITE_ONCE(hb->pool->write_until, until);
}

/*
 * Lower the limits of all legs to @most before a block is written. The block may have a shorter
 * interval, and another host that reads it waits for no longer than the block says. A leg that was
 * read for the first time gets its limit now. So does each leg that was read, with @anew: another
 * host that claims the pool after this watches for that long before it writes.
 */
static void cap_limits(struct kvp_heartbeat *hb, u64 most, bool anew)
{
	u32 i;

	for (i = 0; i < hb->pool->nr_legs; i++) {
		if (hb->took[i] && (anew || !hb->until[i]))
			hb->until[i] = most;
		hb->until[i] = min(hb->until[i], most);
	}
	set_limit(hb);
}

/*
 * Give up redundant legs that may not have their heartbeat in time: else the whole pool would
 * fail. While it starts, the start decides about legs.
 */
static void leave_late(struct kvp_heartbeat *hb, u64 seconds)
{
	u64 next = ktime_get_boottime_ns() + seconds * NSEC_PER_SEC + ROUND_NS;
	struct kvp_pool *pool = hb->pool;
	u32 i;

	for (i = 0; i < pool->nr_legs && !test_bit(KVP_POOL_STARTING, &pool->flags); i++)
		if (!hb->took[i] && kvp_leg_takes_writes(&pool->legs[i]) && hb->until[i] < next)
			kvp_leg_give_up(&pool->legs[i], "no heartbeat");
}

/* --- rounds -------------------------------------------------------------------------------- */

static void encode(struct kvp_heartbeat *hb, u64 seconds)
{
	u32 s;

	hb->own.interval = (u32)seconds;
	hb->own.limit = kvp_beat_limit(seconds);
	hb->own.time = ktime_get_real_seconds();
	hb->own.counter++;
	kvp_beat_encode(&hb->own, page_address(hb->block));
	for (s = 0; s < KVP_BEAT_SLOTS; s++)
		hb->all[s] = s == kvp_beat_slot(hb->own.claim) ? hb->block : hb->zeros;
}

/*
 * Make one round. @anew: the pool has sent no write since its last time limit was over. Then each
 * leg that this round reads gets another time limit. Returns how many legs took the block.
 */
static u32 make_round(struct kvp_heartbeat *hb, u64 seconds, bool anew)
{
	u64 most = ktime_get_boottime_ns() + limit_ns(seconds);
	struct kvp_pool *pool = hb->pool;
	u32 i, took = 0;

	ask_legs_in_use(hb);
	if (!hb->own.claim)
		claim(hb);
	else if (!still_ours(hb))
		return 0;
	cap_limits(hb, most, anew);
	encode(hb, seconds);
	ask_all(hb, true);
	for (i = 0; i < pool->nr_legs; i++) {
		if (!hb->took[i])
			continue;
		hb->until[i] = most;
		took++;
	}
	/* If no leg took it, no leg is at fault more than the others. */
	if (took)
		leave_late(hb, seconds);
	if (took)
		WRITE_ONCE(hb->last, most - limit_ns(seconds));
	set_limit(hb);
	return took;
}

static void again(struct kvp_heartbeat *hb, u64 seconds)
{
	if (!READ_ONCE(hb->stopped))
		queue_delayed_work(hb->wq, &hb->work, (unsigned long)seconds * HZ);
}

/* No block is written any more, so there is no time limit either; unless the pool has failed. */
static void turned_off(struct kvp_heartbeat *hb)
{
	hb->own.claim = 0;
	WRITE_ONCE(hb->last, 0);
	memset(hb->until, 0, sizeof(hb->until));
	if (!kvp_failed_by(&hb->pool->failure, KVP_FAIL_HOST))
		WRITE_ONCE(hb->pool->write_until, 0);
}

static void round_work(struct work_struct *work)
{
	struct kvp_heartbeat *hb = container_of(to_delayed_work(work), struct kvp_heartbeat, work);
	u64 seconds = interval(hb->pool);

	if (!seconds) {
		turned_off(hb);
		return;
	}
	if (READ_ONCE(hb->stopped) || kvp_writes_barred(hb->pool))
		return;
	make_round(hb, seconds, false);
	again(hb, seconds);
}

int kvp_heartbeat_begin(struct kvp_pool *pool, struct kvp_refusal *refusal)
{
	struct kvp_heartbeat *hb = pool->heartbeat;
	u64 seconds = interval(pool);
	int ret = seconds ? kvp_heartbeat_prepare(pool) : 0;

	if (ret || !seconds)
		return ret;
	if (!make_round(hb, seconds, true))
		return kvp_refuse(refusal, -EIO, "see why, and start again",
				  "no leg took the heartbeat; nothing is lost");
	again(hb, seconds);
	return 0;
}

/*
 * Make the first round after a stop. The pool has sent no write since its time limit was over: it
 * was stopped, or it has failed.
 */
static void renew(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;

	if (kvp_failed_by(&pool->failure, KVP_FAIL_HOST))
		return;
	/* A leg without pages gets no request. It is given up in time, or the pool fails. */
	if (kvp_heartbeat_prepare(pool))
		kvp_event(pool, "heartbeat_late why=no_memory");
	if (hb->wq && hb->zeros)
		make_round(hb, interval(pool), true);
}

void kvp_heartbeat_go(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;

	if (kvp_pool_readonly(pool))
		return;
	kvp_heartbeat_stop(pool);
	if (interval(pool))
		renew(pool);
	else
		turned_off(hb);
	WRITE_ONCE(hb->stopped, false);
	if (interval(pool) && hb->wq)
		again(hb, interval(pool));
}

void kvp_heartbeat_stop(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;

	WRITE_ONCE(hb->stopped, true);
	cancel_delayed_work_sync(&hb->work);
}

void kvp_heartbeat_changed(struct kvp_pool *pool)
{
	struct kvp_heartbeat *hb = pool->heartbeat;
	u64 seconds = interval(pool);

	/* From now on another host may rely on blocks that are written. */
	if (seconds && !READ_ONCE(pool->write_until))
		WRITE_ONCE(pool->write_until, ktime_get_boottime_ns() + limit_ns(seconds));
	if (!READ_ONCE(hb->stopped) && hb->wq)
		mod_delayed_work(hb->wq, &hb->work, 0);
}

static u64 ms_since(u64 then, u64 now)
{
	return now > then ? div_u64(now - then, NSEC_PER_MSEC) : 0;
}

bool kvp_heartbeat_figures(struct kvp_pool *pool, struct kvp_heartbeat_figures *f)
{
	u64 until = READ_ONCE(pool->write_until), last = READ_ONCE(pool->heartbeat->last);
	u64 now = ktime_get_boottime_ns();

	*f = (struct kvp_heartbeat_figures) { 0 };
	if (!until)
		return false;
	f->age_ms = last ? ms_since(last, now) : 0;
	f->left_ms = kvp_failed_by(&pool->failure, KVP_FAIL_HOST) ? 0 : ms_since(now, until);
	return true;
}
