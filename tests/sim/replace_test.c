// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSDs of a cache are replaced, or one that was out of use starts again, and the power goes at
 * every step. The cache has the old SSDs or the new ones, and all acknowledged data is there in
 * either case. A parity1 cache can lack any one SSD all the time.
 */
#include <stdlib.h>
#include <string.h>

#include "format/spare.h"
#include "life.h"
#include "pool/cachemode.h"
#include "pool/spare.h"
#include "super/members.h"
#include "suite.h"

#define NO_DISK	MAX_DISKS

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

struct replace_test {
	const struct swap *swap;
	struct host host;
	struct host_start old, new;
	struct oracle o;
	struct crash crash;
	u32 victim, after, from, disks;
	bool spare;		/* the last disk is a spare of the pool */
};

static void begin(struct replace_test *x, const struct host_start *hs)
{
	if (host_start(&x->host, &x->o, hs))
		sim_fail("start: %s", x->host.refusal.why);
}

static void some_writes(struct host *h)
{
	host_write(h, 20, 30, false);
	host_flush(h);
	host_write(h, 22, 3, true);
	host_checkpoint(h);
	host_write(h, 300, 5, false);
	host_flush(h);
}

static void expect_ssds(struct replace_test *x, bool replaced)
{
	struct kvp_pool *pool = x->host.pool;
	const struct host_start *hs = replaced ? &x->new : &x->old;
	bool there = !hs->writethrough && kvp_vdev_usable(&pool->vdevs.v[pool->vdevs.nr - 1]);
	u32 i;

	if (pool->nr_legs != hs->legs)
		sim_fail("%u legs, not %u", pool->nr_legs, hs->legs);
	for (i = 0; i < hs->legs; i++)
		if (pool->legs[i].bdev != &disks.bdev[host_disk(hs, i)] || pool->legs[i].index != i)
			sim_fail("disk %u is leg %u", pool->legs[i].bdev->index, i);
	if (x->victim == NO_DISK &&
	    (pool->vdevs.log_vdev == &pool->vdevs.v[pool->vdevs.nr - 1]) != there)
		sim_fail("the log is on vdev %u", pool->vdevs.log_vdev->index);
}

static void note_lost(struct replace_test *x)
{
	struct kvp_pool *pool = x->host.pool;
	u32 i;

	for (i = 0; i < pool->nr_legs; i++)
		if (!kvp_leg_in_sync(&pool->legs[i]))
			x->crash.lost |= BIT(i);
}

/* From here on it is cut. */
static void get_ready(struct replace_test *x)
{
	struct host *h = &x->host;

	begin(x, &x->old);
	if (x->swap->lost) {
		disks_kill(host_disk(&x->old, x->swap->lost));
		h->may_fail = true;
	}
	memcpy(x->crash.old_uuid, h->pool->sb->legs[x->swap->anew].uuid, sizeof(x->crash.old_uuid));
	if (x->swap->anew && kvp_leg_offline(h->pool, host_leg(h, x->swap->anew)))
		sim_fail("leg %u is not out of use", x->swap->anew);
	some_writes(h);
	h->may_fail = false;
	x->from = disks.trace.nr;
	x->crash.swaps_at = ~0u;
	if (x->victim == NO_DISK)
		return;
	disks_fault(FAULT_DEATH, x->victim, 0, ~0ull)->after =
		x->after + (x->victim == x->disks - 1 && x->swap->leg ? 2 * KVP_LABEL_BLOCKS : 0);
	h->may_fail = true;
}

static void replace_ssds(struct replace_test *x)
{
	struct host *h = &x->host;
	u64 epoch = h->pool->sb->epoch;

	if (!host_replace_ssds(h, &x->new)) {
		x->crash.swaps_at = disks.trace.nr;
		expect_ssds(x, true);
	} else if (x->victim == NO_DISK) {
		sim_fail("not replaced: %s", h->refusal.why);
	} else if (h->pool->nr_legs != x->old.legs || h->pool->sb->epoch < epoch) {
		sim_fail("not replaced, and yet another pool");
	}
	if (x->victim == NO_DISK)
		host_cache_check(h);
}

static void more_writes(struct replace_test *x)
{
	struct host *h = &x->host;

	host_write(h, 21, 4, true);
	host_write(h, 60, 30, false);
	host_flush(h);
	host_read_check(h, 22);
	host_read_check(h, 301);
	note_lost(x);
}

static void replace_main(void *arg)
{
	struct replace_test *x = arg;

	get_ready(x);
	replace_ssds(x);
	more_writes(x);
}

