// SPDX-License-Identifier: GPL-2.0-only
/*
 * Legs that are much slower than the others of their vdev. First the policy alone, on modelled
 * times. Then pools on disks that answer late: which leg is read, what people hear, and that a slow
 * leg is still a leg in sync: it heals, it is written, and it is read when it is the only one.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "home/missing.h"
#include "home/row.h"
#include "io/slow.h"
#include "policy/slow.h"
#include "ram/rcache.h"
#include "super/events.h"
#include "super/members.h"
#include "table/table.h"

#define MS		1000000ull
#define FACTOR		10u
#define MODEL_WINDOWS	3000u
#define ROUNDS		2u

/* --- the policy alone -------------------------------------------------------------------- */

/* A vdev of modelled legs. */
struct model {
	struct kvp_slow_leg legs[4];
	u32 nr;
	u64 now;
	enum kvp_slow_kind kind;
	u32 changes;		/* of verdicts of leg 0 */
};

static void model_begin(struct model *m, u32 nr)
{
	u32 i, kind;

	memset(m, 0, sizeof(*m));
	m->nr = nr;
	m->now = 5 * KVP_SLOW_WINDOW;
	for (i = 0; i < nr; i++) {
		m->legs[i].counts = true;
		for (kind = 0; kind < KVP_SLOW_KINDS; kind++)
			m->legs[i].times[kind].began = m->now;
	}
}

/* A window of @n requests of leg @leg: @some of them take @long_ns, the others @ns. */
static void model_end(struct model *m, u32 leg, u32 n, u64 ns, u32 some, u64 long_ns)
{
	u32 count[KVP_SLOW_BUCKETS] = { 0 };

	count[kvp_slow_bucket(ns)] += n - some;
	count[kvp_slow_bucket(long_ns)] += some;
	if (kvp_slow_window_ends(&m->legs[leg].times[m->kind], n, m->now))
		kvp_slow_end_window(&m->legs[leg].times[m->kind], count, 1, m->now);
}

static void model_judge(struct model *m, u32 leg)
{
	bool changed = kvp_slow_judge(m->legs, m->nr, leg, m->kind, FACTOR, m->now);

	m->changes += changed && !leg;
}

/* A window in which leg 0 has some slow requests, and the others answer in @ns. */
static void model_window(struct model *m, u32 n, u64 ns, u32 some, u64 long_ns)
{
	u32 i;

	m->now += KVP_SLOW_WINDOW;
	for (i = 0; i < m->nr; i++)
		model_end(m, i, n, ns, i ? 0 : some, i ? ns : long_ns);
	for (i = 0; i < m->nr; i++)
		model_judge(m, i);
}

static bool is_slow(const struct model *m)
{
	return kvp_slow_reads_last(&m->legs[0]);
}

static bool buckets_bound_their_times(void)
{
	bool good = expect(!kvp_slow_bucket(0), "0 is in bucket %u", kvp_slow_bucket(0));
	u32 i;

	for (i = 0; i + 1 < KVP_SLOW_BUCKETS; i++) {
		u64 bound = kvp_slow_bound(i);

		good &= expect(kvp_slow_bucket(bound - 1) == i && kvp_slow_bucket(bound) == i + 1,
			       "bucket %u ends before or after %llu", i, bound);
		good &= expect(!i || 2 * bound <= 3 * kvp_slow_bound(i - 1),
			       "bucket %u is too wide", i);
	}
	return good & expect(kvp_slow_bucket(~0ull) == KVP_SLOW_BUCKETS - 1, "the last bucket");
}

static bool few_requests_say_nothing(void)
{
	struct model m;
	u32 i;

	model_begin(&m, 2);
	for (i = 0; i < 20; i++)
		model_window(&m, 3, MS, 3, 900 * MS);
	for (i = 0; i < 20; i++)
		model_window(&m, KVP_SLOW_SAMPLES - 1, MS, 100, 900 * MS);
	return expect(!is_slow(&m) && !m.changes, "slow after few requests");
}

static bool one_moment_says_nothing(void)
{
	bool good = true;
	struct model m;
	u32 i;

	model_begin(&m, 2);
	for (i = 0; i < 60; i++) {
		model_window(&m, 1000, MS, i % 3 == 2 ? 0 : 300, 900 * MS);
		good &= expect(!is_slow(&m), "slow after window %u", i);
	}
	return good;
}

