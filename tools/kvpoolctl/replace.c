// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "announce.h"
#include "foreign.h"
#include "plan.h"
#include "pool_object.h"
#include "reload.h"
#include "resilver.h"
#include "reused.h"
#include "shadow.h"
#include "spares.h"
#include "replace.h"

#define TABLE_LEN	8192

struct change {
	const struct replace_order *o;
	struct plan plan;		/* of the new device */
	u64 sectors;
	char *params;			/* of the pool's table */
	dev_t old;			/* the device of the old leg, if it is there; else 0 */
	char before[TABLE_LEN], table[TABLE_LEN];
	char without[TABLE_LEN];	/* if devices in the table have gone, that without them */
	char reused[SIGNATURE_TYPE];	/* the old device carries it, so its label stays */
	bool ends_shadow;		/* another device was to replace the leg, and is lost */
};

/* --- tables ------------------------------------------------------------------------- */

/*
 * The word of a leg with data that stays: the numbers of its device, if the table holds that. A leg
 * that is out may have no device, or one that cannot be opened again.
 */
void replace_leg_word(const struct stats *s, unsigned int leg, const char *params,
		      bool (*gone)(const char *word), char word[64])
{
	const char *path = stats_text(s, "leg.%u.path", leg);
	const char *state = stats_text(s, "leg.%u.state", leg);
	dev_t rdev = path ? leg_device(path) : 0;

	if (rdev && table_holds(params, rdev))
		snprintf(word, 64, "%u:%u", major(rdev), minor(rdev));
	else if (!state || strcmp(state, "online") ||
		 !table_leg(table_vdevs(params), leg, word, 64) || gone(word))
		snprintf(word, 64, "-");
}

bool replace_table(const struct stats *s, unsigned int leg, dev_t rdev, const char *params,
		   bool (*gone)(const char *word), char *buf, size_t size)
{
	const char *at = table_vdevs(params);
	const char *cache = at ? table_cache(at) : NULL;
	unsigned int i = 0, legs;
	char word[64], kind[32];
	size_t n = 0;
	int used;

	if (!at)
		return false;
	*buf = 0;
	while (at != cache && sscanf(at, " %31s %u%n", kind, &legs, &used) == 2) {
		at += used;
		n += n < size ? (size_t)snprintf(buf + n, size - n, " %s %u", kind, legs) : 0;
		for (; legs && sscanf(at, " %63s%n", word, &used) == 1; legs--, i++) {
			at += used;
			if (i != leg)
				replace_leg_word(s, i, params, gone, word);
			else if (rdev)
				snprintf(word, sizeof(word), "%u:%u", major(rdev), minor(rdev));
			else
				snprintf(word, sizeof(word), "-");
			n += n < size ? (size_t)snprintf(buf + n, size - n, " %s", word) : 0;
		}
	}
	if (cache && n < size)
		n += (size_t)snprintf(buf + n, size - n, "%s", cache);
	return n < size && leg < i;
}

/* The device of the old leg whose label is to be wiped; 0: it has none, or got another use. */
static dev_t find_old(struct change *c)
{
	const char *path = stats_text(c->o->s, "leg.%u.path", c->o->leg);
	dev_t old = path ? leg_device(path) : 0;

	if (!old || !table_holds(c->params, old) || reused_leg(c->o->s, c->o->leg, c->reused))
		return 0;
	return old;
}

/*
 * A device that has gone is let go of first: the new one may have the same name, and device-mapper
 * cannot hold two of one name. One that is there stays in the table, so that its label is wiped. If
 * it has got another use since it left, it is let go of as well.
 */
