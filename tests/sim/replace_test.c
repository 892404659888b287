// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSDs of a cache are replaced, or one that was out of use starts again, and the power goes at
 * every step. The cache has the old SSDs or the new ones, and all acknowledged data is there in
 * either case. A parity1 cache can lack any one SSD all the time.
 */
#include <string.h>

#include "format/spare.h"
#include "io/flight.h"
#include "life.h"
#include "pool/cachemode.h"
#include "pool/spare.h"
#include "script.h"
#include "super/members.h"

#define NO_DISK	MAX_DISKS
/* so many superblocks after the first one of an exchange that fails there is that of its undo */
#define UNDONE_BY	3

/* The pool, and the change of its cache; the last disk is new. */
static const struct swap {
	const char *name;
	struct host_start start;
	u32 ssds;		/* number of SSDs after the change */
	u32 leg;		/* that is on the new disk then; 0: none */
	u32 lost;		/* this leg is dead before; 0: none */
	u32 anew;		/* this leg is out of use, and starts again; 0: none */
} swaps[] = {
	{ "replace", { .legs = 4, .cache = 2 }, 2, 2, 0, 0 },
	{ "replace-lost", { .legs = 4, .cache = 2 }, 2, 3, 3, 0 },
	{ "replace-only", { .legs = 3, .cache = 1 }, 1, 2, 0, 0 },
	{ "replace-parity", { .legs = 4, .parity = true, .cache = 1 }, 1, 3, 0, 0 },
	{ "replace-idle", { .legs = 3, .cache = 1, .writethrough = true }, 1, 2, 0, 0 },
	{ "attach", { .legs = 3, .cache = 1 }, 2, 3, 0, 0 },
	{ "detach", { .legs = 4, .cache = 2 }, 1, 0, 0, 0 },
	{ "anew", { .legs = 4, .cache = 2 }, 2, 0, 0, 3 },
	{ "replace-rows", { .legs = 5, .cache = 3, .cache_parity = true }, 3, 3, 0, 0 },
	{ "replace-rows-lost", { .legs = 5, .cache = 3, .cache_parity = true }, 3, 4, 4, 0 },
	{ "replace-rows-beside-lost", { .legs = 5, .cache = 3, .cache_parity = true }, 3, 3, 4, 0 },
	{ "replace-rows-of-both", { .legs = 6, .parity = true, .cache = 3, .cache_parity = true },
	  3, 5, 0, 0 },
	{ "anew-in-rows", { .legs = 5, .cache = 3, .cache_parity = true }, 3, 0, 0, 2 },
};

/* What a case knows besides its script. */
static struct {
	const struct swap *swap;
	struct host_start new;
	u32 victim, after;	/* disk that dies after that many of its requests; NO_DISK: none */
	bool spare;		/* the last disk is a spare of the pool */
	u32 stays, new_disk;	/* an SSD that would stay, and keeps superblock @kept */
	u64 kept;
} own;

static void some_writes(struct host *h)
{
	host_write(h, 20, 30, false);
	host_flush(h);
	host_write(h, 22, 3, true);
	host_checkpoint(h);
	host_write(h, 300, 5, false);
	host_flush(h);
}

static void expect_ssds(struct script *x, bool replaced)
{
	struct kvp_pool *pool = x->host.pool;
	const struct host_start *hs = replaced ? &own.new : &x->start;
	bool there = !hs->writethrough && kvp_vdev_usable(&pool->vdevs.v[pool->vdevs.nr - 1]);
	u32 i;

	if (pool->nr_legs != hs->legs)
		sim_fail("%u legs, not %u", pool->nr_legs, hs->legs);
	for (i = 0; i < hs->legs; i++)
		if (pool->legs[i].bdev != &disks.bdev[host_disk(hs, i)] || pool->legs[i].index != i)
			sim_fail("disk %u is leg %u", pool->legs[i].bdev->index, i);
	if (own.victim == NO_DISK &&
	    (pool->vdevs.log_vdev == &pool->vdevs.v[pool->vdevs.nr - 1]) != there)
		sim_fail("the log is on vdev %u", pool->vdevs.log_vdev->index);
}