/* Some of a hundred are above the percentile. */
static bool the_percentile_is_the_99th(void)
{
	struct model m;
	bool good;
	u32 i;

	model_begin(&m, 2);
	for (i = 0; i < 20; i++)
		model_window(&m, 1000, MS, 10, 900 * MS);
	good = expect(!is_slow(&m), "slow with 1 %% of slow requests");
	for (i = 0; i < KVP_SLOW_BAD; i++)
		model_window(&m, 1000, MS, 11, 900 * MS);
	return good & expect(is_slow(&m), "not slow with 1.1 %% of slow requests");
}

static bool nine_times_are_not_ten(void)
{
	struct model m;
	bool good;
	u32 i;

	model_begin(&m, 2);
	for (i = 0; i < 20; i++)
		model_window(&m, 1000, MS, 1000, 9 * MS);
	good = expect(!is_slow(&m), "slow by a factor of 9");
	for (i = 0; i < KVP_SLOW_BAD; i++)
		model_window(&m, 1000, MS, 1000, 16 * MS);
	return good & expect(is_slow(&m), "not slow by a factor of 16");
}

/* Fair windows until it is well; 0: it is not. */
static u32 fair_windows(struct model *m)
{
	u32 n;

	for (n = 1; n < 1000; n++) {
		model_window(m, 1000, MS, 0, MS);
		if (!is_slow(m))
			return n;
	}
	return 0;
}

static void make_slow(struct model *m)
{
	u32 i;

	for (i = 0; i < KVP_SLOW_BAD; i++)
		model_window(m, 1000, MS, 100, 900 * MS);
}

static bool a_leg_that_comes_and_goes(void)
{
	u32 want = KVP_SLOW_FAIR, i;
	bool good = true;
	struct model m;

	model_begin(&m, 2);
	for (i = 0; i < 12; i++) {
		u32 got;

		make_slow(&m);
		got = fair_windows(&m);
		good &= expect(got == want, "round %u: well after %u windows, not %u", i, got,
			       want);
		want = min(2 * want, KVP_SLOW_FAIR << KVP_SLOW_FLAPS);
	}
	good &= expect(m.changes == 24, "%u changes", m.changes);
	/* After a day it begins anew. */
	m.now += 25ull * 3600 * 1000 * MS;
	model_window(&m, 1000, MS, 0, MS);
	make_slow(&m);
	return good & expect(fair_windows(&m) == KVP_SLOW_FAIR, "a day later it is still flapping");
}

/* Neither ten times nor less than five times the other: the verdict stays. */
static bool between_is_no_reason(void)
{
	struct model m;
	bool good;
	u32 i;

	model_begin(&m, 2);
	make_slow(&m);
	for (i = 0; i < 50; i++) {
		model_window(&m, 1000, MS, i % 2 ? 100 : 0, 8 * MS);
		good = expect(is_slow(&m), "well after window %u", i);
		if (!good)
			return false;
	}
	return expect(fair_windows(&m) == KVP_SLOW_FAIR, "not well again");
}

/* A hot spot keeps leg 0 busy: it has more requests, and they wait for each other. */
static bool a_busy_leg_is_not_slow(void)
{
	struct model m;
	bool good;
	u32 i;

	model_begin(&m, 3);
	for (i = 0; i < 20; i++) {
		m.now += KVP_SLOW_WINDOW;
		model_end(&m, 0, 1000, 200 * MS, 0, 0);
		model_end(&m, 1, 400, MS, 0, 0);
		model_end(&m, 2, 400, MS, 0, 0);
		model_judge(&m, 0);
	}
	good = expect(!is_slow(&m), "a busy leg is called slow");
	for (i = 0; i < KVP_SLOW_BAD; i++)
		model_window(&m, 500, MS, 500, 200 * MS);
	return good & expect(is_slow(&m), "a leg with as many requests is not called slow");
}

static bool disks_beside_ssds(void)
{
	struct model m;
	bool good;

	model_begin(&m, 2);
	m.legs[0].seeks = true;
	make_slow(&m);
	good = expect(is_slow(&m), "a disk beside an SSD is not read last");
	good &= expect(kvp_slow_by(&m.legs[0]) == KVP_SLOW_KINDS, "people hear of a disk beside an SSD");
	/* Beside another disk, which is faster: people hear of that. */
	model_begin(&m, 3);
	m.legs[0].seeks = m.legs[1].seeks = true;
	make_slow(&m);
	good &= expect(kvp_slow_by(&m.legs[0]) == KVP_SLOW_READ, "a slow disk beside another is not told of");
	/* An SSD that is slower than a disk. */
	model_begin(&m, 2);
	m.legs[1].seeks = true;
	make_slow(&m);
	return good & expect(is_slow(&m) && kvp_slow_by(&m.legs[0]) == KVP_SLOW_READ,
			     "an SSD slower than a disk is not told of");
}

