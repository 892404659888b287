// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heartbeat: another host takes over the pool, this host was frozen, legs take no heartbeat.
 * The pool must stop in time, and for no other reason. docs/design/heartbeat.md
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "format/heartbeat.h"
#include "io/flight.h"
#include "pool/change.h"
#include "super/heartbeat.h"
#include "super/members.h"

#define ROUNDS		6u
#define POSITIONS	30u
#define LEGS		2u

/* of one case: another host that has the same disks */
static struct host other;

/* --- what lies on a disk ------------------------------------------------------------- */

static int read_beat(const struct script *b, u32 disk, u32 slot, struct kvp_beat *beat)
{
	u8 block[KVP_BLOCK_SIZE];

	image_read(&disks.img[disk], KVP_BEAT_BLOCK + slot, block);
	return kvp_beat_decode(block, slot, b->host.pool->sb->pool_uuid, beat);
}

/* The block of this host; it must be there. */
static struct kvp_beat own_beat(const struct script *b, u32 disk)
{
	u32 slot = kvp_beat_slot(b->host.pool->heartbeat->own.claim);
	struct kvp_beat beat;
	int ret = read_beat(b, disk, slot, &beat);

	if (ret)
		sim_fail("disk %u: the heartbeat cannot be read: %d", disk, ret);
	if (beat.nonce != b->host.pool->heartbeat->own.nonce)
		sim_fail("disk %u has the heartbeat of another activation", disk);
	return beat;
}

/* Another host writes a block to @disk. */
static void write_beat(const struct script *b, u32 disk, u64 claim)
{
	struct kvp_beat beat = {
		.claim = claim, .nonce = 77, .counter = 1, .interval = 1, .limit = 15,
	};
	u8 block[KVP_BLOCK_SIZE];

	memcpy(beat.pool_uuid, b->host.pool->sb->pool_uuid, sizeof(beat.pool_uuid));
	snprintf(beat.host_name, sizeof(beat.host_name), "beta");
	kvp_beat_encode(&beat, block);
	image_write_data(&disks.img[disk], KVP_BEAT_BLOCK + kvp_beat_slot(claim), block);
}

/* --- steps ----------------------------------------------------------------------------- */

static void set(struct script *b, u32 seconds)
{
	int ret;

	/* Memory may be short: then nothing is set. */
	while ((ret = kvp_pool_set(b->host.pool, KVP_T_HEARTBEAT, seconds)) == -ENOMEM)
		host_sleep(100);
	if (ret)
		sim_fail("the heartbeat cannot be set: %d", ret);
}

static bool all_have_it(const struct script *b)
{
	const struct kvp_beat *own = &b->host.pool->heartbeat->own;
	struct kvp_beat beat;
	u32 i;

	for (i = 0; i < LEGS; i++)
		if (!own->claim || read_beat(b, i, kvp_beat_slot(own->claim), &beat) ||
		    beat.nonce != own->nonce)
			return false;
	return true;
}

static void wait_for_beats(const struct script *b)
{
	u32 i;

	for (i = 0; !all_have_it(b); i++, host_sleep(10))
		if (i == 1000)
			sim_fail("no heartbeat in ten seconds");
}

static void begin(struct script *b, u32 seconds)
{
	set(b, seconds);
	wait_for_beats(b);
	b->host.may_fail = true;
}

/* How old the last heartbeat is, and how long writes may go on, are those of @least to @most s. */
static void expect_age(struct script *b, u64 least, u64 most)
{
	u64 limit = (u64)kvp_beat_limit(b->host.pool->heartbeat->own.interval) * 1000;
	struct kvp_heartbeat_figures f;

	if (!kvp_heartbeat_figures(b->host.pool, &f))
		sim_fail("the heartbeat is off");
	if (f.age_ms < least * 1000 || f.age_ms > most * 1000)
		sim_fail("the last heartbeat is %llu ms old", f.age_ms);
	/* Both are rounded down. */
	if (f.left_ms != (f.age_ms < limit ? limit - f.age_ms : 0) &&
	    f.left_ms + f.age_ms + 1 != limit)
		sim_fail("%llu ms are left of %llu, at an age of %llu", f.left_ms, limit, f.age_ms);
}

static void expect_works(struct script *b)
{
	if (kvp_pool_faulted(b->host.pool))
		sim_fail("the pool has failed");
	b->host.may_fail = false;
	host_write(&b->host, 7, 3, true);
	host_read_each(&b->host, 0, 20);
	b->host.may_fail = true;
}

