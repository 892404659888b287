// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl wait: wait until operations of a pool have ended. */
#include <string.h>
#include <unistd.h>

#include "drain.h"
#include "order_plan.h"
#include "pool_object.h"
#include "replaced.h"
#include "resilver.h"
#include "shadow.h"

#define POLL_US		200000

enum { NOW = 1000 };

enum { SCRUB, RESILVER, DRAIN, TRIM, REPLACE, KINDS };

static const char *const words[KINDS] = {
	[SCRUB] = "scrub", [RESILVER] = "resilver", [DRAIN] = "drain", [TRIM] = "trim",
	[REPLACE] = "replace",
};

/* A paused scrub has not ended. */
static bool runs(const struct stats *s, int kind)
{
	const char *state = stats_text(s, "%s.state", words[kind]);
	struct replaced_pair pair;

	if (kind == REPLACE)
		return shadow_is_there(s) || replaced_find(s, 0, &pair);
	return state && (!strcmp(state, "running") || !strcmp(state, "paused"));
}

static int wait_for_end(struct ctl *ctl, const char *pool, int kind, struct err *err)
{
	const char *state;
	struct stats s;
	bool failed;

	for (;;) {
		if (stats_load(pool, &s, err))
			return -1;
		if (!runs(&s, kind))
			break;
		ctl_progress(ctl, words[kind], stats_number(&s, "%s.done", words[kind]),
			     stats_number(&s, "%s.total", words[kind]));
		stats_free(&s);
		usleep(POLL_US);
	}
	ctl_progress(ctl, "", 0, 0);
	state = stats_text(&s, "%s.state", words[kind]);
	failed = state && !strcmp(state, "failed");
	stats_free(&s);
	return failed ? err_set(err, ERR_FAILED, pool, "see kvpoolctl status and kvpoolctl events",
				"the %s failed", words[kind]) : 0;
}

static int wait_for(struct ctl *ctl, const struct dm_entry *e, int kind, struct err *err)
{
	const char *pool = e->name;

	if (kind == REPLACE)
		return replaced_wait(ctl, e, err);
	if (kind == DRAIN)
		return drain_wait(ctl, pool, err);
	if (kind == RESILVER)
		return resilver_wait(ctl, pool, NULL, err);
	return wait_for_end(ctl, pool, kind, err);
}

/* A bit for each kind that the list names; 0: it is no such list. */
static unsigned int parse(const char *list)
{
	unsigned int kinds = 0;
	size_t n;
	int i;

	for (;; list += n + 1) {
		n = strcspn(list, ",");
		for (i = 0; i < KINDS; i++)
			if (strlen(words[i]) == n && !strncmp(list, words[i], n))
				break;
		if (i == KINDS)
			return 0;
		kinds |= 1u << i;
		if (!list[n])
			return kinds;
	}
}

/* All kinds that run now. */
static int find_running(const char *pool, unsigned int *kinds, struct err *err)
{
	struct stats s;
	int i;

	if (stats_load(pool, &s, err))
		return -1;
	for (i = 0; i < KINDS; i++)
		*kinds |= (unsigned int)runs(&s, i) << i;
	stats_free(&s);
	return 0;
}

static bool leg_resilvers(const struct stats *s)
{
	const char *state;
	unsigned int i;

	for (i = 0; (state = stats_text(s, "leg.%u.state", i)); i++)
		if (!strcmp(state, "resilvering"))
			return true;
	return false;
}

/* What of @kinds a pool that was imported read-only keeps for later; -1: nothing. */
static int stands_still(const struct stats *s, unsigned int kinds)
{
	if (kinds >> SCRUB & 1 && runs(s, SCRUB))
		return SCRUB;
	if (kinds >> TRIM & 1 && runs(s, TRIM))
		return TRIM;
	if (kinds >> RESILVER & 1 && leg_resilvers(s))
		return RESILVER;
	return kinds >> REPLACE & 1 && runs(s, REPLACE) ? REPLACE : -1;
}

/* Else the wait has no end. */
static int check_goes_on(const struct dm_entry *e, unsigned int kinds, struct err *err)
{
	struct stats s;
	int kind;

	if (!e->readonly)
		return 0;
	if (stats_load(e->name, &s, err))
		return -1;
	kind = stands_still(&s, kinds);
	stats_free(&s);
	if (kind < 0)
		return 0;
	return err_set(err, ERR_READ_ONLY, e->name, "export it and import it without --readonly",
		       "it was imported read-only, and its %s stands still until it takes writes",
		       words[kind]);
}