/* The next superblock fails on all legs in use, and no other does. */
static void fail_next_superblock(struct host *h)
{
	const struct kvp_pool *pool = h->pool;
	u32 i, end;

	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		for (end = 0; kvp_leg_in_sync(leg) && end < 2; end++) {
			u64 at = kvp_sb_slot_offset(leg->size_blocks, end,
						    (pool->sb->sequence + 1) % KVP_SB_RING) >>
				 KVP_BLOCK_SHIFT;

			disks_fault(FAULT_WRITE_EIO, leg->bdev->index, at, at + KVP_SB_BLOCKS - 1);
		}
	}
}

static void list_spare(struct replace_test *x)
{
	u8 uuid[16] = { 5 };

	if (kvp_spare_note(x->host.pool, uuid, true))
		sim_fail("the spare is not listed");
	if (life_spare_labels(&disks.img[x->disks - 1]) != 3)
		sim_fail("the spare has no label: the case was not set up");
}

static void expect_taken(struct replace_test *x)
{
	if (life_spare_labels(&disks.img[x->disks - 1]))
		sim_fail("the new SSD has the label of a spare");
	if (life_spares_listed(&x->host))
		sim_fail("the new SSD is listed as a spare");
}

/* The new SSD is a spare: it has one label at a time, and the superblock takes it off the list. */
static void spare_main(void *arg)
{
	struct replace_test *x = arg;

	get_ready(x);
	list_spare(x);
	replace_ssds(x);
	expect_taken(x);
	more_writes(x);
}

/* What is not, or not just, a spare of the pool is refused, and stays as it is. */
static void expect_refused_spare(struct replace_test *x)
{
	struct image *new = &disks.img[x->disks - 1];
	struct kvp_spare other = { .size_blocks = new->blocks, .uuid = { 5 }, .pool_uuid = { 7 } };
	u32 end;

	for (end = 0; end < 2; end++)
		life_label_spare(new, &other, end);
	if (host_replace_ssds(&x->host, &x->new) != -EEXIST)
		sim_fail("a spare of another pool is taken: %s", x->host.refusal.why);
	if (life_spare_labels(new) != 3 || x->host.pool->nr_legs != x->old.legs)
		sim_fail("a spare of another pool is refused, and yet changed");
	life_make_spare(new, &disks.img[0]);
}

/* The exchange is undone after the spare was wiped: it is missed. It ends well with one more. */
static void spare_undone_main(void *arg)
{
	struct replace_test *x = arg;

	get_ready(x);
	list_spare(x);
	host_flush(&x->host);
	host_checkpoint(&x->host);
	expect_refused_spare(x);
	x->host.quiesced = fail_next_superblock;
	if (!host_replace_ssds(&x->host, &x->new))
		sim_fail("replaced without a superblock");
	if (!disks.faults[0].hit)
		sim_fail("no superblock failed: %s", x->host.refusal.why);
	disks.nr_faults = 0;
	if (life_spares_listed(&x->host) != BIT(5))
		sim_fail("undone, and the spare is not missed");
	life_blank_disk(x->disks - 1);
	life_make_spare(&disks.img[x->disks - 1], &disks.img[0]);
	replace_ssds(x);
	expect_taken(x);
	more_writes(x);
	host_stop(&x->host);
	begin(x, &x->new);
	expect_ssds(x, true);
	expect_taken(x);
	host_stop(&x->host);
}

/* As kvpoolctl does it: the log is off the cache meanwhile, and users go on. */
static void drained_main(void *arg)
{
	struct replace_test *x = arg;
	struct host *h = &x->host;

	get_ready(x);
	if (kvp_drain_start(h->pool, &h->refusal))
		sim_fail("not drained: %s", h->refusal.why);
	host_write(h, 22, 2, true);
	while (h->pool->drain->state == KVP_DRAIN_RUNNING)
		host_sleep(20);
	host_write(h, 23, 4, true);
	x->new.writethrough = true;	/* for a moment */
	replace_ssds(x);
	x->new.writethrough = false;
	host_write(h, 24, 2, true);
	if (kvp_cache_set_mode(h->pool, KVP_CACHE_WRITEBACK, true, &h->refusal))
		sim_fail("the log does not come back: %s", h->refusal.why);
	expect_ssds(x, true);
	more_writes(x);
}

/* Its log would be another one. */
static void expect_number(struct replace_test *x)
{
	struct host_start less = x->new;

	less.cache--;
	less.legs--;
	if (!host_replace_ssds(&x->host, &less) || !strstr(x->host.refusal.why, "number of SSDs"))
		sim_fail("replaced for fewer");
}