static bool short_times_are_not_slow(void)
{
	bool good = true;
	struct model m;
	u32 i;

	model_begin(&m, 2);
	for (i = 0; i < 10; i++)
		model_window(&m, 1000, MS / 50, 1000, MS / 2);
	good &= expect(!is_slow(&m), "reads of half a millisecond are slow");
	m.kind = KVP_SLOW_FLUSH;
	for (i = 0; i < 10; i++)
		model_window(&m, 1000, MS / 50, 1000, 5 * MS);
	good &= expect(kvp_slow_by(&m.legs[0]) == KVP_SLOW_KINDS, "flushes of 5 ms are slow");
	for (i = 0; i < 10; i++)
		model_window(&m, 1000, MS / 50, 1000, 50 * MS);
	good &= expect(kvp_slow_by(&m.legs[0]) == KVP_SLOW_FLUSH, "flushes of 50 ms are not slow");
	return good & expect(!is_slow(&m), "slow flushes change the order of reads");
}

/* The other leg had its requests at another time. */
static bool other_times_are_no_measure(void)
{
	struct model m;
	u32 i;

	model_begin(&m, 2);
	model_window(&m, 1000, MS, 0, MS);
	for (i = 0; i < 20; i++) {
		m.now += KVP_SLOW_WINDOW;
		model_end(&m, 0, 1000, 900 * MS, 0, 0);
		model_judge(&m, 0);
	}
	return expect(!is_slow(&m), "compared with what was long ago");
}

/* All of a vdev get slow at once: load, or their controller. */
static bool all_legs_at_once(void)
{
	struct model m;
	u32 i;

	model_begin(&m, 3);
	for (i = 0; i < 40; i++)
		model_window(&m, 1000, (i < 20 ? 1 : 900) * MS, 0, MS);
	return expect(!m.changes, "legs that are alike are called slow");
}

/* A disk that seeks: 4 to 16 ms, a queue now and then, and seldom a retry of a second. */
static u64 model_time(struct rng *r)
{
	u64 ns = 4 * MS + rng_next(r) % (12 * MS);

	if (rng_chance(r, 150))
		ns += rng_next(r) % (60 * MS);
	return rng_chance(r, 1) ? ns + 1000 * MS : ns;
}

/* Legs that are alike: chance alone makes no verdict, in eight hours of the fewest requests. */
static bool chance_makes_no_verdict(void)
{
	struct rng r = { opt.seed };
	bool good = true;
	struct model m;
	u32 w, i, k;

	model_begin(&m, 4);
	for (w = 0; good && w < MODEL_WINDOWS; w++) {
		m.now += KVP_SLOW_WINDOW;
		for (i = 0; i < m.nr; i++) {
			u32 count[KVP_SLOW_BUCKETS] = { 0 };

			for (k = 0; k < KVP_SLOW_SAMPLES; k++)
				count[kvp_slow_bucket(model_time(&r))]++;
			kvp_slow_end_window(&m.legs[i].times[0], count, 1, m.now);
		}
		for (i = 0; i < m.nr; i++)
			good &= expect(!kvp_slow_judge(m.legs, m.nr, i, 0, FACTOR, m.now),
				       "leg %u is slow by chance in window %u", i, w);
	}
	return good;
}

/* The others make the blocks of a slow leg until their queue lasts as long as its own. */
static bool busy_others_are_not_asked(void)
{
	bool good = true;
	u32 own;

	for (own = 0; own < 40; own++) {
		u32 most = FACTOR * (own + 1), ssds = max(most, KVP_SLOW_IDLE);

		good &= expect(kvp_slow_leaves_to_others(own, most - 1, true, FACTOR) &&
			       !kvp_slow_leaves_to_others(own, most, true, FACTOR),
			       "beside %u requests disks make blocks with more or less than %u", own,
			       most);
		good &= expect(kvp_slow_leaves_to_others(own, ssds - 1, false, FACTOR) &&
			       !kvp_slow_leaves_to_others(own, ssds, false, FACTOR),
			       "beside %u requests SSDs make blocks with more or less than %u", own,
			       ssds);
	}
	return good & expect(kvp_slow_leaves_to_others(~0u, ~0u - 1, true, 1000), "a queue overflows");
}

static void policy(const char *what, bool (*test)(void))
{
	char name[80];

	snprintf(name, sizeof(name), "slow:policy:%s", what);
	if (wanted(name))
		result(name, test());
}

/* --- pools ---------------------------------------------------------------------------------- */

/* A read that is no faster than a jiffy: windows take their time. */
#define FAST_US		500u
#define SLOW_US		200000u
#define READS		200u	/* a step of read_some() */

