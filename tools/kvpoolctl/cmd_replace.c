// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl replace: another SSD takes the place of one of the cache. */
#include "ssds.h"

enum { WAIT };

static const struct option longs[] = {
	{ "wait", no_argument, NULL, WAIT },
	{ NULL, 0, NULL, 0 }
};

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "replace", .leaves = true };
	int c;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		o.force |= c == 'f';	/* it is done when it returns, in any case */
	ctl_args(ctl, argc, 3, 3);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	o.new = argv[optind + 2];
	return ssds_exchange(ctl, &o);
}

const struct command cmd_replace = {
	.name = "replace",
	.purpose = "put another SSD in the place of one of the cache",
	.args = "[-n] [-f] [--wait] POOL OLD NEW",
	.help = "Puts another SSD in the place of one of the cache, whether that is in use, missing or\n"
		"faulted. OLD is a path, or the UUID of the leg. What is on the cache alone goes home\n"
		"first, while the pool is in use; then writes wait for a moment. Nothing is copied: the\n"
		"cache fills anew. The label of OLD is wiped. This version replaces no other legs.\n\n"
		"  -f            wipe foreign signatures of NEW, take it from an exported pool\n"
		"  --wait        until it is done, which it is when the command returns",
	.shorts = "f",
	.longs = longs,
	.dry_run = true,
	.run = run,
};
