// SPDX-License-Identifier: GPL-2.0-only
/*
 * What changed since a point (work/changed.h). A backup copies only what the pool lists. It must
 * have the right contents after stops and power cuts, while legs come and go, and beside writers.
 * The search reads no more of the table than what changed, and lists not much more.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>

#include "script.h"
#include "super/members.h"
#include "table/table.h"
#include "work/changed.h"

#define MOST_POINTS	4u
#define LIVES		4u
#define MOST_BLOCKS	(2 * LARGE_BLOCKS)	/* of any pool here */

/* A point, and a sum of each block's contents then. */
struct kept {
	struct kvp_point point;
	u32 at;			/* position in the trace of this life; 0: it is of an older one */
	u64 *sums;
};

/* What a case knows besides its script. */
static struct {
	struct rng rng;
	struct kept kept[MOST_POINTS];
	u32 nr_kept;
	unsigned long *found;	/* a bit for each block */
	u64 blocks, size;	/* that are written and read; all of the pool */
	u64 nr_found;
	u32 writers;
	bool frozen;
	struct completion done;
} own;

/* --- looking --------------------------------------------------------------------------- */

static u64 sum_of(struct script *p, u64 block)
{
	u8 *data = malloc(KVP_BLOCK_SIZE);
	u64 sum = 14695981039346656037ull;
	u32 i;

	if (host_read(&p->host, block, data))
		sim_fail("block %llu cannot be read", block);
	for (i = 0; i < KVP_BLOCK_SIZE / 8; i++)
		sum = mix64(sum, ((u64 *)data)[i]);
	free(data);
	return sum;
}

/* All that changed, into @found. */
static void find(struct script *p, const struct kvp_point *since)
{
	u64 from = 0, last = 0, first, count, at;
	int ret = kvp_changed_check(p->host.pool, since);

	if (ret)
		sim_fail("point %u: refused (%d)", since->era, ret);
	memset(own.found, 0, BITS_TO_LONGS(own.size) * sizeof(long));
	own.nr_found = 0;
	while ((ret = kvp_changed_next(p->host.pool, since->era, &from, &first, &count)) > 0) {
		if (first + count > own.size || from > own.size || from <= last || first < last)
			sim_fail("%llu blocks from %llu on, then from %llu on, after %llu", count,
				 first, from, last);
		for (at = first; at < first + count; at++)
			__set_bit(at, own.found);
		own.nr_found += count;
		last = from;
	}
	if (ret)
		sim_fail("point %u: %d", since->era, ret);
}

static void take(struct script *p, struct kvp_point *point)
{
	int ret = kvp_changed_point(p->host.pool, point);

	if (ret)
		sim_fail("no point: %d", ret);
	if (!point->tagged || kvp_changed_check(p->host.pool, point))
		sim_fail("the point that was taken last is refused");
}

/* Each block that differs from what it was at the point must be found. */
static void hold_against(struct script *p, const struct kept *k, const u64 *now)
{
	u64 i;

	find(p, &k->point);
	for (i = 0; i < own.blocks; i++)
		if (k->sums[i] != now[i] && !test_bit(i, own.found))
			sim_fail("life %u: block %llu is not what it was at point %u, and is not found",
				 p->lives, i, k->point.era);
}

static void forget(struct script *p, u32 i)
{
	free(own.kept[i].sums);
	own.kept[i] = own.kept[--own.nr_kept];
}

/* Nothing writes meanwhile. The new point is kept, and a few of the older ones. */
static void look(struct script *p)
{
	struct kept new = { .sums = malloc(own.blocks * sizeof(u64)) };
	u64 i;

	take(p, &new.point);
	new.at = disks.trace.nr;
	for (i = 0; i < own.blocks; i++)
		new.sums[i] = sum_of(p, i);
	for (i = 0; i < own.nr_kept; i++)
		hold_against(p, &own.kept[i], new.sums);
	if (own.nr_kept == MOST_POINTS)
		forget(p, rng_below(&own.rng, MOST_POINTS));
	own.kept[own.nr_kept++] = new;
}

/* --- lives ------------------------------------------------------------------------------ */

static void begin_life(struct script *p)
{
	own.size = p->host.pool->sb->pool_blocks;
	own.blocks = min_t(u64, own.size, p->o.blocks);
}