static u32 at;	/* of one case: number of blocks that were read */

static void begin(struct script *p)
{
	u32 i;

	/* Each read comes from a leg. */
	if (kvp_rcache_resize(p->host.pool->rcache, 0))
		sim_fail("no memory");
	host_write(&p->host, 0, 64, false);
	host_write(&p->host, 256, 64, false);
	host_checkpoint(&p->host);
	for (i = 0; i < disks.nr; i++)
		disks.delay[i].read = disks.delay[i].write = FAST_US;
}

/* Blocks of two steps of 1 MiB, so that all legs of a mirror are asked. */
static u64 next_block(struct script *p)
{
	u32 n = at++;

	return (n % 2) * 256 + n / 2 * 7 % 64;
}

static void read_some(struct script *p, u32 n)
{
	while (n--)
		host_read_check(&p->host, next_block(p));
}

static bool leg_is_slow(struct script *p, u32 disk)
{
	return READ_ONCE(host_leg(&p->host, disk)->slow);
}

/* Read until leg @disk is slow, or is not, with so many reads at most; fail if it does not come. */
static void read_until(struct script *p, u32 disk, bool slow, u32 most)
{
	u32 n;

	for (n = 0; n < most && leg_is_slow(p, disk) != slow; n += READS)
		read_some(p, READS);
	if (leg_is_slow(p, disk) != slow)
		sim_fail("the leg is %s after %u reads", slow ? "not slow" : "slow still", n);
}

static u32 events(struct script *p, const char *begin)
{
	struct kvp_events *ev = p->host.pool->events;
	struct kvp_disk_event e;
	u32 n = 0;
	u64 seq;

	for (seq = 0; seq < kvp_events_next(ev); seq++)
		n += kvp_event_get(p->host.pool, seq, &e) &&
		     !strncmp((char *)e.text, begin, strlen(begin));
	return n;
}

static void expect_events(struct script *p, u32 slow, u32 not_slow)
{
	if (events(p, "leg_slow leg=") != slow || events(p, "leg_not_slow leg=") != not_slow)
		sim_fail("%u events of a slow leg, %u of one that is not, instead of %u and %u",
			 events(p, "leg_slow leg="), events(p, "leg_not_slow leg="), slow,
			 not_slow);
}

static void expect_state(struct script *p, u32 disk, const char *state, const char *by)
{
	struct kvp_slow_figures f;

	kvp_slow_figures(host_leg(&p->host, disk), &f);
	if (strcmp(f.state, state) || !f.by != !by || (by && strcmp(f.by, by)))
		sim_fail("the state is %s by %s, not %s", f.state, f.by ?: "nothing", state);
	if (by && !f.others)
		sim_fail("it is not known what it was compared with");
}

/* It is read last, but for one read in 64; it is well again some time after it is fast again. */
static void a_slow_leg_is_read_last(struct script *p)
{
	u32 disk = 1, before;

	begin(p);
	read_some(p, 2000);
	expect_events(p, 0, 0);
	disks.delay[disk].read = SLOW_US;
	read_until(p, disk, true, 8000);
	expect_state(p, disk, "yes", "read");
	expect_events(p, 1, 0);
	before = disks.reads_of[disk];
	read_some(p, 64 * 20);
	before = disks.reads_of[disk] - before;
	if (before < 18 || before > 22)
		sim_fail("%u of %u reads go to the slow leg", before, 64 * 20);
	disks.delay[disk].read = FAST_US;
	read_until(p, disk, false, 64 * KVP_SLOW_SAMPLES * (KVP_SLOW_FAIR + 2));
	expect_state(p, disk, "no", NULL);
	expect_events(p, 1, 1);
	before = disks.reads_of[disk];
	read_some(p, 1000);
	if (disks.reads_of[disk] - before < 1000 / p->start.legs / 2)
		sim_fail("it is well again, and is not read");
	host_stop(&p->host);
}

/* Only some of its reads are slow, as of a disk that tries again and again. */
static void some_reads_are_slow(struct script *p)
{
	begin(p);
	disks.delay[1].read = 2 * SLOW_US;
	disks.delay[1].one_in = 20;
	read_until(p, 1, true, 30000);
	expect_events(p, 1, 0);
	host_stop(&p->host);
}

