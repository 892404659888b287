// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl trim: discard unused blocks on the legs. */
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "order_plan.h"
#include "pool_object.h"
#include "resilver.h"

#define POLL_US		200000

enum action { START, WAIT, STOP };

static int report(struct ctl *ctl, const char *name, const struct stats *s)
{
	const char *state = stats_text(s, "trim.state");
	struct err err;

	if (state && !strcmp(state, "failed")) {
		err_set(&err, ERR_FAILED, name, "see kvpoolctl status and kvpoolctl events",
			"not all unused blocks could be discarded on the legs");
		return ctl_fail(ctl, &err);
	}
	ctl_say(ctl, "trim %s: %" PRIu64 " MiB of unused blocks were discarded", state ?: "none",
		stats_number(s, "trim.blocks") / 256);
	return ctl_done(ctl);
}

static int wait_for_end(struct ctl *ctl, const char *name)
{
	const char *state;
	struct stats s;
	struct err err;
	int ret;

	for (;;) {
		if (stats_load(name, &s, &err))
			return ctl_fail(ctl, &err);
		state = stats_text(&s, "trim.state");
		if (!state || strcmp(state, "running"))
			break;
		ctl_progress(ctl, "trim", stats_number(&s, "trim.done"),
			     stats_number(&s, "trim.total"));
		stats_free(&s);
		usleep(POLL_US);
	}
	ctl_progress(ctl, "trim", 0, 0);
	ret = report(ctl, name, &s);
	stats_free(&s);
	return ret;
}

/* --- the plan --------------------------------------------------------------------------- */

/*
 * The paths of legs with data in use that offer discards, into @legs. Return: their number; -1: not
 * all can be told.
 */
static int find_legs(const struct stats *s, json_object *legs)
{
	int can, found = 0;
	bool known = true;
	const char *path, *state;
	char buf[PATH_MAX];
	unsigned int i;

	for (i = 0; (state = stats_text(s, "leg.%u.state", i)); i++) {
		path = stats_text(s, "leg.%u.path", i);
		if (resilver_is_ssd(s, i) || strcmp(state, "online") || !path)
			continue;
		can = device_discards(leg_device(path));
		known &= can >= 0;
		if (can > 0)
			json_object_array_add(legs, json_string(leg_path(path, buf, sizeof(buf))));
		found += can > 0;
	}
	return known || found ? found : -1;
}

/* What the module would refuse. */
static int check(const struct dm_entry *e, const struct stats *s, enum action action, int legs,
		 struct err *err)
{
	bool runs = !strcmp(order_state(s, "trim"), "running");

	if (order_writable(e, err))
		return -1;
	if (action == STOP && !runs)
		return err_set(err, ERR_REFUSED, e->name, "start one first", "no trim is running");
	if (action == START && runs)
		return err_set(err, ERR_REFUSED, e->name, "stop it or let it end",
			       "a trim is running");
	if (action != STOP && !runs && !legs)
		return err_set(err, ERR_REFUSED, e->name, "nothing needs to be done",
			       "no leg with data offers discards");
	return 0;
}

static int print_plan(struct ctl *ctl, json_object *root, const struct dm_entry *e,
		      const struct stats *s, enum action action)
{
	bool waits = action == WAIT && !strcmp(order_state(s, "trim"), "running");
	const char *does = waits ? "wait" : action == STOP ? "stop" : "start";
	u64 unused = (stats_number(s, "size") >> KVP_BLOCK_SHIFT) -
		     stats_number(s, "written_blocks");
	json_object *plan = json_at(root, "plan");
	char size[SIZE_BUF], discards[96] = "";

	json_text(plan, "does", does);
	json_text(plan, "state", order_state(s, "trim"));
	if (*does == 's' && action != STOP) {
		json_number(plan, "bytes", unused << KVP_BLOCK_SHIFT);
		snprintf(discards, sizeof(discards), "discards  %s of unused blocks, at most\n",
			 order_bytes(ctl, unused, size));
	} else {
		json_text(plan, "bytes", NULL);
	}
	return order_plan_print(ctl, root, "would %s trim of pool %s\n%s", waits ?
				"wait for the" : action == STOP ? "stop the" : "start a", e->name,
				discards);
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, enum action action)
{
	json_object *root, *plan = order_plan(e, "trim", &root);
	struct stats s;
	struct err err;
	int ret;

	if (stats_load(e->name, &s, &err)) {
		json_object_put(root);
		return ctl_fail(ctl, &err);
	}
	if (check(e, &s, action, find_legs(&s, json_list(plan, "legs")), &err)) {
		json_object_put(root);
		ret = ctl_fail(ctl, &err);
	} else {
		ret = print_plan(ctl, root, e, &s, action);
	}
	stats_free(&s);
	return ret;
}

/* --- the run ------------------------------------------------------------------------------ */

static int run(struct ctl *ctl, int argc, char **argv)
{
	enum action action = START;
	struct dm_entry e;
	struct err err;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		if (action != START)
			return ctl_usage(ctl, "only one of --wait and --stop");
		action = (enum action)c;
	}
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (ctl->dry_run)
		return dry_run(ctl, &e, action);
	if (dm_message(e.name, action == STOP ? "trim stop" : "trim start", NULL, &err) &&
	    !(action == WAIT && strstr(err.why, "a trim is running")))
		return ctl_fail(ctl, &err);
	return action == WAIT ? wait_for_end(ctl, e.name) : ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ WAIT, "wait", NULL, "start it, or wait for the one that runs" },
	{ STOP, "stop", NULL, "end it" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_trim = {
	.name = "trim",
	.purpose = "discard unused blocks on SSDs",
	.args = "[-n] [--wait | --stop] POOL",
	.about = "Discards unused blocks on legs that offer discards, as SSDs do. Unused blocks "
		"are those that were never written, or were discarded. It runs in the background, "
		"while the pool is in use. After a restart it goes on where it was; after a power "
		"cut, a little before that.",
	.more = "A pool trims nothing by itself, unless the tunable discard_passdown is set. Runs "
		"of less than 64 KiB are left out; on a parity1, runs of less than a stripe.",
	.example = "kvpoolctl trim --wait tank",
	.options = options,
	.dry_run = true,
	.run = run,
};