/* Where the power goes: points after that were not taken. */
static void end_life(struct script *p, bool cut)
{
	u32 at = disks.trace.nr, i;

	if (cut) {
		at = rng_chance(&own.rng, 300) ? at : at - rng_below(&own.rng, at / 2);
		script_cut(p, at, rng_below(&own.rng, 4), &own.rng);
	} else {
		script_keep(p);
	}
	for (i = own.nr_kept; i--;) {
		if (own.kept[i].at > at)
			forget(p, i);
		else
			own.kept[i].at = 0;
	}
}

static bool live(struct script *p, void (*what)(struct script *p), bool cut)
{
	bool good = script_live(p, what, cut);

	if (good)
		end_life(p, cut);
	return good;
}

static void set_up(struct script *p)
{
	own.rng.s = p->seed;
	own.found = calloc(BITS_TO_LONGS(MOST_BLOCKS), sizeof(long));
}

static void clean_up(struct script *p)
{
	while (own.nr_kept)
		forget(p, 0);
	free(own.found);
}

/* --- any operations ------------------------------------------------------------------------ */

static void leave_and_return(struct script *p)
{
	struct host *h = &p->host;
	u32 disk = p->legs - p->start.cache - 1;
	int ret;

	if (p->start.legs - p->start.cache == 1 ||
	    kvp_leg_offline(h->pool, host_leg(h, disk)))
		return;
	host_write(h, rng_below(&own.rng, own.blocks - 8), 8, true);
	while ((ret = host_online(h, disk)) == -EBUSY)
		host_sleep(1000);
	if (ret && ret != -EALREADY)
		sim_fail("the leg does not return: %s", h->refusal.why);
	host_wait_resilver(h);
}

static void any_operation(struct script *p)
{
	struct host *h = &p->host;
	u32 n = 1 + rng_below(&own.rng, rng_chance(&own.rng, 200) ? 90 : 6);
	u64 at = rng_chance(&own.rng, 400) ? rng_below(&own.rng, 40) :
					    rng_below(&own.rng, own.blocks - n);

	switch (rng_below(&own.rng, 14)) {
	case 0:
	case 1:
		host_flush(h);
		break;
	case 2:
		host_discard(h, at, n);
		break;
	case 3:
		at = rng_below(&own.rng, own.blocks / 2);
		host_discard(h, at, rng_below(&own.rng, own.blocks - at) + 1);
		break;
	case 4:
		host_write_zeros(h, at, n);
		break;
	case 5:
		host_checkpoint(h);
		break;
	case 6:
		host_destage(h);
		break;
	case 7:
		host_press(h, 3);
		break;
	case 8:
		host_sleep(rng_below(&own.rng, 2500));
		break;
	case 9:
		if (rng_chance(&own.rng, 300))
			leave_and_return(p);
		break;
	default:
		host_write(h, at, n, rng_chance(&own.rng, 200));
	}
}

static void any_operations(struct script *p)
{
	u32 n = 3 + rng_below(&own.rng, 12);

	while (n--)
		any_operation(p);
}

static void any_life(struct script *p)
{
	u32 n = 1 + rng_below(&own.rng, 3);

	if (own.nr_kept && rng_chance(&own.rng, 500))
		look(p);
	while (n--) {
		any_operations(p);
		look(p);
	}
	any_operations(p);
}

static bool any_lives(struct script *p)
{
	u32 i;

	for (i = 0; i < LIVES; i++)
		if (!live(p, any_life, rng_chance(&own.rng, 750)))
			return false;
	return live(p, look, false);
}

/* --- a copy beside writers ------------------------------------------------------------------- */

static void copy_found(struct script *p, u64 *copy)
{
	u64 i;

	for (i = 0; i < own.blocks; i++)
		if (test_bit(i, own.found))
			copy[i] = sum_of(p, i);
}

/* Discards of blocks that went home before: known-gaps.md. */
static void writer(void *arg)
{
	struct script *p = arg;
	struct rng rng = { .s = mix64(p->seed, 70 + own.writers) };
	struct host *h = &p->host;

	while (!own.frozen) {
		u32 n = 1 + rng_below(&rng, 8);
		u64 at = rng_below(&rng, own.blocks - n);

		if (rng_chance(&rng, 100))
			host_flush(h);
		else if (rng_chance(&rng, 100))
			host_write_zeros(h, at, n);
		else
			host_write(h, at, n, rng_chance(&rng, 100));
		host_sleep(rng_below(&rng, 400));
	}
	if (!--own.writers)
		complete(&own.done);
}