/* A disk beside an SSD: it is read last, and people do not hear of it. */
static void a_disk_beside_an_ssd(struct script *p)
{
	u32 before;

	begin(p);
	host_leg(&p->host, 1)->rotational = true;
	disks.delay[1].read = SLOW_US;
	read_until(p, 1, true, 20000);
	expect_state(p, 1, "expected", "read");
	before = disks.reads_of[1];
	read_some(p, 640);
	if (disks.reads_of[1] - before > 12)
		sim_fail("%u of 640 reads go to the disk", disks.reads_of[1] - before);
	expect_events(p, 0, 0);
	host_stop(&p->host);
}

static void few_reads(struct script *p)
{
	begin(p);
	disks.delay[1].read = SLOW_US;
	read_some(p, KVP_SLOW_SAMPLES);
	host_sleep(120000);
	read_some(p, 100);
	if (leg_is_slow(p, 1))
		sim_fail("it is slow after few reads");
	expect_events(p, 0, 0);
	host_stop(&p->host);
}

static void make_leg_slow(struct script *p, u32 disk)
{
	begin(p);
	disks.delay[disk].read = SLOW_US;
	read_until(p, disk, true, 40000);
}

static void rot(u32 disk, u64 at)
{
	u8 data[KVP_BLOCK_SIZE];

	image_read(&disks.img[disk], at, data);
	memset(data + 100, 0x77, 50);
	image_write_data(&disks.img[disk], at, data);
}

/* Blocks that are bad on the fast legs are read from the slow one, and healed with it. */
static void only_the_slow_leg_has_it(struct script *p)
{
	u64 healed = 0, at;
	u32 i, leg;

	make_leg_slow(p, 1);
	for (i = 0; i < 8; i++)
		for (leg = 0; leg < p->start.legs; leg++) {
			at = kvp_home_block(p->host.pool, 3 * i);
			if (leg != 1 && i % 2)
				rot(leg, at);
			else if (leg != 1)
				disks_fault(FAULT_READ_EIO, leg, at, at);
		}
	host_read_each(&p->host, 0, 24);
	for (leg = 0; leg < p->start.legs; leg++)
		healed += (u64)atomic64_read(&host_leg(&p->host, leg)->healed);
	if (healed < 8)
		sim_fail("%llu blocks were healed", healed);
	if (!kvp_leg_in_sync(host_leg(&p->host, 1)))
		sim_fail("the slow leg is out");
	host_stop(&p->host);
}

/* The others leave: all is read from the slow leg, and it stays in use. */
static void the_others_leave(struct script *p)
{
	make_leg_slow(p, 1);
	if (kvp_leg_offline(p->host.pool, host_leg(&p->host, 0)))
		sim_fail("offline failed");
	host_write(&p->host, 8, 4, true);
	read_some(p, 100);
	if (!kvp_leg_in_sync(host_leg(&p->host, 1)))
		sim_fail("the slow leg is out");
	host_stop(&p->host);
}

/* A leg that hangs is worse than one that is slow. */
static void the_other_hangs(struct script *p)
{
	u32 before;

	make_leg_slow(p, 1);
	WRITE_ONCE(host_leg(&p->host, 0)->late, true);
	before = disks.reads_of[0];
	host_read_check(&p->host, 5);
	host_read_check(&p->host, 261);
	if (disks.reads_of[0] != before)
		sim_fail("a leg that hangs is asked, and not the slow one");
	host_stop(&p->host);
}


/* Writes are compared, too. They change nothing in the order of reads. */
static void writes_are_slow(struct script *p)
{
	u32 disk = p->start.legs - 1, i;

	begin(p);
	disks.delay[disk].write = SLOW_US;
	for (i = 0; i < 14000 && !events(p, "leg_slow leg="); i++)
		host_write(&p->host, i % 64, 1, true);
	expect_events(p, 1, 0);
	expect_state(p, disk, "yes", "write");
	if (leg_is_slow(p, disk))
		sim_fail("slow writes change the order of reads");
	host_stop(&p->host);
}

/* The tunable lifts all verdicts, and there are no new ones. */
static void it_is_turned_off(struct script *p)
{
	make_leg_slow(p, 1);
	if (kvp_pool_set(p->host.pool, KVP_T_SLOW_LEG, 0))
		sim_fail("slow_leg cannot be set");
	read_some(p, 400);
	if (leg_is_slow(p, 1))
		sim_fail("it is slow although that is turned off");
	read_some(p, 3000);
	expect_state(p, 1, "no", NULL);
	expect_events(p, 1, 1);
	host_stop(&p->host);
}

