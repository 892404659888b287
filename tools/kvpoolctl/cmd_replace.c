// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl replace: put another SSD in the place of one of the cache. */
#include "ssds.h"

enum { WAIT };

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct ssds_order o = { .action = "replace", .leaves = true };
	int c;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1)
		o.force |= c == 'f';	/* -w: the operation is always finished at the return */
	ctl_args(ctl, argc, 3, 3);
	o.pool = argv[optind];
	o.leg = argv[optind + 1];
	o.new = argv[optind + 2];
	return ssds_exchange(ctl, &o);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL, "wipe foreign signatures of NEW, accept an SSD of an exported pool" },
	{ WAIT, "wait", NULL, "accepted; the command always waits until it is done" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_replace = {
	.name = "replace",
	.purpose = "put another SSD in the place of one of the cache",
	.args = "[-n] [-f] [--wait] POOL OLD NEW",
	.about = "Puts another SSD in the place of one of the cache. The old one may be in use, "
		"missing or faulted. OLD is a path, or the UUID of the leg, which status -v shows. "
		"Data that only the cache has is written home first, while the pool is in use; "
		"then writes wait for a moment. Nothing is copied: the new SSD fills as data is "
		"written and read. The label of OLD is wiped. This version cannot replace other "
		"legs.",
	.more = "At the end the log is back on the cache, redundant again, if it was there. NEW "
		"must be as large as the space that the cache uses of its SSDs; more is not "
		"used.\n"
		"If the command is interrupted (SIGINT, SIGTERM, SIGHUP) while data is written "
		"home, nothing has changed, and the log stays on the cache. After that point it "
		"ignores these signals and runs to its end. If it is killed (SIGKILL) or the power "
		"fails, the cache may be left idle: set cache_mode=writeback. The same holds for "
		"attach, detach, online and add. If all is done but the log does not return, the "
		"exit status is 1, and a message says that the change was made. A power cut at any "
		"time leaves the cache with the old SSDs or the new ones; no data is lost with "
		"either.",
	.options = options,
	.dry_run = true,
	.run = run,
};
