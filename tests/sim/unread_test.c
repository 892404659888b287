// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data that cannot be read now is not absent (R27).
 *
 * Errors. A life ends with a power cut, with flushed entries, discards, and intents that are partly
 * home; or a recovery from that is cut. Then the start is repeated once for each of its requests.
 * That request fails; or it and all later ones; or it and all later reads of its place, so that the
 * start writes what it concludes. Each start has all expected data, or it is refused, and the next
 * start has the data. (A start begins with reads of labels. These have tests of their own in
 * lives.c.) In further tests, one allocation of the start fails, or twenty in a row. In others, one
 * ring of superblocks of a leg can neither be read nor written, and has one that was cut.
 *
 * Hangs. The start is repeated once for each request of a leg. That request and all later ones are
 * answered late, or not before the power goes. The start ends in time: it is refused and names the
 * leg, or goes on without it. A late write has the contents that were sent, and the next start has
 * all data. Variants: a leg keeps a single superblock, and another leg hangs; a start is read-only;
 * a pool is made, and has all legs or is refused; several legs hang from the same moment on, and
 * the start takes as long as with one.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "io/flight.h"
#include "format/format.h"

enum hang {
	NEVER,			/* the leg answers nothing until the power goes */
	AMID,			/* it answers as soon as the start has left it */
	AFTERWARDS,		/* it answers when the start has ended */
	BRIEFLY,		/* it answers before it is left */
	HANGS,
};

struct unread {
	struct host host;
	struct host_start start;
	const struct base *base;
	struct oracle o;
	struct image img[MAX_DISKS];
	const char *name;
	int refused;
	u32 labels, requests, starts, refusals, allocations;
	u32 failed;		/* bit per disk: a write to it ended with an error */
	u32 victim, silent;	/* bit per ring of that disk: it can be neither read nor written */
	enum hang hang;
	u32 after;		/* requests of the victim, that it answers */
	bool stopped;		/* its life before has ended well, so the log is empty */
	/*
	 * in place of that: it does not answer writes to this slot of the back ring; KVP_SB_RING:
	 * it does
	 */
	u32 slot;
	u32 kept;		/* requests that it had kept when the start ended */
	/* number of another leg that hangs, and of requests that it answers first; 0: none hangs */
	u32 also, also_after;
	u32 together;		/* bit per disk: hangs as soon as the victim does */
	/* requests to the victim, just before it is left; 0: it is not yet */
	u32 sent;
	bool over;
};

static void free_img(struct image *img, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		image_free(&img[i]);
}

static void copy_img(struct image *to, const struct image *from, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		image_copy(&to[i], &from[i]);
}

/* --- contents of the disks -------------------------------------------------------------- */

static void live_main(void *arg)
{
	struct unread *t = arg;
	struct host *h = &t->host;
	u32 i, data = t->start.legs - t->start.cache, first = t->start.parity ? 52 : 104;

	if (host_start(h, &t->o, &t->start))
		sim_fail("start: %s", h->refusal.why);
	host_write_each(h, 20, 3);
	host_write(h, 5, 2, false);
	host_flush(h);
	host_write(h, 20, 1, true);
	/* some of it is home, over older blocks and over unwritten ones */
	for (i = 0; i < data; i++)
		disks_stall(i, disks.data_start + first, disks.data_start + first + 3);
	host_write_by_intent(h, 96, 40);
	/* after it, as a pending discard prevents direct writes */
	host_discard(h, 70, 6);
	host_sleep(1500);
	host_write(h, 200, 1, false);
	host_sleep(1500);
	if (!t->stopped)
		return;
	disks_release_all();
	host_stop(h);
}

/* Where slot @slot of a ring begins; the ring ends at that of KVP_SB_RING. */
static u64 ring_block(u32 disk, u32 end, u32 slot)
{
	u64 start = kvp_sb_slot_offset(disks.img[disk].blocks, end, 0) >> KVP_BLOCK_SHIFT;

	return start + slot * KVP_SB_BLOCKS;
}

