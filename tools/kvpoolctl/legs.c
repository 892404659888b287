// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "announce.h"
#include "foreign.h"
#include "legs.h"
#include "plan.h"
#include "pool_object.h"
#include "reload.h"
#include "replaced.h"
#include "resilver.h"
#include "shadow.h"
#include "spares.h"
#include "replace.h"

#define TABLE_LEN	8192

struct change {
	const struct legs_order *o;
	unsigned int vdev;
	struct vdev_range range;	/* its legs now */
	struct plan plan;		/* of the new device */
	u64 sectors;
	char *params;			/* of the pool's table */
	dev_t old;		/* the device of the leg that leaves, if it is there; else 0 */
	bool lets_go;		/* of the device of the leg that leaves, which keeps its label */
	int losses;			/* that the pool survives then */
	char before[TABLE_LEN], table[TABLE_LEN];
	char without[TABLE_LEN];	/* if devices in the table have gone, that without them */
};

/* --- tables ------------------------------------------------------------------------- */

/* A text that grows until it does not fit. */
struct text {
	char *buf;
	size_t n, size;
};

static void put(struct text *t, const char *word)
{
	if (t->n < t->size)
		t->n += (size_t)snprintf(t->buf + t->n, t->size - t->n, " %s", word);
}

/* Which of several legs without a device is to leave, "-" does not say. */
static void put_leg(struct text *t, const struct stats *s, unsigned int leg, const char *params,
		    bool uuids, bool (*gone)(const char *word))
{
	const char *uuid = uuids ? stats_text(s, "leg.%u.uuid", leg) : NULL;
	char word[64];

	replace_leg_word(s, leg, params, gone, word);
	put(t, uuid && !strcmp(word, "-") ? uuid : word);
}

bool legs_table(const struct stats *s, const char *params, unsigned int vdev, unsigned int out,
		dev_t rdev, bool (*gone)(const char *word), char *buf, size_t size)
{
	const char *at = table_vdevs(params), *cache = at ? table_cache(at) : NULL;
	struct text t = { buf, 0, size };
	unsigned int v, i = 0, legs, n;
	char word[64], kind[32];
	int used;

	if (!at)
		return false;
	*buf = 0;
	for (v = 0; at != cache && sscanf(at, " %31s %u%n", kind, &legs, &used) == 2; v++) {
		at += used;
		n = legs + (v == vdev && rdev) - (v == vdev && out != LEGS_NONE);
		put(&t, v != vdev ? kind : n == 1 ? "single" : "mirror");
		snprintf(word, sizeof(word), "%u", n);
		put(&t, word);
		for (; legs && sscanf(at, " %63s%n", word, &used) == 1; legs--, i++) {
			at += used;
			if (i != out)
				put_leg(&t, s, i, params, out != LEGS_NONE, gone);
		}
		snprintf(word, sizeof(word), "%u:%u", major(rdev), minor(rdev));
		if (v == vdev && rdev)
			put(&t, word);
	}
	if (cache)
		put(&t, cache + 1);
	return t.n < size && (vdev == LEGS_NONE || vdev < v);
}

/*
 * A device that has gone is let go of first: the new one may have the same name. So is one that
 * leaves and cannot be looked at: it may have got another use, and keeps its label.
 */
static int write_tables(struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;
	dev_t rdev = o->new ? c->plan.legs[c->plan.first_leg].dev.rdev : 0;
	char text[TABLE_LEN - 320], held[64];
	bool gone = false;
	unsigned int i;

	if (!legs_table(o->s, c->params, c->vdev, o->new ? LEGS_NONE : o->leg, rdev,
			table_device_gone, text, sizeof(text)))
		return err_set(err, ERR_KERNEL, o->e->name, "see dmsetup table",
			       "its table is unreadable");
	if (o->replaces)
		snprintf(c->table, sizeof(c->table), "%s 2 replace replaces=%s%s", o->e->uuid,
			 stats_text(o->s, "leg.%u.uuid", o->leg), text);
	else
		snprintf(c->table, sizeof(c->table), "%s 1 replace%s", o->e->uuid, text);
	table_again(o->e->uuid, c->params, c->before, sizeof(c->before));
	for (i = 0; o->new && table_leg(table_vdevs(c->params), i, held, sizeof(held)); i++)
		gone |= !resilver_is_ssd(o->s, i) && table_device_gone(held);
	if ((gone && legs_table(o->s, c->params, LEGS_NONE, LEGS_NONE, 0, table_device_gone, text,
				sizeof(text))) ||
	    (c->lets_go && replace_table(o->s, o->leg, 0, c->params, table_device_gone, text,
					sizeof(text))))
		snprintf(c->without, sizeof(c->without), "%s 0%s", o->e->uuid, text);
	return 0;
}

