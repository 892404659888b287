// SPDX-License-Identifier: GPL-2.0-only
/* Shared by destroy and export. */
#include <unistd.h>

#include "announce.h"
#include "device.h"
#include "interrupts.h"
#include "label.h"
#include "pool_object.h"
#include "pool_lock.h"
#include "stop.h"

#define PATIENCE	10		/* tenths of a second, for udev to close the device */

/* Names the users of the pool's device, as far as that costs nothing. */
static int refuse_open(const struct dm_entry *e, struct err *err)
{
	char where[300], uuid[160], mend[200];

	if (device_mountpoint(e->rdev, where, sizeof(where)))
		return err_set(err, ERR_MOUNTED, e->name, "unmount it first (swap: swapoff)", "%s",
			       where);
	if (device_holder(e->rdev, where, sizeof(where), uuid, sizeof(uuid)))
		return err_set(err, ERR_BUSY, e->name, "stop what is stacked on it first",
			       "held by %s", where);
	snprintf(mend, sizeof(mend), "see what uses it: fuser -v /dev/mapper/%s", e->name);
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

static json_object *plan_object(const struct dm_entry *e, json_object *pool, const char *action,
				json_object *travel)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");

	json_text(plan, "action", action);
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_number(plan, "size", json_number_at(pool, "size"));
	json_redundancy(plan, (int)json_number_at(pool, "losses_survivable"), -1);
	json_object_object_add(plan, "legs", pool_legs(pool));
	if (travel)
		json_object_object_add(plan, "travel", json_object_get(travel));
	return root;
}

static void print_plan(const struct dm_entry *e, json_object *pool, const char *action,
		       json_object *travel)
{
	json_object *legs = pool_legs(pool), *leg;
	size_t i;

	printf("would %s pool %s (%s) on:\n", action, e->name, e->uuid);
	for (i = 0; i < json_object_array_length(legs); i++) {
		leg = json_object_array_get_idx(legs, i);
		printf("  %s\n", json_text_at(leg, json_at(leg, "path") ? "path" : "uuid"));
	}
	for (i = 0; travel && i < json_object_array_length(travel); i++)
		printf("%s must travel along, unless all data is home by then (--drain writes it "
		       "home first)\n",
		       json_object_get_string(json_object_array_get_idx(travel, i)));
	json_object_put(legs);
}

/*
 * Was the log empty when the pool stopped? The SSD's label tells; an unreadable label counts as no.
 */
static bool label_is_clean(const char *path)
{
	struct label l;
	struct err err;
	bool clean;

	if (label_read_path(path, false, &l, &err))
		return false;
	clean = l.sb && (l.sb->flags & KVP_SB_CLEAN);
	label_free(&l);
	return clean;
}

/* With a parity1 in the pool all data is written home at a stop. */
static bool has_parity(json_object *pool)
{
	json_object *vdevs = json_at(pool, "vdevs");
	size_t i;

	for (i = 0; vdevs && i < json_object_array_length(vdevs); i++)
		if (!strcmp(json_text_at(json_object_array_get_idx(vdevs, i), "kind"), "parity1"))
			return true;
	return false;
}

/*
 * Paths of the SSDs that have the only copy of data. Once the pool has @stopped, their labels tell;
 * before that, all that may have some.
 * @pool: the pool as it ran; NULL: unknown
 */
static json_object *must_travel(json_object *pool, bool stopped, bool drain)
{
	bool may = !strcmp(json_text_at(pool, "cache.mode"), "writeback");
	json_object *list = json_object_new_array(), *ssds = json_at(pool, "cache.legs");
	size_t i;

	if (!stopped && (drain || has_parity(pool) || strcmp(json_text_at(pool, "log.on"),
							     "cache")))
		may = false;
	for (i = 0; may && ssds && i < json_object_array_length(ssds); i++) {
		json_object *leg = json_object_array_get_idx(ssds, i), *path = json_at(leg, "path");

		if (path && !strcmp(json_text_at(leg, "state"), "online") &&
		    !(stopped && label_is_clean(json_object_get_string(path))))
			json_object_array_add(list, json_object_get(path));
	}
	return list;
}

static void say_what_travels(struct ctl *ctl, json_object *travel)
{
	size_t i;

	for (i = 0; travel && i < json_object_array_length(travel); i++)
		ctl_say(ctl, "%s must travel along: it holds data that is not yet home (--drain "
			"writes it home first)",
			json_object_get_string(json_object_array_get_idx(travel, i)));
}

/*
 * A running pool that stays marked looks to every host as if it had been stopped, and an import
 * there does not ask for --takeover.
 */