static void silence_rings(u32 disk, u32 rings)
{
	u32 end;

	for (end = 0; end < 2; end++) {
		u64 first = ring_block(disk, end, 0), last = ring_block(disk, end, KVP_SB_RING) - 1;

		if (!(rings >> end & 1))
			continue;
		disks_fault(FAULT_READ_EIO, disk, first, last);
		disks_fault(FAULT_WRITE_EIO, disk, first, last);
	}
}

static void start_main(void *arg)
{
	struct unread *t = arg;

	silence_rings(t->victim, t->silent);
	t->refused = host_start(&t->host, &t->o, &t->start);
	t->allocations = sim_allocations;
	t->requests = disks.requests;
	t->labels = disks.labels;
	disks.hiccup.error = 0;
	if (!t->refused)
		host_stop(&t->host);
	else if (sim_memory_in_use())
		sim_fail("%u objects stay allocated after a refusal", sim_memory_in_use());
}

enum hiccup { ONE, ALL_BEHIND, READS_THERE, HICCUPS };

static bool run(struct unread *t, void (*main)(void *), const struct image *img, u32 first,
		enum hiccup how,
		int error, u32 cut_at)
{
	struct sim_config config;
	enum sim_end end;
	u32 i;

	check_seed_config(&config, opt.seed);
	disks_begin(img, t->start.legs);
	disks.hiccup.first = first;
	disks.hiccup.nr = how == ONE ? 1 : ~0u;
	disks.hiccup.around = how == READS_THERE ? 512 : 0;
	disks.hiccup.error = error;
	disks.cut_at = cut_at;
	end = sim_run(&config, main, t);
	disks_end();
	check_stats.machines++;
	t->failed = 0;
	for (i = 0; i < disks.trace.nr_requests; i++)
		if (disks.trace.requests[i].error)
			t->failed |= BIT(disks.trace.requests[i].disk);
	return end == (cut_at ? SIM_POWER_CUT : SIM_RETURNED);
}

/* --- starts of which requests fail -------------------------------------------------------- */

/* Whatever the start wrote, the next one finds all data there. */
static bool all_there(struct unread *t, u32 seed)
{
	struct image img[MAX_DISKS];
	struct crash c = {
		.images = img, .legs = t->start.legs, .parity = t->start.parity,
			.cache = t->start.cache,
		.cache_parity = t->start.cache_parity, .o = &t->o, .at = ~0u,
			.seed = mix64(opt.seed, seed),
		.given_up = t->failed,
	};
	bool good;

	copy_img(img, disks.img, t->start.legs);
	good = !check_crash(&c, CHECK_CONTENTS);
	free_img(img, t->start.legs);
	return good;
}

static bool one_start(struct unread *t, u32 first, enum hiccup how, int error)
{
	static const char * const what[HICCUPS] = { "", " and all behind it",
						    " and all later reads there" };
	bool good = run(t, start_main, t->img, first, how, error, 0);

	t->starts += !t->refused;
	t->refusals += !!t->refused;
	good = good && all_there(t, first);
	if (!good)
		fprintf(stderr, "  ^ %s: request %u%s ended with %d, and the start with %d %s\n",
			t->name, first,
			what[how], error, t->refused, t->host.refusal.why);
	return good;
}

static const int errors[] = { -EIO, -ENOMEM, -ETIMEDOUT, -EAGAIN, -EREMOTEIO, -ENOLINK };

/* Each of the labels' in steps, then the first one of the log in any case, then in steps. */
static u32 next_request(u32 i, u32 labels, u32 step)
{
	if (i < labels)
		return min(i + step, labels);
	return i + (i == labels ? 1 + (u32)(opt.seed % step) : step);
}

/*
 * One request of @step: with all later reads of its place, and in one of the other ways, in turns.
 * With --long each in all ways.
 */