/* --- the plan ----------------------------------------------------------------------- */

static bool is_online(const struct stats *s, unsigned int leg)
{
	return !strcmp(stats_text(s, "leg.%u.state", leg) ?: "", "online");
}

/* The kind of the vdev that has leg @leg, or NULL. */
static const char *kind_with(const struct stats *s, unsigned int leg, unsigned int *vdev,
			     struct vdev_range *range)
{
	for (*vdev = 0; *vdev < KVP_MAX_VDEVS; ++*vdev) {
		*range = vdev_range(s, *vdev);
		if (leg >= range->first && leg < range->end)
			return stats_text(s, "vdev.%u.kind", *vdev);
	}
	return NULL;
}

static bool is_of_copies(const char *kind)
{
	return kind && (!strcmp(kind, "single") || !strcmp(kind, "mirror"));
}

bool legs_copies(const struct stats *s, unsigned int leg)
{
	struct vdev_range range;
	unsigned int vdev;

	return is_of_copies(kind_with(s, leg, &vdev, &range));
}

static int find_vdev(struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;
	const char *kind = kind_with(o->s, o->leg, &c->vdev, &c->range);

	if (is_of_copies(kind))
		return 0;
	return err_set(err, ERR_REFUSED, o->name, "name a leg of a single or a mirror; kvpoolctl "
		       "add "
		       "gives the pool another vdev", "the number of legs of a %s is fixed",
		       kind ?: "vdev");
}

/* A leg is replaced by one at a time, and no leg that is to replace another. */
static int check_replaced(const struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;
	char mend[REPLACED_MEND];
	struct replaced_pair p;
	unsigned int i;

	for (i = 0; o->replaces && replaced_find(o->s, i, &p); i = p.new + 1)
		if (p.old == o->leg || p.new == o->leg)
			return err_set(err, ERR_REFUSED, o->name,
				       replaced_mend(o->e, o->s, &p, mend), p.old == o->leg ?
				       "it is being replaced already" :
				       "it replaces a leg that has not left yet");
	return 0;
}

static int check_attach(const struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;

	if (check_replaced(c, err))
		return -1;

	if (c->range.end - c->range.first == KVP_MAX_MIRROR_LEGS)
		return err_set(err, ERR_REFUSED, o->name, "detach one first",
			       "a mirror has at most %d legs", KVP_MAX_MIRROR_LEGS);
	if (stats_text(o->s, "leg.%u.state", KVP_MAX_LEGS - 1))
		return err_set(err, ERR_REFUSED, o->name, "detach one first",
			       "the pool has %d legs, and no room for one more", KVP_MAX_LEGS);
	return 0;
}

/* Leg @i of the same mirror is out, so the one in use stays. */
static int must_be_back(const struct legs_order *o, unsigned int i, struct err *err)
{
	const char *path = stats_text(o->s, "leg.%u.path", i) ?: "-";
	bool has_left = false, there = strcmp(path, "-");
	const char *state = stats_text(o->s, "leg.%u.state", i) ?: "out";
	const char *uuid = stats_text(o->s, "leg.%u.uuid", i) ?: "-";
	char mend[512], buf[PATH_MAX];
	struct replaced_pair p;
	unsigned int n;

	path = there ? leg_path(path, buf, sizeof(buf)) : uuid;

	for (n = 0; replaced_find(o->s, n, &p); n = p.new + 1)
		has_left |= p.old == i && replaced_state(o->s, &p) == REPLACED_LEFT;
	if (has_left)
		snprintf(mend, sizeof(mend), "kvpoolctl wait -t replace %.64s detaches that",
			 o->e->name);
	else
		snprintf(mend, sizeof(mend), "%skvpoolctl online --wait %.64s %.120s brings that "
			 "back; or kvpoolctl detach %.64s %.120s first",
			 there ? "" : "connect that; ", o->e->name,
			 there ? path_whole(path, 120) : "DEV",
			 o->e->name, path_whole(path, 120));
	return err_set(err, ERR_REFUSED, o->name, mend, "it is in use, and leg %.200s of its vdev "
		       "is %s", path, state);
}

