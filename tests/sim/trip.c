// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trip of one 4 KiB write with fdatasync through the files of the engine, for `make trip`.
 *
 * There the engine is compiled with -finstrument-functions. Between trip_from() and trip_to() each
 * call of an engine function, and each return, is noted: first the function, then the place that
 * called it. The script `trip` turns these addresses into files. Elsewhere the same test only sees
 * that the write becomes durable.
 */
#include <stdlib.h>

#include "suite.h"

#define MOST_STEPS	(1u << 16)

static FILE *to;
static u32 steps;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	if (to && steps++ < MOST_STEPS)
		fprintf(to, "> %p %p\n", function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	if (to && steps++ < MOST_STEPS)
		fprintf(to, "< %p %p\n", function, site);
}

static void trip_main(void *arg)
{
	const struct host_start start = { .legs = 2 };
	const char *path = getenv("KVPOOL_TRIP");
	static struct host h;

	memset(&h, 0, sizeof(h));
	if (host_start(&h, arg, &start))
		sim_fail("start: %s", h.refusal.why);
	/* The same once before, so that the trip has nothing that happens at a start only. */
	if (host_write(&h, 8, 1, false) || host_flush(&h))
		sim_fail("the first write failed");
	host_sleep(100);
	to = path ? fopen(path, "w") : NULL;
	if (host_write(&h, 9, 1, false) || host_flush(&h))
		sim_fail("the write failed");
	if (to)
		fclose(to);
	to = NULL;
	host_stop(&h);
}

void run_trip(void)
{
	const struct base *base;
	struct sim_config config;
	struct oracle o;
	bool good;

	if (!wanted("trip:mirror:write+flush"))
		return;
	base = base_pool(2, false);
	oracle_copy(&o, &base->o);
	/* Without preemption: the trip must not depend on chance. */
	memset(&config, 0, sizeof(config));
	config.seed = opt.seed;
	disks_begin(base->img, base->legs);
	good = sim_run(&config, trip_main, &o) == SIM_RETURNED;
	disks_end();
	oracle_free(&o);
	result("trip:mirror:write+flush", good);
}