static bool each_request(struct unread *t, u32 step)
{
	u32 labels, requests, i, k;
	bool good = run(t, start_main, t->img, 0, ONE, 0, 0) && all_there(t, 0);

	if (!expect(good && !t->refused, "no start without errors: %s\n", t->host.refusal.why))
		return false;
	requests = t->requests;
	labels = t->labels;
	if (opt.thorough)
		step = 1;
	for (i = 0; good && i < requests; i = next_request(i, labels, step))
		for (k = 0; good && k < HICCUPS * ARRAY_SIZE(errors); k++) {
			u32 turn = i / step + (u32)opt.seed;

			if (opt.thorough || (k / HICCUPS == turn % ARRAY_SIZE(errors) &&
					     (k % HICCUPS == READS_THERE ||
					      k % HICCUPS == turn / 4 % 2)))
				good = one_start(t, i, k % HICCUPS, errors[k / HICCUPS]);
		}
	return good && expect(t->starts && t->refusals, "%u starts, %u refused\n", t->starts,
			      t->refusals);
}

/*
 * Allocation @nth of a start fails, or @count allocations from there on, as in a kernel with
 * failslab.
 */
static bool one_without_memory(struct unread *t, u32 nth, u32 count)
{
	bool good;

	t->start.refused_from = nth;
	t->start.refused_until = nth + count;
	good = run(t, start_main, t->img, 0, ONE, 0, 0);
	t->start.refused_from = 0;
	t->start.refused_until = 0;
	t->starts += !t->refused;
	t->refusals += !!t->refused;
	good = good && expect(!t->refused || t->refused == -ENOMEM || t->refused == -EIO,
			      "refused with %d %s\n", t->refused, t->host.refusal.why);
	good = good && all_there(t, nth);
	if (!good)
		fprintf(stderr,
			"  ^ %s: allocation %u and %u behind it failed, and the start with %d %s\n",
			t->name, nth, count - 1, t->refused, t->host.refusal.why);
	return good;
}

/* About @n of the allocations, others with each seed. */
static bool each_allocation(struct unread *t, u32 n)
{
	bool good = run(t, start_main, t->img, 0, ONE, 0, 0);
	u32 all = t->allocations, step = opt.thorough ? 1 : max(1u, all / n), i;

	t->starts = 0;
	t->refusals = 0;
	for (i = 1 + (u32)(opt.seed % step); good && i <= all; i += step)
		good = one_without_memory(t, i, 1) && one_without_memory(t, i, 20);
	return good && expect(t->starts && t->refusals, "without memory: %u starts, %u refused\n",
			      t->starts, t->refusals);
}

/* From the contents after a recovery that was cut at @percent of its writes. */
static bool each_request_again(struct unread *t, u32 percent)
{
	struct image crash[MAX_DISKS];
	bool good = run(t, start_main, t->img, 0, ONE, 0, 0);
	u32 at = max(1u, disks.trace.nr * percent / 100);

	memcpy(crash, t->img, sizeof(crash));
	good = good && run(t, start_main, crash, 0, ONE, 0, at);
	copy_img(t->img, disks.img, t->start.legs);
	good = good && each_request(t, 6);
	free_img(t->img, t->start.legs);
	memcpy(t->img, crash, sizeof(crash));
	return good;
}

/* --- a leg that hangs --------------------------------------------------------------------- */

#define BRIEF_MS	20000
#define PROBES		40	/* more than a leg gets while another one is waited for */
#define LONGEST_MS	50000	/* of a start of which one leg hangs, with leg_timeout=30 */

static void answer(void *arg)
{
	struct unread *t = arg;

	while (!disks.hung[t->victim] && !t->over)
		host_sleep(50);
	if (t->hang == BRIEFLY)
		host_sleep(BRIEF_MS);
	while (t->hang == AMID && !t->over && !t->host.pool->legs[t->victim].silent)
		host_sleep(5);
	if (!t->over)
		disks_wake(t->victim);
}

/* A start sends nothing more to a leg that it waits for, or that it has left out. */
static void count_sent(void *arg)
{
	struct unread *t = arg;

	while (!disks.hung[t->victim] && !t->over)
		host_sleep(5);
	if (!t->over)
		host_sleep(29000);
	if (!t->over)
		t->sent = disks.faults[0].seen;
}

static void hang_together(void *arg)
{
	struct unread *t = arg;
	u32 i;

	while (!disks.hung[t->victim] && !t->over)
		host_sleep(1);
	for (i = 0; !t->over && i < t->start.legs; i++)
		disks.hung[i] |= t->together >> i & 1;
}

