// SPDX-License-Identifier: GPL-2.0-only
/*
 * What changed since a point (work/changed.h). A backup copies only what the pool lists. It must
 * have the right contents after stops and power cuts, while legs come and go, and beside writers.
 * The search reads no more of the table than what changed, and lists not much more.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/completion.h>

#include "suite.h"
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

struct changed_test {
	struct host host;
	struct host_start start;
	struct oracle o;
	struct image img[MAX_DISKS];
	u32 legs, life;
	u64 seed;
	struct rng rng;
	struct kept kept[MOST_POINTS];
	u32 nr_kept;
	unsigned long *found;	/* a bit for each block */
	u64 blocks, size;	/* that are written and read; all of the pool */
	u64 nr_found;
	void (*live)(struct changed_test *p);
	bool stops, cut;
	int refused;
	u32 writers;
	bool frozen;
	struct completion done;
};

/* --- looking --------------------------------------------------------------------------- */

static u64 sum_of(struct changed_test *p, u64 block)
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
static void find(struct changed_test *p, const struct kvp_point *since)
{
	u64 from = 0, last = 0, first, count, at;
	int ret = kvp_changed_check(p->host.pool, since);

	if (ret)
		sim_fail("point %u: refused (%d)", since->era, ret);
	memset(p->found, 0, BITS_TO_LONGS(p->size) * sizeof(long));
	p->nr_found = 0;
	while ((ret = kvp_changed_next(p->host.pool, since->era, &from, &first, &count)) > 0) {
		if (first + count > p->size || from > p->size || from <= last || first < last)
			sim_fail("%llu blocks from %llu on, then from %llu on, after %llu", count,
				 first, from, last);
		for (at = first; at < first + count; at++)
			__set_bit(at, p->found);
		p->nr_found += count;
		last = from;
	}
	if (ret)
		sim_fail("point %u: %d", since->era, ret);
}

static void take(struct changed_test *p, struct kvp_point *point)
{
	int ret = kvp_changed_point(p->host.pool, point);

	if (ret)
		sim_fail("no point: %d", ret);
	if (!point->tagged || kvp_changed_check(p->host.pool, point))
		sim_fail("the point that was taken last is refused");
}

/* Each block that differs from what it was at the point must be found. */
static void hold_against(struct changed_test *p, const struct kept *k, const u64 *now)
{
	u64 i;

	find(p, &k->point);
	for (i = 0; i < p->blocks; i++)
		if (k->sums[i] != now[i] && !test_bit(i, p->found))
			sim_fail("life %u: block %llu is not what it was at point %u, and is not found",
				 p->life, i, k->point.era);
}

static void forget(struct changed_test *p, u32 i)
{
	free(p->kept[i].sums);
	p->kept[i] = p->kept[--p->nr_kept];
}

/* Nothing writes meanwhile. The new point is kept, and a few of the older ones. */
static void look(struct changed_test *p)
{
	struct kept new = { .sums = malloc(p->blocks * sizeof(u64)) };
	u64 i;

	take(p, &new.point);
	new.at = disks.trace.nr;
	for (i = 0; i < p->blocks; i++)
		new.sums[i] = sum_of(p, i);
	for (i = 0; i < p->nr_kept; i++)
		hold_against(p, &p->kept[i], new.sums);
	if (p->nr_kept == MOST_POINTS)
		forget(p, rng_below(&p->rng, MOST_POINTS));
	p->kept[p->nr_kept++] = new;
}

/* --- lives ------------------------------------------------------------------------------ */

static void life_main(void *arg)
{
	struct changed_test *p = arg;

	p->refused = host_start(&p->host, &p->o, &p->start);
	if (p->refused)
		sim_fail("start: %s", p->host.refusal.why);
	p->size = p->host.pool->sb->pool_blocks;
	p->blocks = min_t(u64, p->size, p->o.blocks);
	p->live(p);
	if (p->stops)
		host_stop(&p->host);
}