/* From here on it is cut. */
static void get_ready(struct script *x)
{
	struct host *h = &x->host;

	if (own.swap->lost) {
		disks_kill(host_disk(&x->start, own.swap->lost));
		h->may_fail = true;
	}
	memcpy(x->crash.old_uuid, h->pool->sb->legs[own.swap->anew].uuid,
	       sizeof(x->crash.old_uuid));
	if (own.swap->anew && kvp_leg_offline(h->pool, host_leg(h, own.swap->anew)))
		sim_fail("leg %u is not out of use", own.swap->anew);
	some_writes(h);
	h->may_fail = false;
	script_cut_from_here(x);
	x->crash.swaps_at = ~0u;
	if (own.victim == NO_DISK)
		return;
	/* A new SSD gets blank labels first, and each ring of events by one request. */
	disks_fault(FAULT_DEATH, own.victim, 0, ~0ull)->after = own.after +
		(own.victim == x->disks - 1 && own.swap->leg ? 2 * KVP_LABEL_BLOCKS + 2 : 0);
	h->may_fail = true;
}

static void replace_ssds(struct script *x)
{
	struct host *h = &x->host;
	u64 epoch = h->pool->sb->epoch;

	if (!host_replace_ssds(h, &own.new)) {
		x->crash.swaps_at = disks.trace.nr;
		expect_ssds(x, true);
	} else if (own.victim == NO_DISK) {
		sim_fail("not replaced: %s", h->refusal.why);
	} else if (h->pool->nr_legs != x->start.legs || h->pool->sb->epoch < epoch) {
		sim_fail("not replaced, and yet another pool");
	}
	if (own.victim == NO_DISK)
		host_cache_check(h);
}

static void more_writes(struct script *x)
{
	struct host *h = &x->host;

	host_write(h, 21, 4, true);
	host_write(h, 60, 30, false);
	host_flush(h);
	host_read_check(h, 22);
	host_read_check(h, 301);
	script_note_lost(x);
}

static void replace(struct script *x)
{
	replace_ssds(x);
	more_writes(x);
}

static void list_spare(struct script *x)
{
	u8 uuid[16] = { 5 };

	if (kvp_spare_note(x->host.pool, uuid, true))
		sim_fail("the spare is not listed");
	if (life_spare_labels(&disks.img[x->disks - 1]) != 3)
		sim_fail("the spare has no label: the case was not set up");
}

static void expect_taken(struct script *x)
{
	if (life_spare_labels(&disks.img[x->disks - 1]))
		sim_fail("the new SSD has the label of a spare");
	if (life_spares_listed(&x->host))
		sim_fail("the new SSD is listed as a spare");
}

/* After a stop: the pool starts with the new SSDs. */
static void start_again(struct script *x)
{
	x->start = own.new;
	script_start(x);
	expect_ssds(x, true);
}

/* The new SSD is a spare: it has one label at a time, and the superblock takes it off the list. */
static void spare(struct script *x)
{
	list_spare(x);
	replace_ssds(x);
	expect_taken(x);
	more_writes(x);
}

/* What is not, or not just, a spare of the pool is refused, and stays as it is. */
static void expect_refused_spare(struct script *x)
{
	struct image *new = &disks.img[x->disks - 1];
	struct kvp_spare other = { .size_blocks = new->blocks, .uuid = { 5 }, .pool_uuid = { 7 } };
	u32 end;

	for (end = 0; end < 2; end++)
		life_label_spare(new, &other, end);
	if (host_replace_ssds(&x->host, &own.new) != -EEXIST)
		sim_fail("a spare of another pool is taken: %s", x->host.refusal.why);
	if (life_spare_labels(new) != 3 || x->host.pool->nr_legs != x->start.legs)
		sim_fail("a spare of another pool is refused, and yet changed");
	life_make_spare(new, &disks.img[0]);
}

