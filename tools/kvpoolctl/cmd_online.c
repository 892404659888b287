// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl online: an SSD of a cache that was out of use is in use again. */
#include "ssds.h"

enum { WAIT };

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "online", .anew = true };

	while (ctl_getopt(ctl, argc, argv) != -1)
		;	/* it is done when it returns, in any case */
	ctl_args(ctl, argc, 2, 2);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	return ssds_exchange(ctl, &o);
}

static const struct ctl_option options[] = {
	{ WAIT, "wait", NULL, "until it is done, which it is when the command returns" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_online = {
	.name = "online",
	.purpose = "bring an SSD of the cache into use again",
	.args = "[-n] [--wait] POOL DEV",
	.about = "Brings an SSD of the cache that failed, was taken out, or missed writes into "
		"use again. DEV is a path, or the UUID of the leg. It begins anew, empty, under "
		"another UUID, and so does every other one that is out of use and connected. As "
		"for replace, what is on the cache alone goes home first. This version brings no "
		"other legs online.",
	.more = "An SSD that dropped out and came back under other numbers is another device, "
		"and is refused: labelclear -f, then replace. A power cut at any time leaves the "
		"cache with it or without.",
	.options = options,
	.dry_run = true,
	.run = run,
};
