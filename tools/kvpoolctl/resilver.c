// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "label.h"
#include "pool_object.h"
#include "reload.h"
#include "resilver.h"
#include "spares.h"

#define POLL_US		200000

bool resilver_is_ssd(const struct stats *s, unsigned int leg)
{
	struct vdev_range ssds = vdev_range(s, (unsigned int)stats_number(s, "cache.vdev"));

	return stats_text(s, "cache.vdev") && leg >= ssds.first && leg < ssds.end;
}

static bool is_state(const struct stats *s, unsigned int leg, const char *want)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return state && !strcmp(state, want);
}

/* --- is it there? ----------------------------------------------------------------------- */

int resilver_label_leg(const struct dm_entry *e, const struct stats *s, const char *dev)
{
	const char *known;
	char uuid[UUID_BUF];
	struct device d;
	struct label l;
	int i, found = -1;

	if (device_open(dev, true, &d, NULL))
		return -1;
	if (!label_read(&d, &l, NULL)) {
		if (l.sb && !strcasecmp(uuid_print(l.sb->pool_uuid, uuid), e->uuid)) {
			uuid_print(l.sb->leg_uuid, uuid);
			for (i = 0; i < KVP_MAX_LEGS; i++) {
				known = stats_text(s, "leg.%u.uuid", (unsigned int)i);
				if (known && !strcasecmp(known, uuid))
					found = i;
			}
		}
		label_free(&l);
	}
	device_close(&d);
	return found;
}

int resilver_not_held(const char *pool, const char *dev, const char *why, struct err *err)
{
	char mend[sizeof(err->mend)];

	snprintf(mend, sizeof(mend), "connect it, kvpoolctl export %.64s, kvpoolctl import %.64s: "
		 "a start takes it, and brings it back, unless it was taken offline by order",
		 pool, pool);
	return err_set(err, ERR_REFUSED, dev, mend, "%s", why);
}

/* Does the pool's table name the device @rdev? A table may name the legs of a vdev in any order. */
static bool table_holds(const char *params, dev_t rdev)
{
	const char *vdevs = table_vdevs(params);
	char word[64];
	unsigned int i;

	for (i = 0; vdevs && i < KVP_MAX_LEGS && table_leg(vdevs, i, word, sizeof(word)); i++)
		if (leg_device(word) == rdev)
			return true;
	return false;
}

/* A device that dropped out and came back is another one: the pool holds that which has gone. */
static int check_held(const char *pool, const struct stats *s, unsigned int leg, const char *dev,
		      struct err *err)
{
	const char *path = stats_text(s, "leg.%u.path", leg);
	dev_t rdev = path ? leg_device(path) : 0;
	u64 sectors;
	char *params;
	bool held;

	if (is_state(s, leg, "missing") || !path || !strcmp(path, "-"))
		return resilver_not_held(pool, dev, "it was missing when the pool was started", err);
	if (!rdev)
		return resilver_not_held(pool, dev, "its device has gone", err);
	if (dm_table(pool, &sectors, &params, err))
		return -1;
	held = table_holds(params, rdev);
	free(params);
	return held ? 0 : resilver_not_held(pool, dev, "its device had gone; it is back under other "
					    "numbers, and the pool does not have it", err);
}

