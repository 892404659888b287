// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl attach: one more SSD for a cache, with the same as the others. */
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
	{ 'f', NULL, NULL, "wipe foreign signatures of NEW, take it from an exported pool" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_attach = {
	.name = "attach",
	.purpose = "add one more SSD to the cache, as a copy",
	.args = "[-n] [-f] POOL LEG NEW",
	.about = "Makes NEW a copy of LEG, an SSD of the cache: so the cache survives the loss "
		"of one more. LEG is a path, or its UUID. As for replace, what is on the cache "
		"alone goes home first. A cache that was write-through stays so until its mode "
		"is set. This version attaches nothing to other vdevs, nor to a cache of kind "
		"parity1.",
	.options = options,
	.dry_run = true,
	.run = run,
};