/* The SSD that is leg @now was leg @before, of @sb. */
static void expect_same(struct replace_test *x, const struct kvp_sb *sb, u32 before, u32 now)
{
	if (memcmp(x->host.pool->sb->legs[now].uuid, sb->legs[before].uuid, 16))
		sim_fail("leg %u is not the one that was leg %u", now, before);
}

/* The SSD that leaves does not answer the write that is to wipe its label. */
static void hanging_main(void *arg)
{
	struct replace_test *x = arg;
	struct host *h = &x->host;
	u32 ssd = x->swap->leg ?: x->old.legs - 1;
	unsigned long since;

	get_ready(x);
	disks_stall(ssd, 0, 3);
	since = jiffies;
	if (host_replace_ssds(h, &x->new))
		sim_fail("not replaced: %s", h->refusal.why);
	if (time_after(jiffies, since + 15 * HZ))
		sim_fail("the pool was held up for %u ms", jiffies_to_msecs(jiffies - since));
	if (!host_labelled(ssd))
		sim_fail("the label is gone: the case was not set up");
	more_writes(x);
	disks_release(ssd);
	host_stop(h);
}

/*
 * The superblock of a pool that is quiesced fails on the SSD that is one too many for the log. The
 * exchange is undone. The loss is not recorded before the log has moved: the SSD has all of it.
 */
static void second_lost_main(void *arg)
{
	static struct kvp_sb sb;
	struct replace_test *x = arg;
	struct host *h = &x->host;
	u32 i, moved = 0;

	get_ready(x);
	host_checkpoint(h);
	h->may_fail = true;
	disks_kill(host_disk(&x->old, 2));
	if (!host_replace_ssds(h, &x->new))
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
	host_stop(h);
}

/* Of two missing SSDs the one that is not named leaves. */
static void missing_main(void *arg)
{
	struct replace_test *x = arg;
	struct kvp_pool *pool;
	struct kvp_sb sb;
	u8 unknown[16] = { 1 };

	x->old.missing = BIT(2) | BIT(3);
	x->host.may_fail = true;
	begin(x, &x->old);
	pool = x->host.pool;
	sb = *pool->sb;
	if (x->swap->leg) {
		x->new.missing = (BIT(2) | BIT(3)) & ~BIT(x->swap->leg);
	} else {
		x->new.missing = BIT(2);
		x->new.swapped = 3;	/* the one that is there, on the last disk */
		x->new.named = unknown;
		if (!host_replace_ssds(&x->host, &x->new))
			sim_fail("an unknown SSD stays");
		x->new.named = sb.legs[3].uuid;
	}
	if (host_replace_ssds(&x->host, &x->new))
		sim_fail("not replaced: %s", x->host.refusal.why);
	if (!x->swap->leg)
		expect_same(x, &sb, 3, 2);
	else
		expect_same(x, &sb, x->swap->leg == 2 ? 3 : 2, x->swap->leg == 2 ? 3 : 2);
	expect_same(x, &sb, 4, pool->nr_legs - 1);
	host_write(&x->host, 22, 3, true);
	host_read_check(&x->host, 22);
	host_stop(&x->host);
}

/* With orderly ends between, and the SSD that has left is none of the pool's any more. */
static void whole_main(void *arg)
{
	struct replace_test *x = arg;
	struct host *h = &x->host;
	u64 block;

	replace_main(x);
	h->may_fail = false;
	host_stop(h);
	if (x->swap->lost)
		disks.dead[host_disk(&x->old, x->swap->lost)] = false;
	if (!x->swap->anew && !host_start(h, &x->o, &x->old))
		sim_fail("started with an SSD that has left");
	begin(x, &x->new);
	expect_ssds(x, true);
	for (block = 0; block < x->o.blocks; block++)
		host_read_check(h, block);
	/* if one SSD that starts again is out of use */
	if (x->crash.lost ? host_replace_ssds(h, &x->new) :
	    !host_replace_ssds(h, &x->new) || !strstr(h->refusal.why, "own SSDs"))
		sim_fail("replaced for the same, %s", h->refusal.why);
	if (x->swap->start.cache_parity)
		expect_number(x);
	host_write(h, 40, 3, true);
	host_stop(h);
}

static void set_up(struct replace_test *x, const struct swap *s)
{
	u32 data = s->start.legs - s->start.cache;

	x->swap = s;
	x->old = s->start;
	x->new = s->start;
	x->new.cache = s->ssds;
	x->new.legs = data + s->ssds;
	/* The new disk is behind all others: so an SSD that is added lies there by itself. */
	if (s->leg && s->leg < s->start.legs)
		x->new.swapped = s->leg;
	x->disks = s->start.legs + !!s->leg;
	oracle_copy(&x->o, &base_cache(&s->start)->o);
	x->crash = (struct crash){ .legs = x->new.legs, .parity = s->start.parity, .cache = s->ssds,
				   .old_cache = s->start.cache, .swapped = x->new.swapped,
				   .cache_parity = s->start.cache_parity, .old_lost = s->lost ||
				   s->anew,
				   .anew = s->anew ? BIT(s->anew) : 0,
				   .spare = x->disks - x->new.legs, .o = &x->o };
}

