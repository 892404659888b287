// SPDX-License-Identifier: GPL-2.0-only
/* What destroy and export share. */
#include <unistd.h>

#include "device.h"
#include "label.h"
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

static json_object *plan_object(const struct dm_entry *e, const char *action, struct err *err)
{
	json_object *root, *plan, *pool = pool_object(e, err);

	if (!pool)
		return NULL;
	root = json_root();
	plan = json_child(root, "plan");
	json_text(plan, "action", action);
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_number(plan, "size", json_number_at(pool, "size"));
	json_redundancy(plan, (int)json_number_at(pool, "losses_survivable"), -1);
	json_object_object_add(plan, "legs", pool_legs(pool));
	json_object_put(pool);
	return root;
}

static void print_plan(json_object *root)
{
	json_object *plan = json_at(root, "plan"), *legs = json_at(plan, "legs"), *leg;
	size_t i;

	printf("would %s pool %s (%s) on:\n", json_text_at(plan, "action"),
	       json_text_at(plan, "pool"), json_text_at(plan, "uuid"));
	for (i = 0; i < json_object_array_length(legs); i++) {
		leg = json_object_array_get_idx(legs, i);
		printf("  %s\n", json_text_at(leg, json_at(leg, "path") ? "path" : "uuid"));
	}
	json_object_put(root);
}

/* The SSDs that carry the log of a pool, by what is known while it runs; NULL: none do. */
static json_object *ssds_of(const struct dm_entry *e)
{
	struct err err;
	json_object *pool = pool_object(e, &err), *legs = NULL;
	const char *mode;

	if (!pool)
		return NULL;
	mode = json_text_at(pool, "cache.mode");
	if (mode && !strcmp(mode, "writeback"))
		legs = json_object_get(json_at(pool, "cache.legs"));
	json_object_put(pool);
	return legs;
}

/* Was the log empty when the pool stopped? The label of this SSD says so, if any does; not read, it has not said so. */
static bool label_is_clean(const char *path)
{
	struct device d;
	struct label l;
	struct err err;
	bool clean;

	if (device_open(path, false, &d, &err))
		return false;
	clean = !label_read(&d, &l, &err);
	if (clean) {
		clean = l.sb && (l.sb->flags & KVP_SB_CLEAN);
		label_free(&l);
	}
	device_close(&d);
	return clean;
}

/* Which SSDs hold what is nowhere else. */
static void say_what_stays(struct ctl *ctl, json_object *ssds)
{
	const char *path;
	size_t i;

	for (i = 0; i < json_object_array_length(ssds); i++) {
		json_object *leg = json_object_array_get_idx(ssds, i);

		path = json_text_at(leg, "path");
		if (path && !strcmp(json_text_at(leg, "state"), "online") && !label_is_clean(path))
			ctl_say(ctl, "%s must travel along: it holds what is not yet home (--drain brings it home first)",
				path);
	}
}

static int stop(const struct dm_entry *e, const char *mark, bool drain, bool readonly, struct err *err)
{
	char message[64];

	if (drain && !readonly && dm_message(e->name, "checkpoint", NULL, err))
		return -1;

	snprintf(message, sizeof(message), "mark %s", mark);
	if (!readonly && dm_message(e->name, message, NULL, err)) {
		/* a pool whose legs are gone must be stoppable all the same */
		snprintf(err->mend, sizeof(err->mend), "kvpoolctl status %.64s tells what is "
			 "wrong; to stop it without a mark: dmsetup remove %.64s", e->name, e->name);
		return -1;
	}
	if (!dm_stop(e->name, err))
		return 0;
	if (!readonly)
		dm_message(e->name, "mark none", NULL, NULL);
	return -1;
}

int pool_stop(struct ctl *ctl, const struct dm_entry *e, const char *mark, bool drain)
{
	bool export = strcmp(mark, "destroyed");
	struct dm_entry now = *e;
	json_object *plan = NULL, *ssds = NULL;
	struct err err;
	int ret = 0;

	if (refuse_in_use(&now, &err))
		return ctl_fail(ctl, &err);
	if (ctl->dry_run || ctl->json) {
		plan = plan_object(e, export ? "export" : "destroy", &err);
		if (!plan)
			return ctl_fail(ctl, &err);
	}
	if (!ctl->dry_run) {
		ssds = export && !ctl->json ? ssds_of(e) : NULL;
		ctl_busy(ctl, "what is in memory goes home");
		ret = stop(e, mark, drain, now.readonly, &err);
		ctl_busy_end();
	}
	if (ret) {
		json_object_put(ssds);
		json_object_put(plan);
		return ctl_fail(ctl, &err);
	}
	if (ctl->json)
		ctl_json(plan);
	else if (ctl->dry_run)
		print_plan(plan);
	else
		ctl_say(ctl, "%s pool %s", mark, e->name);
	if (ssds)
		say_what_stays(ctl, ssds);
	json_object_put(ssds);
	return EXIT_DONE;
}