static void beside_writers(struct script *p)
{
	static const struct kvp_point nothing;
	u64 *copy = calloc(own.blocks, sizeof(u64)), i;
	struct kvp_point since, next;
	u32 round;

	for (i = 0; i < own.blocks; i++)
		copy[i] = ~0ull;
	init_completion(&own.done);
	for (own.writers = 0; own.writers < 2; own.writers++)
		sim_spawn("writer", writer, p);
	take(p, &since);
	find(p, &nothing);
	for (i = 0; i < own.blocks; i++)
		copy[i] = sum_of(p, i);
	for (round = 0; round < 4; round++, since = next) {
		host_sleep(2000);
		if (round == 3) {
			own.frozen = true;
			wait_for_completion(&own.done);
		}
		take(p, &next);
		find(p, &since);
		copy_found(p, copy);
	}
	for (i = 0; i < own.blocks; i++)
		if (copy[i] != sum_of(p, i))
			sim_fail("block %llu of the copy is an old one", i);
	free(copy);
}

static bool copy_beside_writers(struct script *p)
{
	return live(p, beside_writers, false);
}

/* --- no more than that ------------------------------------------------------------ */

static void expect_found(struct script *p, u64 first, u64 count, u64 most, const char *what)
{
	u64 i;

	for (i = first; i < first + count; i++)
		if (!test_bit(i, own.found))
			sim_fail("%s: block %llu is not found", what, i);
	if (own.nr_found > most)
		sim_fail("%s: %llu blocks are found, not %llu", what, own.nr_found, most);
}

/* In an idle pool nothing is found. Later, just the blocks that were written or discarded are. */
static void only_that(struct script *p)
{
	struct host *h = &p->host;
	struct kvp_point since, next;

	u64 far = own.blocks - 100;

	host_write(h, 0, 200, false);
	host_write(h, far, 8, false);
	host_checkpoint(h);
	host_sleep(1500);
	take(p, &since);
	host_sleep(1500);
	take(p, &next);
	find(p, &since);
	expect_found(p, 0, 0, 0, "an idle pool");
	host_write(h, 100, 3, false);
	host_sleep(1500);
	take(p, &since);
	find(p, &next);
	expect_found(p, 100, 3, 3, "one write");
	host_discard(h, 7, 2);
	host_sleep(1500);
	take(p, &next);
	find(p, &since);
	expect_found(p, 7, 2, 2, "a discard");
	/* Below a null pointer, all counts. Leaves that are not in memory are not read for that. */
	kvp_table_shrink(h->pool->table, true);
	host_discard(h, 0, own.blocks);
	host_sleep(1500);
	take(p, &since);
	find(p, &next);
	expect_found(p, 0, 7, own.size, "a discard of all");
	expect_found(p, 9, 191, own.size, "a discard of all");
	expect_found(p, far, 8, own.size, "a discard of all");
	find(p, &since);
	expect_found(p, 0, 0, 0, "an idle pool after that");
}

static bool no_more(struct script *p)
{
	return live(p, only_that, false);
}

/* Pages without changes are not read. */
static void few_reads(struct script *p)
{
	struct host *h = &p->host;
	struct kvp_pool *pool = h->pool;
	struct kvp_point since, next;
	u64 reads, i;

	for (i = 0; i + 512 <= own.blocks; i += 512)
		host_write(h, i, 1, false);
	host_checkpoint(h);
	host_sleep(1500);
	take(p, &since);
	host_write(h, 1024, 1, false);
	take(p, &next);
	kvp_table_shrink(pool->table, true);
	if (READ_ONCE(pool->table->nr_pages))
		sim_fail("pages are in memory: the case was not set up");
	reads = atomic64_read(&pool->work_stats.page_reads);
	find(p, &since);
	expect_found(p, 1024, 1, 1, "one block");
	reads = atomic64_read(&pool->work_stats.page_reads) - reads;
	/* One leaf, and what is above it. */
	if (!reads || reads > pool->vdevs.v[0].g->levels)
		sim_fail("%llu pages were read", reads);
}

static bool reads(struct script *p)
{
	return live(p, few_reads, false);
}

