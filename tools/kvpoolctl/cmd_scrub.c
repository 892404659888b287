// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl scrub: verify all written data, online. */
#include <unistd.h>

#include "advice.h"
#include "order_plan.h"
#include "pool_object.h"
#include "since.h"

#define POLL_US		200000

enum action { START, WAIT, STOP, PAUSE, RESUME, SINCE };

/* The health of the pool after its scrub. */
static int report(struct ctl *ctl, json_object *pool)
{
	ctl_say(ctl, "scrub %s: healed %" PRIu64 ", unrepaired %" PRIu64,
		json_text_at(pool, "scrub.state"), json_number_at(pool, "scrub.healed"),
		json_number_at(pool, "scrub.unrepaired"));
	if (ctl->json) {
		json_object *root = json_root();

		json_object_array_add(json_list(root, "pools"), json_object_get(pool));
		ctl_json(root);
	}
	return advice_exit(pool);
}

static int wait_for_end(struct ctl *ctl, const char *name)
{
	json_object *pool;
	struct dm_entry e;
	struct err err;
	const char *state;
	int ret;

	for (;;) {
		if (dm_find(name, &e, &err) || !(pool = pool_object(&e, &err)))
			return ctl_fail(ctl, &err);
		state = json_text_at(pool, "scrub.state");
		if (strcmp(state, "running") && strcmp(state, "paused"))
			break;
		ctl_progress(ctl, "scrub", json_number_at(pool, "scrub.done"),
			     json_number_at(pool, "scrub.total"));
		json_object_put(pool);
		usleep(POLL_US);
	}
	ctl_progress(ctl, "scrub", 0, 0);
	ret = report(ctl, pool);
	json_object_put(pool);
	return ret;
}

/* Does a scrub already run? Then --wait only waits for it. */
static bool running(const char *name)
{
	const char *state;
	struct stats s;
	bool ret;

	if (stats_load(name, &s, NULL))
		return false;
	state = stats_text(&s, "scrub.state");
	ret = state && !strcmp(state, "running");
	stats_free(&s);
	return ret;
}

/* --- the plan --------------------------------------------------------------------------- */

static const char *const does[] = { "start", "start", "stop", "pause", "resume" };

/* What the module would refuse. */
static int check(const struct dm_entry *e, const struct stats *s, enum action action,
		 const char *since, struct err *err)
{
	const char *state = order_state(s, "scrub");
	bool runs = !strcmp(state, "running"), paused = !strcmp(state, "paused");
	struct kvp_point p = { 0 };

	if (order_writable(e, err))
		return -1;
	if (action <= WAIT && runs && !(action == WAIT && !since))
		return err_set(err, ERR_REFUSED, e->name, "stop it or let it end",
			       "a scrub is running");
	if (since && !kvp_point_parse(since, &p) && p.era > stats_number(s, "era"))
		return err_set(err, ERR_REFUSED, e->name, "name one that was taken",
			       "that checkpoint is still to come");
	if (action == STOP ? !runs && !paused : action == PAUSE ? !runs : action == RESUME &&
	    !paused)
		return err_set(err, ERR_REFUSED, e->name, "start one first",
			       "there is no such scrub");
	return 0;
}

static int print_plan(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		      enum action action, const char *since)
{
	bool waits = action == WAIT && !strcmp(order_state(s, "scrub"), "running");
	bool starts = action <= WAIT && !waits;
	u64 written = stats_number(s, "written_blocks");
	json_object *root, *plan = order_plan(e, "scrub", &root);
	char size[SIZE_BUF], reads[128] = "";

	json_text(plan, "does", waits ? "wait" : does[action]);
	json_text(plan, "state", order_state(s, "scrub"));
	json_text(plan, "since", since);
	if (starts)
		json_number(plan, "bytes", written << KVP_BLOCK_SHIFT);
	else
		json_text(plan, "bytes", NULL);
	if (starts)
		snprintf(reads, sizeof(reads), "verifies  %s%s of data, on every leg that has it\n",
			 since ? "what is newer, of " : "",
			 order_bytes(ctl, written, size));
	return order_plan_print(ctl, root, "would %s %sscrub of pool %s\n%s",
				waits ? "wait for the" : does[action],
				waits ? "" : starts ? "a " : "the ", e->name, reads);
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, enum action action, const char *since)
{
	struct stats s;
	struct err err;
	int ret;

	if (stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	ret = check(e, &s, action, since, &err) ? ctl_fail(ctl, &err) :
	      print_plan(ctl, e, &s, action, since);
	stats_free(&s);
	return ret;
}

/* --- the run ------------------------------------------------------------------------------ */

static int run(struct ctl *ctl, int argc, char **argv)
{
	static const char *const messages[] = {
		"scrub start", "scrub start", "scrub stop", "scrub pause", "scrub resume",
	};
	enum action action = START;
	const char *since = NULL;
	char message[48];
	struct dm_entry e;
	struct err err;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		if (c == SINCE)
			since = optarg;
		else if (action != START)
			return ctl_usage(ctl, "only one of --wait, --stop, --pause and --resume");
		else
			action = (enum action)c;
	}
	if (since && action > WAIT)
		return ctl_usage(ctl, "--since goes with the start of a scrub");
	ret = since ? since_usage(ctl, since) : 0;
	if (ret)
		return ret;
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (ctl->dry_run)
		return dry_run(ctl, &e, action, since);
	snprintf(message, sizeof(message), since ? "%s %s" : "%s", messages[action], since);
	if (!(action == WAIT && !since && running(e.name)) &&
	    dm_message(e.name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	return action == WAIT ? wait_for_end(ctl, e.name) : ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ WAIT, "wait", NULL,
	  "start it, or wait for the one that runs; exit status 4 if the pool has a fault at its "
	  "end, 5 if it is faulted" },
	{ STOP, "stop", NULL, "end it" },
	{ PAUSE, "pause", NULL, "interrupt it" },
	{ RESUME, "resume", NULL, "go on" },
	{ SINCE, "since", "CHECKPOINT",
	  "verify only changes since then; status -v and list -o checkpoint show the number of "
	  "the newest checkpoint, diff shows one with its tag" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_scrub = {
	.name = "scrub",
	.purpose = "verify all written data, and repair it",
	.args = "[-n] [--wait | --stop | --pause | --resume] [--since CHECKPOINT] POOL",
	.about = "Reads and verifies all written data, on every leg, and repairs all that can be "
		"repaired, while the pool is in use.",
	.more = "--since verifies the pages of the table, and below them the half-mebibytes, that "
		"hold newer data. After a restart, an interrupted scrub verifies everything.",
	.example = "kvpoolctl scrub --wait tank && echo sound",
	.options = options,
	.dry_run = true,
	.run = run,
};
