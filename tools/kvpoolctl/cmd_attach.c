// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl attach: one more SSD for a cache, as a copy of another. */
#include "ssds.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "attach" };

	while (ctl_getopt(ctl, argc, argv) != -1)
		o.force = true;	/* -f is the only one */
	ctl_args(ctl, argc, 3, 3);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	o.new = argv[optind + 2];
	return ssds_exchange(ctl, &o);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL, "wipe foreign signatures of NEW, accept an SSD of an exported pool" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_attach = {
	.name = "attach",
	.purpose = "add one more SSD to the cache, as a copy",
	.args = "[-n] [-f] POOL LEG NEW",
	.about = "Makes NEW a copy of LEG, an SSD of the cache, so that the cache survives one "
		"more loss. LEG is a path, or its UUID. As with replace, data that only the cache "
		"has is written home first. A write-through cache stays write-through until its "
		"mode is set. This version cannot attach to other vdevs, nor to a cache of kind "
		"parity1.",
	.example = "kvpoolctl attach tank /dev/nvme0n1 /dev/nvme1n1",
	.options = options,
	.dry_run = true,
	.run = run,
};