static void note_marked(const struct dm_entry *e, const char *mark, const struct err *why,
			struct err *err)
{
	char failed[sizeof(err->why)];

	memcpy(failed, err->why, sizeof(failed));
	snprintf(err->mend, sizeof(err->mend), "import it nowhere else; then dmsetup message "
		 "%.64s 0 mark none, or stop what uses it and kvpoolctl export %.64s", e->name,
		 e->name);
	snprintf(err->why, sizeof(err->why), "%.180s. THE POOL RUNS, AND ITS LABELS SAY THAT IT "
		 "WAS %s: the mark cannot be taken back (%.150s), so another host may start it, "
		 "too", failed, strcmp(mark, "destroyed") ? "EXPORTED" : "DESTROYED", why->why);
	err->code = ERR_FAILED;
}

static int mark_and_stop_now(const struct dm_entry *e, const char *mark, bool readonly,
			     struct err *err)
{
	char message[64];
	struct err why;

	snprintf(message, sizeof(message), "mark %s", mark);
	if (!readonly && dm_message(e->name, message, NULL, err)) {
		/* a pool without its legs must be stoppable too */
		snprintf(err->mend, sizeof(err->mend), "kvpoolctl status %.64s names the fault; "
			 "to stop it without a mark: dmsetup remove %.64s", e->name, e->name);
		return -1;
	}
	if (!dm_stop(e->name, err))
		return 0;
	if (!readonly && dm_message(e->name, "mark none", NULL, &why))
		note_marked(e, mark, &why, err);
	return -1;
}

/* If this ended between the two, the pool would run, and stay marked. */
static int mark_and_stop(const struct dm_entry *e, const char *mark, bool readonly,
			 struct err *err)
{
	sigset_t before;
	int ret;

	interrupts_hold(&before);
	ret = mark_and_stop_now(e, mark, readonly, err);
	interrupts_release(&before);
	return ret;
}

/* The legs of a pool that was destroyed are none any more. @pool: as it ran; NULL: unknown */
static void give_up_legs(json_object *pool)
{
	json_object *legs = pool ? pool_legs(pool) : NULL, *leg;
	size_t i, n = legs ? json_object_array_length(legs) : 0;
	dev_t rdev;

	for (i = 0; i < n; i++) {
		leg = json_object_array_get_idx(legs, i);
		rdev = json_at(leg, "path") ? leg_device(json_text_at(leg, "path")) : 0;
		if (rdev)
			announce_left(rdev);
	}
	json_object_put(legs);
}

/* Data may take long to go home; a command that changes the table takes its turn meanwhile. */
static int stop(struct ctl *ctl, const struct dm_entry *e, const char *mark, bool drain,
		bool readonly, struct err *err)
{
	struct dm_entry now;
	int ret;

	if (drain && !readonly && dm_message(e->name, "checkpoint", NULL, err))
		return -1;
	if (pool_lock(ctl, e->uuid, err))
		return -1;
	/* By now another pool may have its name. */
	ret = dm_find(e->uuid, &now, err) || mark_and_stop(&now, mark, readonly, err) ? -1 : 0;
	pool_unlock();
	return ret;
}

int pool_stop(struct ctl *ctl, const struct dm_entry *e, const char *mark, bool drain)
{
	bool export = strcmp(mark, "destroyed");
	const char *action = export ? "export" : "destroy";
	json_object *pool, *travel = NULL;
	struct dm_entry now = *e;
	struct err err;
	int ret = 0;

	/* Of several pools, the others may have taken long to stop. */
	if (dm_find(e->uuid, &now, &err) || refuse_in_use(&now, &err))
		return ctl_fail(ctl, &err);
	e = &now;
	pool = pool_object(e, &err);
	if (!pool && (ctl->dry_run || ctl->json))
		return ctl_fail(ctl, &err);
	if (!ctl->dry_run) {
		ctl_busy(ctl, "writing memory home");
		ret = stop(ctl, e, mark, drain, now.readonly, &err);
		ctl_busy_end();
	}
	if (ret) {
		json_object_put(pool);
		return ctl_fail(ctl, &err);
	}
	if (!export && !ctl->dry_run)
		give_up_legs(pool);
	if (export)
		travel = must_travel(pool, !ctl->dry_run, drain);
	if (ctl->json)
		ctl_json(plan_object(e, pool, action, travel));
	else if (ctl->dry_run)
		print_plan(e, pool, action, travel);
	else
		ctl_say(ctl, "%s pool %s", mark, e->name);
	if (!ctl->json && !ctl->dry_run)
		say_what_travels(ctl, travel);
	json_object_put(travel);
	json_object_put(pool);
	return EXIT_DONE;
}