/* Where the power goes: points after that were not taken. */
static void end_life(struct changed_test *p)
{
	u32 at = disks.trace.nr, i;

	if (p->cut)
		at = rng_chance(&p->rng, 300) ? at : at - rng_below(&p->rng, at / 2);
	for (i = 0; i < p->legs; i++)
		image_free(&p->img[i]);
	if (p->cut)
		cut_trace(&disks.trace, at, rng_below(&p->rng, 4), &p->rng, p->img);
	else
		for (i = 0; i < p->legs; i++)
			image_copy(&p->img[i], &disks.img[i]);
	for (i = p->nr_kept; i--;) {
		if (p->kept[i].at > at)
			forget(p, i);
		else
			p->kept[i].at = 0;
	}
}

static bool live(struct changed_test *p, void (*what)(struct changed_test *p), bool cut)
{
	bool good;

	p->live = what;
	p->life++;
	p->cut = cut;
	p->stops = !cut;
	good = run_machine(p->img, p->legs, mix64(p->seed, p->life), life_main, p);
	if (good)
		end_life(p);
	return good;
}

static bool once(struct changed_test *p, const struct host_start *shape,
		 bool (*act)(struct changed_test *p),
		 u64 seed)
{
	const struct base *base = shape->second ? base_two(shape) : base_cache(shape);
	bool good;
	u32 i;

	memset(p, 0, sizeof(*p));
	p->start = *shape;
	p->legs = base->legs;
	p->seed = p->rng.s = seed;
	oracle_copy(&p->o, &base->o);
	p->found = calloc(BITS_TO_LONGS(MOST_BLOCKS), sizeof(long));
	for (i = 0; i < p->legs; i++)
		image_copy(&p->img[i], &base->img[i]);
	good = act(p);
	while (p->nr_kept)
		forget(p, 0);
	for (i = 0; i < p->legs; i++)
		image_free(&p->img[i]);
	free(p->found);
	oracle_free(&p->o);
	return good;
}

/* --- any operations ------------------------------------------------------------------------ */

static void leave_and_return(struct changed_test *p)
{
	struct host *h = &p->host;
	u32 disk = p->legs - p->start.cache - 1;
	int ret;

	if (p->start.legs - p->start.cache == 1 ||
	    kvp_leg_offline(h->pool, host_leg(h, disk)))
		return;
	host_write(h, rng_below(&p->rng, p->blocks - 8), 8, true);
	while ((ret = host_online(h, disk)) == -EBUSY)
		host_sleep(1000);
	if (ret && ret != -EALREADY)
		sim_fail("the leg does not return: %s", h->refusal.why);
	host_wait_resilver(h);
}

static void any_operation(struct changed_test *p)
{
	struct host *h = &p->host;
	u32 n = 1 + rng_below(&p->rng, rng_chance(&p->rng, 200) ? 90 : 6);
	u64 at = rng_chance(&p->rng, 400) ? rng_below(&p->rng, 40) :
					    rng_below(&p->rng, p->blocks - n);

	switch (rng_below(&p->rng, 14)) {
	case 0:
	case 1:
		host_flush(h);
		break;
	case 2:
		host_discard(h, at, n);
		break;
	case 3:
		at = rng_below(&p->rng, p->blocks / 2);
		host_discard(h, at, rng_below(&p->rng, p->blocks - at) + 1);
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
		host_sleep(rng_below(&p->rng, 2500));
		break;
	case 9:
		if (rng_chance(&p->rng, 300))
			leave_and_return(p);
		break;
	default:
		host_write(h, at, n, rng_chance(&p->rng, 200));
	}
}

static void any_operations(struct changed_test *p)
{
	u32 n = 3 + rng_below(&p->rng, 12);

	while (n--)
		any_operation(p);
}

static void any_life(struct changed_test *p)
{
	u32 n = 1 + rng_below(&p->rng, 3);

	if (p->nr_kept && rng_chance(&p->rng, 500))
		look(p);
	while (n--) {
		any_operations(p);
		look(p);
	}
	any_operations(p);
}

