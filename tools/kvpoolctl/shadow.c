// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "announce.h"
#include "legs.h"
#include "plan.h"
#include "pool_object.h"
#include "reload.h"
#include "resilver.h"
#include "shadow.h"
#include "spares.h"

#define TABLE_LEN	8192

struct change {
	const struct dm_entry *e;
	const struct stats *s;
	u64 sectors;
	char *params;			/* of the pool's table */
	char before[TABLE_LEN], table[TABLE_LEN];
	char without[TABLE_LEN];	/* if devices in the table have gone, that without them */
};

/* --- how far it is ------------------------------------------------------------------ */

bool shadow_is_there(const struct stats *s)
{
	return stats_text(s, "shadow.uuid");
}

static unsigned int old_leg(const struct stats *s)
{
	return (unsigned int)stats_number(s, "shadow.leg");
}

bool shadow_replaces(const struct stats *s, unsigned int leg)
{
	return shadow_is_there(s) && old_leg(s) == leg;
}

static bool is_in(const char *state, const char *want)
{
	return state && !strcmp(state, want);
}

/* A leg that is stale returns by itself. */
enum replaced_state shadow_state(const struct stats *s)
{
	const char *new = stats_text(s, "shadow.state");
	const char *old = stats_text(s, "leg.%u.state", old_leg(s));

	if (is_in(new, "missing") || is_in(new, "faulted"))
		return REPLACED_STOPPED;
	if (is_in(old, "resilvering") || is_in(old, "stale"))
		return REPLACED_WAITS;
	return is_in(new, "online") || !is_in(old, "online") ? REPLACED_LEFT : REPLACED_RUNS;
}

/* How to name the device to the user, and in an order. */
static const char *new_name(const struct stats *s, char buf[PATH_MAX])
{
	const char *path = stats_text(s, "shadow.path") ?: "-";

	if (*path && strcmp(path, "-"))
		return leg_path(path, buf, PATH_MAX);
	snprintf(buf, PATH_MAX, "%s", stats_text(s, "shadow.uuid") ?: "-");
	return buf;
}

static const char *old_name(const struct stats *s, char buf[PATH_MAX])
{
	const char *path = stats_text(s, "leg.%u.path", old_leg(s)) ?: "-";

	if (*path && strcmp(path, "-"))
		return leg_path(path, buf, PATH_MAX);
	snprintf(buf, PATH_MAX, "%s", stats_text(s, "shadow.replaces") ?: "-");
	return buf;
}

bool shadow_is(const struct stats *s, const char *dev)
{
	const char *uuid = stats_text(s, "shadow.uuid"), *path = stats_text(s, "shadow.path");
	dev_t want = leg_device(dev);

	return uuid && (!strcasecmp(uuid, dev) || !strcmp(path ?: "-", dev) ||
			(want && want == leg_device(path ?: "-")));
}

const char *shadow_mend(const char *pool, const struct stats *s, char buf[REPLACED_MEND])
{
	if (is_in(stats_text(s, "mode"), "ro")) {
		snprintf(buf, REPLACED_MEND, "export it and import it without --readonly");
		return buf;
	}
	switch (shadow_state(s)) {
	case REPLACED_STOPPED:
		snprintf(buf, REPLACED_MEND, "connect it, then kvpoolctl export %.64s and "
			 "kvpoolctl import %.64s go on with it; or kvpoolctl cancel %.64s replace "
			 "undoes it", pool, pool, pool);
		break;
	case REPLACED_LEFT:
		snprintf(buf, REPLACED_MEND, "kvpoolctl wait -t replace %.64s ends that", pool);
		break;
	default:
		snprintf(buf, REPLACED_MEND, "kvpoolctl wait -t replace %.64s; or kvpoolctl cancel "
			 "%.64s replace", pool, pool);
	}
	return buf;
}