/* The verdict is of a device in use: out and back again, it begins anew. */
static void it_leaves_and_returns(struct script *p)
{
	make_leg_slow(p, 1);
	if (kvp_leg_offline(p->host.pool, host_leg(&p->host, 1)))
		sim_fail("offline failed");
	disks.delay[1].read = FAST_US;
	host_write(&p->host, 8, 4, true);
	host_sleep(3000);
	if (host_online(&p->host, 1))
		sim_fail("online failed: %s", p->host.refusal.why);
	host_wait_resilver(&p->host);
	host_sleep(3000);
	if (leg_is_slow(p, 1))
		sim_fail("it is slow by what it was before");
	read_some(p, 2000);
	expect_events(p, 1, 0);
	host_stop(&p->host);
}

/* --- a parity1 ------------------------------------------------------------------------------- */

static bool lies_on(struct script *p, u64 block, u32 disk)
{
	return kvp_block_leg(p->host.pool, block) == host_leg(&p->host, disk);
}

/* What @n reads, one by one, asked of a disk. */
struct asked {
	u32 blocks, reads, made;	/* on that disk; of it; made from the others */
	u64 ms;
};

static struct asked ask(struct script *p, u32 disk, u32 n)
{
	u32 reads = disks.reads_of[disk], made = p->host.passed;
	unsigned long since = jiffies;
	struct asked a = { 0 };

	for (; n; n--) {
		u64 block = next_block(p);

		a.blocks += lies_on(p, block, disk);
		host_read_check(&p->host, block);
	}
	a.reads = disks.reads_of[disk] - reads;
	a.made = p->host.passed - made;
	a.ms = jiffies_to_msecs(jiffies - since);
	return a;
}

/* Its blocks are made from the others, but for one read in 64; it is well again later. */
static void rows_pass_over_a_slow_leg(struct script *p)
{
	struct asked a;

	make_leg_slow(p, 1);
	expect_state(p, 1, "yes", "read");
	expect_events(p, 1, 0);
	a = ask(p, 1, 64 * 60);
	if (opt.verbose)
		printf("# of %u blocks of the slow leg it was asked for %u; %llu ms\n", a.blocks,
		       a.reads, (unsigned long long)a.ms);
	if (a.reads + 2 < a.blocks / 64 || a.reads > a.blocks / 64 + 2)
		sim_fail("of %u blocks on the slow leg %u are read from it", a.blocks, a.reads);
	if (a.reads + a.made != a.blocks)
		sim_fail("%u of %u blocks are made, and %u are read", a.made, a.blocks, a.reads);
	host_write(&p->host, 0, 20, true);
	read_some(p, 200);
	disks.delay[1].read = FAST_US;
	read_until(p, 1, false, p->start.legs * 64 * KVP_SLOW_SAMPLES * (KVP_SLOW_FAIR + 2));
	expect_events(p, 1, 1);
	a = ask(p, 1, 400);
	if (a.made || a.reads != a.blocks)
		sim_fail("it is well again, and %u of its %u blocks are made", a.made, a.blocks);
	host_stop(&p->host);
}

/* One piece in each row of the first blocks, on another leg than @disk: rotten, or not readable. */
static u32 spoil_rows(struct script *p, u32 disk, bool rotten)
{
	const struct kvp_geometry *g = p->host.pool->vdevs.v[0].g;
	u64 row, end = kvp_row_of(g, 64);
	u32 n = 0;

	for (row = 0; row < end; row++) {
		struct kvp_place at = kvp_row_place(g, row, row % g->leg_count);

		if (at.leg == disk)
			at = kvp_row_place(g, row, (row + 1) % g->leg_count);
		if (rotten)
			rot(at.leg, at.block);
		else
			disks_fault(FAULT_READ_EIO, at.leg, at.block, at.block);
		n++;
	}
	return n;
}

static u64 healed_all(struct script *p)
{
	u64 n = 0;
	u32 leg;

	for (leg = 0; leg < p->start.legs; leg++)
		n += (u64)atomic64_read(&host_leg(&p->host, leg)->healed);
	return n;
}

/* No row can be made: the slow leg is asked. What is wrong with the others is another matter. */
static void rows_cannot_be_made(struct script *p)
{
	bool rotten = p->turn % 2;
	u64 healed, unrepaired, block;
	u32 i, bad;

	make_leg_slow(p, 1);
	p->untraced = true;
	bad = spoil_rows(p, 1, rotten);
	healed = healed_all(p);
	for (block = 0; block < 60; block++)
		if (lies_on(p, block, 1))
			host_read_check(&p->host, block);
	if (healed_all(p) != healed || p->host.pool->table->poisoned)
		sim_fail("a read of a slow leg healed or poisoned something");
	for (i = 0; i < p->start.legs; i++)
		if (!kvp_leg_in_sync(host_leg(&p->host, i)))
			sim_fail("leg %u is out", i);
	if (atomic64_read(&host_leg(&p->host, 1)->err_read) ||
	    atomic64_read(&host_leg(&p->host, 1)->err_checksum))
		sim_fail("the slow leg has errors");
	if (rotten) {
		host_scrub(&p->host, &healed, &unrepaired);
		if (healed != bad || unrepaired)
			sim_fail("%llu of %u healed, %llu not repaired", healed, bad, unrepaired);
	}
	host_stop(&p->host);
}

