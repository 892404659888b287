// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl set: change a tunable of a running pool. */
#include "setting.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct setting s;
	struct err err;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	if (setting_parse(argv[optind + 1], &s, &err) || dm_find(argv[optind], &e, &err))
		return ctl_fail(ctl, &err);
	if (setting_apply(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

const struct command cmd_set = {
	.name = "set",
	.args = "POOL KEY=VALUE",
	.help = "Changes a tunable of a running pool. It is durable when the command returns.\n"
		"'kvpoolctl get POOL' lists them all with range, default and meaning.",
	.shorts = "",
	.run = run,
};
