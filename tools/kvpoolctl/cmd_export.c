// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl export: stop a pool, so that its legs can move to another host. */
#include "stop.h"

enum { DRAIN = 1 };

static int export_all(struct ctl *ctl, bool drain)
{
	struct dm_entry *list;
	unsigned int i, count;
	struct err err;
	int ret = 0, one;

	if (dm_list(&list, &count, &err))
		return ctl_fail(ctl, &err);
	for (i = 0; i < count; i++) {
		one = pool_stop(ctl, &list[i], "exported", drain);
		if (one && (!ret || one < ret))
			ret = one;
	}
	free(list);
	if (count)
		return ret;
	ctl_say(ctl, "no pool is active");
	return ctl_done(ctl);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool all = false, drain = false;
	struct dm_entry e;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		all |= c == 'a';
		drain |= c == DRAIN;
	}
	if (all) {
		ctl_args(ctl, argc, 0, 0);
		return export_all(ctl, drain);
	}
	ctl_args(ctl, argc, 1, 1);
	ret = ctl_find(ctl, argv[optind], &e);
	return ret ?: pool_stop(ctl, &e, "exported", drain);
}

static const struct ctl_option options[] = {
	{ 'a', NULL, NULL, "all pools" },
	{ DRAIN, "drain", NULL,
	  "write home first the data that only a cache has, which may take minutes: then the SSDs "
	  "of a cache need not travel along" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_export = {
	.name = "export",
	.purpose = "stop a pool, so that its devices can move to another host",
	.args = "[-n] [-a] [--drain] [POOL]",
	.about = "Stops a pool and marks its labels as exported, so that its legs can move to "
		"another host. All data is then on its legs, those of a cache included. The "
		"command names the SSDs that must travel along; with -n, those that may have to.",
	.example = "kvpoolctl export --drain tank",
	.options = options,
	.dry_run = true,
	.run = run,
};
