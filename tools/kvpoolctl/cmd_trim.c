// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl trim: discard unused blocks on the legs. */
#include <string.h>
#include <unistd.h>

#include "pool_object.h"

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
	.args = "[--wait | --stop] POOL",
	.about = "Discards unused blocks on legs that offer discards, as SSDs do. Unused blocks "
		"are those that were never written, or were discarded. It runs in the background, "
		"while the pool is in use. An export ends it.",
	.more = "A pool trims nothing by itself, unless the tunable discard_passdown is set. Runs "
		"of less than 64 KiB are left out; on a parity1, runs of less than a stripe.",
	.example = "kvpoolctl trim --wait tank",
	.options = options,
	.run = run,
};