int shadow_none(const struct dm_entry *e, const struct stats *s, struct err *err)
{
	char mend[REPLACED_MEND], new[PATH_MAX], old[PATH_MAX];

	if (!shadow_is_there(s))
		return 0;
	return err_set(err, ERR_REFUSED, e->name, shadow_mend(e->name, s, mend),
		       "leg %.200s is being replaced, and %.200s is %.32s", old_name(s, old),
		       new_name(s, new), stats_text(s, "shadow.state") ?: "-");
}

int shadow_check_none(const struct dm_entry *e, struct err *err)
{
	struct stats s;
	int ret;

	if (stats_load(e->name, &s, err))
		return -1;
	ret = shadow_none(e, &s, err);
	stats_free(&s);
	return ret;
}

int shadow_stopped(const struct dm_entry *e, const struct stats *s, struct err *err)
{
	const char *state = stats_text(s, "shadow.state");
	char mend[REPLACED_MEND], new[PATH_MAX], old[PATH_MAX];

	new_name(s, new);
	return err_set(err, ERR_FAILED, new, shadow_mend(e->name, s, mend),
		       "it is %s, and %.200s, which it is to replace, stays in use", state,
		       old_name(s, old));
}

/*
 * To let the new device take the place would wipe the label of a leg that is connected. It may have
 * what no other has: it stays out if it was written in another history.
 */
int shadow_waits(const struct dm_entry *e, const struct stats *s, struct err *err)
{
	bool stale = is_in(stats_text(s, "leg.%u.state", old_leg(s)), "stale");
	char mend[REPLACED_MEND], new[PATH_MAX], old[PATH_MAX];

	old_name(s, old);
	if (stale)
		snprintf(mend, sizeof(mend), "kvpoolctl online --wait %.64s %.120s, then kvpoolctl "
			 "wait -t replace %.64s; or kvpoolctl cancel %.64s replace undoes it",
			 e->name, path_whole(old, 120), e->name, e->name);
	else
		snprintf(mend, sizeof(mend), "see kvpoolctl status %.64s; or kvpoolctl cancel "
			 "%.64s replace undoes it", e->name, e->name);
	return err_set(err, ERR_FAILED, old, mend, stale ?
		       "it is stale, and does not return by itself; %.200s waits for that" :
		       "its resilver stands still; %.200s waits for it to end",
		       new_name(s, new));
}

bool shadow_is_lost(const struct stats *s, unsigned int leg)
{
	const char *old = stats_text(s, "leg.%u.state", leg);

	return shadow_replaces(s, leg) && shadow_state(s) == REPLACED_STOPPED &&
	       !is_in(old, "online") && !is_in(old, "resilvering");
}

/* --- tables ------------------------------------------------------------------------- */

static int unreadable(const struct change *c, struct err *err)
{
	return err_set(err, ERR_KERNEL, c->e->name, "see dmsetup table", "its table is unreadable");
}

static int begin(struct change *c, const struct dm_entry *e, const struct stats *s,
		 struct err *err)
{
	c->e = e;
	c->s = s;
	if (e->readonly)
		return err_set(err, ERR_READ_ONLY, e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	return dm_table(e->name, &c->sectors, &c->params, err);
}

/* A device that has gone is let go of first: a new one may have the same name. */
static int write_tables(struct change *c, const char *options, const char *vdevs, struct err *err)
{
	char held[64], text[TABLE_LEN - 320], words[80];
	bool gone = false;
	unsigned int i;

	snprintf(c->table, sizeof(c->table), "%s %s%s", c->e->uuid, options, vdevs);
	table_again(c->e->uuid, c->params, c->before, sizeof(c->before));
	for (i = 0; table_leg(table_vdevs(c->params), i, held, sizeof(held)); i++)
		gone |= !resilver_is_ssd(c->s, i) && table_device_gone(held);
	if (!gone)
		return 0;
	if (!legs_table(c->s, c->params, LEGS_NONE, LEGS_NONE, 0, table_device_gone, text,
			sizeof(text)))
		return unreadable(c, err);
	table_options(c->params, "", words, sizeof(words));
	snprintf(c->without, sizeof(c->without), "%s %s%s", c->e->uuid, words, text);
	return 0;
}

/* A table with all legs as they are. */
static int write_same_legs(struct change *c, const char *options, struct err *err)
{
	char text[TABLE_LEN - 320];

	if (!legs_table(c->s, c->params, LEGS_NONE, LEGS_NONE, 0, table_device_gone, text,
			sizeof(text)))
		return unreadable(c, err);
	return write_tables(c, options, text, err);
}

/* Change the table; @wiped: a device that has no label any more then, or 0. */
static int change_table(struct ctl *ctl, const struct change *c, dev_t wiped, struct err *err)
{
	struct table_change t = { c->e->name, c->before, *c->without ? c->without : NULL, c->table,
				  c->sectors };
	int ret = table_switch(ctl, &t, err);

	if (wiped)
		announce_left(wiped);
	return ret;
}

static struct change *new_change(void)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	return c;
}

