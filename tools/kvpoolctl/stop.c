// SPDX-License-Identifier: GPL-2.0-only
/* What destroy and export share. */
#include <unistd.h>

#include "device.h"
#include "pool_object.h"
#include "stop.h"

#define PATIENCE	10		/* tenths of a second, for udev to close the device */

/* Who uses the pool's device, as far as it can be told at no cost. */
static int refuse_open(const struct dm_entry *e, struct err *err)
{
	char where[300], uuid[160], mend[200];

	if (device_mountpoint(e->rdev, where, sizeof(where)))
		return err_set(err, ERR_MOUNTED, e->name, "unmount it first (swap: swapoff)", "%s",
			       where);
	if (device_holder(e->rdev, where, sizeof(where), uuid, sizeof(uuid)))
		return err_set(err, ERR_BUSY, e->name, "stop what is stacked on it first",
			       "held by %s", where);
	snprintf(mend, sizeof(mend), "find out who uses it: fuser -v /dev/mapper/%s", e->name);
	return err_set(err, ERR_BUSY, e->name, mend,
		       "the device is open (%u time%s)", e->open_count,
		       e->open_count == 1 ? "" : "s");
}

static int refuse_in_use(struct dm_entry *e, struct err *err)
{
	char name[sizeof(e->name)];
	int i;

	snprintf(name, sizeof(name), "%s", e->name);
	for (i = 0; e->open_count && i < PATIENCE; i++) {
		usleep(100000);
		if (dm_find(name, e, err))
			return -1;
	}
	return e->open_count ? refuse_open(e, err) : 0;
}

static int print_plan(struct ctl *ctl, const struct dm_entry *e, const char *action)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *pool, *list;
	struct err err;
	size_t i;

	pool = pool_object(e, &err);
	if (!pool) {
		json_object_put(root);
		return ctl_fail(ctl, &err);
	}
	json_text(plan, "action", action);
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_number(plan, "size", json_number_at(pool, "size"));
	list = pool_legs(pool);
	json_object_object_add(plan, "legs", list);
	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else {
		printf("would %s pool %s (%s) on:\n", action, e->name, e->uuid);
		for (i = 0; i < json_object_array_length(list); i++)
			printf("  %s\n", json_text_at(json_object_array_get_idx(list, i), "path"));
	}
	json_object_put(pool);
	json_object_put(root);
	return EXIT_DONE;
}

int pool_stop(struct ctl *ctl, const struct dm_entry *e, const char *mark)
{
	struct dm_entry now = *e;
	char message[64];
	struct err err;

	if (refuse_in_use(&now, &err))
		return ctl_fail(ctl, &err);
	if (ctl->dry_run)
		return print_plan(ctl, e, strcmp(mark, "destroyed") ? "export" : "destroy");
	snprintf(message, sizeof(message), "mark %s", mark);
	if (!now.readonly && dm_message(e->name, message, NULL, &err))
		return ctl_fail(ctl, &err);
	if (dm_stop(e->name, &err)) {
		if (!now.readonly)
			dm_message(e->name, "mark none", NULL, NULL);
		return ctl_fail(ctl, &err);
	}
	ctl_say(ctl, "%s pool %s", mark, e->name);
	return EXIT_DONE;
}