/* What cannot be read may have changed. */
static void unreadable(struct script *p)
{
	struct host *h = &p->host;
	struct kvp_pool *pool = h->pool;
	struct kvp_point since, next;
	u32 leg;

	host_write(h, 0, 8, false);
	host_write(h, 1024, 8, false);
	host_checkpoint(h);
	host_sleep(1500);
	take(p, &since);
	host_write(h, 1025, 1, false);
	take(p, &next);
	kvp_table_shrink(pool->table, true);
	for (leg = 0; leg < p->legs; leg++)
		disks_fault(FAULT_READ_EIO, leg, disks.table_start,
			    disks.log_start - 1)->error = -ETIMEDOUT;
	find(p, &since);
	disks.nr_faults = 0;
	expect_found(p, 1024, 512, own.size, "an unreadable page");
}

static bool cannot_be_read(struct script *p)
{
	return live(p, unreadable, false);
}

static void about_to_be_suspended(struct script *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 from = 0, first, count;

	set_bit(KVP_POOL_SUSPENDING, &pool->flags);
	if (kvp_changed_next(pool, 0, &from, &first, &count) != -EINTR)
		sim_fail("a suspend would wait for a walk");
	clear_bit(KVP_POOL_SUSPENDING, &pool->flags);
}

static bool suspended(struct script *p)
{
	return live(p, about_to_be_suspended, false);
}

/* --- points that count no more ------------------------------------------------------------ */

static void expect_refused(struct script *p, struct kvp_point point, int with,
			   const char *what)
{
	int ret = kvp_changed_check(p->host.pool, &point);

	if (ret != with)
		sim_fail("%s: %d, not %d", what, ret, with);
}

static void begin(struct script *p)
{
	struct kvp_point future;

	host_write(&p->host, 30, 4, false);
	look(p);
	future = own.kept[0].point;
	expect_refused(p, future, 0, "a point");
	future.tagged = false;
	expect_refused(p, future, 0, "a number");
	future.era += 2;
	expect_refused(p, future, -ERANGE, "a number to come");
	future.tagged = true;
	expect_refused(p, future, -ERANGE, "a point to come");
	future = own.kept[0].point;
	future.tag++;
	expect_refused(p, future, -ESTALE, "another pool's point");
	/* In the log, or on the leg that is lost. */
	host_write(&p->host, 31, 2, true);
}

/* The pool has gone back: points from before that are refused, and new ones stand. */
static void went_back(struct script *p)
{
	struct kvp_point old = own.kept[0].point;

	forget(p, 0);
	expect_refused(p, old, -ESTALE, "a point from before");
	old.tagged = false;
	expect_refused(p, old, -ENOTUNIQ, "a number that may be from before");
	old.era = 0;
	expect_refused(p, old, 0, "everything");
	host_write(&p->host, 33, 2, true);
	look(p);
	host_write(&p->host, 32, 2, true);
	look(p);
}

static void went_back_for_now(struct script *p)
{
	struct kvp_point point = own.kept[0].point;

	expect_refused(p, point, -EPERM, "a point");
	if (kvp_changed_point(p->host.pool, &point) != -EPERM)
		sim_fail("a point of what is not known to be the newest");
}

static bool forked(struct script *p)
{
	bool good = live(p, begin, false);

	p->start.missing = BIT(1);
	p->start.degraded = true;
	p->start.readonly = true;
	good = good && live(p, went_back_for_now, false);
	p->start.readonly = false;
	good = good && live(p, went_back, true);
	p->start.degraded = false;
	return good && live(p, look, false);
}

static bool log_given_up(struct script *p)
{
	bool good = live(p, begin, true);

	/* The cut may have come before the point. */
	if (good && !own.nr_kept)
		return true;
	p->start.missing = BIT(p->legs - 1);
	p->start.discard_log = true;
	good = good && live(p, went_back, false);
	p->start.discard_log = false;
	return good && live(p, look, false);
}

/* Nothing is to be written home, or written. */
static void read_only(struct script *p)
{
	struct kvp_point point;

	take(p, &point);
	hold_against(p, &own.kept[0], own.kept[0].sums);
	if (point.era != own.kept[0].point.era && point.era < own.kept[0].point.era)
		sim_fail("the point lies before the one of the stop");
}

static void begin_and_rest(struct script *p)
{
	host_write(&p->host, 30, 4, false);
	look(p);
}

static bool started_read_only(struct script *p)
{
	bool good = live(p, begin_and_rest, false);

	p->start.readonly = true;
	good = good && live(p, read_only, false);
	p->start.readonly = false;
	return good && live(p, look, false);
}