static bool any_lives(struct changed_test *p)
{
	u32 i;

	for (i = 0; i < LIVES; i++)
		if (!live(p, any_life, rng_chance(&p->rng, 750)))
			return false;
	return live(p, look, false);
}

/* --- a copy beside writers ------------------------------------------------------------------- */

static void copy_found(struct changed_test *p, u64 *copy)
{
	u64 i;

	for (i = 0; i < p->blocks; i++)
		if (test_bit(i, p->found))
			copy[i] = sum_of(p, i);
}

/* Discards of blocks that went home before: known-gaps.md. */
static void writer(void *arg)
{
	struct changed_test *p = arg;
	struct rng rng = { .s = mix64(p->seed, 70 + p->writers) };
	struct host *h = &p->host;

	while (!p->frozen) {
		u32 n = 1 + rng_below(&rng, 8);
		u64 at = rng_below(&rng, p->blocks - n);

		if (rng_chance(&rng, 100))
			host_flush(h);
		else if (rng_chance(&rng, 100))
			host_write_zeros(h, at, n);
		else
			host_write(h, at, n, rng_chance(&rng, 100));
		host_sleep(rng_below(&rng, 400));
	}
	if (!--p->writers)
		complete(&p->done);
}

static void beside_writers(struct changed_test *p)
{
	static const struct kvp_point nothing;
	u64 *copy = calloc(p->blocks, sizeof(u64)), i;
	struct kvp_point since, next;
	u32 round;

	for (i = 0; i < p->blocks; i++)
		copy[i] = ~0ull;
	init_completion(&p->done);
	for (p->writers = 0; p->writers < 2; p->writers++)
		sim_spawn("writer", writer, p);
	take(p, &since);
	find(p, &nothing);
	for (i = 0; i < p->blocks; i++)
		copy[i] = sum_of(p, i);
	for (round = 0; round < 4; round++, since = next) {
		host_sleep(2000);
		if (round == 3) {
			p->frozen = true;
			wait_for_completion(&p->done);
		}
		take(p, &next);
		find(p, &since);
		copy_found(p, copy);
	}
	for (i = 0; i < p->blocks; i++)
		if (copy[i] != sum_of(p, i))
			sim_fail("block %llu of the copy is an old one", i);
	free(copy);
}

static bool copy_beside_writers(struct changed_test *p)
{
	return live(p, beside_writers, false);
}

/* --- no more than that ------------------------------------------------------------ */

static void expect_found(struct changed_test *p, u64 first, u64 count, u64 most, const char *what)
{
	u64 i;

	for (i = first; i < first + count; i++)
		if (!test_bit(i, p->found))
			sim_fail("%s: block %llu is not found", what, i);
	if (p->nr_found > most)
		sim_fail("%s: %llu blocks are found, not %llu", what, p->nr_found, most);
}

/* In an idle pool nothing is found. Later, just the blocks that were written or discarded are. */
static void only_that(struct changed_test *p)
{
	struct host *h = &p->host;
	struct kvp_point since, next;

	u64 far = p->blocks - 100;

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
	host_discard(h, 0, p->blocks);
	host_sleep(1500);
	take(p, &since);
	find(p, &next);
	expect_found(p, 0, 7, p->size, "a discard of all");
	expect_found(p, 9, 191, p->size, "a discard of all");
	expect_found(p, far, 8, p->size, "a discard of all");
	find(p, &since);
	expect_found(p, 0, 0, 0, "an idle pool after that");
}

static bool no_more(struct changed_test *p)
{
	return live(p, only_that, false);
}

/* Pages without changes are not read. */
static void few_reads(struct changed_test *p)
{
	struct host *h = &p->host;
	struct kvp_pool *pool = h->pool;
	struct kvp_point since, next;
	u64 reads, i;

	for (i = 0; i + 512 <= p->blocks; i += 512)
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

static bool reads(struct changed_test *p)
{
	return live(p, few_reads, false);
}

/* What cannot be read may have changed. */
static void unreadable(struct changed_test *p)
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
	expect_found(p, 1024, 512, p->size, "an unreadable page");
}