/* Reads that pass over the slow leg do not see what is bad there. A scrub reads the leg itself. */
static void scrub_reads_the_slow_leg(struct script *p)
{
	u64 healed, unrepaired, block;
	u32 bad = 0;

	make_leg_slow(p, 1);
	p->untraced = true;
	for (block = 0; block < 64; block++) {
		if (!lies_on(p, block, 1))
			continue;
		rot(1, kvp_home_block(p->host.pool, block));
		bad++;
	}
	ask(p, 1, 60);
	host_scrub(&p->host, &healed, &unrepaired);
	if (!bad || healed + healed_all(p) < bad || unrepaired)
		sim_fail("%llu of %u healed, %llu not repaired", healed, bad, unrepaired);
	healed = healed_all(p);
	host_scrub(&p->host, &healed, &unrepaired);
	if (healed || unrepaired)
		sim_fail("%llu were bad after a scrub", healed + unrepaired);
	host_stop(&p->host);
}

/* Another leg is out: the slow one is read, and not passed over. */
static void rows_lack_another_leg(struct script *p)
{
	struct asked a;

	make_leg_slow(p, 1);
	if (kvp_leg_offline(p->host.pool, host_leg(&p->host, 0)))
		sim_fail("offline failed");
	host_write(&p->host, 8, 4, true);
	a = ask(p, 1, 200);
	if (a.made || a.reads < a.blocks)
		sim_fail("%u blocks are made of rows that lack a piece", a.made);
	if (!kvp_leg_in_sync(host_leg(&p->host, 1)))
		sim_fail("the slow leg is out");
	host_stop(&p->host);
}

/* Two legs are slow: each would be needed to make the blocks of the other. */
static void rows_have_two_slow_legs(struct script *p)
{
	struct asked a;

	begin(p);
	/* The watch has looked at all legs once. */
	read_some(p, 2000);
	WRITE_ONCE(host_leg(&p->host, 1)->slow, true);
	WRITE_ONCE(host_leg(&p->host, 2)->slow, true);
	a = ask(p, 1, 200);
	if (a.made || a.reads != a.blocks)
		sim_fail("%u of %u blocks are made with another slow leg", a.made, a.blocks);
	WRITE_ONCE(host_leg(&p->host, 2)->slow, false);
	a = ask(p, 1, 200);
	if (!a.made)
		sim_fail("no block is made: the case was not set up");
	host_stop(&p->host);
}

static struct {
	struct script *p;
	bool done;
} other;

static void read_hung(void *arg)
{
	host_read_check(&other.p->host, *(u64 *)arg);
	other.done = true;
}

/* A leg of a parity1 that has not answered for a second is passed over, and gets no probes. */
static void rows_pass_over_a_leg_that_hangs(struct script *p)
{
	u64 block = 0;
	struct asked a;

	begin(p);
	read_some(p, 200);
	while (!lies_on(p, block, 1))
		block++;
	other.p = p;
	other.done = false;
	disks.hung[1] = true;
	sim_spawn("reader", read_hung, &block);
	host_sleep(2500);
	if (other.done)
		sim_fail("the block was read from another leg: this test is about nothing");
	a = ask(p, 1, 300);
	if (a.made != a.blocks || a.ms > 2000)
		sim_fail("%u of %u blocks of a leg that hangs are made, in %llu ms", a.made, a.blocks,
			 (unsigned long long)a.ms);
	disks_wake(1);
	host_sleep(2500);
	if (!other.done || !kvp_leg_in_sync(host_leg(&p->host, 1)))
		sim_fail("the leg answers again, and is out, or its reader waits");
	a = ask(p, 1, 100);
	if (a.made)
		sim_fail("it answers, and its blocks are made");
	host_stop(&p->host);
}

static void write_stripes(void *arg)
{
	struct host *h = &other.p->host;
	u32 i;

	(void)arg;
	for (i = 0; i < 60; i++) {
		u64 block = rng_below(&sim_rng, 64);
		u32 n = 1 + rng_below(&sim_rng, 64 - block);

		if (rng_chance(&sim_rng, 400))
			host_write(h, 0, 64, true);	/* whole stripes, by intent */
		else if (rng_chance(&sim_rng, 100))
			host_discard(h, block, n);
		else
			host_write(h, block, n, rng_chance(&sim_rng, 500));
		if (rng_chance(&sim_rng, 200))
			host_checkpoint(h);
		host_sleep(rng_below(&sim_rng, 5));
	}
	other.done = true;
}