/* All of them are named at once: people need not find them one by one. */
static void check_named(const struct unread *t)
{
	const char *why = t->host.refusal.why;
	char path[16];
	u32 i;

	for (i = 0; i < t->start.legs; i++) {
		snprintf(path, sizeof(path), "disk%u", i);
		if (((t->together | BIT(t->victim)) >> i & 1) && !strstr(why, path))
			sim_fail("the refusal does not name %s: %s", path, why);
	}
}

/* A create that was refused left no label, but perhaps on legs that hang. */
static void check_unmade(const struct unread *t)
{
	u32 i;

	if (t->start.format && strstr(t->host.refusal.mend, "labelclear"))
		sim_fail("labels are left: %s", t->host.refusal.mend);
	for (i = 0; t->start.format && i < t->start.legs; i++)
		if (host_labelled(i) && !((t->together | BIT(t->victim)) >> i & 1))
			sim_fail("disk %u has a label, and no pool was made", i);
}

static void check_refusal(const struct unread *t)
{
	const char *why = t->host.refusal.why;

	if (t->hang == BRIEFLY)
		sim_fail("refused though the leg has answered: %s", why);
	if (t->start.format && !strstr(t->host.refusal.mend, "device that answers"))
		sim_fail("the refusal does not ask for another device: %s", t->host.refusal.mend);
	if (!strstr(why, "does not answer"))
		sim_fail("the refusal does not say that a leg hangs: %s", why);
	check_named(t);
	check_unmade(t);
	disks_wake(t->victim);
	host_sleep(1000);
	if (sim_memory_in_use())
		sim_fail("%u objects stay allocated after a refusal", sim_memory_in_use());
	if (disks.bdev[t->victim].holds)
		sim_fail("the disk is still held");
}

/* True if the running pool waits for the leg: it is the last one with data, or with the log. */
static bool is_awaited(const struct unread *t)
{
	return t->start.legs == 1 || (t->start.cache == 1 && t->victim == t->start.legs - 1) ||
	       (t->together | BIT(t->victim)) == BIT(t->start.legs) - 1;
}

/* One that was left, but has answered since, stays out, too. */
static void check_started(struct unread *t)
{
	struct kvp_leg *leg = host_leg(&t->host, t->victim);

	if (t->hang != BRIEFLY) {
		if (t->start.format)
			sim_fail("a pool was made with a leg that does not answer");
		host_sleep(2 * LONGEST_MS);
		if (kvp_leg_in_sync(leg) && !is_awaited(t))
			sim_fail("a leg is in use that did not answer");
		if (leg->silent)
			sim_fail("a leg of a running pool is silent");
	} else if (!kvp_leg_in_sync(leg)) {
		sim_fail("a leg that was slow is out");
	}
}

/* Nothing was written, and the legs that are left have all data. */
static void check_readonly(struct unread *t, bool hit)
{
	if (disks.writes || disks.flushes)
		sim_fail("a read-only start wrote %u times", disks.writes + disks.flushes);
	if (!hit || t->hang == BRIEFLY || !is_awaited(t))
		host_read_each(&t->host, 0, 40);
}

static void hang_main(void *arg)
{
	struct unread *t = arg;
	struct fault *f = disks_fault(FAULT_HANG, t->victim, 0, ~0ull);
	unsigned long since = jiffies;
	bool hit;

	f->after = t->after;
	if (t->slot < KVP_SB_RING) {
		disks.stalls_writes = true;
		disks_stall(t->victim, ring_block(t->victim, 1, t->slot),
			    ring_block(t->victim, 1, t->slot + 1) - 1);
	}
	if (t->also)
		disks_fault(FAULT_HANG, t->also, 0, ~0ull)->after = t->also_after;
	t->over = false;
	t->sent = 0;
	if (t->hang == NEVER && !t->also)
		sim_spawn("count", count_sent, t);
	if (t->hang == AMID || t->hang == BRIEFLY)
		sim_spawn("answer", answer, t);
	if (t->together)
		sim_spawn("together", hang_together, t);
	t->refused = host_start(&t->host, &t->o, &t->start);
	t->over = true;
	if (t->sent && f->seen != t->sent)
		sim_fail("%u requests were sent to a leg that did not answer", f->seen - t->sent);
	t->requests = t->host.seen;
	t->kept = t->refused ? 0 : kvp_strays(t->host.pool);
	hit = f->hit || (t->slot < KVP_SB_RING && t->kept);
	if (time_after(jiffies, since + msecs_to_jiffies(t->also ? 2 * LONGEST_MS : LONGEST_MS)))
		sim_fail("the start took %u ms", jiffies_to_msecs(jiffies - since));
	if (!hit && t->refused)
		sim_fail("refused without a reason: %s", t->host.refusal.why);
	if (hit && t->hang == NEVER && t->refused) {
		check_named(t);
		check_unmade(t);
		return;
	}
	if (t->refused) {
		check_refusal(t);
		return;
	}
	if (hit)
		check_started(t);
	if (t->start.readonly)
		check_readonly(t, hit);
	if (t->hang != NEVER)
		disks_wake(t->victim);
	disks_release(t->victim);
	if (!hit || t->hang != NEVER)
		host_stop(&t->host);
}

