// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data that cannot be read now is not absent (R27).
 *
 * Errors. A life ends with a power cut, with flushed entries, discards, and intents that are partly
 * home; or a recovery from that is cut. Then the start is repeated once for each of its requests.
 * That request fails; or it and all later ones; or it and all later reads of its place, so that the
 * start writes what it concludes. Each start has all expected data, or it is refused, and the next
 * start has the data. (A start begins with reads of labels. These have tests of their own in
 * lives_unread_test.c.) In further tests, one allocation of the start fails, or twenty in a row. In
 * others, one ring of superblocks of a leg can neither be read nor written, and has one that was
 * cut.
 *
 * A lost place. At the place of each request the medium has lost all, on one leg, or on all legs
 * with data. One leg costs no start, and no block. All legs cost what lies there: a page of the
 * table stands for all blocks below it.
 *
 * Hangs. The start is repeated once for each request of a leg. That request and all later ones are
 * answered late, or not before the power goes. The start ends in time: it is refused and names the
 * leg, or goes on without it. A late write has the contents that were sent, and the next start has
 * all data. Variants: a leg keeps a single superblock, and another leg hangs; a start is read-only;
 * a pool is made, and has all legs or is refused; several legs hang from the same moment on, and
 * the start takes as long as with one.
 *
 * Each start with faults is a step of its case (script.h).
 */
#include <string.h>

#include "script.h"
#include "io/flight.h"
#include "format/format.h"

enum hang {
	NEVER,			/* the leg answers nothing until the power goes */
	AMID,			/* it answers as soon as the start has left it */
	AFTERWARDS,		/* it answers when the start has ended */
	BRIEFLY,		/* it answers before it is left */
	HANGS,
};

/* What a machine does besides the start. */
struct life {
	void (*prepare)(struct script *s);
	void (*tried)(struct script *s);
	void (*act)(struct script *s);
	bool leave;
};

/* What a case knows besides its script. */
static struct {
	const struct life *life;	/* that runs now */
	typeof(disks.hiccup) hiccup;	/* in the next machine */
	u32 labels, requests, starts, refusals, allocations;
	u32 victim, silent;	/* bit per ring of that disk: it can be neither read nor written */
	enum hang hang;
	u32 after;		/* requests of the victim, that it answers */
	/*
	 * in place of that: it does not answer writes to this slot of the back ring; KVP_SB_RING:
	 * it does
	 */
	u32 slot;
	u32 kept;		/* requests that it had kept when the start ended */
	/* the medium of all legs with data has lost it; else that of one leg */
	bool all_lost;
	u64 place;
	u32 losses;		/* starts after which blocks were lost */
	/* number of another leg that hangs, and of requests that it answers first; 0: none hangs */
	u32 also, also_after;
	u32 together;		/* bit per disk: hangs as soon as the victim does */
	/* requests to the victim, just before it is left; 0: it is not yet */
	u32 sent;
	unsigned long since;	/* when the start began */
	bool hit, over;		/* a request found the fault; the start has ended */
} own;

/* --- machines --------------------------------------------------------------------------- */

static void copy_img(const struct script *s, struct image *to, const struct image *from)
{
	u32 i;

	for (i = 0; i < s->disks; i++)
		image_copy(&to[i], &from[i]);
}

static void prepare(struct script *s)
{
	disks.hiccup = own.hiccup;
	s->start.format = s->c->blank;
	if (own.life->prepare)
		own.life->prepare(s);
}

static void tried(struct script *s)
{
	own.allocations = sim_allocations;
	own.requests = disks.requests;
	own.labels = disks.labels;
	disks.hiccup.error = 0;
	if (own.life->tried)
		own.life->tried(s);
}

/* A machine. It ends with the power at @power_at; 0: it goes to its end. */
static bool run(struct script *s, const struct life *life, const struct image *img, u32 power_at)
{
	own.life = life;
	s->power_at = power_at;
	return script_live_on(s, img, life->act, life->leave);
}

static void count_start(const struct script *s)
{
	own.starts += !s->refused;
	own.refusals += !!s->refused;
}

static u32 failed_disks(void)
{
	u32 mask = 0, i;

	for (i = 0; i < disks.trace.nr_requests; i++)
		if (disks.trace.requests[i].error)
			mask |= BIT(disks.trace.requests[i].disk);
	return mask;
}

