// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "legs.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "replaced.h"
#include "resilver.h"
#include "shadow.h"

#define POLL_US		200000
#define SETTLES		50	/* polls: the pool takes a leg out, or back, by itself meanwhile */

static const char *leg_text(const struct stats *s, unsigned int leg, const char *key)
{
	char name[32];

	snprintf(name, sizeof(name), "leg.%%u.%s", key);
	return stats_text(s, name, leg) ?: "";
}

static bool is_in(const struct stats *s, unsigned int leg, const char *state)
{
	return !strcmp(leg_text(s, leg, "state"), state);
}

/* How to name it to the user, and in an order. */
static const char *leg_name(const struct stats *s, unsigned int leg, char buf[PATH_MAX])
{
	const char *path = leg_text(s, leg, "path");

	if (*path && strcmp(path, "-"))
		return leg_path(path, buf, PATH_MAX);
	snprintf(buf, PATH_MAX, "%s", leg_text(s, leg, "uuid"));
	return buf;
}

bool replaced_find(const struct stats *s, unsigned int from, struct replaced_pair *pair)
{
	const char *uuid;
	unsigned int i;

	for (pair->new = from; pair->new < KVP_MAX_LEGS; pair->new++) {
		uuid = leg_text(s, pair->new, "replaces");
		for (i = 0; *uuid && i < KVP_MAX_LEGS; i++) {
			pair->old = i;
			if (!strcmp(leg_text(s, i, "uuid"), uuid))
				return true;
		}
	}
	return false;
}

enum replaced_state replaced_state(const struct stats *s, const struct replaced_pair *pair)
{
	if (is_in(s, pair->new, "resilvering"))
		return REPLACED_RUNS;
	if (!is_in(s, pair->new, "online"))
		return REPLACED_STOPPED;
	/* One that is not connected may be missing, and out by order. */
	return stats_number(s, "leg.%u.by_order", pair->old) ? REPLACED_LEFT : REPLACED_WAITS;
}

const char *replaced_mend(const struct dm_entry *e, const struct stats *s,
			  const struct replaced_pair *pair, char buf[REPLACED_MEND])
{
	const char *name = e->name;
	bool missing = is_in(s, pair->new, "missing");
	char new[PATH_MAX];

	leg_name(s, pair->new, new);
	switch (replaced_state(s, pair)) {
	case REPLACED_RUNS:
		snprintf(buf, REPLACED_MEND, "kvpoolctl wait -t replace %.64s waits for that; "
			 "kvpoolctl cancel %.64s replace undoes it", name, name);
		break;
	case REPLACED_STOPPED:
		snprintf(buf, REPLACED_MEND, "%skvpoolctl online --wait %.64s %.120s goes on; "
			 "kvpoolctl cancel %.64s replace undoes it",
			 missing ? "connect it, then " : "", name,
			 missing ? "DEV" : path_whole(new, 120), name);
		break;
	case REPLACED_LEFT:
		snprintf(buf, REPLACED_MEND, "kvpoolctl wait -t replace %.64s ends that", name);
		break;
	case REPLACED_WAITS:
		snprintf(buf, REPLACED_MEND, "bring the leg of the mirror that is out online, or "
			 "detach it; then kvpoolctl wait -t replace %.64s", name);
		break;
	}
	return buf;
}

/* --- waiting -------------------------------------------------------------------------------- */

static int stopped(const struct dm_entry *e, const struct stats *s,
		   const struct replaced_pair *pair,
		   struct err *err)
{
	char mend[REPLACED_MEND], new[PATH_MAX], old[PATH_MAX];

	return err_set(err, ERR_FAILED, leg_name(s, pair->new, new),
		       replaced_mend(e, s, pair, mend),
		       "it is %s, and %s, which it is to replace, stays in use",
		       leg_text(s, pair->new, "state"), leg_name(s, pair->old, old));
}

static int waits(const struct dm_entry *e, const struct stats *s, const struct replaced_pair *pair,
		 struct err *err)
{
	char mend[REPLACED_MEND], new[PATH_MAX], old[PATH_MAX];

	return err_set(err, ERR_FAILED, leg_name(s, pair->old, old),
		       replaced_mend(e, s, pair, mend),
		       "%s is in sync in its place, but it stays, as another leg of the mirror is "
		       "out",
		       leg_name(s, pair->new, new));
}