/* A leg in use leaves only if all others are in sync. */
static int check_detach(const struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;
	unsigned int i;

	if (c->range.end - c->range.first == 1)
		return err_set(err, ERR_LAST_LEG, o->name, "kvpoolctl attach another first",
			       "it is the only leg of its vdev");
	for (i = c->range.first; is_online(o->s, o->leg) && i < c->range.end; i++)
		if (!is_online(o->s, i))
			return must_be_back(o, i, err);
	return 0;
}

static int plan_new(struct change *c, struct err *err)
{
	struct kvp_geometry cache;
	bool logs_there;

	c->plan.name = c->o->e->name;
	c->plan.force = c->o->force;
	c->plan.takes_spare = c->o->replaces;
	snprintf(c->plan.uuid, sizeof(c->plan.uuid), "%s", c->o->e->uuid);
	c->losses = c->o->replaces ? stats_losses(c->o->s) : losses_with_copy(c->o->s, c->vdev);
	return plan_pool(&c->plan, c->o->s, &cache, &logs_there, err) ?:
	       plan_replace(&c->plan, c->o->leg, c->o->new, err);
}

static void note_old(struct change *c)
{
	const char *path = stats_text(c->o->s, "leg.%u.path", c->o->leg);

	c->losses = losses_without_leg(c->o->s, c->o->leg);
	c->old = path ? leg_device(path) : 0;
	if (c->old && !table_holds(c->params, c->old))
		c->old = 0;
	c->lets_go = c->old && c->o->unseen;
	if (c->lets_go)
		c->old = 0;
}