static bool one_hang(struct unread *t, u32 after, enum hang how)
{
	static const char * const what[HANGS] = { "never", "amid the start", "afterwards", "soon" };
	bool good;

	t->after = after;
	t->hang = how;
	good = run(t, hang_main, t->img, 0, ONE, 0, 0);
	t->starts += !t->refused;
	t->refusals += !!t->refused;
	t->failed |= BIT(t->victim) | (t->also ? BIT(t->also) : 0) | t->together;
	good = good && (t->start.format || all_there(t, after));
	if (!good)
		fprintf(stderr,
			"  ^ %s: disk %u hangs from request %u on, answers %s, and the start ended "
			"with %d %s\n",
			t->name, t->victim, after, what[how], t->refused, t->host.refusal.why);
	return good;
}

/*
 * Looking for blocks that are not blank takes hundreds of requests: one of those is like the next.
 */
static u32 next_hang(const struct unread *t, u32 i)
{
	return t->start.format && i == 4 ? 2 * KVP_LABEL_BLOCKS : i + 1;
}

/* Each request of a leg, in each of the ways. */
static bool each_hang(struct unread *t, u32 victim)
{
	u32 n, i, k;
	bool good;

	t->victim = victim;
	good = one_hang(t, ~0u, NEVER);
	n = t->requests;
	for (i = 0; good && i < n; i = next_hang(t, i))
		for (k = 0; good && k < HANGS; k++)
			good = one_hang(t, i, k) && expect(!i || !t->start.readonly || !t->refused,
							   "refused for a leg that is not needed\n");
	return good && expect(n > (t->start.readonly ? 2 : 8), "only %u requests\n", n);
}

static const struct base *base_of(const struct host_start *s)
{
	return s->cache ? base_cache(s) : s->parity ? base_parity(s->legs, false) :
	       base_pool(s->legs, false);
}

/* Disks after a life of a pool, or blank ones. */
static bool make_disks(struct unread *t, const struct host_start *s)
{
	bool good = true;

	t->start = *s;
	if (s->format) {
		oracle_init(&t->o, POOL_BLOCKS);
		blank_disks(t->img, s->legs, POOL_LEG_BLOCKS);
		return true;
	}
	t->start.readonly = false;
	t->stopped = s->readonly;
	t->base = base_of(&t->start);
	oracle_copy(&t->o, &t->base->o);
	good = run(t, live_main, t->base->img, 0, ONE, 0, 0);
	copy_img(t->img, disks.img, s->legs);
	t->start.readonly = s->readonly;
	return good;
}

static void hang_test(const char *shape, const struct host_start *s, bool (*test)(struct unread *t))
{
	struct unread *t;
	char name[64];
	bool good;

	snprintf(name, sizeof(name), "unread:%s:hangs", shape);
	if (!wanted(name))
		return;
	t = calloc(1, sizeof(*t));
	t->name = name;
	t->slot = KVP_SB_RING;
	good = make_disks(t, s) && test(t);
	free_img(t->img, s->legs);
	oracle_free(&t->o);
	result(name, good);
	if (opt.verbose)
		printf("# %s: %u starts, %u refused\n", name, t->starts, t->refusals);
	free(t);
}