static bool cannot_be_read(struct changed_test *p)
{
	return live(p, unreadable, false);
}

static void about_to_be_suspended(struct changed_test *p)
{
	struct kvp_pool *pool = p->host.pool;
	u64 from = 0, first, count;

	set_bit(KVP_POOL_SUSPENDING, &pool->flags);
	if (kvp_changed_next(pool, 0, &from, &first, &count) != -EINTR)
		sim_fail("a suspend would wait for a walk");
	clear_bit(KVP_POOL_SUSPENDING, &pool->flags);
}

static bool suspended(struct changed_test *p)
{
	return live(p, about_to_be_suspended, false);
}

/* --- points that count no more ------------------------------------------------------------ */

static void expect_refused(struct changed_test *p, struct kvp_point point, int with,
			   const char *what)
{
	int ret = kvp_changed_check(p->host.pool, &point);

	if (ret != with)
		sim_fail("%s: %d, not %d", what, ret, with);
}

static void begin(struct changed_test *p)
{
	struct kvp_point future;

	host_write(&p->host, 30, 4, false);
	look(p);
	future = p->kept[0].point;
	expect_refused(p, future, 0, "a point");
	future.tagged = false;
	expect_refused(p, future, 0, "a number");
	future.era += 2;
	expect_refused(p, future, -ERANGE, "a number to come");
	future.tagged = true;
	expect_refused(p, future, -ERANGE, "a point to come");
	future = p->kept[0].point;
	future.tag++;
	expect_refused(p, future, -ESTALE, "another pool's point");
	/* In the log, or on the leg that is lost. */
	host_write(&p->host, 31, 2, true);
}

/* The pool has gone back: points from before that are refused, and new ones stand. */
static void went_back(struct changed_test *p)
{
	struct kvp_point old = p->kept[0].point;

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

static void went_back_for_now(struct changed_test *p)
{
	struct kvp_point point = p->kept[0].point;

	expect_refused(p, point, -EPERM, "a point");
	if (kvp_changed_point(p->host.pool, &point) != -EPERM)
		sim_fail("a point of what is not known to be the newest");
}

static bool forked(struct changed_test *p)
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

static bool log_given_up(struct changed_test *p)
{
	bool good = live(p, begin, true);

	/* The cut may have come before the point. */
	if (good && !p->nr_kept)
		return true;
	p->start.missing = BIT(p->legs - 1);
	p->start.discard_log = true;
	good = good && live(p, went_back, false);
	p->start.discard_log = false;
	return good && live(p, look, false);
}

/* Nothing is to be written home, or written. */
static void read_only(struct changed_test *p)
{
	struct kvp_point point;

	take(p, &point);
	hold_against(p, &p->kept[0], p->kept[0].sums);
	if (point.era != p->kept[0].point.era && point.era < p->kept[0].point.era)
		sim_fail("the point lies before the one of the stop");
}

static void begin_and_rest(struct changed_test *p)
{
	host_write(&p->host, 30, 4, false);
	look(p);
}

static bool started_read_only(struct changed_test *p)
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
		 bool (*act)(struct changed_test *p), u32 turns)
{
	struct changed_test *p;
	bool good = true;
	char name[96];
	u32 i;

	snprintf(name, sizeof(name), "changed:%s:%s", kind, what);
	if (!wanted(deep_name(name)))
		return;
	p = malloc(sizeof(*p));
	for (i = 0; good && i < (opt.rounds ? min(opt.rounds, turns) : opt.thorough ? 10 * turns :
				 turns); i++)
		good = once(p, shape, act, i ? mix64(opt.seed, 500 + i) : opt.seed);
	free(p);
	result(deep_name(name), good);
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