static int write_tables(struct change *c, struct err *err)
{
	char text[TABLE_LEN - 256], held[64], options[80];
	dev_t rdev = c->plan.legs[c->plan.first_leg].dev.rdev;
	bool gone;
	unsigned int i;

	if (!replace_table(c->o->s, c->o->leg, rdev, c->params, table_device_gone, text,
			   sizeof(text)))
		return err_set(err, ERR_KERNEL, c->o->e->name, "see dmsetup table",
			       "its table is unreadable");
	if (c->ends_shadow)
		snprintf(options, sizeof(options), "1 replace");
	else
		table_options(c->params, "replace", options, sizeof(options));
	snprintf(c->table, sizeof(c->table), "%s %s%s", c->o->e->uuid, options, text);
	table_again(c->o->e->uuid, c->params, c->before, sizeof(c->before));
	c->old = find_old(c);
	gone = *c->reused;
	for (i = 0; table_leg(table_vdevs(c->params), i, held, sizeof(held)); i++)
		gone |= !resilver_is_ssd(c->o->s, i) && table_device_gone(held);
	if (!gone)
		return 0;
	if (!replace_table(c->o->s, c->o->leg, c->old, c->params, table_device_gone, text,
			   sizeof(text)))
		return err_set(err, ERR_KERNEL, c->o->e->name, "see dmsetup table",
			       "its table is unreadable");
	table_options(c->params, "", options, sizeof(options));
	snprintf(c->without, sizeof(c->without), "%s %s%s", c->o->e->uuid, options, text);
	return 0;
}

/* --- the plan ----------------------------------------------------------------------- */

