// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl wait: wait until an operation of a pool has ended. */
#include "drain.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *what = NULL;
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		what = optarg;	/* -t is the only option */
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
	.purpose = "wait until the log has left the cache, or moved onto it",
	.args = "-t drain POOL",
	.about = "Waits until a move of the log has ended, off the cache of the pool or onto it, "
		"and says how long it will take. It fails if the move was cancelled.",
	.more = "If the log does not move, it reports the last move since the pool was started.",
	.options = options,
	.run = run,
};
