// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl cancel: stop a running operation of a pool. */
#include <inttypes.h>
#include <string.h>

#include "order_plan.h"
#include "pool_lock.h"
#include "replaced.h"

static int print_drain(struct ctl *ctl, const struct dm_entry *e, const struct stats *s)
{
	u64 left = stats_number(s, "drain.left");
	json_object *root, *plan = order_plan(e, "cancel", &root);
	char size[SIZE_BUF];

	json_text(plan, "what", "drain");
	json_number(plan, "left", left);
	return order_plan_print(ctl, root, "would cancel the drain of the cache of pool %s\n"
				"left      %s of its log are not home; the cache stays in use\n",
				e->name, ctl_size(ctl, left, size));
}

static int plan_drain(struct ctl *ctl, const struct dm_entry *e)
{
	struct stats s;
	struct err err;
	int ret;

	if (order_writable(e, &err) || stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	if (strcmp(order_state(&s, "drain"), "running")) {
		err_set(&err, ERR_REFUSED, e->name, "start that first", "no drain is running");
		ret = ctl_fail(ctl, &err);
	} else {
		ret = print_drain(ctl, e, &s);
	}
	stats_free(&s);
	return ret;
}

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
		return plan_drain(ctl, &e);
	return dm_message(e.name, "drain cancel", NULL, &err) ? ctl_fail(ctl, &err) : ctl_done(ctl);
}

const struct command cmd_cancel = {
	.name = "cancel",
	.purpose = "stop a drain of the cache, or undo the replacement of a leg in use",
	.args = "[-n] POOL drain|replace",
	.about = "drain: stops the drain of the cache that 'remove POOL cache', 'set POOL "
		"cache_mode=' or 'set POOL cache_dirty_max=' has begun. The cache stays in use as "
		"before. Data that was written home stays there.\n"
		"replace: undoes a 'replace' of a leg in use. The new leg leaves, and the old one "
		"stays.",
	.more = "A drain can no longer be cancelled when the log is empty and moves, which takes a "
		"moment. A replace can no longer be cancelled when the new leg is in sync and the "
		"old one has left. If several legs are being replaced, each command cancels one.",
	.example = "kvpoolctl cancel tank drain\nkvpoolctl cancel tank replace",
	.dry_run = true,
	.run = run,
};