static void expect_in_use(const struct script *b, u32 which)
{
	u32 i;

	for (i = 0; i < b->host.pool->nr_legs; i++)
		if (kvp_leg_in_sync(&b->host.pool->legs[i]) != (which >> i & 1))
			sim_fail("leg %u is %s", i, which >> i & 1 ? "out" : "in use");
}

/* No leg is blamed for what it was never sent. */
static void expect_no_errors(const struct script *b)
{
	s64 errors;
	u32 i;

	for (i = 0; i < b->host.pool->nr_legs; i++) {
		errors = atomic64_read(&b->host.pool->legs[i].err_write);
		if (errors)
			sim_fail("leg %u counts %lld failed writes", i, (long long)errors);
	}
}

/* The pool has failed, and nothing more is written, whatever is asked of it; all legs stay. */
static void expect_stopped(struct script *b)
{
	u32 sent = disks.trace.nr_requests;

	if (!kvp_failed_by(&b->host.pool->failure, KVP_FAIL_HOST) &&
	    !kvp_writes_barred(b->host.pool))
		sim_fail("the pool goes on");
	if (!host_write(&b->host, 30, 4, true) || !host_flush(&b->host))
		sim_fail("a write became durable after the pool had failed");
	host_discard(&b->host, 40, 30);
	host_checkpoint(&b->host);
	host_destage(&b->host);
	kvp_pool_clear(b->host.pool, -1);
	host_sleep(20000);
	if (!kvp_pool_set(b->host.pool, KVP_T_STRICT, 1))
		sim_fail("a superblock became durable after the pool had failed");
	if (disks.trace.nr_requests != sent)
		sim_fail("%u requests were sent after the pool had failed",
			 disks.trace.nr_requests - sent);
	if (kvp_pool_failure(b->host.pool) != KVP_NEEDS_RESTART)
		sim_fail("the pool does not say that it needs a restart");
	expect_in_use(b, BIT(LEGS) - 1);
	expect_no_errors(b);
}

/* --- cases ------------------------------------------------------------------------------- */

static void each_leg_has_it(struct script *b)
{
	struct kvp_beat first, later;
	u32 i;

	begin(b, 2);
	script_cut_from_here(b);
	first = own_beat(b, 0);
	host_write(&b->host, 3, 5, true);
	host_sleep(9000);
	for (i = 0; i < LEGS; i++) {
		later = own_beat(b, i);
		if (later.counter < first.counter + 3 || later.counter > first.counter + 5)
			sim_fail("%llu heartbeats in nine seconds", later.counter - first.counter);
		if (later.interval != 2 || later.limit != kvp_beat_limit(2))
			sim_fail("interval %u, limit %u", later.interval, later.limit);
	}
	expect_age(b, 0, 3);
	if (!(b->host.pool->sb->incompat & KVP_INCOMPAT_HEARTBEAT))
		sim_fail("the superblock lacks the feature");
	expect_works(b);
	host_stop(&b->host);
	if (host_start(&b->host, &b->o, &b->start))
		sim_fail("second start: %s", b->host.refusal.why);
	if (own_beat(b, 0).claim != first.claim + 1 || own_beat(b, 1).claim != first.claim + 1)
		sim_fail("the second activation has no claim of its own");
	expect_works(b);
	host_stop(&b->host);
}

/* The first resume of a target does not unquiesce the pool. It is turned on after that. */
static void it_is_turned_on_after_the_first_resume(struct script *b)
{
	begin(b, 1);
	host_sleep(60000);
	expect_works(b);
	host_stop(&b->host);
	if (host_start(&b->host, &b->o, &b->start))
		sim_fail("second start: %s", b->host.refusal.why);
	host_sleep(60000);
	own_beat(b, 0);
	expect_works(b);
	host_stop(&b->host);
}

static void it_can_be_turned_off(struct script *b)
{
	struct kvp_heartbeat_figures f;
	struct kvp_beat last, now;
	u32 slot;

	begin(b, 1);
	slot = kvp_beat_slot(b->host.pool->heartbeat->own.claim);
	set(b, 0);
	host_sleep(1500);
	if (kvp_heartbeat_figures(b->host.pool, &f))
		sim_fail("the heartbeat says that it is on");
	if (read_beat(b, 1, slot, &last))
		sim_fail("the last heartbeat is not there");
	host_sleep(100000);
	if (read_beat(b, 1, slot, &now) || now.counter != last.counter)
		sim_fail("heartbeats are written although they are off");
	if (b->host.pool->sb->incompat & KVP_INCOMPAT_HEARTBEAT)
		sim_fail("the superblock still has the feature");
	write_beat(b, 0, 900);
	expect_works(b);
	host_stop(&b->host);
}