static void change_free(struct change *c)
{
	free(c->params);
	free(c);
}

/* --- it begins ---------------------------------------------------------------------- */

static int make_plan(struct change *c, struct plan *plan, const struct replace_order *o,
		     struct err *err)
{
	struct kvp_geometry cache;
	char options[160];
	bool logs_there;
	dev_t rdev;

	if (shadow_none(o->e, o->s, err) || begin(c, o->e, o->s, err))
		return -1;
	plan->name = o->e->name;
	plan->force = o->force;
	plan->takes_spare = true;
	snprintf(plan->uuid, sizeof(plan->uuid), "%s", o->e->uuid);
	if (plan_pool(plan, o->s, &cache, &logs_there, err) ||
	    plan_replace(plan, o->leg, o->new, err))
		return -1;
	rdev = plan->legs[plan->first_leg].dev.rdev;
	snprintf(options, sizeof(options), "3 replace replaces=%s shadow=%u:%u",
		 stats_text(o->s, "leg.%u.uuid", o->leg), major(rdev), minor(rdev));
	return write_same_legs(c, options, err);
}

static json_object *plan_json(const struct change *c, const char *action, const char *leg,
			      const char *new)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char table[TABLE_LEN + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", c->sectors, c->table);
	json_text(plan, "action", action);
	json_text(plan, "pool", c->e->name);
	json_text(plan, "uuid", c->e->uuid);
	json_text(plan, "leg", leg);
	json_text(plan, "new", new);
	json_redundancy(plan, stats_losses(c->s), stats_losses(c->s));
	json_text(plan, "log_on", NULL);
	json_text(plan, "table", table);
	return root;
}

static void print_survives(const struct change *c, json_object *root)
{
	printf("survives  loss of %d leg(s) then, now %d\ntable     %s\n", stats_losses(c->s),
	       stats_losses(c->s), json_text_at(root, "plan.table"));
}

static void report(struct ctl *ctl, const struct change *c, const struct replace_order *o,
		   json_object *root)
{
	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else if (ctl->dry_run) {
		printf("would replace %s by %s in pool %s\ncopies    all that was written there; "
		       "then %s leaves\n", o->old, o->new, o->e->name, o->old);
		print_survives(c, root);
	} else if (o->wait) {
		ctl_say(ctl, "%s took the place of %s, which is no leg of pool %s any more", o->new,
			o->old, o->e->name);
	} else {
		ctl_say(ctl, "%s resilvers beside %s, which stays in use until that ends, and then "
			"leaves. kvpoolctl wait -t replace %s waits for that; kvpoolctl cancel %s "
			"replace undoes it", o->new, o->old, o->e->name, o->e->name);
	}
}

static int execute(struct ctl *ctl, const struct change *c, struct plan *plan,
		   const struct replace_order *o, struct err *err)
{
	int ret = plan_wipe(plan, err);
	char why[sizeof(err->why)];

	plan_close(plan);
	if (!ret)
		ret = change_table(ctl, c, 0, err);
	announce_joined(plan->legs[plan->first_leg].dev.rdev);
	if (!ret)
		return o->wait ? replaced_wait(ctl, o->e, err) : 0;
	/* A refusal would say that nothing was changed. */
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.340s (the pool has the legs that it had; first and last MiB "
		 "of the new device may be overwritten)", err->why);
	memcpy(err->why, why, sizeof(why));
	return -1;
}

