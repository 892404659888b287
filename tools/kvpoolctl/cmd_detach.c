// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl detach: a cache of several SSDs lets go of one. */
#include "ssds.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "detach", .leaves = true };

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	return ssds_exchange(ctl, &o);
}

const struct command cmd_detach = {
	.name = "detach",
	.purpose = "take one of several SSDs out of the cache",
	.args = "[-n] POOL LEG",
	.about = "Takes one of several SSDs out of the cache, and wipes its label. LEG is a "
		"path, or its UUID, if it is missing. As for replace, what is on the cache alone "
		"goes home first. If one SSD is left that is less than the legs survive, the "
		"cache is write-through then. The last one leaves by 'kvpoolctl remove POOL "
		"cache'. This version detaches no other legs, and none of a cache of kind "
		"parity1.",
	.dry_run = true,
	.run = run,
};