/* A shorter interval: another host may rely on it as soon as a block says it. */
static void a_shorter_interval_counts_at_once(struct script *b)
{
	u32 i;

	begin(b, 60);
	/* The round does not end yet, but one leg has the block. */
	disks.stalls_writes = true;
	disks_stall(1, KVP_BEAT_BLOCK, KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
	set(b, 1);
	for (i = 0; own_beat(b, 0).interval == 60; i++, host_sleep(1))
		if (i == 20000)
			sim_fail("no block has the new interval");
	if (b->host.pool->write_until > sim_now_ns() + (u64)kvp_beat_limit(1) * NSEC_PER_SEC)
		sim_fail("the time limit is still that of the old interval");
	disks_release_all();
	host_sleep(2000);
	expect_works(b);
	host_stop(&b->host);
}

static void another_host_takes_over(struct script *b)
{
	begin(b, 1);
	host_write(&b->host, 3, 5, false);
	write_beat(b, 1, b->host.pool->heartbeat->own.claim + 1);
	host_sleep(3000);
	expect_stopped(b);
	host_stop(&b->host);
}

/* Two hosts that claimed the pool at once: each finds the other's block in its slot. */
static void the_same_claim_by_another_host(struct script *b)
{
	u32 i;

	begin(b, 1);
	/* It, too, writes again and again. */
	for (i = 0; i < 30; i++, host_sleep(100))
		write_beat(b, 0, b->host.pool->heartbeat->own.claim);
	expect_stopped(b);
	host_stop(&b->host);
}

static void an_older_claim_is_no_takeover(struct script *b)
{
	begin(b, 1);
	host_stop(&b->host);
	if (host_start(&b->host, &b->o, &b->start))
		sim_fail("second start: %s", b->host.refusal.why);
	write_beat(b, 0, b->host.pool->heartbeat->own.claim - 1);
	host_sleep(3000);
	expect_works(b);
	host_stop(&b->host);
}

/* Nothing runs for a minute. Then all goes on as if nothing had been. */
static void a_frozen_host(struct script *b)
{
	begin(b, 1);
	host_write(&b->host, 3, 5, false);
	host_flush(&b->host);
	sim_freeze(60ull * NSEC_PER_SEC);
	expect_stopped(b);
	expect_age(b, 60, 120);
	host_stop(&b->host);
}

/* Meanwhile another host has taken over the pool, and has written. */
static void a_frozen_host_beside_another(struct script *b)
{
	begin(b, 1);
	host_write(&b->host, 3, 5, true);
	/* What the first host has not made durable is lost with it, or not. No test reads that. */
	host_write(&b->host, 112, 2, false);
	sim_freeze(60ull * NSEC_PER_SEC);
	if (host_start(&other, &b->o, &b->start))
		sim_fail("start of the other host: %s", other.refusal.why);
	host_write(&other, 3, 2, true);
	/* watch.c notices an entry under the old nonce, or a superblock over the newest ones. */
	if (!host_write(&b->host, 30, 1, true) || !host_flush(&b->host))
		sim_fail("the first host writes after the takeover");
	expect_no_errors(b);
	host_sleep(30000);
	host_read_each(&other, 0, 20);
	if (kvp_pool_faulted(other.pool))
		sim_fail("the other host's pool has failed");
	kvp_pool_quiesce(b->host.pool);
	kvp_pool_stop(b->host.pool);
	kvp_pool_free(b->host.pool);
	host_write(&other, 60, 9, true);
	host_stop(&other);
}

/* The legs are away for longer than the limit, so another host may have taken over the pool. */
static void no_leg_answers_in_time(struct script *b)
{
	u32 sent, i;

	begin(b, 1);
	for (i = 0; i < LEGS; i++)
		disks_stall(i, KVP_BEAT_BLOCK, KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
	host_sleep(60000);
	sent = disks.trace.nr_requests;
	if (!host_write(&b->host, 30, 1, true) || disks.trace.nr_requests != sent)
		sim_fail("the pool writes without a heartbeat");
	disks_release_all();
	host_sleep(1000);
	expect_stopped(b);
	host_stop(&b->host);
}

/* A redundant leg that takes no heartbeat is given up before the pool has to fail. */
static void one_leg_refuses_it(struct script *b)
{
	begin(b, 1);
	disks_fault(FAULT_WRITE_EIO, 1, KVP_BEAT_BLOCK, KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
	host_sleep(30000);
	expect_in_use(b, 1);
	expect_works(b);
	host_stop(&b->host);
}

static void refuse_beats(void)
{
	u32 i;

	for (i = 0; i < LEGS; i++)
		disks_fault(FAULT_WRITE_EIO, i, KVP_BEAT_BLOCK,
			    KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
}

/* The way to all legs is broken, so none of them is given up. */
static void every_leg_refuses_it(struct script *b)
{
	u32 i;

	begin(b, 1);
	refuse_beats();
	host_sleep(60000);
	disks.nr_faults = 0;
	/* From here on nothing is sent, so nothing fails. */
	for (i = 0; i < LEGS; i++)
		atomic64_set(&b->host.pool->legs[i].err_write, 0);
	expect_stopped(b);
	host_stop(&b->host);
}

/* Then the start is refused, and has changed nothing. */
static void no_leg_takes_the_claim(struct script *b)
{
	begin(b, 1);
	host_write(&b->host, 3, 5, true);
	host_stop(&b->host);
	refuse_beats();
	if (!host_start(&b->host, &b->o, &b->start))
		sim_fail("the pool starts without a claim");
	disks.nr_faults = 0;
	if (host_start(&b->host, &b->o, &b->start))
		sim_fail("start: %s", b->host.refusal.why);
	expect_works(b);
	host_stop(&b->host);
}

static void one_leg_hangs(struct script *b)
{
	u32 i;

	begin(b, 1);
	if (kvp_pool_set(b->host.pool, KVP_T_LEG_TIMEOUT, 0))
		sim_fail("leg_timeout cannot be set");
	disks_stall(1, KVP_BEAT_BLOCK, KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
	for (i = 0; i < 60; i++) {
		host_write(&b->host, 50 + i, 1, true);
		host_sleep(500);
	}
	expect_in_use(b, 1);
	expect_works(b);
	disks_release_all();
	host_sleep(2000);
	host_stop(&b->host);
}

/*
 * A leg that has no FUA of its own keeps a block for longer than the pool waits for it, and then
 * fails it. That may have been the flush, and what else the leg had in its cache is lost.
 */
static void flush_fails_late(struct script *b)
{
	begin(b, 10);
	disks.fua = FUA_CLAIMED;
	host_write(&b->host, 40, 8, true);
	disks.stalls_writes = true;
	disks_stall(1, KVP_BEAT_BLOCK, KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1);
	disks_fault(FAULT_WRITE_EIO, 1, KVP_BEAT_BLOCK,
		    KVP_BEAT_BLOCK + KVP_BEAT_SLOTS - 1)->times = 1;
	while (!kvp_leg_has_strays(&b->host.pool->legs[1]))
		host_sleep(10);
	expect_in_use(b, 3);
	disks_release_all();
	host_sleep(50);
	host_write(&b->host, 60, 1, true);
	expect_in_use(b, 1);
	expect_works(b);
	host_stop(&b->host);
}

/* A leg that returns has the block of a host that used it alone, or one of long ago. */
static void a_leg_returns_with_another_claim(struct script *b)
{
	struct kvp_beat beat;

	begin(b, 1);
	if (kvp_leg_offline(b->host.pool, &b->host.pool->legs[1]))
		sim_fail("offline");
	host_sleep(2500);
	write_beat(b, 1, 901);
	if (host_online(&b->host, 1))
		sim_fail("online: %s", b->host.refusal.why);
	host_wait_resilver(&b->host);
	host_sleep(4000);
	if (read_beat(b, 1, kvp_beat_slot(901), &beat) == 0 && beat.claim == 901)
		sim_fail("the block of the other host is still there");
	own_beat(b, 1);
	expect_in_use(b, 3);
	expect_works(b);
	host_stop(&b->host);
}

/* Suspended, it still says that this host has the pool. */
static void a_suspended_pool(struct script *b)
{
	struct kvp_beat first;

	begin(b, 1);
	kvp_pool_quiesce(b->host.pool);
	first = own_beat(b, 0);
	host_sleep(60000);
	if (own_beat(b, 0).counter < first.counter + 20)
		sim_fail("no heartbeats while the pool is suspended");
	/* While its legs change there are none, and the limit may pass. */
	kvp_heartbeat_stop(b->host.pool);
	host_sleep(60000);
	kvp_pool_unquiesce(b->host.pool);
	expect_works(b);
	host_sleep(5000);
	expect_works(b);
	host_stop(&b->host);
}

/* A new table has much to write home before it changes legs: the heartbeat goes on meanwhile. */
static void a_change_that_takes_long(struct script *b)
{
	struct kvp_beat first;

	begin(b, 1);
	kvp_pool_quiesce(b->host.pool);
	kvp_heartbeat_stop(b->host.pool);
	kvp_change_begin(b->host.pool);
	first = own_beat(b, 0);
	host_sleep(60000);
	if (own_beat(b, 0).counter < first.counter + 20)
		sim_fail("no heartbeats while a table changes the pool");
	kvp_change_end(b->host.pool);
	kvp_pool_unquiesce(b->host.pool);
	expect_works(b);
	host_stop(&b->host);
}

/* The same, and another host takes over in between: resume looks before it writes. */
static void taken_over_while_legs_change(struct script *b)
{
	u32 sent;

	begin(b, 1);
	kvp_pool_quiesce(b->host.pool);
	kvp_heartbeat_stop(b->host.pool);
	host_sleep(60000);
	write_beat(b, 0, b->host.pool->heartbeat->own.claim + 2);
	sent = disks.trace.nr_requests;
	kvp_pool_unquiesce(b->host.pool);
	if (disks.trace.nr_requests != sent)
		sim_fail("the pool wrote before it looked");
	expect_stopped(b);
	host_stop(&b->host);
}

/* Another host has the pool when this one starts: it gets a claim above, and the other stops. */
static void blocks_that_lie(struct script *b)
{
	u8 block[KVP_BLOCK_SIZE];
	u32 s;

	begin(b, 1);
	for (s = 0; s < KVP_BEAT_SLOTS; s++) {
		image_read(&disks.img[0],
			   KVP_BEAT_BLOCK + kvp_beat_slot(b->host.pool->heartbeat->own.claim),
			   block);
		block[60 + s] ^= 0x40;	/* the sum does not fit */
		image_write_data(&disks.img[0], KVP_BEAT_BLOCK + s, block);
	}
	host_sleep(3000);
	own_beat(b, 0);
	expect_works(b);
	host_stop(&b->host);
}

/* --- frame ------------------------------------------------------------------------------- */

static void as_the_first_resume_does(struct script *b)
{
	b->start.first_resume = true;
}

static void beats_after(const char *what, void (*set_up)(struct script *b),
			void (*act)(struct script *b))
{
	static const struct host_start shape = { .legs = LEGS };
	char name[80];
	struct script_case c = {
		.name = name, .shape = &shape, .set_up = set_up, .act = act, .leave = true,
		.turns = ROUNDS, .salt = 9000,
		.cuts = act == each_leg_has_it ? POSITIONS : 0, .depth = CHECK_RECRASH,
		.own = &other, .own_size = sizeof(other),
	};

	snprintf(name, sizeof(name), "heartbeat:%s", what);
	script_run(&c);
}

static void beats(const char *what, void (*act)(struct script *b))
{
	beats_after(what, NULL, act);
}

void run_heartbeat(void)
{
	beats("each-leg", each_leg_has_it);
	beats_after("first-resume", as_the_first_resume_does,
		    it_is_turned_on_after_the_first_resume);
	beats("off", it_can_be_turned_off);
	beats("shorter", a_shorter_interval_counts_at_once);
	beats("taken-over", another_host_takes_over);
	beats("same-claim", the_same_claim_by_another_host);
	beats("older-claim", an_older_claim_is_no_takeover);
	beats("frozen", a_frozen_host);
	beats("frozen-beside", a_frozen_host_beside_another);
	beats("no-answer", no_leg_answers_in_time);
	beats("refused", one_leg_refuses_it);
	beats("all-refuse", every_leg_refuses_it);
	beats("no-claim", no_leg_takes_the_claim);
	beats("hangs", one_leg_hangs);
	beats("flush-fails-late", flush_fails_late);
	beats("returns", a_leg_returns_with_another_claim);
	beats("suspended", a_suspended_pool);
	beats("long-change", a_change_that_takes_long);
	beats("taken-over-suspended", taken_over_while_legs_change);
	beats("damaged", blocks_that_lie);
}
