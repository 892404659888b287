// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl export: stop a pool, so that its legs can go elsewhere. */
#include "stop.h"

static int export_all(struct ctl *ctl)
{
	struct dm_entry *list;
	unsigned int i, count;
	struct err err;
	int ret = 0, one;

	if (dm_list(&list, &count, &err))
		return ctl_fail(ctl, &err);
	for (i = 0; i < count; i++) {
		one = pool_stop(ctl, &list[i], "exported");
		if (one && (!ret || one < ret))
			ret = one;
	}
	free(list);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool all = false;
	struct dm_entry e;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		all = true;
	if (all) {
		ctl_args(ctl, argc, 0, 0);
		return export_all(ctl);
	}
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	return ret ?: pool_stop(ctl, &e, "exported");
}

const struct command cmd_export = {
	.name = "export",
	.args = "[-n] [-a] [POOL]",
	.help = "Stops a pool and marks its labels as exported.\n\n"
		"  -a  all pools",
	.shorts = "a",
	.dry_run = true,
	.run = run,
};