/* Whatever the start wrote, the next one finds all data there. Disks of @also did not get all. */
static bool all_there(struct script *s, u32 seed, u32 also)
{
	struct image img[MAX_DISKS];
	struct crash c = s->crash;
	bool good;

	c.images = img;
	c.at = ~0u;
	c.seed = mix64(opt.seed, seed);
	c.given_up = failed_disks() | also;
	c.poison_allowed = c.heal_allowed = own.all_lost;
	copy_img(s, img, disks.img);
	good = !check_crash(&c, CHECK_CONTENTS);
	script_free_disks(s, img);
	return good;
}

/* --- contents of the disks -------------------------------------------------------------- */

static void lived(struct script *s)
{
	struct host *h = &s->host;
	u32 i, data = s->legs - s->start.cache, first = s->start.parity ? 52 : 104;

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
}

/* The log is empty then. */
static void lived_to_the_end(struct script *s)
{
	lived(s);
	disks_release_all();
}

static const struct life cut_life = { .act = lived, .leave = true };
static const struct life ended_life = { .act = lived_to_the_end };

static bool make_disks(struct script *s, const struct life *life)
{
	bool good = run(s, life, s->img, 0);

	script_keep(s);
	return good && expect(!s->refused, "no life: %s\n", s->host.refusal.why);
}

/* Where slot @slot of a ring begins; the ring ends at that of KVP_SB_RING. */
static u64 ring_block(u32 disk, u32 end, u32 slot)
{
	u64 start = kvp_sb_slot_offset(disks.img[disk].blocks, end, 0) >> KVP_BLOCK_SHIFT;

	return start + slot * KVP_SB_BLOCKS;
}

static void silence_rings(struct script *s)
{
	u32 disk = own.victim, end;

	for (end = 0; end < 2; end++) {
		u64 first = ring_block(disk, end, 0), last = ring_block(disk, end, KVP_SB_RING) - 1;

		if (!(own.silent >> end & 1))
			continue;
		disks_fault(FAULT_READ_EIO, disk, first, last);
		disks_fault(FAULT_WRITE_EIO, disk, first, last);
	}
}

static void expect_nothing_left(struct script *s)
{
	if (s->refused && sim_memory_in_use())
		sim_fail("%u objects stay allocated after a refusal", sim_memory_in_use());
}

static const struct life start = { .prepare = silence_rings, .tried = expect_nothing_left };

/* --- starts of which requests fail -------------------------------------------------------- */

static bool start_without_errors(struct script *s)
{
	return run(s, &start, s->img, 0) && all_there(s, 0, 0) &&
	       expect(!s->refused, "no start without errors: %s\n", s->host.refusal.why);
}

enum hiccup { ONE, ALL_BEHIND, READS_THERE, HICCUPS };

static bool one_start(struct script *s, u32 first, enum hiccup how, int error)
{
	static const char * const what[HICCUPS] = { "", " and all behind it",
						    " and all later reads there" };
	bool good;

	if (!script_step(s))
		return true;
	own.hiccup.first = first;
	own.hiccup.nr = how == ONE ? 1 : ~0u;
	own.hiccup.around = how == READS_THERE ? 512 : 0;
	own.hiccup.error = error;
	good = run(s, &start, s->img, 0);
	own.hiccup.error = 0;
	count_start(s);
	good = good && all_there(s, first, 0);
	if (!good)
		fprintf(stderr, "  ^ %s: request %u%s ended with %d, and the start with %d %s\n",
			s->c->name, first, what[how], error, s->refused, s->host.refusal.why);
	return good;
}