/* The exchange is undone after the spare was wiped: it is missed. It ends well with one more. */
static void spare_undone(struct script *x)
{
	list_spare(x);
	host_flush(&x->host);
	host_checkpoint(&x->host);
	expect_refused_spare(x);
	x->host.quiesced = life_fail_next_superblock;
	if (!host_replace_ssds(&x->host, &own.new))
		sim_fail("replaced without a superblock");
	if (!disks.faults[0].hit)
		sim_fail("no superblock failed: %s", x->host.refusal.why);
	disks.nr_faults = 0;
	if (life_spares_listed(&x->host) != BIT(5))
		sim_fail("undone, and the spare is not missed");
	life_blank_disk(x, x->disks - 1);
	life_make_spare(&disks.img[x->disks - 1], &disks.img[0]);
	replace_ssds(x);
	expect_taken(x);
	more_writes(x);
	host_stop(&x->host);
	start_again(x);
	expect_taken(x);
}

/* As kvpoolctl does it: the log is off the cache meanwhile, and users go on. */
static void drained(struct script *x)
{
	struct host *h = &x->host;

	if (kvp_drain_start(h->pool, &h->refusal))
		sim_fail("not drained: %s", h->refusal.why);
	host_write(h, 22, 2, true);
	while (h->pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(20);
	host_write(h, 23, 4, true);
	own.new.writethrough = true;	/* for a moment */
	replace_ssds(x);
	own.new.writethrough = false;
	host_write(h, 24, 2, true);
	if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEBACK, true, &h->refusal))
		sim_fail("the log does not come back: %s", h->refusal.why);
	expect_ssds(x, true);
	more_writes(x);
}

/* Its log would be another one. */
static void expect_number(struct script *x)
{
	struct host_start less = own.new;

	less.cache--;
	less.legs--;
	if (!host_replace_ssds(&x->host, &less) || !strstr(x->host.refusal.why, "number of SSDs"))
		sim_fail("replaced for fewer");
}

/* The SSD that is leg @now was leg @before, of @sb. */
static void expect_same(struct script *x, const struct kvp_sb *sb, u32 before, u32 now)
{
	if (memcmp(x->host.pool->sb->legs[now].uuid, sb->legs[before].uuid, 16))
		sim_fail("leg %u is not the one that was leg %u", now, before);
}

