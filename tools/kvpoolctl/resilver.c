// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "copies.h"
#include "device.h"
#include "foreign.h"
#include "label.h"
#include "pool_lock.h"
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
	struct label l;
	int i, found = -1;

	if (label_read_path(dev, true, &l, NULL))
		return -1;
	if (l.sb && !strcasecmp(uuid_print(l.sb->pool_uuid, uuid), e->uuid)) {
		uuid_print(l.sb->leg_uuid, uuid);
		for (i = 0; i < KVP_MAX_LEGS; i++) {
			known = stats_text(s, "leg.%u.uuid", (unsigned int)i);
			if (known && !strcasecmp(known, uuid))
				found = i;
		}
	}
	label_free(&l);
	return found;
}

/* --- connecting a device that the pool does not have --------------------------------------- */

#define TABLE_LEN	8192

/* What is to be done. */
struct order {
	const struct dm_entry *e;
	const struct stats *s;
	unsigned int leg;
	const char *dev;		/* as the user named it */
	bool force;			/* also a copy of the leg */
	bool connect;			/* the pool does not have its device: */
	dev_t rdev;			/* this one, */
	u64 sectors;
	char old[TABLE_LEN], table[TABLE_LEN];	/* and its table, and that with the device; */
	char without[TABLE_LEN]; /* if a device that has gone is in its place, that without */
};

/* Does a leg of the pool other than @leg use the device @rdev, by its path? */
static bool is_used(const struct stats *s, unsigned int leg, dev_t rdev)
{
	const char *path;
	unsigned int i;

	for (i = 0; rdev && i < KVP_MAX_LEGS && stats_text(s, "leg.%u.uuid", i); i++) {
		path = stats_text(s, "leg.%u.path", i);
		if (i != leg && path && leg_device(path) == rdev)
			return true;
	}
	return false;
}

static unsigned int first_of_vdev(const struct stats *s, unsigned int leg, unsigned int *end)
{
	struct vdev_range r;
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		r = vdev_range(s, v);
		if (leg >= r.first && leg < r.end) {
			*end = r.end;
			return r.first;
		}
	}
	*end = leg + 1;
	return leg;
}

/*
 * The place in the table for the leg's device: its own, if no other leg's device stands there. A
 * table that was written by hand may have the legs of a vdev in another order.
 */
static unsigned int place_of(const struct stats *s, unsigned int leg, const char *vdevs)
{
	unsigned int end, i = first_of_vdev(s, leg, &end), place = leg;
	char word[64];
	bool found = false;

	for (; i < end; i++) {
		if (!table_leg(vdevs, i, word, sizeof(word)) || is_used(s, leg, leg_device(word)))
			continue;
		if (i == leg)
			return leg;
		if (!found)
			place = i;
		found = true;
	}
	return place;
}

bool resilver_table(const struct stats *s, unsigned int leg, dev_t rdev, const char *params,
		    bool (*gone)(const char *word), char *buf, size_t size)
{
	const char *at = table_vdevs(params);
	unsigned int place = at ? place_of(s, leg, at) : 0, i = 0, legs;
	char word[64], kind[32];
	int used;
	size_t n;

	table_options(params, "", word, sizeof(word));
	n = (size_t)snprintf(buf, size, "- %s", word);
	while (at && sscanf(at, " %31s %u%n", kind, &legs, &used) == 2) {
		at += used;
		n += n < size ? (size_t)snprintf(buf + n, size - n, " %s %u", kind, legs) : 0;
		for (; legs && sscanf(at, " %63s%n", word, &used) == 1; legs--, i++) {
			at += used;
			if (i == place && rdev)
				snprintf(word, sizeof(word), "%u:%u", major(rdev), minor(rdev));
			else if (i == place || gone(word))
				snprintf(word, sizeof(word), "-");
			n += n < size ? (size_t)snprintf(buf + n, size - n, " %s", word) : 0;
		}
	}
	return at && n < size && place < i;
}

/*
 * A device that has gone is let go of first: the one that is back may have the same name, and
 * device-mapper cannot hold two of one name.
 */
static int write_tables(struct order *o, const char *params, struct err *err)
{
	/* the name of this host comes to it */
	char text[TABLE_LEN - 256], none[TABLE_LEN - 256];

	if (!resilver_table(o->s, o->leg, o->rdev, params, table_device_gone, text, sizeof(text)) ||
	    !resilver_table(o->s, o->leg, 0, params, table_device_gone, none, sizeof(none)))
		return err_set(err, ERR_KERNEL, o->e->name, "see dmsetup table",
			       "its table is unreadable");
	table_again(o->e->uuid, params, o->old, sizeof(o->old));
	table_again(o->e->uuid, text, o->table, sizeof(o->table));
	if (strcmp(table_vdevs(params), table_vdevs(none)))
		table_again(o->e->uuid, none, o->without, sizeof(o->without));
	return 0;
}

