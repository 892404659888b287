// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl clear: zero the error counters, try again what failed. */
#include "pool_object.h"

static int run(struct ctl *ctl, int argc, char **argv)
{
	char uuid[UUID_BUF], message[64] = "clear";
	struct stats s = { 0 };
	struct dm_entry e;
	struct err err;
	unsigned int leg;
	int n, ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	n = ctl_args(ctl, argc, 1, 2);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (n == 2) {
		if (stats_load(e.name, &s, &err) ||
		    leg_find(e.name, &s, argv[optind + 1], uuid, &leg, &err)) {
			stats_free(&s);
			return ctl_fail(ctl, &err);
		}
		stats_free(&s);
		snprintf(message, sizeof(message), "clear %s", uuid);
	}
	return dm_message(e.name, message, NULL, &err) ? ctl_fail(ctl, &err) : ctl_done(ctl);
}

const struct command cmd_clear = {
	.name = "clear",
	.args = "POOL [DEV]",
	.help = "Sets the error counters of all legs, or of one, to zero, and tries again what\n"
		"failed. Lost blocks stay lost: only writing them anew helps.",
	.shorts = "",
	.run = run,
};