/* Rows are written in every way, by intents too, while blocks are made from them. */
static void rows_are_written_meanwhile(struct script *p)
{
	u64 intents;
	u32 passed;

	begin(p);
	read_some(p, 200);
	other.p = p;
	other.done = false;
	intents = p->host.pool->log->intent_blocks;
	passed = p->host.passed;
	sim_spawn("writer", write_stripes, NULL);
	while (!other.done) {
		u64 block = rng_below(&sim_rng, 64);

		WRITE_ONCE(host_leg(&p->host, 1)->slow, true);
		host_read_check(&p->host, block);
		WRITE_ONCE(host_leg(&p->host, 1)->slow, true);
		host_read_wide_check(&p->host, block, 1 + rng_below(&sim_rng, 64 - block));
		host_sleep(1);	/* reads of what is buffered do not wait, and the writer must run */
	}
	/* By chance, all that was read may have been buffered. */
	p->spoilt = p->host.passed == passed || p->host.pool->log->intent_blocks == intents;
	host_stop(&p->host);
}

/* --- frame ------------------------------------------------------------------------------- */

static void pools(const char *what, const struct host_start *shape, void (*act)(struct script *p))
{
	char name[80];
	struct script_case c = {
		.name = name, .shape = shape, .act = act, .leave = true, .turns = ROUNDS,
		.salt = 9500, .own = &at, .own_size = sizeof(at),
	};

	snprintf(name, sizeof(name), "slow:%s", what);
	script_run(&c);
}

static void run_policy(void)
{
	policy("buckets", buckets_bound_their_times);
	policy("few", few_requests_say_nothing);
	policy("moment", one_moment_says_nothing);
	policy("percentile", the_percentile_is_the_99th);
	policy("factor", nine_times_are_not_ten);
	policy("flaps", a_leg_that_comes_and_goes);
	policy("between", between_is_no_reason);
	policy("busy", a_busy_leg_is_not_slow);
	policy("disks-and-ssds", disks_beside_ssds);
	policy("floor", short_times_are_not_slow);
	policy("other-times", other_times_are_no_measure);
	policy("all", all_legs_at_once);
	policy("chance", chance_makes_no_verdict);
	policy("busy-others", busy_others_are_not_asked);
}

void run_slow(void)
{
	static const struct host_start two = { .legs = 2, .rotational = true };
	static const struct host_start three = { .legs = 3, .rotational = true };
	static const struct host_start ssds = { .legs = 2 };
	static const struct host_start rows = { .legs = 3, .parity = true, .rotational = true };
	static const struct host_start row_ssds = { .legs = 3, .parity = true };
	static const struct host_start wide = { .legs = 5, .parity = true, .rotational = true };
	static const struct host_start cache = { .legs = 4, .cache = 2 };

	run_policy();
	pools("mirror", &two, a_slow_leg_is_read_last);
	pools("mirror3", &three, a_slow_leg_is_read_last);
	pools("ssds", &ssds, some_reads_are_slow);
	pools("some", &two, some_reads_are_slow);
	pools("disk-beside-ssd", &ssds, a_disk_beside_an_ssd);
	pools("few", &two, few_reads);
	pools("only-copy", &two, only_the_slow_leg_has_it);
	pools("only-copy3", &three, only_the_slow_leg_has_it);
	pools("others-leave", &two, the_others_leave);
	pools("other-hangs", &two, the_other_hangs);
	pools("parity1", &rows, rows_pass_over_a_slow_leg);
	pools("parity1-wide", &wide, rows_pass_over_a_slow_leg);
	pools("parity1-ssds", &row_ssds, rows_pass_over_a_slow_leg);
	pools("parity1-not-made", &rows, rows_cannot_be_made);
	pools("parity1-scrub", &rows, scrub_reads_the_slow_leg);
	pools("parity1-lacks-one", &wide, rows_lack_another_leg);
	pools("parity1-two-slow", &wide, rows_have_two_slow_legs);
	pools("parity1-hangs", &rows, rows_pass_over_a_leg_that_hangs);
	pools("parity1-written", &row_ssds, rows_are_written_meanwhile);
	pools("writes", &two, writes_are_slow);
	pools("writes-cache", &cache, writes_are_slow);
	pools("off", &two, it_is_turned_off);
	pools("returns", &two, it_leaves_and_returns);
}
