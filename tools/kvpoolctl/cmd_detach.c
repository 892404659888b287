// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl detach: take one SSD out of a cache that has several. */
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
	.about = "Takes one of several SSDs out of the cache, and wipes its label. LEG is a path, "
		"or its UUID if it is missing. As with replace, data that only the cache has is "
		"written home first. If the SSDs that remain survive fewer losses than the legs, "
		"the cache becomes write-through. 'kvpoolctl remove POOL cache' takes out the last "
		"SSD. This version cannot detach other legs, nor an SSD of a cache of kind "
		"parity1.",
	.example = "kvpoolctl detach tank /dev/nvme1n1",
	.dry_run = true,
	.run = run,
};