/* Starts of both kinds took place. */
static bool both_ways(const char *what)
{
	return !script_all_steps() ||
	       expect(own.starts && own.refusals, "%s: %u starts, %u refused\n", what, own.starts,
		      own.refusals);
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
static bool each_request(struct script *s, u32 step)
{
	u32 labels, requests, i, k;
	bool good = start_without_errors(s);

	requests = own.requests;
	labels = own.labels;
	if (opt.thorough)
		step = 1;
	for (i = 0; good && i < requests; i = next_request(i, labels, step))
		for (k = 0; good && k < HICCUPS * ARRAY_SIZE(errors); k++) {
			u32 turn = i / step + (u32)opt.seed;

			if (opt.thorough || (k / HICCUPS == turn % ARRAY_SIZE(errors) &&
					     (k % HICCUPS == READS_THERE ||
					      k % HICCUPS == turn / 4 % 2)))
				good = one_start(s, i, k % HICCUPS, errors[k / HICCUPS]);
		}
	return good && both_ways("errors");
}

/* --- starts for which the medium has lost a place ----------------------------------------- */

static bool lost_in(u64 first, u64 nr)
{
	return own.place < first + nr && first < own.place + own.hiccup.around;
}

/* A single has its table twice on its leg. */
static bool table_is_lost(const struct kvp_geometry *g)
{
	u64 nr = kvp_table_blocks(g);

	return own.all_lost && lost_in(g->table_start, nr) &&
	       (!g->table_copy || lost_in(g->table_copy, nr));
}

static void expect_lost_there(struct script *s)
{
	struct kvp_pool *pool = s->host.pool;
	u8 *data = kmalloc(KVP_BLOCK_SIZE, GFP_KERNEL);
	bool any = false;
	u64 block;

	for (block = 0; block < s->o.blocks; block++) {
		u64 home = kvp_lblock_nr(kvp_home_block(pool, kvp_block(block)));

		if (!host_read(&s->host, block, data))
			continue;
		any = true;
		if (!table_is_lost(pool->vdevs.with_data[0]->g) &&
		    !(own.all_lost && lost_in(home, 1)))
			sim_fail("block %llu is lost, whose home is block %llu", block, home);
	}
	own.losses += any;
	kfree(data);
}

static void note_place(struct script *s)
{
	own.place = disks.hiccup.block;
	own.victim = disks.hiccup.disks;
	expect_nothing_left(s);
}

static const struct life lost_place = {
	.prepare = silence_rings, .tried = note_place, .act = expect_lost_there,
};

/* True if nothing else has what that leg has lost. */
static bool is_alone(const struct script *s)
{
	u32 ssds = s->start.cache == 1 ? BIT(s->legs - 1) : 0;

	return s->legs == 1 || own.victim == ssds;
}

static bool one_lost_place(struct script *s, u32 first, bool all, u32 blocks, int error)
{
	bool good;

	if (!script_step(s))
		return true;
	own.all_lost = all || s->legs - s->start.cache == 1;
	own.hiccup = (typeof(own.hiccup)){
		.first = first, .nr = ~0u, .around = blocks, .error = error,
		.disks = all ? BIT(s->legs - s->start.cache) - 1 : 0, .alone = !all,
	};
	good = run(s, &lost_place, s->img, 0);
	memset(&own.hiccup, 0, sizeof(own.hiccup));
	count_start(s);
	good = good && expect(all || !s->refused || is_alone(s), "refused for one leg\n") &&
	       all_there(s, first, 0);
	own.all_lost = false;
	if (!good)
		fprintf(stderr,
			"  ^ %s: %u blocks are lost on %s from block %llu on (%d), request %u; the start ended "
			"with %d %s\n",
			s->c->name, blocks, all ? "all legs" : "a leg", own.place, error, first,
			s->refused, s->host.refusal.why);
	return good;
}

/* The place of each request, on one leg and on all, small and large in turns. */
static bool each_place(struct script *s)
{
	u32 i, requests;
	bool good = start_without_errors(s);

	requests = own.requests;
	own.starts = own.refusals = 0;
	for (i = 0; good && i < requests; i++) {
		u32 turn = i + (u32)opt.seed, blocks = turn % 2 ? 512 : 8;
		int error = turn / 2 % 2 ? -EILSEQ : -ENODATA;

		good = one_lost_place(s, i, false, blocks, error) &&
		       one_lost_place(s, i, true, blocks, error);
	}
	return good && (!script_all_steps() ||
			expect(own.starts && own.losses, "%u starts, %u with losses\n",
			       own.starts, own.losses));
}

/* --- starts without memory ---------------------------------------------------------------- */

/*
 * Allocation @nth of a start fails, or @count allocations from there on, as in a kernel with
 * failslab.
 */
static bool one_without_memory(struct script *s, u32 nth, u32 count)
{
	bool good;

	if (!script_step(s))
		return true;
	s->start.refused_from = nth;
	s->start.refused_until = nth + count;
	good = run(s, &start, s->img, 0);
	s->start.refused_from = 0;
	s->start.refused_until = 0;
	count_start(s);
	good = good && expect(!s->refused || s->refused == -ENOMEM || s->refused == -EIO,
			      "refused with %d %s\n", s->refused, s->host.refusal.why);
	good = good && all_there(s, nth, 0);
	if (!good)
		fprintf(stderr,
			"  ^ %s: allocation %u and %u behind it failed, and the start with %d %s\n",
			s->c->name, nth, count - 1, s->refused, s->host.refusal.why);
	return good;
}

/* About @n of the allocations, others with each seed. */
static bool each_allocation(struct script *s, u32 n)
{
	bool good = run(s, &start, s->img, 0);
	u32 all = own.allocations, step = opt.thorough ? 1 : max(1u, all / n), i;

	own.starts = 0;
	own.refusals = 0;
	for (i = 1 + (u32)(opt.seed % step); good && i <= all; i += step)
		good = one_without_memory(s, i, 1) && one_without_memory(s, i, 20);
	return good && both_ways("without memory");
}

/* From the contents after a recovery that was cut at @percent of its writes. */
static bool each_request_again(struct script *s, u32 percent)
{
	struct image crash[MAX_DISKS];
	bool good = run(s, &start, s->img, 0);
	u32 at = max(1u, disks.trace.nr * percent / 100);

	memcpy(crash, s->img, sizeof(crash));
	good = good && run(s, &start, crash, at);
	copy_img(s, s->img, disks.img);
	good = good && each_request(s, 6);
	script_free_disks(s, s->img);
	memcpy(s->img, crash, sizeof(crash));
	return good;
}

/* --- a leg that hangs --------------------------------------------------------------------- */

#define BRIEF_MS	20000
#define PROBES		40	/* more than a leg gets while another one is waited for */
#define LONGEST_MS	50000	/* of a start of which one leg hangs, with leg_timeout=30 */

static void answer(void *arg)
{
	struct script *s = arg;

	while (!disks.hung[own.victim] && !own.over)
		host_sleep(50);
	if (own.hang == BRIEFLY)
		host_sleep(BRIEF_MS);
	while (own.hang == AMID && !own.over && !s->host.pool->legs[own.victim].silent)
		host_sleep(5);
	if (!own.over)
		disks_wake(own.victim);
}

/* A start sends nothing more to a leg that it waits for, or that it has left out. */
static void count_sent(void *arg)
{
	while (!disks.hung[own.victim] && !own.over)
		host_sleep(5);
	if (!own.over)
		host_sleep(29000);
	if (!own.over)
		own.sent = disks.faults[0].seen;
}

static void hang_together(void *arg)
{
	struct script *s = arg;
	u32 i;

	while (!disks.hung[own.victim] && !own.over)
		host_sleep(1);
	for (i = 0; !own.over && i < s->legs; i++)
		disks.hung[i] |= own.together >> i & 1;
}

/* All of them are named at once: people need not find them one by one. */
static void check_named(const struct script *s)
{
	const char *why = s->host.refusal.why;
	char path[16];
	u32 i;

	for (i = 0; i < s->legs; i++) {
		snprintf(path, sizeof(path), "disk%u", i);
		if (((own.together | BIT(own.victim)) >> i & 1) && !strstr(why, path))
			sim_fail("the refusal does not name %s: %s", path, why);
	}
}

/* A create that was refused left no label, but perhaps on legs that hang. */
static void check_unmade(const struct script *s)
{
	u32 i;

	if (s->c->blank && strstr(s->host.refusal.mend, "labelclear"))
		sim_fail("labels are left: %s", s->host.refusal.mend);
	for (i = 0; s->c->blank && i < s->legs; i++)
		if (host_labelled(i) && !((own.together | BIT(own.victim)) >> i & 1))
			sim_fail("disk %u has a label, and no pool was made", i);
}

static void check_refusal(const struct script *s)
{
	const char *why = s->host.refusal.why;

	if (own.hang == BRIEFLY)
		sim_fail("refused though the leg has answered: %s", why);
	if (s->c->blank && !strstr(s->host.refusal.mend, "device that answers"))
		sim_fail("the refusal does not ask for another device: %s", s->host.refusal.mend);
	if (!strstr(why, "does not answer"))
		sim_fail("the refusal does not say that a leg hangs: %s", why);
	check_named(s);
	check_unmade(s);
	disks_wake(own.victim);
	host_sleep(1000);
	if (sim_memory_in_use())
		sim_fail("%u objects stay allocated after a refusal", sim_memory_in_use());
	if (disks.bdev[own.victim].holds)
		sim_fail("the disk is still held");
}

/* True if the running pool waits for the leg: it is the last one with data, or with the log. */
static bool is_awaited(const struct script *s)
{
	return s->legs == 1 || (s->start.cache == 1 && own.victim == s->legs - 1) ||
	       (own.together | BIT(own.victim)) == BIT(s->legs) - 1;
}

/* One that was left, but has answered since, stays out, too. */
static void check_started(struct script *s)
{
	struct kvp_leg *leg = host_leg(&s->host, own.victim);

	if (own.hang != BRIEFLY) {
		if (s->c->blank)
			sim_fail("a pool was made with a leg that does not answer");
		host_sleep(2 * LONGEST_MS);
		if (kvp_leg_in_sync(leg) && !is_awaited(s))
			sim_fail("a leg is in use that did not answer");
		if (leg->silent)
			sim_fail("a leg of a running pool is silent");
	} else if (!kvp_leg_in_sync(leg)) {
		sim_fail("a leg that was slow is out");
	}
}

/* Nothing was written, and the legs that are left have all data. */
static void check_readonly(struct script *s)
{
	if (disks.writes || disks.flushes)
		sim_fail("a read-only start wrote %u times", disks.writes + disks.flushes);
	if (!own.hit || own.hang == BRIEFLY || !is_awaited(s))
		host_read_each(&s->host, 0, 40);
}

static void prepare_hang(struct script *s)
{
	disks_fault(FAULT_HANG, own.victim, 0, ~0ull)->after = own.after;
	if (own.slot < KVP_SB_RING) {
		disks.stalls_writes = true;
		disks_stall(own.victim, ring_block(own.victim, 1, own.slot),
			    ring_block(own.victim, 1, own.slot + 1) - 1);
	}
	if (own.also)
		disks_fault(FAULT_HANG, own.also, 0, ~0ull)->after = own.also_after;
	own.since = jiffies;
	own.over = false;
	own.sent = 0;
	if (own.hang == NEVER && !own.also)
		sim_spawn("count", count_sent, s);
	if (own.hang == AMID || own.hang == BRIEFLY)
		sim_spawn("answer", answer, s);
	if (own.together)
		sim_spawn("together", hang_together, s);
}

static void check_try(struct script *s)
{
	const struct fault *f = &disks.faults[0];
	unsigned long most = msecs_to_jiffies(own.also ? 2 * LONGEST_MS : LONGEST_MS);

	own.over = true;
	if (own.sent && f->seen != own.sent)
		sim_fail("%u requests were sent to a leg that did not answer", f->seen - own.sent);
	own.requests = s->host.seen;
	own.kept = s->refused ? 0 : kvp_strays(s->host.pool);
	own.hit = f->hit || (own.slot < KVP_SB_RING && own.kept);
	if (time_after(jiffies, own.since + most))
		sim_fail("the start took %u ms", jiffies_to_msecs(jiffies - own.since));
	if (!s->refused)
		return;
	if (!own.hit)
		sim_fail("refused without a reason: %s", s->host.refusal.why);
	if (own.hang != NEVER) {
		check_refusal(s);
	} else {
		check_named(s);
		check_unmade(s);
	}
}

static void check_pool(struct script *s)
{
	if (own.hit)
		check_started(s);
	if (s->start.readonly)
		check_readonly(s);
	if (own.hang != NEVER)
		disks_wake(own.victim);
	disks_release(own.victim);
	if (!own.hit || own.hang != NEVER)
		host_stop(&s->host);
}

static const struct life hang = {
	.prepare = prepare_hang, .tried = check_try, .act = check_pool, .leave = true,
};

static bool hang_so(struct script *s, u32 after, enum hang how)
{
	static const char * const what[HANGS] = { "never", "amid the start", "afterwards", "soon" };
	bool good;

	own.after = after;
	own.hang = how;
	good = run(s, &hang, s->img, 0);
	count_start(s);
	good = good && (s->c->blank ||
			all_there(s, after, BIT(own.victim) | own.together |
				  (own.also ? BIT(own.also) : 0)));
	if (!good)
		fprintf(stderr,
			"  ^ %s: disk %u hangs from request %u on, answers %s, and the start ended "
			"with %d %s\n",
			s->c->name, own.victim, after, what[how], s->refused, s->host.refusal.why);
	return good;
}

static bool one_hang(struct script *s, u32 after, enum hang how)
{
	return !script_step(s) ||
	       (hang_so(s, after, how) &&
		expect(!after || !s->start.readonly || !s->refused,
		       "refused for a leg that is not needed\n"));
}

/* The victim does not hang. This tells how many requests it has. */
static bool no_hang(struct script *s, u32 *requests)
{
	bool good = hang_so(s, ~0u, NEVER);

	*requests = own.requests;
	return good;
}

/*
 * Looking for blocks that are not blank takes hundreds of requests: one of those is like the next.
 */
static u32 next_hang(const struct script *s, u32 i)
{
	return s->c->blank && i == 4 ? 2 * KVP_LABEL_BLOCKS : i + 1;
}

/* Each request of a leg, in each of the ways. */
static bool each_hang(struct script *s, u32 victim)
{
	u32 n, i, k;
	bool good;

	own.victim = victim;
	good = no_hang(s, &n);
	for (i = 0; good && i < n; i = next_hang(s, i))
		for (k = 0; good && k < HANGS; k++)
			good = one_hang(s, i, k);
	return good && expect(n > (s->start.readonly ? 2 : 8), "only %u requests\n", n);
}

static bool first_and_last(struct script *s)
{
	u32 legs = s->legs, i;
	bool good = true;

	for (i = 0; good && i < legs; i += legs > 1 ? legs - 1 : 1)
		good = each_hang(s, i);
	return good && both_ways("hangs");
}

/*
 * A leg answers all but the writes to one slot of one ring. If that is the last superblock of the
 * start, the leg has it in the other ring, and is in sync. It is recorded out nevertheless, also if
 * another leg hangs by then: in a probe, of which it gets one each second, or in the superblock
 * that records the first one out. The third leg has all data.
 */
static bool one_slot(struct script *s, u32 *kept)
{
	bool good, keeps;
	u32 n, k;

	good = no_hang(s, &n);
	keeps = own.kept;
	*kept += keeps;
	own.also = 1;
	for (k = n / 2; good && keeps && k < 2 * n + PROBES; k++) {
		own.also_after = k;
		good = !script_step(s) ||
		       (hang_so(s, ~0u, NEVER) &&
			expect(!s->refused, "refused: %s\n", s->host.refusal.why));
	}
	own.also = 0;
	return good;
}

static bool each_slot(struct script *s)
{
	bool good = true;
	u32 kept = 0;

	own.victim = 0;
	for (own.slot = 0; good && own.slot < KVP_SB_RING; own.slot++)
		good = one_slot(s, &kept);
	return good && expect(kept > 1, "%u slots are written\n", kept);
}

/* Leg 1 keeps the probes that it gets from now on: they read the first slot of its front ring. */
static void keep_probes(void *arg)
{
	while (!disks.hung[own.victim] && !own.over)
		host_sleep(1);
	disks.stalls_reads = true;
	if (!own.over)
		disks_stall(1, ring_block(1, 0, 0), ring_block(1, 0, 0));
}

static void prepare_probe(struct script *s)
{
	disks_fault(FAULT_HANG, own.victim, 0, ~0ull)->after = own.after;
	own.over = false;
	sim_spawn("keep", keep_probes, s);
}

static void count_requests(struct script *s)
{
	own.over = true;
	own.requests = s->host.seen;
}

static void expect_loss_recorded(struct script *s)
{
	u32 i;

	own.kept = !kvp_leg_in_sync(&s->host.pool->legs[1]);
	for (i = 0; own.kept && i < s->legs; i++)
		if (s->host.pool->sb->legs[i].state != s->host.pool->legs[i].state)
			sim_fail("the loss of leg %u is not recorded", i);
	host_read_each(&s->host, 0, 40);
}

static const struct life probe = {
	.prepare = prepare_probe, .tried = count_requests, .act = expect_loss_recorded,
	.leave = true,
};

static bool one_probe(struct script *s, u32 after, u32 seed)
{
	bool good;

	own.after = after;
	own.kept = 0;
	good = run(s, &probe, s->img, 0);
	count_start(s);
	return good && all_there(s, seed, BIT(0) | BIT(1));
}

/*
 * A leg hangs, so the others are probed. Another leg answers everything but the probe, the last
 * superblock of the start included. It is late when the start has ended, and that is recorded
 * before a request is answered.
 */
static bool probe_kept(struct script *s)
{
	bool good = one_probe(s, ~0u, 0);
	u32 n = own.requests, kept = own.kept, i;

	for (i = 1; good && i < n; i++) {
		if (!script_step(s))
			continue;
		good = one_probe(s, i - 1, i);
		kept += own.kept;
	}
	return good && (!script_all_steps() ||
			expect(kept > 1, "%u of %u starts went on without the second leg\n", kept,
			       n));
}

/*
 * From each request of the first leg on, it and others hang at the same time: all other legs, all
 * but one, or one. Each is found within the time that one takes.
 */
static bool at_once(struct script *s)
{
	u32 all = BIT(s->legs) - 2, n, i, one;
	bool good;

	own.victim = 0;
	good = no_hang(s, &n);
	for (i = 0; good && i < n; i = next_hang(s, i)) {
		one = BIT(1 + i % (s->legs - 1));
		own.together = all;
		good = one_hang(s, i, NEVER);
		own.together = all & ~one;
		good = good && one_hang(s, i, NEVER);
		own.together = one;
		good = good && one_hang(s, i, NEVER);
	}
	own.together = 0;
	return good && expect(n > 8 && (own.refusals || !script_all_steps()),
			      "%u requests, %u refused\n", n, own.refusals);
}

/* --- a superblock in one ring ------------------------------------------------------------- */

/* Superblocks of which each names other pages of the table. */
static void two_checkpoints(struct script *s)
{
	struct host *h = &s->host;
	u32 i;

	for (i = 0; i < 2; i++) {
		host_write_each(h, 20 + 40 * i, 3);
		host_flush(h);
		host_checkpoint(h);
		host_write(h, 5, 2, true);
		host_write(h, 24, 2, true);
	}
}

static const struct life checkpoints = { .act = two_checkpoints, .leave = true };

static bool run_checkpoints(struct script *s, u32 cut_at)
{
	script_anew(s);
	return run(s, &checkpoints, base_for(s->c->shape)->img, cut_at) &&
	       expect(!s->refused, "no life: %s\n", s->host.refusal.why);
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
static int cut_in_superblock(struct script *s, u32 nth, u32 end)
{
	u8 data[KVP_SB_BLOCKS][KVP_BLOCK_SIZE];
	const struct trace_request *r;
	u64 block;
	u32 k;

	if (!run_checkpoints(s, 0))
		return -1;
	r = find_superblock(own.victim, nth, end);
	if (!r)
		return 0;
	block = r->block;
	for (k = 0; k < KVP_SB_BLOCKS; k++)
		memcpy(data[k], r->data[k]->data, KVP_BLOCK_SIZE);
	if (!run_checkpoints(s, r->submitted))
		return -1;
	for (k = 0; k < KVP_SB_BLOCKS; k++)
		image_write_data(&disks.img[own.victim], block + k, data[k]);
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
static bool start_beside(struct script *s, const struct image *img, u32 end, u32 at, u32 *events)
{
	bool good;

	own.silent = BIT(end);
	good = run(s, &start, img, at);
	own.silent = 0;
	*events = last_submitted();
	if (!at)
		good = good && expect(!s->refused, "refused: %s\n", s->host.refusal.why);
	return good && all_there(s, at, 0);
}

/*
 * The superblock that was cut cannot be read, and the other ring says that it is not there. The
 * start goes on from the one before. It writes over pages of the table that the other one names,
 * and is cut anywhere. When the ring can be read again, what was cut must not count.
 */
static bool beside_a_silent_ring(struct script *s, u32 nth, u32 end, u32 step)
{
	struct image crash[MAX_DISKS];
	u32 at, events, ignored;
	bool good;

	copy_img(s, crash, disks.img);
	good = start_beside(s, crash, end, 0, &events);
	for (at = 1 + (u32)((opt.seed + nth) % step); good && at <= events; at += step)
		good = !script_step(s) || start_beside(s, crash, end, at, &ignored);
	if (!good)
		fprintf(stderr, "  ^ %s: superblock %u is in ring %u of disk %u alone\n",
			s->c->name, nth, end, own.victim);
	script_free_disks(s, crash);
	return good;
}

/* One ring of the first leg, and the other one of the last leg: that may be an SSD. */
static bool each_superblock(struct script *s, u32 step)
{
	u32 end, nth;

	for (end = 0; end < 2; end++) {
		int found = 1;

		own.victim = (end + opt.seed) % 2 ? 0 : s->legs - 1;
		for (nth = 0; found; nth++) {
			found = cut_in_superblock(s, nth, end);
			if (found < 0 || (found && !beside_a_silent_ring(s, nth, end, step)))
				return false;
		}
		if (!expect(nth > 4, "%u superblocks in a life\n", nth - 1))
			return false;
	}
	return true;
}

/* --- all of them -------------------------------------------------------------------------- */

static bool errors_of_starts(struct script *s)
{
	return make_disks(s, &cut_life) && each_request(s, s->legs > 4 ? 2 : 1) && each_place(s) &&
	       each_request_again(s, 50) && each_request_again(s, 85) &&
	       each_allocation(s, 60) && each_superblock(s, opt.thorough ? 1 : 6);
}

static bool (*hangs_so)(struct script *s);	/* in the case that runs now */
static bool is_readonly;			/* so are its starts */

static bool hangs_of_starts(struct script *s)
{
	if (!s->c->blank && !make_disks(s, is_readonly ? &ended_life : &cut_life))
		return false;
	s->start.readonly = is_readonly;
	return hangs_so(s);
}

static void set_up(struct script *s)
{
	own.slot = KVP_SB_RING;
}

static void clean_up(struct script *s)
{
	if (opt.verbose)
		printf("# %s: %u starts, %u refused\n", s->c->name, own.starts, own.refusals);
}

static void run_case(struct script_case *c, const char *name, const struct host_start *shape)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "unread:%s", name);
	c->name = whole;
	c->shape = shape;
	c->set_up = set_up;
	c->clean_up = clean_up;
	c->prepare = prepare;
	c->may_refuse = true;
	c->tried = tried;
	c->turns = c->most = 1;
	c->first_plain = c->stepwise = true;
	c->own = &own;
	c->own_size = sizeof(own);
	script_run(c);
}

static void errors_test(const char *name, const struct host_start *shape)
{
	run_case(&(struct script_case){ .play = errors_of_starts }, name, shape);
}

/* Disks after a life of a pool; with @shape->format blank ones. */
static void hang_test(const char *name, struct host_start shape, bool (*test)(struct script *s))
{
	struct script_case c = {
		.play = hangs_of_starts, .blank = shape.format ? POOL_LEG_BLOCKS : 0,
	};
	char whole[48];

	snprintf(whole, sizeof(whole), "%s:hangs", name);
	hangs_so = test;
	is_readonly = shape.readonly;
	shape.readonly = false;
	run_case(&c, whole, &shape);
}

static void hangs(void)
{
	hang_test("single", (struct host_start){ .legs = 1 }, first_and_last);
	hang_test("mirror", (struct host_start){ .legs = 2 }, first_and_last);
	hang_test("mirror-readonly", (struct host_start){ .legs = 2, .readonly = true },
		  first_and_last);
	hang_test("mirror-made", (struct host_start){ .legs = 2, .format = true }, first_and_last);
	hang_test("mirror3-slot", (struct host_start){ .legs = 3 }, each_slot);
	hang_test("mirror3-probe", (struct host_start){ .legs = 3 }, probe_kept);
	hang_test("mirror3-together", (struct host_start){ .legs = 3 }, at_once);
	hang_test("parity1-together", (struct host_start){ .legs = 3, .parity = true }, at_once);
	hang_test("made-together", (struct host_start){ .legs = 3, .format = true }, at_once);
	hang_test("mirror-ssds-together", (struct host_start){ .legs = 4, .cache = 2 }, at_once);
	hang_test("parity1", (struct host_start){ .legs = 3, .parity = true }, first_and_last);
	hang_test("mirror-ssd", (struct host_start){ .legs = 3, .cache = 1 }, first_and_last);
	hang_test("parity1-readonly", (struct host_start){ .legs = 3, .parity = true, .readonly = true },
		  first_and_last);
	hang_test("mirror-ssds", (struct host_start){ .legs = 4, .cache = 2 }, first_and_last);
	hang_test("mirror-stripes", (struct host_start){ .legs = 5, .cache = 3, .cache_parity = true },
		  first_and_last);
}

void run_unread(void)
{
	hangs();
	errors_test("single", &(struct host_start){ .legs = 1 });
	errors_test("mirror", &(struct host_start){ .legs = 2 });
	errors_test("parity1", &(struct host_start){ .legs = 3, .parity = true });
	errors_test("mirror-ssd", &(struct host_start){ .legs = 3, .cache = 1 });
	errors_test("mirror-ssds", &(struct host_start){ .legs = 4, .cache = 2 });
	errors_test("mirror-stripes", &(struct host_start){ .legs = 5, .cache = 3,
							   .cache_parity = true });
	errors_test("parity1-stripes",
		   &(struct host_start){ .legs = 6, .parity = true, .cache = 3,
					 .cache_parity = true });
}