/* Finds the device that the user means, and looks whether it is the leg. */
static int find_device(const struct dm_entry *e, const struct stats *s, unsigned int leg,
		       const char *name, const char *why, dev_t *rdev, struct err *err)
{
	const char *path = stats_text(s, "leg.%u.path", leg), *dev = name;
	char buf[PATH_MAX];

	if (!leg_device(dev))	/* the leg was named by its UUID */
		dev = path ?: "-";
	*rdev = leg_device(dev);
	dev = leg_path(dev, buf, sizeof(buf));
	if (!*rdev)
		return err_set(err, ERR_REFUSED, name,
			       "connect it, then kvpoolctl online POOL DEV, with the device that "
			       "it is then", "%s", why);
	if (resilver_label_leg(e, s, dev) != (int)leg)
		return err_set(err, ERR_REFUSED, name,
			       "name the device that is the leg; kvpoolctl inspect shows whose "
			       "label a device has",
			       "%s; and %s has not its label", why, dev);
	return 1;
}

int resilver_find_device(const struct dm_entry *e, const struct stats *s, unsigned int leg,
			 const char *dev, const char *params, dev_t *rdev, struct err *err)
{
	const char *path = stats_text(s, "leg.%u.path", leg), *why = NULL;
	dev_t held = path ? leg_device(path) : 0;

	if (is_state(s, leg, "missing") || !path || !strcmp(path, "-"))
		why = "the pool does not have its device";
	else if (!held)
		why = "its device has gone";
	else if (!table_holds(params, held))
		why = "its device had gone";
	else if (leg_device(dev) && leg_device(dev) != held)
		why = "the pool has another device for it";
	return why ? find_device(e, s, leg, dev, why, rdev, err) : 0;
}

/* Does the pool have the leg's device? If not, finds it, and writes the tables. */
static int check_held(struct order *o, struct err *err)
{
	char *params;
	int ret;

	if (dm_table(o->e->name, &o->sectors, &params, err))
		return -1;
	ret = resilver_find_device(o->e, o->s, o->leg, o->dev, params, &o->rdev, err);
	if (ret > 0) {
		o->connect = true;
		ret = write_tables(o, params, err);
	}
	free(params);
	return ret;
}

/* A leg that was out for long may have got another use. A resilver would write over that. */
static int check_not_reused(const struct order *o, struct err *err)
{
	const char *held = stats_text(o->s, "leg.%u.path", o->leg), *path;
	char type[1][SIGNATURE_TYPE] = { "" }, buf[PATH_MAX];

	if (!o->connect && !held)
		return 0;
	path = o->connect ? device_name(o->rdev, buf, sizeof(buf)) :
	       leg_path(held, buf, sizeof(buf));
	foreign_find_sure(&path, 1, type);
	if (!*type[0])
		return 0;
	if (!strcmp(type[0], FOREIGN_UNKNOWN))
		return o->force ? 0 :
		       err_set(err, ERR_IO, o->dev, "try it again; or -f, if it has had no other "
			       "use", FOREIGN_UNSEEN ": it may have got another use while it was "
			       "out, and a resilver would write over that");
	return err_set(err, ERR_SIGNATURE, o->dev,
		       "kvpoolctl labelclear --foreign DEV, if nothing on it is needed",
		       "it carries a signature of %.60s: it may have got another use while it was "
		       "out, and a resilver would write over that", type[0]);
}

/* A device that the pool does not have may be a copy of its leg. */
static int check_no_copy(const struct order *o, struct err *err)
{
	char buf[PATH_MAX];

	return !o->connect || o->force ? 0 :
	       copies_check(device_name(o->rdev, buf, sizeof(buf)),
			    stats_number(o->s, "leg.%u.in_sync_era", o->leg), err);
}