int replace_check(const struct replace_order *o, struct err *err)
{
	const char *state = stats_text(o->s, "leg.%u.state", o->leg);
	char mend[400];

	if (o->e->readonly)
		return err_set(err, ERR_READ_ONLY, o->e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (shadow_replaces(o->s, o->leg) && !shadow_is_lost(o->s, o->leg))
		return shadow_none(o->e, o->s, err);
	snprintf(mend, sizeof(mend), "kvpoolctl wait -t resilver %.64s; or kvpoolctl offline %.64s "
		 "%.160s first", o->e->name, o->e->name, path_whole(o->old, 160));
	if (!state || !strcmp(state, "resilvering"))
		return err_set(err, ERR_REFUSED, o->old, mend,
			       "it is resilvering, and this version replaces only legs that are "
			       "out");
	return 0;
}

static int make_plan(struct change *c, struct err *err)
{
	const struct replace_order *o = c->o;
	struct kvp_geometry cache;
	bool logs_there;

	if (replace_check(o, err) || dm_table(o->e->name, &c->sectors, &c->params, err))
		return -1;
	c->ends_shadow = shadow_is_lost(o->s, o->leg);
	c->plan.name = o->e->name;
	c->plan.force = o->force;
	c->plan.takes_spare = true;
	snprintf(c->plan.uuid, sizeof(c->plan.uuid), "%s", o->e->uuid);
	if (plan_pool(&c->plan, o->s, &cache, &logs_there, err) ||
	    plan_replace(&c->plan, o->leg, o->new, err))
		return -1;
	return write_tables(c, err);
}

static json_object *plan_json(const struct change *c)
{
	const struct replace_order *o = c->o;
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char table[TABLE_LEN + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", c->sectors, c->table);
	json_text(plan, "action", "replace");
	json_text(plan, "pool", o->e->name);
	json_text(plan, "uuid", o->e->uuid);
	json_text(plan, "leg", stats_text(o->s, "leg.%u.uuid", o->leg));
	json_text(plan, "new", c->plan.legs[c->plan.first_leg].dev.path);
	json_redundancy(plan, stats_losses(o->s), losses_with_leg(o->s, o->leg));
	json_text(plan, "log_on", NULL);
	json_text(plan, "table", table);
	return root;
}

static void report(struct ctl *ctl, const struct change *c, json_object *root)
{
	json_object *plan = json_at(root, "plan");
	u64 now = json_number_at(plan, "redundancy.before"),
	    then = json_number_at(plan, "redundancy.after");
	const char *new = c->o->new;

	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		printf("would replace %s by %s in pool %s\n%s"
		       "copies    all that was written there\n"
		       "survives  loss of %" PRIu64 " leg(s) then, now %" PRIu64 "\ntable     %s\n",
		       c->o->old, new, c->o->e->name, c->ends_shadow ?
		       "cancels   the order that another device replaces it, which is lost, too\n" :
		       "", then, now, json_text_at(plan, "table"));
	else if (c->o->wait)
		ctl_say(ctl, "%s is online; the pool survives the loss of %" PRIu64 " leg(s)", new,
			then);
	else
		ctl_say(ctl, "%s resilvers in the place of %s; then the pool survives the loss of %"
			PRIu64 " leg(s). kvpoolctl wait -t resilver %s waits for that", new,
			c->o->old, then, c->o->e->name);
}

/* --- the run ------------------------------------------------------------------------ */

/* The new leg comes online by itself, and may have been first. */
int replace_bring_online(const char *pool, unsigned int leg, const char *dev, const char *done,
			 char uuid[UUID_BUF], struct err *err)
{
	const char *known, *state;
	char message[64], why[sizeof(err->why)];
	struct stats s;
	int ret;

	if (stats_load(pool, &s, err))
		return -1;
	known = stats_text(&s, "leg.%u.uuid", leg);
	snprintf(uuid, UUID_BUF, "%s", known ?: "-");
	stats_free(&s);
	snprintf(message, sizeof(message), "online %s", uuid);
	ret = dm_message(pool, message, NULL, err);
	if (!ret)
		return 0;
	snprintf(why, sizeof(why), "%.120s, but does not come online: %.300s", done, err->why);
	if (stats_load(pool, &s, err))
		return -1;
	state = stats_text(&s, "leg.%u.state", leg);
	if (state && (!strcmp(state, "resilvering") || !strcmp(state, "online")))
		ret = 0;
	else
		err_set(err, ERR_FAILED, dev, "see kvpoolctl status", "%s", why);
	stats_free(&s);
	return ret;
}

/*
 * The pool takes no other device for the leg before the order is cancelled. If this ends between
 * the two, the leg is out as before, and the next try goes on.
 */
static int end_shadow(struct ctl *ctl, struct change *c, struct err *err)
{
	const struct dm_entry *e = c->o->e;

	if (!c->ends_shadow)
		return 0;
	free(c->params);
	c->params = NULL;
	*c->without = 0;
	return shadow_forget(ctl, e, c->o->s, err) ||
	       dm_table(e->name, &c->sectors, &c->params, err) || write_tables(c, err) ? -1 : 0;
}

static int switch_table(struct ctl *ctl, const struct change *c, struct err *err)
{
	struct table_change t = { c->o->e->name, c->before, *c->without ? c->without : NULL,
				  c->table, c->sectors };

	return table_switch(ctl, &t, err);
}

static int execute(struct ctl *ctl, struct change *c, struct err *err)
{
	char why[sizeof(err->why)], done[160], uuid[UUID_BUF];
	int ret = plan_wipe(&c->plan, err);

	plan_close(&c->plan);
	if (!ret)
		ret = end_shadow(ctl, c, err) || switch_table(ctl, c, err) ? -1 : 0;
	announce_joined(c->plan.legs[c->plan.first_leg].dev.rdev);
	if (!ret && c->old)
		announce_left(c->old);
	if (!ret && !strcmp(c->reused, FOREIGN_UNKNOWN))
		ctl_say(ctl, "note: %s keeps its label: " FOREIGN_UNSEEN, c->o->old);
	else if (!ret && *c->reused)
		ctl_say(ctl, "note: %s keeps its label: it carries a signature of %s as well",
			c->o->old, c->reused);
	if (ret) {
		/* a refusal would say that nothing was changed */
		if (err_exit(err->code) == EXIT_REFUSED)
			err->code = ERR_FAILED;
		snprintf(why, sizeof(why), "%.340s (the pool has its old leg; first and last MiB "
			 "of the new device may be overwritten)", err->why);
		memcpy(err->why, why, sizeof(why));
		return -1;
	}
	snprintf(done, sizeof(done), "it took the place of %.100s", c->o->old);
	ret = replace_bring_online(c->o->e->name, c->o->leg, c->o->new, done, uuid, err);
	return ret || !c->o->wait ? ret : resilver_wait(ctl, c->o->e->name, uuid, err);
}

int replace_out(struct ctl *ctl, const struct replace_order *o)
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
	plan_close(&c->plan);
	free(c->params);
	free(c);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}
