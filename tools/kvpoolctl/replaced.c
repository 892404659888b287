// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "legs.h"
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
			 missing ? "connect it, then " : "", name, missing ? "DEV" : new, name);
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

/* Let the shadow take the place. If the leg was lost, the new leg resilvers: wait for that. */
static int end_and_wait(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
			struct err *err)
{
	bool whole = !strcmp(stats_text(s, "shadow.state"), "online");

	if (shadow_end(ctl, e, s, err))
		return -1;
	return !whole && resilver_wait(ctl, e->name, NULL, err) ? -1 : 1;
}

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
static int look_at_shadow(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
			  unsigned int *settles, struct err *err)
{
	switch (shadow_state(s)) {
	case REPLACED_LEFT:
		return end_and_wait(ctl, e, s, err);
	case REPLACED_STOPPED:
		return shadow_stopped(e, s, err);
	case REPLACED_WAITS:
		return stands(s, settles) ? shadow_waits(e, s, err) : 1;
	default:
		return 1;
	}
}

/* 1: look again; 0: all have ended. */
static int look(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		unsigned int *settles, struct err *err)
{
	struct replaced_pair p, waiting;
	bool any = false, waits_for_other = false;
	unsigned int i;

	if (shadow_is_there(s))
		return look_at_shadow(ctl, e, s, settles, err);
	for (i = 0; replaced_find(s, i, &p); i = p.new + 1) {
		any = true;
		switch (replaced_state(s, &p)) {
		case REPLACED_LEFT:
			return detach(ctl, e, s, p.old, err) ? -1 : 1;
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

int replaced_wait(struct ctl *ctl, const struct dm_entry *e, struct err *err)
{
	unsigned int settles = 0;
	struct stats s;
	int ret;

	for (;;) {
		if (stats_load(e->name, &s, err))
			return -1;
		ret = look(ctl, e, &s, &settles, err);
		if (ret == 1)
			ctl_progress(ctl, "replace", stats_number(&s, "resilver.done"),
				     stats_number(&s, "resilver.total"));
		stats_free(&s);
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
	char mend[256], new[PATH_MAX], old[PATH_MAX];
	struct legs_order o = { .e = e, .s = s, .leg = p->new, .name = leg_name(s, p->new, new) };
	struct err err;

	if (replaced_state(s, p) != REPLACED_LEFT)
		return legs_change(ctl, &o);
	leg_name(s, p->old, old);
	snprintf(mend, sizeof(mend), "kvpoolctl wait -t replace %.64s ends it; attach %.60s again "
		 "then",
		 e->name, old);
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