/* --- the plan --------------------------------------------------------------------------- */

static void list_kinds(const struct stats *s, unsigned int kinds, json_object *list, char *text,
		       size_t size)
{
	size_t n = 0;
	int i;

	*text = 0;
	for (i = 0; i < KINDS; i++) {
		if (!(kinds >> i & 1) || !runs(s, i))
			continue;
		json_object_array_add(list, json_string(words[i]));
		if (n < size)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", words[i]);
	}
}

static int print_plan(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		      unsigned int kinds, bool now)
{
	json_object *root, *plan = order_plan(e, "wait", &root), *ends, *pair;
	char text[96], lines[2048] = "";
	size_t i, n = 0;

	list_kinds(s, now ? 0 : kinds, json_list(plan, "kinds"), text, sizeof(text));
	ends = json_list(plan, "ends");
	if (kinds >> REPLACE & 1)
		replaced_list(s, ends);
	for (i = 0; i < json_object_array_length(ends) && n < sizeof(lines); i++) {
		pair = json_object_array_get_idx(ends, i);
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "detaches  %s, and wipes its "
				      "label: %s has its place\n", json_text_at(pair, "old"),
				      json_text_at(pair, "new"));
	}
	if (now)
		return order_plan_print(ctl, root, "would end %zu replacement(s) in pool %s\n%s",
					json_object_array_length(ends), e->name, lines);
	return order_plan_print(ctl, root, "would wait for %s in pool %s\n%s",
				*text ? text : "nothing", e->name, lines);
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, unsigned int kinds, bool now)
{
	struct stats s;
	struct err err;
	int ret;

	if (stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	ret = print_plan(ctl, e, &s, kinds, now);
	stats_free(&s);
	return ret;
}

/* --- the run ------------------------------------------------------------------------------ */

static int end_now(struct ctl *ctl, const struct dm_entry *e)
{
	struct err err;

	if (check_goes_on(e, 1u << REPLACE, &err) || replaced_end(ctl, e, &err))
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *list = NULL;
	unsigned int kinds = 0;
	bool now = false;
	int c;
	struct dm_entry e;
	struct err err;
	int i, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		if (c == NOW)
			now = true;
		else
			list = optarg;
	if (list)
		kinds = parse(list);
	if (list && !kinds)
		return ctl_usage(ctl, "-t takes scrub, resilver, drain, trim, replace, "
				 "or several with commas");
	if (now && kinds != 1u << REPLACE)
		return ctl_usage(ctl, "--now goes with -t replace");
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (now && !ctl->dry_run)
		return end_now(ctl, &e);
	if ((!list && find_running(e.name, &kinds, &err)) || check_goes_on(&e, kinds, &err))
		return ctl_fail(ctl, &err);
	if (ctl->dry_run)
		return dry_run(ctl, &e, kinds, now);
	for (i = 0; i < KINDS; i++)
		if (kinds >> i & 1 && wait_for(ctl, &e, i, &err))
			return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 't', NULL, "LIST",
	  "wait for some of: scrub,resilver,drain,trim,replace" },
	{ NOW, "now", NULL,
	  "with -t replace: end each replacement that can be ended now, and do not wait" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_wait = {
	.name = "wait",
	.purpose = "wait until a scrub, resilver, drain, trim or replace has ended",
	.args = "[-n] [-t LIST] [--now] POOL",
	.about = "Waits until operations of a pool have ended: a scrub, the resilver of legs, a "
		"move of the log onto the cache or off it (drain), a trim, or the replacement of a "
		"leg in use (replace). Without -t it waits for all that run now. At the end of a "
		"replace it detaches the leg that has left, and wipes its label. With a parity1 it "
		"lets the new leg take the place, as soon as that leg has everything, or the old "
		"one is lost.",
	.more = "The exit status says nothing about the health of the pool: see 'kvpoolctl "
		"status'. The command fails if a leg has stopped resilvering and is not in sync, "
		"if a trim failed, or if the move of the log was cancelled. If the log does not "
		"move now, -t drain reports the last move since the pool was started. A paused "
		"scrub has not ended.\n"
		"-t replace fails if the new leg is out, or if the old one must stay because "
		"another leg of its mirror is out. With a parity1 it waits for an old leg that "
		"resilvers. It fails if the old leg is stale and does not return by itself.\n"
		"A pool that was imported read-only does not go on with a scrub, trim, resilver "
		"or replace, so a wait for one is refused there.",
	.example = "kvpoolctl wait -t scrub,resilver tank",
	.options = options,
	.dry_run = true,
	.run = run,
};