/* The SSD that leaves does not answer the write that is to wipe its label. */
static void hanging(struct script *x)
{
	struct host *h = &x->host;
	u32 ssd = own.swap->leg ?: x->start.legs - 1;
	unsigned long since;

	disks_stall(ssd, 0, 3);
	since = jiffies;
	if (host_replace_ssds(h, &own.new))
		sim_fail("not replaced: %s", h->refusal.why);
	if (time_after(jiffies, since + 15 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	if (!host_labelled(ssd))
		sim_fail("the label is gone: the case was not set up");
	more_writes(x);
	disks_release(ssd);
}

static int replace_once(struct script *x)
{
	return host_replace_ssds(&x->host, &own.new);
}

/* The new SSD hangs as it is looked at. It may be the only one, which is to have the log. */
static void new_one_hangs(struct script *x)
{
	life_while_it_hangs(x, x->disks - 1, replace_once);
	expect_ssds(x, false);
	more_writes(x);
}

/*
 * The superblock of a pool that is quiesced fails on the SSD that is one too many for the log. The
 * exchange is undone. The loss is not recorded before the log has moved: the SSD has all of it.
 */
static void second_lost(struct script *x)
{
	static struct kvp_sb sb;
	struct host *h = &x->host;
	u32 i, moved = 0;

	host_checkpoint(h);
	h->may_fail = true;
	disks_kill(host_disk(&x->start, 2));
	if (!host_replace_ssds(h, &own.new))
		sim_fail("replaced: the case was not set up");
	host_flush(h);
	for (i = 0; i < disks.trace.nr_requests; i++) {
		if (!host_wrote_superblock(&disks.trace.requests[i], &sb))
			continue;
		if (kvp_log_on_cache(&sb) && sb.legs[2].state != KVP_LEG_IN_SYNC)
			sim_fail("recorded out before the log has moved");
		moved += !kvp_log_on_cache(&sb);
	}
	if (!moved)
		sim_fail("the log has not moved");
	more_writes(x);
}

/* The next superblock: the SSD that would stay keeps it, and the new one fails it. */
static void keep_superblock(struct host *h)
{
	u64 next = h->pool->sb->sequence + 1;

	own.kept = next;
	life_hold_superblock(own.stays, 3, next);
	life_fail_superblock(own.new_disk, 3, next);
}

/*
 * The exchange is undone. An SSD that was given up meanwhile, and still has a write, is not in use
 * again: that write may come much later, over a newer superblock.
 */
static void undone_beside_a_stray(struct script *x)
{
	struct host *h = &x->host;
	u32 at = own.swap->leg == 2 ? 3 : 2;
	struct kvp_leg *leg = host_leg(h, at);

	own.stays = host_disk(&x->start, at);
	own.new_disk = x->disks - 1;
	host_flush(h);
	host_checkpoint(h);
	h->may_fail = true;
	h->quiesced = keep_superblock;
	if (!host_replace_ssds(h, &own.new))
		sim_fail("replaced: the case was not set up");
	disks.nr_faults = 0;
	expect_ssds(x, false);
	if (!kvp_leg_has_strays(leg))
		sim_fail("the SSD has answered: the case was not set up");
	if (kvp_leg_in_sync(leg) || leg->has_sequence > own.kept)
		sim_fail("the SSD is in use again, and has not answered all requests");
	disks_release(own.stays);
	h->may_fail = false;
	more_writes(x);
}

/*
 * The SSD that would stay fails the next superblock, and is given up. The new one fails the second,
 * which calls that SSD out. So the exchange is undone. A leg with data fails the one that does
 * that.
 */
static void fail_until_undone(struct host *h)
{
	u64 next = h->pool->sb->sequence + 1;

	own.kept = next + 1;
	life_fail_superblock(own.stays, 3, next);
	life_fail_superblock(own.new_disk, 3, next + 1);
	life_fail_superblock(1, 3, next + UNDONE_BY);
}

/* The newest superblock that the disk took has this number, or a later one, and calls @leg out. */
static bool calls_out(u32 disk, u64 least, u32 leg)
{
	const struct trace_request *r = disks.trace.requests;
	static struct kvp_sb sb;
	u64 sequence = 0;
	bool out = false;
	u32 i;

	for (i = 0; i < disks.trace.nr_requests; i++, r++) {
		if (r->disk != disk || r->error || !host_wrote_superblock(r, &sb) ||
		    sb.sequence < sequence)
			continue;
		sequence = sb.sequence;
		out = sb.legs[leg].state != KVP_LEG_IN_SYNC;
	}
	return out && sequence >= least;
}

/*
 * The SSD is in use again after the undo. The leg has a superblock that calls it out, and not the
 * one that undoes that. It did not go on without the SSD, and returns.
 */
static void undone_and_one_calls_another_out(struct script *x)
{
	struct host *h = &x->host;
	u32 at = own.swap->leg == 2 ? 3 : 2;

	own.stays = host_disk(&x->start, at);
	own.new_disk = x->disks - 1;
	host_flush(h);
	host_checkpoint(h);
	h->may_fail = true;
	h->quiesced = fail_until_undone;
	if (!host_replace_ssds(h, &own.new))
		sim_fail("replaced: the case was not set up");
	disks.nr_faults = 0;
	h->may_fail = false;
	expect_ssds(x, false);
	if (!kvp_leg_in_sync(host_leg(h, at)))
		sim_fail("the SSD is out: the case was not set up");
	if (kvp_leg_in_sync(host_leg(h, 1)) || !calls_out(1, own.kept, at))
		sim_fail("leg 1 knows of the undo: the case was not set up");
	more_writes(x);
	host_stop(h);
	script_start(x);
	expect_ssds(x, false);
	if (!kvp_leg_in_sync(host_leg(h, at)))
		sim_fail("the SSD is out after a start");
	if (host_online(h, 1))
		sim_fail("leg 1 does not return: %s", h->refusal.why);
	host_wait_resilver(h);
	more_writes(x);
}

/* A table that names one missing SSD in two places is refused: no start would take such legs. */
static void expect_no_twin(struct script *x, const struct kvp_sb *sb)
{
	struct host_start twin = own.new;

	twin.named = sb->legs[3].uuid;
	twin.missing = BIT(2) | BIT(3);
	twin.swapped = 0;
	if (!host_replace_ssds(&x->host, &twin))
		sim_fail("one SSD has two places");
}

/* Of two missing SSDs the one that is not named leaves. */
static void missing(struct script *x)
{
	struct kvp_pool *pool = x->host.pool;
	struct kvp_sb sb = *pool->sb;
	u8 unknown[16] = { 1 };

	if (own.swap->leg) {
		expect_no_twin(x, &sb);
		own.new.missing = (BIT(2) | BIT(3)) & ~BIT(own.swap->leg);
	} else {
		own.new.missing = BIT(2);
		own.new.swapped = 3;	/* the one that is there, on the last disk */
		own.new.named = unknown;
		if (!host_replace_ssds(&x->host, &own.new))
			sim_fail("an unknown SSD stays");
		own.new.named = sb.legs[3].uuid;
	}
	if (host_replace_ssds(&x->host, &own.new))
		sim_fail("not replaced: %s", x->host.refusal.why);
	if (!own.swap->leg)
		expect_same(x, &sb, 3, 2);
	else
		expect_same(x, &sb, own.swap->leg == 2 ? 3 : 2, own.swap->leg == 2 ? 3 : 2);
	expect_same(x, &sb, 4, pool->nr_legs - 1);
	host_write(&x->host, 22, 3, true);
	host_read_check(&x->host, 22);
}

/* With orderly ends between, and the SSD that has left is none of the pool's any more. */
static void whole(struct script *x)
{
	struct host *h = &x->host;
	u64 block;

	replace(x);
	h->may_fail = false;
	host_stop(h);
	if (own.swap->lost)
		disks.dead[host_disk(&x->start, own.swap->lost)] = false;
	if (!own.swap->anew && !host_start(h, &x->o, &x->start))
		sim_fail("started with an SSD that has left");
	start_again(x);
	for (block = 0; block < x->o.blocks; block++)
		host_read_check(h, block);
	/* if one SSD that starts again is out of use */
	if (x->crash.lost ? host_replace_ssds(h, &own.new) :
	    !host_replace_ssds(h, &own.new) || !strstr(h->refusal.why, "own SSDs"))
		sim_fail("replaced for the same, %s", h->refusal.why);
	if (own.swap->start.cache_parity)
		expect_number(x);
	host_write(h, 40, 3, true);
}

static void set_up(struct script *x)
{
	const struct swap *s = own.swap;

	own.new = x->start;
	own.new.cache = s->ssds;
	own.new.legs = x->legs - x->start.cache + s->ssds;
	/* The new disk is behind all others: so an SSD that is added lies there by itself. */
	if (s->leg && s->leg < x->legs)
		own.new.swapped = s->leg;
	if (own.spare)
		life_make_spare(&x->img[x->disks - 1], &x->img[0]);
	x->crash.legs = own.new.legs;
	x->crash.spare = x->disks - own.new.legs;
	x->crash.swapped = own.new.swapped;
	x->crash.cache = s->ssds;
	x->crash.old_cache = x->start.cache;
	x->crash.anew = s->anew ? BIT(s->anew) : 0;
	/* the leaving SSD may die before it has left */
	x->crash.old_lost = s->lost || s->anew || (s->leg && own.victim == s->leg);
	x->crash.heal_allowed = own.victim != NO_DISK || s->lost || s->anew;
	x->crash.poison_allowed = x->start.parity && own.victim == s->leg;
}

static void set_up_missing(struct script *x)
{
	set_up(x);
	x->start.missing = BIT(2) | BIT(3);
}

/* The first life of @act is cut at about so many positions; 0: it ends with a stop. */
static void case_of(const char *what, const struct swap *s, void (*act)(struct script *x), u32 cuts)
{
	bool lacks = act == missing;
	char name[96];
	const struct script_case c = {
		.name = name, .shape = &s->start, .spares = !!s->leg,
		.set_up = lacks ? set_up_missing : set_up, .begin = lacks ? NULL : get_ready,
		.act = act, .leave = cuts, .turns = 1, .most = 1,
		.salt = 1500 + 100 * own.victim + own.after, .cuts = cuts,
		.depth = own.victim == NO_DISK ? CHECK_RECRASH : CHECK_LEGS,
	};

	snprintf(name, sizeof(name), own.victim == NO_DISK ? "modes:%s:%s" : "modes:%s:%s:%u:%u",
		 what, s->name, own.victim, own.after);
	own.swap = s;
	own.spare = act == spare || act == spare_undone;
	script_run(&c);
}

static void all_of(const struct swap *s)
{
	bool rows = s->start.cache_parity;

	case_of("ssds", s, replace, opt.thorough ? SCRIPT_EVERYWHERE : rows ? 40 : 80);
	case_of("ssds-whole", s, whole, 0);
	if (s->leg)
		case_of("ssds-spare", s, spare, opt.thorough ? SCRIPT_EVERYWHERE : 20);
	if (s->leg && !s->lost)
		case_of("ssds-spare-undone", s, spare_undone, 0);
	if (!s->anew && !s->lost && strcmp(s->name, "attach"))
		case_of("ssds-hanging", s, hanging, 0);
	if (s->leg)
		case_of("ssds-new-hangs", s, new_one_hangs, 0);
	if (s->leg && !s->lost && s->start.cache > 1 && !s->start.parity)
		case_of("ssds-undone-beside-a-stray", s, undone_beside_a_stray, 0);
	if (s->leg && !s->lost && s->start.cache == 2 && !s->start.parity)
		case_of("ssds-undone-is-no-fork", s, undone_and_one_calls_another_out, 0);
	if (s->lost && s->leg != s->lost)
		case_of("ssds-second-lost", s, second_lost, 0);
	if (rows)
		case_of("ssds-drained", s, drained, opt.thorough ? SCRIPT_EVERYWHERE : 30);
}

static void lose(const struct swap *s)
{
	bool rows = s->start.cache_parity;

	if (s->lost && !rows)
		return;
	for (own.victim = 0; own.victim < s->start.legs + !!s->leg; own.victim++)
		for (own.after = 0; own.after < 8; own.after += opt.thorough ? 1 : 2 << rows)
			case_of("ssds-lost", s, replace, 6);
}

void run_replace(void)
{
	static const struct swap lacking[] = {
		{ "replace-first", { .legs = 5, .cache = 3 }, 3, 2, 0, 0 },
		{ "replace-second", { .legs = 5, .cache = 3 }, 3, 3, 0, 0 },
		{ "detach", { .legs = 5, .cache = 3 }, 2, 0, 0, 0 },
	};
	u32 i;

	own.victim = NO_DISK;
	own.after = 0;
	for (i = 0; i < ARRAY_SIZE(lacking); i++)
		case_of("ssds-missing", &lacking[i], missing, 0);
	for (i = 0; i < ARRAY_SIZE(swaps); i++)
		all_of(&swaps[i]);
	for (i = 0; i < ARRAY_SIZE(swaps); i++)
		lose(&swaps[i]);
}
