// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl cancel: stop a running operation of a pool. */
#include "ctl.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	if (strcmp(argv[optind + 1], "drain"))
		return ctl_usage(ctl, "only drain can be cancelled");
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	return dm_message(e.name, "drain cancel", NULL, &err) ? ctl_fail(ctl, &err) : ctl_done(ctl);
}

const struct command cmd_cancel = {
	.name = "cancel",
	.purpose = "stop a drain of the cache",
	.args = "POOL drain",
	.about = "Stops a drain of the cache that 'remove POOL cache' or 'set POOL cache_mode=' "
		"has begun. The cache is in use as before. Data that was written home stays there.",
	.more = "Refused once the log is empty and moves, which takes a moment.",
	.example = "kvpoolctl cancel tank drain",
	.run = run,
};
