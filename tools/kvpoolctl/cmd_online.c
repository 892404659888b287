// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl online: take an SSD of a cache into use again. */
#include "ssds.h"

enum { WAIT };

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "online", .anew = true };

	while (ctl_getopt(ctl, argc, argv) != -1)
		;	/* the operation is always finished at the return */
	ctl_args(ctl, argc, 2, 2);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	return ssds_exchange(ctl, &o);
}

static const struct ctl_option options[] = {
	{ WAIT, "wait", NULL, "accepted; the command always waits until it is done" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_online = {
	.name = "online",
	.purpose = "take an SSD of the cache into use again",
	.args = "[-n] [--wait] POOL DEV",
	.about = "Takes an SSD of the cache that failed, was taken out, or missed writes into use "
		"again. DEV is a path, or the UUID of the leg. It starts empty, under another "
		"UUID, and so does every other SSD that is out of use and connected. As with "
		"replace, data that only the cache has is written home first. This version cannot "
		"take other legs online.",
	.more = "An SSD that dropped out and came back under other numbers is another device, and "
		"is refused: labelclear -f, then replace. A power cut at any time leaves the cache "
		"with it or without.",
	.options = options,
	.dry_run = true,
	.run = run,
};
