// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data that cannot be read now is not absent (R27): starts whose requests end with errors of each
 * kind. A life ends with a power cut, with flushed entries, discards, and intents that are partly
 * home; or a recovery from that is cut. Then the start is repeated once for each of its requests.
 * That request fails, or all later ones too, or all later reads of that place, so that the start's
 * conclusions are written. Each such start has all expected data, or it is refused and the next one
 * has. Reads of labels, with which a start begins, have stories of their own, too. Then the same
 * with an allocation of the start that fails, or twenty in a row.
 */
#include <stdlib.h>
#include <string.h>

#include "suite.h"

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
}

static void start_main(void *arg)
{
	struct unread *t = arg;

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
	/* The first one of the log in any case. */
	for (i = labels; good && i < requests; i += i == labels ? 1 + (u32)(opt.seed % step) : step)
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

/* Allocation @nth of a start fails, or @count from there on, as a kernel with failslab does it. */
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
	good = good && each_allocation(t, 60);
	free_img(t->img, s->legs);
	oracle_free(&t->o);
	result(name, good);
	if (opt.verbose)
		printf("# %s: %u starts, %u refused\n", name, t->starts, t->refusals);
	free(t);
}

void run_unread(void)
{
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
