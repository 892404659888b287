// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl offline: take a leg out of a running pool. */
#include "pool_object.h"

static int refuse_last(const struct stats *s, unsigned int leg, const char *dev, struct err *err)
{
	const char *state;
	unsigned int i;

	for (i = 0; (state = stats_text(s, "leg.%u.state", i)); i++)
		if (i != leg && !strcmp(state, "online"))
			return 0;
	return err_set(err, ERR_LAST_LEG, dev, "it must stay; export the pool to stop it",
		       "it is the last leg that is in sync");
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	char uuid[UUID_BUF], message[64];
	struct dm_entry e;
	struct stats s;
	struct err err;
	unsigned int leg;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	ret = stats_load(e.name, &s, &err) ||
	      leg_find(e.name, &s, argv[optind + 1], uuid, &leg, &err) ||
	      refuse_last(&s, leg, argv[optind + 1], &err);
	stats_free(&s);
	snprintf(message, sizeof(message), "offline %s", uuid);
	if (ret || dm_message(e.name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	ctl_say(ctl, "%s is offline", argv[optind + 1]);
	return ctl_done(ctl);
}

const struct command cmd_offline = {
	.name = "offline",
	.args = "POOL DEV",
	.help = "Takes a leg out of a running pool. DEV is a path, or the leg's UUID. It stays out:\n"
		"this version cannot bring up to date a leg that missed writes.",
	.shorts = "",
	.run = run,
};