static int check_leg(const struct dm_entry *e, const struct stats *s, unsigned int leg,
		     const char *dev, bool wait, struct err *err)
{
	char mend[96];

	if (e->readonly)
		return err_set(err, ERR_READ_ONLY, e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (is_state(s, leg, "online"))
		return err_set(err, ERR_REFUSED, dev, "see kvpoolctl status", "it is in use");
	snprintf(mend, sizeof(mend), "kvpoolctl wait -t resilver %.64s", e->name);
	if (is_state(s, leg, "resilvering"))
		return wait ? 0 : err_set(err, ERR_REFUSED, dev, mend, "it resilvers already");
	return check_held(e->name, s, leg, dev, err);
}

/* --- the plan --------------------------------------------------------------------------- */

static json_object *plan_object(const struct dm_entry *e, const struct stats *s, unsigned int leg)
{
	const char *path = stats_text(s, "leg.%u.path", leg);
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char buf[PATH_MAX];

	json_text(plan, "action", "online");
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_text(plan, "leg", stats_text(s, "leg.%u.uuid", leg));
	json_text(plan, "path", path ? leg_path(path, buf, sizeof(buf)) : NULL);
	json_number(plan, "in_sync_era", stats_number(s, "leg.%u.in_sync_era", leg));
	json_number(plan, "checkpoint", stats_number(s, "era"));
	json_redundancy(plan, stats_losses(s), losses_with_leg(s, leg));
	return root;
}

static void report(struct ctl *ctl, json_object *root, const char *dev, bool wait)
{
	json_object *plan = json_at(root, "plan");
	const char *pool = json_text_at(plan, "pool");
	u64 after = json_number_at(plan, "redundancy.after");

	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		printf("would bring %s of pool %s online\ncopies    what was written since checkpoint %"
		       PRIu64 ", at most; the pool is at %" PRIu64 "\nsurvives  loss of %" PRIu64
		       " leg(s) then, now %" PRIu64 "\n", dev, pool,
		       json_number_at(plan, "in_sync_era"), json_number_at(plan, "checkpoint"), after,
		       json_number_at(plan, "redundancy.before"));
	else if (wait)
		ctl_say(ctl, "%s is online; the pool survives the loss of %" PRIu64 " leg(s)", dev, after);
	else
		ctl_say(ctl, "%s resilvers; then the pool survives the loss of %" PRIu64
			" leg(s). kvpoolctl wait -t resilver %s waits for that", dev, after, pool);
}

int resilver_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		    unsigned int leg, const char *dev, bool wait)
{
	const char *uuid = stats_text(s, "leg.%u.uuid", leg);
	json_object *plan;
	char message[64];
	struct err err;
	int ret;

	ret = check_leg(e, s, leg, dev, wait, &err);
	if (ret)
		return ctl_fail(ctl, &err);
	plan = plan_object(e, s, leg);
	snprintf(message, sizeof(message), "online %s", uuid);
	if (!ctl->dry_run && !is_state(s, leg, "resilvering"))
		ret = dm_message(e->name, message, NULL, &err);
	if (!ret && !ctl->dry_run && wait)
		ret = resilver_wait(ctl, e->name, uuid, &err);
	if (!ret)
		report(ctl, plan, dev, wait);
	json_object_put(plan);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

/* --- waiting ---------------------------------------------------------------------------- */

/* The legs that are waited for. */
struct waited {
	char uuid[KVP_MAX_LEGS][UUID_BUF];
	unsigned int count;
};

/* How far the walk was when the wait began, for the rate. */
struct pace {
	u64 first;
	struct timespec since;
};

static void progress(const struct ctl *ctl, const struct stats *s, struct pace *p)
{
	u64 done = stats_number(s, "resilver.done"), total = stats_number(s, "resilver.total");
	struct timespec now;
	char what[64] = "resilver";
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* it goes back where a leg in sync did not answer */
	if (!p->since.tv_sec || done < p->first)
		*p = (struct pace){ done, now };
	seconds = (double)(now.tv_sec - p->since.tv_sec) +
		  (double)(now.tv_nsec - p->since.tv_nsec) / 1e9;
	if (done > p->first && done < total)
		snprintf(what, sizeof(what), "resilver, some %.0f s left",
			 seconds * (double)(total - done) / (double)(done - p->first) + 1);
	ctl_progress(ctl, what, done, total);
}

static void note_legs(const struct stats *s, const char *uuid, struct waited *w)
{
	const char *leg;
	unsigned int i;

	for (i = 0; i < KVP_MAX_LEGS && (leg = stats_text(s, "leg.%u.uuid", i)); i++)
		if (uuid ? !strcmp(leg, uuid) : is_state(s, i, "resilvering"))
			snprintf(w->uuid[w->count++], UUID_BUF, "%s", leg);
}

/* The state of the leg @uuid; its number may change when vdevs are added. NULL: it has left. */
static const char *state_of(const struct stats *s, const char *uuid, unsigned int *leg)
{
	const char *known;

	for (*leg = 0; *leg < KVP_MAX_LEGS && (known = stats_text(s, "leg.%u.uuid", *leg)); ++*leg)
		if (!strcmp(known, uuid))
			return stats_text(s, "leg.%u.state", *leg);
	return NULL;
}

static bool any_resilvers(const struct stats *s, const struct waited *w)
{
	const char *state;
	unsigned int i, leg;

	for (i = 0; i < w->count; i++) {
		state = state_of(s, w->uuid[i], &leg);
		if (state && !strcmp(state, "resilvering"))
			return true;
	}
	return false;
}

static int judge(const char *pool, const struct stats *s, const struct waited *w, struct err *err)
{
	const char *state, *path;
	char buf[PATH_MAX], mend[sizeof(err->mend)];
	unsigned int i, leg;

	for (i = 0; i < w->count; i++) {
		state = state_of(s, w->uuid[i], &leg);
		if (state && !strcmp(state, "online"))
			continue;
		path = state ? stats_text(s, "leg.%u.path", leg) : NULL;
		snprintf(mend, sizeof(mend), "see kvpoolctl events %.64s; then kvpoolctl online, "
			 "which goes on where it was", pool);
		return err_set(err, ERR_FAILED, path && strcmp(path, "-") ?
			       leg_path(path, buf, sizeof(buf)) : w->uuid[i], mend,
			       "it is %.32s, and not in sync", state ?: "no leg of the pool any more");
	}
	return 0;
}

int resilver_wait(struct ctl *ctl, const char *pool, const char *uuid, struct err *err)
{
	struct waited w = { .count = 0 };
	struct pace pace = { .first = 0 };
	struct stats s;
	int ret;

	if (stats_load(pool, &s, err))
		return -1;
	note_legs(&s, uuid, &w);
	while (any_resilvers(&s, &w)) {
		progress(ctl, &s, &pace);
		stats_free(&s);
		usleep(POLL_US);
		if (stats_load(pool, &s, err))
			return -1;
	}
	ctl_progress(ctl, "resilver", 0, 0);
	ret = judge(pool, &s, &w, err);
	stats_free(&s);
	return ret;
}