static bool first_and_last(struct unread *t)
{
	u32 legs = t->start.legs, i;
	bool good = true;

	for (i = 0; good && i < legs; i += legs > 1 ? legs - 1 : 1)
		good = each_hang(t, i);
	return good && expect(t->refusals && t->starts, "%u starts, %u refused\n", t->starts,
			      t->refusals);
}

/*
 * A leg answers all but the writes to one slot of one ring. If that is the last superblock of the
 * start, the leg has it in the other ring, and is in sync. It is recorded out nevertheless, also if
 * another leg hangs by then: in a probe, of which it gets one each second, or in the superblock
 * that records the first one out. The third leg has all data.
 */
static bool one_slot(struct unread *t)
{
	bool good;
	u32 n, k;

	good = one_hang(t, ~0u, NEVER);
	n = t->requests;
	t->also = 1;
	for (k = n / 2; good && t->kept && k < 2 * n + PROBES; k++) {
		t->also_after = k;
		good = one_hang(t, ~0u, NEVER) && expect(!t->refused, "refused: %s\n", t->host.refusal.why);
		t->kept = 1;
	}
	t->also = 0;
	return good;
}

static bool each_slot(struct unread *t)
{
	bool good = true;
	u32 kept = 0;

	t->victim = 0;
	for (t->slot = 0; good && t->slot < KVP_SB_RING; t->slot++) {
		good = one_slot(t);
		kept += t->kept;
	}
	return good && expect(kept > 1, "%u slots are written\n", kept);
}

/* Leg 1 keeps the probes that it gets from now on: they read the first slot of its front ring. */
static void keep_probes(void *arg)
{
	struct unread *t = arg;

	while (!disks.hung[t->victim] && !t->over)
		host_sleep(1);
	disks.stalls_reads = true;
	if (!t->over)
		disks_stall(1, ring_block(1, 0, 0), ring_block(1, 0, 0));
}

static void probe_main(void *arg)
{
	struct unread *t = arg;
	struct fault *f = disks_fault(FAULT_HANG, t->victim, 0, ~0ull);
	u32 i;

	f->after = t->after;
	t->over = false;
	sim_spawn("keep", keep_probes, t);
	t->refused = host_start(&t->host, &t->o, &t->start);
	t->over = true;
	t->requests = t->host.seen;
	if (t->refused)
		return;
	t->kept = !kvp_leg_in_sync(&t->host.pool->legs[1]);
	for (i = 0; t->kept && i < t->start.legs; i++)
		if (t->host.pool->sb->legs[i].state != t->host.pool->legs[i].state)
			sim_fail("the loss of leg %u is not recorded", i);
	host_read_each(&t->host, 0, 40);
}

/*
 * A leg hangs, so the others are probed. Another leg answers everything but the probe, the last
 * superblock of the start included. It is late when the start has ended, and that is recorded
 * before a request is answered.
 */
static bool probe_kept(struct unread *t)
{
	u32 n = ~0u, kept = 0, i;
	bool good = true;

	for (i = 0; good && i < n; i++) {
		t->after = i ? i - 1 : ~0u;
		t->kept = 0;
		good = run(t, probe_main, t->img, 0, ONE, 0, 0);
		if (!i)
			n = t->requests;
		t->starts += !t->refused;
		t->refusals += !!t->refused;
		t->failed |= BIT(0) | BIT(1);
		kept += t->kept;
		good = good && all_there(t, i);
	}
	return good && expect(kept > 1, "%u of %u starts went on without the second leg\n", kept, n);
}

/*
 * From each request of the first leg on, it and others hang at the same time: all other legs, all
 * but one, or one. Each is found within the time that one takes.
 */
static bool at_once(struct unread *t)
{
	u32 all = BIT(t->start.legs) - 2, n, i, one;
	bool good;

	t->victim = 0;
	good = one_hang(t, ~0u, NEVER);
	n = t->requests;
	for (i = 0; good && i < n; i = next_hang(t, i)) {
		one = BIT(1 + i % (t->start.legs - 1));
		t->together = all;
		good = one_hang(t, i, NEVER);
		t->together = all & ~one;
		good = good && one_hang(t, i, NEVER);
		t->together = one;
		good = good && one_hang(t, i, NEVER);
	}
	t->together = 0;
	return good && expect(n > 8 && t->refusals, "%u requests, %u refused\n", n, t->refusals);
}

