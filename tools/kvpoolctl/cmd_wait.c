// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl wait: until something that goes on in a pool has ended. */
#include "drain.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *what = NULL;
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		what = optarg;	/* -t is the only one */
	if (!what || strcmp(what, "drain"))
		return ctl_usage(ctl, "-t takes drain");
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	return drain_wait(ctl, e.name, &err) ? ctl_fail(ctl, &err) : ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 't', NULL, "drain", "what to wait for" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_wait = {
	.name = "wait",
	.purpose = "wait until the log has left the cache, or come onto it",
	.args = "-t drain POOL",
	.about = "Waits until the log has left the cache of the pool, or has come onto it, if "
		"that is on its way, and says how long it will take. It fails if that was "
		"cancelled.",
	.more = "If nothing is on its way it tells the same of the last time since the pool was "
		"started.",
	.options = options,
	.run = run,
};