static void begin_disks(struct replace_test *x)
{
	const struct base *b = base_cache(&x->swap->start);
	struct image img[MAX_DISKS];
	u32 i;

	for (i = 0; i < x->old.legs; i++)
		image_copy(&img[i], &b->img[i]);
	blank_disks(img + x->old.legs, x->disks - x->old.legs, POOL_LEG_BLOCKS);
	if (x->spare)
		life_make_spare(&img[x->disks - 1], &img[0]);
	disks_begin(img, x->disks);
	for (i = 0; i < x->disks; i++)
		image_free(&img[i]);
}

static void case_of(const char *what, const struct swap *s, void (*main)(void *arg), u32 victim,
		    u32 after, u32 cuts)
{
	struct replace_test *x = calloc(1, sizeof(*x));
	struct sim_config config;
	char name[96];
	bool good;

	snprintf(name, sizeof(name), victim == NO_DISK ? "modes:%s:%s" : "modes:%s:%s:%u:%u", what,
		 s->name, victim, after);
	if (wanted(name)) {
		set_up(x, s);
		x->victim = victim;
		x->after = after;
		x->spare = !strncmp(what, "ssds-spare", 10);
		/* the leaving SSD may die before it has left */
		x->crash.old_lost |= s->leg && victim == s->leg;
		x->crash.heal_allowed = victim != NO_DISK || s->lost || s->anew;
		x->crash.poison_allowed = s->start.parity && victim == s->leg;
		check_seed_config(&config, mix64(opt.seed, 1500 + 100 * victim + after));
		begin_disks(x);
		good = sim_run(&config, main, x) == SIM_RETURNED;
		disks_end();
		if (good && cuts)
			good = !cut_sampled(name, &x->crash, x->from,
					    victim == NO_DISK ? CHECK_RECRASH : CHECK_LEGS, cuts);
		result(name, good);
		oracle_free(&x->o);
	}
	free(x);
}

void run_replace(void)
{
	static const struct swap missing[] = {
		{ "replace-first", { .legs = 5, .cache = 3 }, 3, 2, 0, 0 },
		{ "replace-second", { .legs = 5, .cache = 3 }, 3, 3, 0, 0 },
		{ "detach", { .legs = 5, .cache = 3 }, 2, 0, 0, 0 },
	};
	u32 i, victim, after;

	for (i = 0; i < ARRAY_SIZE(missing); i++)
		case_of("ssds-missing", &missing[i], missing_main, NO_DISK, 0, 0);
	for (i = 0; i < ARRAY_SIZE(swaps); i++) {
		case_of("ssds", &swaps[i], replace_main, NO_DISK, 0,
			opt.thorough ? ~0u : swaps[i].start.cache_parity ? 40 : 80);
		case_of("ssds-whole", &swaps[i], whole_main, NO_DISK, 0, 0);
		if (swaps[i].leg)
			case_of("ssds-spare", &swaps[i], spare_main, NO_DISK, 0,
				opt.thorough ? ~0u : 20);
		if (swaps[i].leg && !swaps[i].lost)
			case_of("ssds-spare-undone", &swaps[i], spare_undone_main, NO_DISK, 0, 0);
		if (!swaps[i].anew && !swaps[i].lost && strcmp(swaps[i].name, "attach"))
			case_of("ssds-hanging", &swaps[i], hanging_main, NO_DISK, 0, 0);
		if (swaps[i].lost && swaps[i].leg != swaps[i].lost)
			case_of("ssds-second-lost", &swaps[i], second_lost_main, NO_DISK, 0,
				0);
		if (swaps[i].start.cache_parity)
			case_of("ssds-drained", &swaps[i], drained_main, NO_DISK, 0,
				opt.thorough ? ~0u : 30);
	}
	for (i = 0; i < ARRAY_SIZE(swaps); i++)
		for (victim = 0; victim < swaps[i].start.legs + !!swaps[i].leg; victim++)
			for (after = 0; (!swaps[i].lost || swaps[i].start.cache_parity) &&
			     after < 8;
			     after += opt.thorough ? 1 : 2 << swaps[i].start.cache_parity)
				case_of("ssds-lost", &swaps[i], replace_main, victim, after,
					6);
}