/* --- a superblock in one ring ------------------------------------------------------------- */

/* Superblocks of which each names other pages of the table. */
static void checkpoints_main(void *arg)
{
	struct unread *t = arg;
	struct host *h = &t->host;
	u32 i;

	if (host_start(h, &t->o, &t->start))
		sim_fail("start: %s", h->refusal.why);
	for (i = 0; i < 2; i++) {
		host_write_each(h, 20 + 40 * i, 3);
		host_flush(h);
		host_checkpoint(h);
		host_write(h, 5, 2, true);
		host_write(h, 24, 2, true);
	}
}

static bool run_checkpoints(struct unread *t, u32 cut_at)
{
	oracle_free(&t->o);
	oracle_copy(&t->o, &t->base->o);
	return run(t, checkpoints_main, t->base->img, 0, ONE, 0, cut_at);
}

/* Superblock @nth that was sent to ring @end of @disk, or NULL. */
static const struct trace_request *find_superblock(u32 disk, u32 nth, u32 end)
{
	u32 i;

	for (i = 0; i < disks.trace.nr_requests; i++) {
		const struct trace_request *r = &disks.trace.requests[i];

		if (r->disk == disk && r->nr == KVP_SB_BLOCKS &&
		    r->block >= ring_block(disk, end, 0) &&
		    r->block < ring_block(disk, end, KVP_SB_RING) && !nth--)
			return r;
	}
	return NULL;
}

/*
 * A life is cut when superblock @nth of it has come to ring @end of the victim alone.
 * Return: 0 if the life has no more superblocks; 1; or -1 if it failed.
 */
static int cut_in_superblock(struct unread *t, u32 nth, u32 end)
{
	u8 data[KVP_SB_BLOCKS][KVP_BLOCK_SIZE];
	const struct trace_request *r;
	u64 block;
	u32 k;

	if (!run_checkpoints(t, 0))
		return -1;
	r = find_superblock(t->victim, nth, end);
	if (!r)
		return 0;
	block = r->block;
	for (k = 0; k < KVP_SB_BLOCKS; k++)
		memcpy(data[k], r->data[k]->data, KVP_BLOCK_SIZE);
	if (!run_checkpoints(t, r->submitted))
		return -1;
	for (k = 0; k < KVP_SB_BLOCKS; k++)
		image_write_data(&disks.img[t->victim], block + k, data[k]);
	return 1;
}

static u32 last_submitted(void)
{
	u32 i, last = 0;

	for (i = 0; i < disks.trace.nr_requests; i++)
		last = max(last, disks.trace.requests[i].submitted);
	return last;
}

/* A start without that ring, cut after @at events; 0: it is not. Then one with the ring. */
static bool start_beside(struct unread *t, const struct image *img, u32 end, u32 at, u32 *events)
{
	bool good;

	t->silent = BIT(end);
	good = run(t, start_main, img, 0, ONE, 0, at);
	t->silent = 0;
	*events = last_submitted();
	if (!at)
		good = good && expect(!t->refused, "refused: %s\n", t->host.refusal.why);
	return good && all_there(t, at);
}

/*
 * The superblock that was cut cannot be read, and the other ring says that it is not there. The
 * start goes on from the one before. It writes over pages of the table that the other one names,
 * and is cut anywhere. When the ring can be read again, what was cut must not count.
 */
static bool beside_a_silent_ring(struct unread *t, u32 nth, u32 end, u32 step)
{
	struct image crash[MAX_DISKS];
	u32 at, events, ignored;
	bool good;

	copy_img(crash, disks.img, t->start.legs);
	good = start_beside(t, crash, end, 0, &events);
	for (at = 1 + (u32)((opt.seed + nth) % step); good && at <= events; at += step)
		good = start_beside(t, crash, end, at, &ignored);
	if (!good)
		fprintf(stderr, "  ^ %s: superblock %u is in ring %u of disk %u alone\n",
			t->name, nth, end, t->victim);
	free_img(crash, t->start.legs);
	return good;
}

