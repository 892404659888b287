// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl online: let a leg return to a running pool. */
#include "device.h"
#include "label.h"
#include "pool_object.h"

/*
 * A leg that was missing at the start has no path in the pool: its label says
 * which one it is. The message then names the device.
 */
static int by_label(const struct dm_entry *e, const char *dev, char *id, struct err *err)
{
	char uuid[UUID_BUF];
	struct device d;
	struct label l;
	int ret = 0;

	if (device_open(dev, false, &d, err))
		return -1;
	if (label_read(&d, &l, err)) {
		device_close(&d);
		return -1;
	}
	device_close(&d);
	if (label_fault(&l))
		ret = err_set(err, ERR_NO_LABEL, dev, "name the device that was this pool's leg",
			      "%s", label_fault(&l));
	else if (strcmp(uuid_print(l.sb->pool_uuid, uuid), e->uuid))
		ret = err_set(err, ERR_MEMBER, dev, "name a leg of this pool",
			      "it belongs to pool %s (%s)", l.sb->name, uuid);
	label_free(&l);
	if (!ret)
		device_numbers(d.rdev, id);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	char id[UUID_BUF] = "", message[64], *dev;
	struct dm_entry e;
	struct stats s;
	struct err err;
	const char *state;
	unsigned int leg;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	dev = argv[optind + 1];
	ret = ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (stats_load(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	if (leg_find(e.name, &s, dev, id, &leg, &err))
		ret = by_label(&e, dev, id, &err);
	stats_free(&s);
	snprintf(message, sizeof(message), "online %s", id);
	if (ret || dm_message(e.name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	if (stats_load(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	if (!leg_find(e.name, &s, dev, id, &leg, &err)) {
		state = stats_text(&s, "leg.%u.state", leg);
		ctl_say(ctl, "%s is %s", dev, state ?: "back");
	}
	stats_free(&s);
	return EXIT_DONE;
}

const struct command cmd_online = {
	.name = "online",
	.args = "POOL DEV",
	.help = "Lets a leg return to a running pool. DEV is a path, or the leg's UUID. A leg\n"
		"that missed writes is stale and is not read.",
	.shorts = "",
	.run = run,
};
