// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl replace: another SSD takes the place of one of the cache. */
#include "ssds.h"

enum { WAIT };

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

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL, "wipe foreign signatures of NEW, take it from an exported pool" },
	{ WAIT, "wait", NULL, "until it is done, which it is when the command returns" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_replace = {
	.name = "replace",
	.purpose = "put another SSD in the place of one of the cache",
	.args = "[-n] [-f] [--wait] POOL OLD NEW",
	.about = "Puts another SSD in the place of one of the cache, whether that is in use, "
		"missing or faulted. OLD is a path, or the UUID of the leg, which status -v "
		"shows. What is on the cache alone goes home first, while the pool is in use; "
		"then writes wait for a moment. Nothing is copied: the cache fills anew. The "
		"label of OLD is wiped. This version replaces no other legs.",
	.more = "At the end the log is back on the cache, redundant again, if it was there. NEW "
		"must be as large as what the cache uses of its SSDs; more is not used.\n"
		"Interrupted (SIGINT, SIGTERM, SIGHUP) while that goes home, it changes nothing, "
		"and the log stays on the cache; later it goes on to its end. Only if it is "
		"killed (SIGKILL) the cache may be left idle, as a power cut may leave it: set "
		"cache_mode=writeback. So it is with attach, detach, online and add, too. If all "
		"is done but the log does not return, the exit status is 1, and what was done is "
		"said. A power cut at any time leaves the cache with the old SSDs or the new "
		"ones, and nothing is lost with either.",
	.options = options,
	.dry_run = true,
	.run = run,
};