/* --- numbers ------------------------------------------------------------ */

static bool parses(const char *text, int with, u32 era, bool tagged, u32 tag)
{
	struct kvp_point p = { 0 };
	char again[KVP_POINT_LEN];
	int ret = kvp_point_parse(text, &p);
	bool good = expect(ret == with, "'%s': %d", text, ret);

	if (with)
		return good;
	good &= expect(p.era == era && p.tagged == tagged && p.tag == tag, "'%s': %u@%x", text,
		       p.era, p.tag);
	kvp_point_print(p.era, p.tag, again);
	return good & expect(!tagged || !strcmp(text, again), "'%s': printed '%s'", text, again);
}

/* The example of docs/on-disk-format.md, 2.1. */
static bool tag_of_a_history(void)
{
	struct kvp_sb *sb = calloc(1, sizeof(*sb));
	bool good;
	u32 i;

	for (i = 0; i < sizeof(sb->pool_uuid); i++)
		sb->pool_uuid[i] = (u8)i;
	sb->fork_count = 2;
	sb->forks[0] = 1;
	sb->forks[1] = 0x0123456789abcdef;
	sb->log_discards = 2;
	good = expect(kvp_history_tag(sb) == 0xf5aa8707, "the tag is %x", kvp_history_tag(sb));
	free(sb);
	return good;
}

static bool points_in_words(void)
{
	bool good = parses("57@1f2e3d4c", 0, 57, true, 0x1f2e3d4c);
	static const char *const bad[] = {
		"", "@", "x", "57@", "57@1f2e3d4", "57@1f2e3d4c5", "57@1f2e3d4g", "57@1F2E3D4C",
		"57 ", " 57", "-1", "57@1f2e3d4c ", "12345678901", "@1f2e3d4c", "+5", "5a",
	};
	u32 i;

	good &= parses("0", 0, 0, false, 0) & parses("1073741823", 0, KVP_ERA_MAX, false, 0);
	good &= parses("1073741824", -ERANGE, 0, false, 0);
	good &= parses("9999999999", -ERANGE, 0, false, 0);
	good &= parses("1@00000000", 0, 1, true, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		good &= parses(bad[i], -EINVAL, 0, false, 0);
	return good;
}

/* --- running them ------------------------------------------------------------ */

static void test(const char *kind, const char *what, const struct host_start *shape,
		 bool (*play)(struct script *p), u32 turns)
{
	char name[96], full[128];
	struct script_case c = {
		.name = full, .shape = shape, .set_up = set_up, .clean_up = clean_up,
		.begin = begin_life, .play = play, .turns = opt.thorough ? 10 * turns : turns,
		.most = opt.rounds ? turns : 0, .salt = 500, .first_plain = true,
		.life_seeds = true, .own = &own, .own_size = sizeof(own),
	};

	snprintf(name, sizeof(name), "changed:%s:%s", kind, what);
	snprintf(full, sizeof(full), "%s", deep_name(name));
	script_run(&c);
}

static void plays(void)
{
	static const struct { const char *name; struct host_start start; } shapes[] = {
		{ "mirror", { .legs = 2, .large = true } },
		{ "parity1", { .legs = 3, .parity = true, .large = true } },
		{ "two", { .legs = 4, .second = 2 } },
		{ "cache", { .legs = 3, .cache = 1, .large = true } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct host_start *s = &shapes[i].start;

		test(shapes[i].name, "any-lives", s, any_lives, 6);
		test(shapes[i].name, "beside-writers", s, copy_beside_writers, 2);
		test(shapes[i].name, "no-more", s, no_more, 2);
	}
	test("mirror", "reads", &shapes[0].start, reads, 1);
	test("mirror", "unreadable", &shapes[0].start, cannot_be_read, 1);
	test("mirror", "suspended", &shapes[0].start, suspended, 1);
	test("mirror", "forked", &shapes[0].start, forked, 2);
	test("mirror", "read-only", &shapes[0].start, started_read_only, 1);
	test("cache", "log-given-up", &shapes[3].start, log_given_up, 4);
}

void run_changed(void)
{
	u32 least = sim_least_levels, levels;

	if (wanted("changed:words"))
		result("changed:words", points_in_words() & tag_of_a_history());
	for (levels = least; levels <= max(least, 2u); levels++) {
		sim_least_levels = levels;
		plays();
	}
	sim_least_levels = least;
}
