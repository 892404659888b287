// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl set: change a tunable of a running pool. */
#include "drain.h"
#include "setting.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct dm_entry e;
	struct setting s;
	struct err err;
	int ret;

	bool force = false;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;	/* -f is the only one */
	ctl_args(ctl, argc, 2, 2);
	if (setting_parse(argv[optind + 1], &s, &err) || dm_find(argv[optind], &e, &err))
		return ctl_fail(ctl, &err);
	if (force && strcmp(s.key, "cache_mode")) {
		err_set(&err, ERR_USAGE, "-f", "leave it out", "it is for cache_mode alone");
		return ctl_fail(ctl, &err);
	}
	if (!strcmp(s.key, "cache_mode"))
		ret = drain_set_mode(ctl, e.name, s.value, force, &err);
	else
		ret = setting_apply(e.name, &s, &err);
	if (ret)
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

const struct command cmd_set = {
	.name = "set",
	.args = "[-f] POOL KEY=VALUE",
	.help = "Changes a tunable of a running pool. It is durable when the command returns.\n"
		"'kvpoolctl get POOL' lists them all with range, default and meaning.\n"
		"cache_mode moves the log onto the cache, or off it, and may take minutes for that;\n"
		"the pool stays in use. If it is interrupted before the log moves, nothing has changed.\n\n"
		"  -f            cache_mode=writeback, though the pool survives less then",
	.shorts = "f",
	.run = run,
};