/* Detach leg @old. The monitor may be faster: after an error, look whether the leg has left. */
static int detach(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		  unsigned int old, struct err *err)
{
	char uuid[UUID_BUF], name[PATH_MAX];
	struct legs_order o = { .e = e, .s = s, .leg = old, .name = leg_name(s, old, name) };
	struct stats now;
	unsigned int i;
	bool there = false;

	snprintf(uuid, sizeof(uuid), "%s", leg_text(s, old, "uuid"));
	if (!legs_detach(ctl, &o, err))
		return 0;
	if (stats_load(e->name, &now, NULL))
		return -1;
	for (i = 0; i < KVP_MAX_LEGS; i++)
		there |= !strcmp(leg_text(&now, i, "uuid"), uuid);
	stats_free(&now);
	return there ? -1 : 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

/*
 * End one replacement: the new device has everything, or the old leg was lost. @resilvers is set if
 * the new one then makes what is missing there. 1: one has ended; 0: there is none to end.
 */
static int end_one(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		   bool *resilvers, struct err *err)
{
	struct replaced_pair p;
	unsigned int i;

	/* While there is a shadow, no leg can be detached. */
	if (shadow_is_there(s)) {
		if (shadow_state(s) != REPLACED_LEFT)
			return 0;
		*resilvers = strcmp(stats_text(s, "shadow.state") ?: "", "online");
		return shadow_end(ctl, e, s, err) ? -1 : 1;
	}
	for (i = 0; replaced_find(s, i, &p); i = p.new + 1)
		if (replaced_state(s, &p) == REPLACED_LEFT)
			return detach(ctl, e, s, p.old, err) ? -1 : 1;
	return 0;
}

static void list_pair(json_object *list, const char *old, const char *new)
{
	json_object *pair = json_item(list);

	json_text(pair, "old", old);
	json_text(pair, "new", new);
}

/* The leg that the shadow is to replace. */
static unsigned int shadowed(const struct stats *s)
{
	unsigned int i = 0;

	while (i < KVP_MAX_LEGS && !shadow_replaces(s, i))
		i++;
	return i;
}

void replaced_list(const struct stats *s, json_object *list)
{
	char old[PATH_MAX], new[PATH_MAX];
	struct replaced_pair p;
	unsigned int i;

	if (shadow_is_there(s)) {
		if (shadow_state(s) == REPLACED_LEFT)
			list_pair(list, leg_name(s, shadowed(s), old),
				  leg_path(stats_text(s, "shadow.path") ?: "-", new, sizeof(new)));
		return;
	}
	for (i = 0; replaced_find(s, i, &p); i = p.new + 1)
		if (replaced_state(s, &p) == REPLACED_LEFT)
			list_pair(list, leg_name(s, p.old, old), leg_name(s, p.new, new));
}

/* Asks the pool with its lock: what was seen without may have changed. */
static int end_locked(struct ctl *ctl, const struct dm_entry *e, bool *resilvers, struct err *err)
{
	struct stats s;
	int ret = -1;

	if (pool_lock(ctl, e->uuid, err))
		return -1;
	if (!stats_load(e->name, &s, err)) {
		ret = end_one(ctl, e, &s, resilvers, err);
		stats_free(&s);
	}
	pool_unlock();
	return ret;
}

int replaced_end(struct ctl *ctl, const struct dm_entry *e, struct err *err)
{
	bool resilvers;
	int i, ret = 1;

	for (i = 0; ret == 1 && i < KVP_MAX_LEGS; i++)
		ret = end_locked(ctl, e, &resilvers, err);
	return ret < 0 ? -1 : 0;
}

/* Names the leg of a mirror that has left, "": there is none. */
static void find_left(const char *pool, char name[PATH_MAX])
{
	struct replaced_pair p;
	char buf[PATH_MAX];
	struct stats s;
	unsigned int i;

	*name = 0;
	if (stats_load(pool, &s, NULL))
		return;
	for (i = 0; !*name && !shadow_is_there(&s) && replaced_find(&s, i, &p); i = p.new + 1)
		if (replaced_state(&s, &p) == REPLACED_LEFT)
			snprintf(name, PATH_MAX, "%s", leg_name(&s, p.old, buf));
	stats_free(&s);
}

void replaced_settle(struct ctl *ctl, const char *uuid)
{
	char old[PATH_MAX];
	struct dm_entry e;
	struct err err;

	if (dm_find(uuid, &e, NULL) || e.readonly)
		return;
	find_left(e.name, old);
	if (!*old)
		return;
	if (!replaced_end(ctl, &e, &err))
		ctl_say(ctl, "detached %s, whose place another leg has", old);
	else if (!ctl->quiet)
		fprintf(stderr, "kvpoolctl: note: %s was replaced, and is still in the table: %s: "
			"%s; then kvpoolctl wait -t replace %s\n", old, err.why, err.mend, e.name);
}

/* --- looking ---------------------------------------------------------------------------------- */

#define CAN_END		2	/* of look() */

/* Did no leg resilver in the last looks? Then none is about to begin. */
static bool stands(const struct stats *s, unsigned int *settles)
{
	const char *state = stats_text(s, "resilver.state");

	*settles = state && !strcmp(state, "running") ? 0 : *settles + 1;
	return *settles > SETTLES;
}

/*
 * Returns 1: look again. A shadow comes before all others: while there is one, no leg can be
 * detached. The shadow may wait for its leg, which has returned, or is about to return.
 */
static int look_at_shadow(const struct dm_entry *e, const struct stats *s, unsigned int *settles,
			  struct err *err)
{
	switch (shadow_state(s)) {
	case REPLACED_LEFT:
		return CAN_END;
	case REPLACED_STOPPED:
		return shadow_stopped(e, s, err);
	case REPLACED_WAITS:
		return stands(s, settles) ? shadow_waits(e, s, err) : 1;
	default:
		return 1;
	}
}

/* 1: look again; CAN_END; 0: all have ended. */
static int look(const struct dm_entry *e, const struct stats *s, unsigned int *settles,
		struct err *err)
{
	struct replaced_pair p, waiting;
	bool any = false, waits_for_other = false;
	unsigned int i;

	if (shadow_is_there(s))
		return look_at_shadow(e, s, settles, err);
	for (i = 0; replaced_find(s, i, &p); i = p.new + 1) {
		any = true;
		switch (replaced_state(s, &p)) {
		case REPLACED_LEFT:
			return CAN_END;
		case REPLACED_STOPPED:
			return stopped(e, s, &p, err);
		case REPLACED_WAITS:
			waits_for_other = true;
			waiting = p;
			break;
		case REPLACED_RUNS:
			break;
		}
	}
	if (waits_for_other && stands(s, settles))
		return waits(e, s, &waiting, err);
	return any;
}

/* If the old leg was lost, the new one resilvers then: wait for that. */
static int end_and_wait(struct ctl *ctl, const struct dm_entry *e, struct err *err)
{
	bool resilvers = false;
	int ret = end_locked(ctl, e, &resilvers, err);

	if (ret < 0 || !resilvers)
		return ret < 0 ? -1 : 1;
	return resilver_wait(ctl, e->name, NULL, err) ? -1 : 1;
}

int replaced_wait(struct ctl *ctl, const struct dm_entry *e, struct err *err)
{
	unsigned int settles = 0;
	struct stats s;
	int ret;

	pool_unlock();
	for (;;) {
		if (stats_load(e->name, &s, err))
			return -1;
		ret = look(e, &s, &settles, err);
		if (ret == 1)
			ctl_progress(ctl, "replace", stats_number(&s, "resilver.done"),
				     stats_number(&s, "resilver.total"));
		stats_free(&s);
		if (ret == CAN_END)
			ret = end_and_wait(ctl, e, err);
		if (ret != 1)
			break;
		usleep(POLL_US);
	}
	ctl_progress(ctl, "", 0, 0);
	return ret;
}

/* --- undo ----------------------------------------------------------------------------------- */

static int cancel_one(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		      const struct replaced_pair *p)
{
	char mend[300], new[PATH_MAX], old[PATH_MAX];
	struct legs_order o = { .e = e, .s = s, .leg = p->new, .name = leg_name(s, p->new, new) };
	struct err err;

	if (replaced_state(s, p) != REPLACED_LEFT)
		return legs_change(ctl, &o);
	leg_name(s, p->old, old);
	snprintf(mend, sizeof(mend), "kvpoolctl wait -t replace %.64s ends it; attach %.160s again "
		 "then",
		 e->name, path_whole(old, 160));
	err_set(&err, ERR_REFUSED, e->name, mend, "%s has left already, as %s is in sync in its "
		"place",
		old, new);
	return ctl_fail(ctl, &err);
}

int replaced_cancel(struct ctl *ctl, const struct dm_entry *e)
{
	struct replaced_pair p;
	struct stats s;
	struct err err;
	int ret;

	if (stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	if (e->readonly) {
		err_set(&err, ERR_READ_ONLY, e->name, "export it and import it without --readonly",
			"it was imported read-only");
		ret = ctl_fail(ctl, &err);
	} else if (shadow_is_there(&s)) {
		ret = shadow_cancel(ctl, e, &s);
	} else if (replaced_find(&s, 0, &p)) {
		ret = cancel_one(ctl, e, &s, &p);
	} else {
		err_set(&err, ERR_REFUSED, e->name, "see kvpoolctl status",
			"no leg in use is being replaced");
		ret = ctl_fail(ctl, &err);
	}
	stats_free(&s);
	return ret;
}