int shadow_replace(struct ctl *ctl, const struct replace_order *o)
{
	struct change *c = new_change();
	struct plan *plan = calloc(1, sizeof(*plan));
	json_object *root;
	struct err err;
	int ret;

	if (!plan)
		abort();
	ret = make_plan(c, plan, o, &err);
	if (!ret) {
		plan_note_alignment(ctl, plan);
		root = plan_json(c, "replace", stats_text(o->s, "leg.%u.uuid", o->leg),
				 plan->legs[plan->first_leg].dev.path);
		if (!ctl->dry_run)
			ret = execute(ctl, c, plan, o, &err);
		if (!ret)
			report(ctl, c, o, root);
		json_object_put(root);
	}
	plan_close(plan);
	free(plan);
	change_free(c);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

/* --- it ends ------------------------------------------------------------------------ */

/* 0: the device of the leg is not there. */
static dev_t old_device(const struct change *c)
{
	const char *path = stats_text(c->s, "leg.%u.path", old_leg(c->s));
	dev_t rdev = path ? leg_device(path) : 0;

	return rdev && table_holds(c->params, rdev) ? rdev : 0;
}

/* The monitor may be faster, or a command beside this one. */
static bool is_gone(const struct dm_entry *e)
{
	struct stats now;
	bool gone;

	if (stats_load(e->name, &now, NULL))
		return false;
	gone = !shadow_is_there(&now);
	stats_free(&now);
	return gone;
}

int shadow_end(struct ctl *ctl, const struct dm_entry *e, const struct stats *s, struct err *err)
{
	struct change *c = new_change();
	char text[TABLE_LEN - 320];
	int ret = begin(c, e, s, err);
	dev_t rdev = ret ? 0 : table_shadow(c->params);

	if (!ret && !rdev)
		ret = err_set(err, ERR_KERNEL, e->name, "see dmsetup table",
			      "its table has no device that is to take the place of a leg");
	if (!ret && !replace_table(s, old_leg(s), rdev, c->params, table_device_gone, text,
				   sizeof(text)))
		ret = unreadable(c, err);
	if (!ret)
		ret = write_tables(c, "1 replace", text, err);
	if (!ret)
		ret = change_table(ctl, c, old_device(c), err);
	if (!ret)
		device_announce(rdev);
	change_free(c);
	return ret && !is_gone(e) ? -1 : 0;
}

/* --- it is cancelled ---------------------------------------------------------------- */

static void report_cancelled(struct ctl *ctl, const struct change *c, json_object *root)
{
	char new[PATH_MAX];

	new_name(c->s, new);
	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else if (ctl->dry_run) {
		printf("would detach %s from pool %s, and wipe its label\n", new, c->e->name);
		print_survives(c, root);
	} else {
		ctl_say(ctl, "%s is no leg of pool %s any more; the pool survives the loss of %d "
			"leg(s)", new, c->e->name, stats_losses(c->s));
	}
}

int shadow_forget(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		  struct err *err)
{
	struct change *c = new_change();
	int ret = begin(c, e, s, err) || write_same_legs(c, "2 replace shadow=-", err) ||
		  change_table(ctl, c, table_shadow(c->params), err);

	change_free(c);
	return ret ? -1 : 0;
}

int shadow_cancel(struct ctl *ctl, const struct dm_entry *e, const struct stats *s)
{
	struct change *c = new_change();
	json_object *root;
	struct err err;
	int ret = begin(c, e, s, &err) || write_same_legs(c, "2 replace shadow=-", &err);

	if (!ret) {
		root = plan_json(c, "detach", stats_text(s, "shadow.uuid"), NULL);
		if (!ctl->dry_run)
			ret = change_table(ctl, c, table_shadow(c->params), &err);
		if (!ret)
			report_cancelled(ctl, c, root);
		json_object_put(root);
	}
	change_free(c);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}