/* One ring of the first leg, and the other one of the last leg: that may be an SSD. */
static bool each_superblock(struct unread *t, u32 step)
{
	u32 end, nth;

	for (end = 0; end < 2; end++) {
		int found = 1;

		t->victim = (end + opt.seed) % 2 ? 0 : t->start.legs - 1;
		for (nth = 0; found; nth++) {
			found = cut_in_superblock(t, nth, end);
			if (found < 0 || (found && !beside_a_silent_ring(t, nth, end, step)))
				return false;
		}
		if (!expect(nth > 4, "%u superblocks in a life\n", nth - 1))
			return false;
	}
	return true;
}

static void shape_test(const char *shape, const struct host_start *s)
{
	struct unread *t;
	char name[64];
	bool good;

	snprintf(name, sizeof(name), "unread:%s", shape);
	if (!wanted(name))
		return;
	t = calloc(1, sizeof(*t));
	t->name = name;
	t->start = *s;
	t->base = s->cache ? base_cache(s) : s->parity ? base_parity(s->legs, false) :
		base_pool(s->legs, false);
	oracle_copy(&t->o, &t->base->o);
	good = run(t, live_main, t->base->img, 0, ONE, 0, 0);
	copy_img(t->img, disks.img, s->legs);
	good = good && each_request(t, s->legs > 4 ? 2 : 1) && each_request_again(t, 50) &&
		each_request_again(t, 85);
	good = good && each_allocation(t, 60) && each_superblock(t, opt.thorough ? 1 : 6);
	free_img(t->img, s->legs);
	oracle_free(&t->o);
	result(name, good);
	if (opt.verbose)
		printf("# %s: %u starts, %u refused\n", name, t->starts, t->refusals);
	free(t);
}

static void hangs(void)
{
	hang_test("single", &(struct host_start){ .legs = 1 }, first_and_last);
	hang_test("mirror", &(struct host_start){ .legs = 2 }, first_and_last);
	hang_test("mirror-readonly", &(struct host_start){ .legs = 2, .readonly = true },
		  first_and_last);
	hang_test("mirror-made", &(struct host_start){ .legs = 2, .format = true }, first_and_last);
	hang_test("mirror3-slot", &(struct host_start){ .legs = 3 }, each_slot);
	hang_test("mirror3-probe", &(struct host_start){ .legs = 3 }, probe_kept);
	hang_test("mirror3-together", &(struct host_start){ .legs = 3 }, at_once);
	hang_test("parity1-together", &(struct host_start){ .legs = 3, .parity = true }, at_once);
	hang_test("made-together", &(struct host_start){ .legs = 3, .format = true }, at_once);
	hang_test("mirror-ssds-together", &(struct host_start){ .legs = 4, .cache = 2 }, at_once);
	hang_test("parity1", &(struct host_start){ .legs = 3, .parity = true }, first_and_last);
	hang_test("mirror-ssd", &(struct host_start){ .legs = 3, .cache = 1 }, first_and_last);
	hang_test("parity1-readonly", &(struct host_start){ .legs = 3, .parity = true, .readonly = true },
		  first_and_last);
	hang_test("mirror-ssds", &(struct host_start){ .legs = 4, .cache = 2 }, first_and_last);
	hang_test("mirror-stripes", &(struct host_start){ .legs = 5, .cache = 3, .cache_parity = true },
		  first_and_last);
}

void run_unread(void)
{
	hangs();
	shape_test("single", &(struct host_start){ .legs = 1 });
	shape_test("mirror", &(struct host_start){ .legs = 2 });
	shape_test("parity1", &(struct host_start){ .legs = 3, .parity = true });
	shape_test("mirror-ssd", &(struct host_start){ .legs = 3, .cache = 1 });
	shape_test("mirror-ssds", &(struct host_start){ .legs = 4, .cache = 2 });
	shape_test("mirror-stripes", &(struct host_start){ .legs = 5, .cache = 3,
							   .cache_parity = true });
	shape_test("parity1-stripes",
		   &(struct host_start){ .legs = 6, .parity = true, .cache = 3,
					 .cache_parity = true });
}
