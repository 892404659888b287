// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl cancel: stop a running operation of a pool. */
#include "pool_lock.h"
#include "replaced.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct err err;
	bool replace;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	replace = !strcmp(argv[optind + 1], "replace");
	if (!replace && strcmp(argv[optind + 1], "drain"))
		return ctl_usage(ctl, "only drain and replace can be cancelled");
	ret = replace ? pool_lock_named(ctl, argv[optind]) : 0;
	ret = ret ?: ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (replace)
		return replaced_cancel(ctl, &e);
	if (ctl->dry_run)
		return ctl_usage(ctl, "-n is for replace");
	return dm_message(e.name, "drain cancel", NULL, &err) ? ctl_fail(ctl, &err) : ctl_done(ctl);
}

const struct command cmd_cancel = {
	.name = "cancel",
	.purpose = "stop a drain of the cache, or undo the replacement of a leg in use",
	.args = "[-n] POOL drain|replace",
	.about = "drain: stops the drain of the cache that 'remove POOL cache' or 'set POOL "
		"cache_mode=' has begun. The cache stays in use as before. Data that was written "
		"home stays there.\n"
		"replace: undoes a 'replace' of a leg in use. The new leg leaves, and the old one "
		"stays.",
	.more = "A drain can no longer be cancelled when the log is empty and moves, which takes a "
		"moment. A replace can no longer be cancelled when the new leg is in sync and the "
		"old one has left. If several legs are being replaced, each command cancels one. "
		"-n is only for replace.",
	.example = "kvpoolctl cancel tank drain\nkvpoolctl cancel tank replace",
	.dry_run = true,
	.run = run,
};