static int make_plan(struct change *c, struct err *err)
{
	const struct legs_order *o = c->o;

	if (o->e->readonly)
		return err_set(err, ERR_READ_ONLY, o->e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (shadow_none(o->e, o->s, err) || find_vdev(c, err) ||
	    (o->new ? check_attach(c, err) : check_detach(c, err)) ||
	    dm_table(o->e->name, &c->sectors, &c->params, err))
		return -1;
	if (!o->new)
		note_old(c);
	else if (plan_new(c, err))
		return -1;
	return write_tables(c, err);
}

static json_object *plan_json(const struct change *c)
{
	const struct legs_order *o = c->o;
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char table[TABLE_LEN + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", c->sectors, c->table);
	json_text(plan, "action", o->replaces ? "replace" : o->new ? "attach" : "detach");
	json_text(plan, "pool", o->e->name);
	json_text(plan, "uuid", o->e->uuid);
	json_text(plan, "leg", stats_text(o->s, "leg.%u.uuid", o->leg));
	json_text(plan, "new", o->new ? c->plan.legs[c->plan.first_leg].dev.path : NULL);
	json_redundancy(plan, stats_losses(o->s), c->losses);
	json_text(plan, "log_on", NULL);
	json_text(plan, "table", table);
	return root;
}

static void print_plan(const struct change *c, json_object *plan)
{
	const struct legs_order *o = c->o;

	if (o->replaces)
		printf("would replace %s by %s in pool %s\ncopies    all that was written there; "
		       "then %s leaves\n", o->name, o->new, o->e->name, o->name);
	else if (o->new)
		printf("would attach %s to %s in pool %s\ncopies    all that was written there\n",
		       o->new, o->name, o->e->name);
	else
		printf("would detach %s from pool %s, and %s\n", o->name, o->e->name, c->lets_go ?
		       "leave its label: " FOREIGN_UNSEEN : "wipe its label");
	printf("survives  loss of %d leg(s) then, now %d\ntable     %s\n", c->losses,
	       stats_losses(o->s), json_text_at(plan, "table"));
}

static void report_replaced(struct ctl *ctl, const struct legs_order *o)
{
	if (o->wait)
		ctl_say(ctl, "%s took the place of %s, which is no leg of pool %s any more", o->new,
			o->name, o->e->name);
	else
		ctl_say(ctl, "%s resilvers beside %s, which stays in use until that ends, and then "
			"leaves. kvpoolctl wait -t replace %s waits for that; kvpoolctl cancel %s "
			"replace undoes it", o->new, o->name, o->e->name, o->e->name);
}

static void report(struct ctl *ctl, const struct change *c, json_object *root)
{
	const struct legs_order *o = c->o;

	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		print_plan(c, json_at(root, "plan"));
	else if (!o->new)
		ctl_say(ctl, "%s is no leg of pool %s any more%s; the pool survives the loss of %d "
			"leg(s)", o->name, o->e->name, c->lets_go ? ", and keeps its label, since "
			FOREIGN_UNSEEN : "", c->losses);
	else if (o->replaces)
		report_replaced(ctl, o);
	else if (o->wait)
		ctl_say(ctl, "%s is online; the pool survives the loss of %d leg(s)", o->new,
			c->losses);
	else
		ctl_say(ctl, "%s resilvers beside %s; then the pool survives the loss of %d "
			"leg(s). kvpoolctl wait -t resilver %s waits for that",
			o->new, o->name, c->losses,
			o->e->name);
}

/* --- the run ------------------------------------------------------------------------ */

/* A refusal would say that nothing was changed. */
static int switch_failed(const struct change *c, struct err *err)
{
	char why[sizeof(err->why)];

	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.340s (the pool has the legs that it had%s)", err->why,
		 c->o->new ? "; first and last MiB of the new device may be overwritten" : "");
	memcpy(err->why, why, sizeof(why));
	return -1;
}

static int execute(struct ctl *ctl, struct change *c, struct err *err)
{
	struct table_change t = { c->o->e->name, c->before, *c->without ? c->without : NULL,
				  c->table, c->sectors };
	int ret = c->o->new ? plan_wipe(&c->plan, err) : 0;
	char uuid[UUID_BUF];

	plan_close(&c->plan);
	if (!ret)
		ret = table_switch(ctl, &t, err);
	if (c->o->new)
		announce_joined(c->plan.legs[c->plan.first_leg].dev.rdev);
	if (!ret && c->old)
		announce_left(c->old);
	if (ret)
		return switch_failed(c, err);
	if (!c->o->new)
		return 0;
	ret = replace_bring_online(c->o->e->name, c->range.end, c->o->new, "it is a leg now",
				   uuid, err);
	if (ret || !c->o->wait)
		return ret;
	return c->o->replaces ? replaced_wait(ctl, c->o->e, err) :
				resilver_wait(ctl, c->o->e->name, uuid, err);
}

static void change_free(struct change *c)
{
	plan_close(&c->plan);
	free(c->params);
	free(c);
}

int legs_detach(struct ctl *ctl, const struct legs_order *o, struct err *err)
{
	struct change *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		abort();
	c->o = o;
	ret = make_plan(c, err);
	if (!ret)
		ret = execute(ctl, c, err);
	change_free(c);
	return ret;
}

int legs_change(struct ctl *ctl, const struct legs_order *o)
{
	struct change *c = calloc(1, sizeof(*c));
	json_object *plan;
	struct err err;
	int ret;

	if (!c)
		abort();
	c->o = o;
	ret = make_plan(c, &err);
	if (!ret) {
		plan_note_alignment(ctl, &c->plan);
		plan = plan_json(c);
		if (!ctl->dry_run)
			ret = execute(ctl, c, &err);
		if (!ret)
			report(ctl, c, plan);
		json_object_put(plan);
	}
	change_free(c);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}