static int check_leg(struct order *o, bool wait, struct err *err)
{
	char mend[96];

	if (o->e->readonly)
		return err_set(err, ERR_READ_ONLY, o->e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (is_state(o->s, o->leg, "online"))
		return err_set(err, ERR_REFUSED, o->dev, "see kvpoolctl status", "it is in use");
	snprintf(mend, sizeof(mend), "kvpoolctl wait -t resilver %.64s", o->e->name);
	if (is_state(o->s, o->leg, "resilvering"))
		return wait ? 0 : err_set(err, ERR_REFUSED, o->dev, mend, "it resilvers already");
	return check_held(o, err) ?: check_not_reused(o, err) ?: check_no_copy(o, err);
}

/* --- the plan --------------------------------------------------------------------------- */

static json_object *plan_object(const struct order *o)
{
	const char *path = stats_text(o->s, "leg.%u.path", o->leg);
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char buf[PATH_MAX], table[TABLE_LEN + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", o->sectors, o->table);
	json_text(plan, "action", "online");
	json_text(plan, "pool", o->e->name);
	json_text(plan, "uuid", o->e->uuid);
	json_text(plan, "leg", stats_text(o->s, "leg.%u.uuid", o->leg));
	if (o->connect)
		json_text(plan, "path", device_name(o->rdev, buf, sizeof(buf)));
	else
		json_text(plan, "path", path ? leg_path(path, buf, sizeof(buf)) : NULL);
	json_number(plan, "in_sync_era", stats_number(o->s, "leg.%u.in_sync_era", o->leg));
	json_number(plan, "checkpoint", stats_number(o->s, "era"));
	json_redundancy(plan, stats_losses(o->s), losses_with_leg(o->s, o->leg));
	json_text(plan, "table", o->connect ? table : NULL);
	return root;
}

static void print_plan(json_object *plan, const char *dev)
{
	printf("would bring %s of pool %s online\ncopies    what was written since checkpoint %"
	       PRIu64 "; the pool is at %" PRIu64 "\nsurvives  loss of %" PRIu64
	       " leg(s) then, now %" PRIu64 "\n", dev, json_text_at(plan, "pool"),
	       json_number_at(plan, "in_sync_era"), json_number_at(plan, "checkpoint"),
	       json_number_at(plan, "redundancy.after"), json_number_at(plan, "redundancy.before"));
	if (json_at(plan, "table"))
		printf("table     %s\n", json_text_at(plan, "table"));
}

static void report(struct ctl *ctl, json_object *root, const char *dev, bool wait)
{
	json_object *plan = json_at(root, "plan");
	u64 after = json_number_at(plan, "redundancy.after");

	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		print_plan(plan, dev);
	else if (wait)
		ctl_say(ctl, "%s is online; the pool survives the loss of %" PRIu64 " leg(s)",
			dev, after);
	else
		ctl_say(ctl, "%s resilvers; then the pool survives the loss of %" PRIu64
			" leg(s). kvpoolctl wait -t resilver %s waits for that", dev, after,
			json_text_at(plan, "pool"));
}

/* --- the run ------------------------------------------------------------------------------ */

static bool is_back(const struct order *o)
{
	struct stats now;
	bool back;

	if (stats_load(o->e->name, &now, NULL))
		return false;
	back = is_state(&now, o->leg, "resilvering") || is_state(&now, o->leg, "online");
	stats_free(&now);
	return back;
}

static int execute(struct ctl *ctl, const struct order *o, struct err *err)
{
	struct table_change c = { o->e->name, o->old, *o->without ? o->without : NULL, o->table,
				  o->sectors };
	char message[64];
	int ret = o->connect ? table_switch(ctl, &c, err) : 0;

	snprintf(message, sizeof(message), "online %s", stats_text(o->s, "leg.%u.uuid", o->leg));
	if (ret || !dm_message(o->e->name, message, NULL, err))
		return ret;
	/* a leg that a new table connects comes online by itself, and may have been first */
	return o->connect && is_back(o) ? 0 : -1;
}

int resilver_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		    unsigned int leg, const char *dev, bool wait, bool force)
{
	struct order *o = calloc(1, sizeof(*o));
	json_object *plan;
	struct err err;
	int ret;

	if (!o)
		abort();
	*o = (struct order){ .e = e, .s = s, .leg = leg, .dev = dev,
			     .force = force };
	ret = check_leg(o, wait, &err);
	if (!ret) {
		plan = plan_object(o);
		if (!ctl->dry_run && !is_state(s, leg, "resilvering"))
			ret = execute(ctl, o, &err);
		if (!ret && !ctl->dry_run && wait)
			ret = resilver_wait(ctl, e->name, stats_text(s, "leg.%u.uuid", leg), &err);
		if (!ret)
			report(ctl, plan, dev, wait);
		json_object_put(plan);
	}
	free(o);
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

static bool is_waited(const struct waited *w, const char *uuid)
{
	unsigned int i;

	for (i = 0; i < w->count; i++)
		if (!strcmp(w->uuid[i], uuid))
			return true;
	return false;
}

/* The leg @uuid, or all that resilver: some may join while others are waited for. */
static void note_legs(const struct stats *s, const char *uuid, struct waited *w)
{
	const char *leg;
	unsigned int i;

	for (i = 0; i < KVP_MAX_LEGS && (leg = stats_text(s, "leg.%u.uuid", i)); i++)
		if ((uuid ? !strcmp(leg, uuid) : is_state(s, i, "resilvering")) &&
		    !is_waited(w, leg) && w->count < KVP_MAX_LEGS)
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

static bool any_resilvers(const struct stats *s, const char *uuid, const struct waited *w)
{
	const char *state = stats_text(s, "resilver.state");
	unsigned int i, leg;

	/* also of legs that are about to begin */
	if (!uuid && state && !strcmp(state, "running"))
		return true;
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
			       "it is %.32s, and not in sync",
			       state ?: "no leg of the pool any more");
	}
	return 0;
}

int resilver_wait(struct ctl *ctl, const char *pool, const char *uuid, struct err *err)
{
	struct waited w = { .count = 0 };
	struct pace pace = { .first = 0 };
	struct stats s;
	int ret;

	pool_unlock();
	if (stats_load(pool, &s, err))
		return -1;
	note_legs(&s, uuid, &w);
	while (any_resilvers(&s, uuid, &w)) {
		progress(ctl, &s, &pace);
		stats_free(&s);
		usleep(POLL_US);
		if (stats_load(pool, &s, err))
			return -1;
		note_legs(&s, uuid, &w);
	}
	ctl_progress(ctl, "resilver", 0, 0);
	ret = judge(pool, &s, &w, err);
	stats_free(&s);
	return ret;
}
