// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "announce.h"
#include "copies.h"
#include "drain.h"
#include "format/logplace.h"
#include "plan.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "reload.h"
#include "resilver.h"
#include "returned.h"
#include "reused.h"
#include "shadow.h"
#include "spares.h"
#include "ssds.h"

struct ssds_change {
	const struct ssds_order *o;
	struct dm_entry entry;
	u64 sectors;
	char *params;			/* of the pool's table */
	char after[8192];		/* the table with the changed SSDs */
	struct plan plan;		/* of the new SSD */
	struct kvp_geometry cache;
	/* numbers of the devices that the pool holds as its SSDs; "-" if missing */
	char held[KVP_MAX_MIRROR_LEGS][32];
	bool logs_there;		/* the cache carries the log */
	bool drained;			/* it did, and was taken off for this change */
	/* the mode is write-back; if the log is elsewhere, no SSD could take it so far */
	bool writeback;
	/* the log stays off the cache: too few SSDs are left, or the pool would survive less */
	bool stays_off;
	unsigned int leg;		/* the SSD in question */
	dev_t old;			/* its device; 0: it is missing */
	char uuid[UUID_BUF];
	int losses, losses_after;
};

/* --- losses that it survives ------------------------------------------------------ */

/* The number of SSDs in use after the change. */
static int count_used(const struct ssds_change *x, const struct stats *s)
{
	const char *state = stats_text(s, "leg.%u.state", x->leg), *path;
	unsigned int i, first = x->cache.first_leg;
	int used = 0;

	for (i = first; i < first + x->cache.leg_count; i++) {
		path = stats_text(s, "leg.%u.path", i);
		/* online starts all connected SSDs again */
		if (x->o->anew ? path && strcmp(path, "-") :
				 !strcmp(stats_text(s, "leg.%u.state", i) ?: "", "online"))
			used++;
	}
	if (x->o->leaves && state && !strcmp(state, "online"))
		used--;
	return used + !!x->o->new;
}

/* If the pool survives no loss anyway, an SSD that was added justifies forcing the log there. */
static bool log_forced(const struct ssds_change *x)
{
	return (!x->o->leaves || x->o->new) && !x->losses;
}

/*
 * The losses that the pool survives after the change. The cache counts only if the log is to be
 * there.
 */
static int losses_after(struct ssds_change *x, const struct stats *s)
{
	int legs = (int)x->cache.leg_count + !!x->o->new - x->o->leaves;
	int least = losses_without_cache(s);
	int spare = count_used(x, s) - (kvp_log_striped(&x->cache) ? legs - 1 : 1);

	/* too few SSDs: the log does not return, see log_returns() */
	x->stays_off = spare < 0 || (!spare && !log_forced(x) &&
				     (least || (legs == 1 && plan_losses(&x->plan))));
	if (!x->writeback || x->stays_off)
		return least;
	return spare < least ? spare : least;
}

/* --- the pool as it is -------------------------------------------------------- */

/*
 * Does @leg's path name the device that the pool holds? An SSD that dropped out may have returned
 * under other numbers: then it is another device.
 */
static bool path_holds(const struct ssds_change *x, const struct stats *s, unsigned int leg)
{
	const char *path = stats_text(s, "leg.%u.path", leg);
	dev_t held = leg_device(x->held[leg - x->cache.first_leg]);

	return path && held && leg_device(path) == held;
}

static bool is_in_use(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return state && !strcmp(state, "online");
}

/*
 * An SSD that is out of use starts again. If the pool holds it, so do all others that it holds and
 * does not use. Then the device of none may have gone, and all are wiped.
 */
static int check_out(const struct ssds_change *x, const struct stats *s, struct err *err)
{
	unsigned int i;

	if (is_in_use(s, x->leg))
		return err_set(err, ERR_REFUSED, x->o->leg, "see kvpoolctl status", "it is in use");
	for (i = x->cache.first_leg;
	     x->o->anew && i < x->cache.first_leg + x->cache.leg_count; i++) {
		if (is_in_use(s, i) || !leg_device(x->held[i - x->cache.first_leg]))
			continue;
		if (!path_holds(x, s, i))
			return err_set(err, ERR_REFUSED, x->o->leg,
				       "bring that online first, or kvpoolctl replace or detach "
				       "it; status -v shows its UUID",
				       "%.200s is out of use as well, and its device has gone",
				       stats_text(s, "leg.%u.path", i) ?: "another SSD");
		if (reused_check(s, i, NULL, err))
			return -1;
		if (!x->o->force &&
		    returned_check_held(stats_text(s, "leg.%u.path", i),
					stats_text(s, "leg.%u.uuid", i) ?: "", &x->plan.whole, err))
			return -1;
	}
	return 0;
}

static int note_held(struct ssds_change *x, struct err *err)
{
	const char *vdevs = table_vdevs(x->params);
	unsigned int i;

	for (i = 0; i < x->cache.leg_count; i++)
		if (!vdevs || !table_leg(vdevs, x->cache.first_leg + i, x->held[i],
					 sizeof(x->held[i])))
			return err_set(err, ERR_KERNEL, x->entry.name, "see dmsetup table",
				       "its table is unreadable");
	return 0;
}

static int check_leg(struct ssds_change *x, const struct stats *s, struct err *err)
{
	const struct kvp_geometry *c = &x->cache;

	if (leg_find(x->entry.name, s, x->o->leg, x->uuid, &x->leg, err))
		return -1;
	if (!c->leg_count || x->leg < c->first_leg || x->leg >= c->first_leg + c->leg_count)
		return err_set(err, ERR_REFUSED, x->o->leg, "name an SSD of the cache",
			       "it is a leg with data; this version can %s only SSDs of a cache",
			       x->o->action);
	if (kvp_log_striped(c) && !x->o->anew && !(x->o->leaves && x->o->new))
		return err_set(err, ERR_REFUSED, x->o->leg,
			       "kvpoolctl remove POOL cache; then add it again, with the new set "
			       "of SSDs",
			       "the number of SSDs of a parity1 cache is fixed");
	if (x->o->new && !x->o->leaves && c->leg_count == KVP_MAX_MIRROR_LEGS)
		return err_set(err, ERR_REFUSED, x->o->leg, "detach one first",
			       "a cache has at most %d SSDs",
			       KVP_MAX_MIRROR_LEGS);
	if ((x->o->new || x->o->anew) && c->first_leg + c->leg_count == KVP_MAX_LEGS)
		return err_set(err, ERR_REFUSED, x->o->leg, c->leg_count == 1 ||
			       kvp_log_striped(c) ?
			       "kvpoolctl remove POOL cache; then add another" : "detach one first",
			       "the pool has %d legs, and no room for one more, even for a moment",
			       KVP_MAX_LEGS);
	if (x->o->leaves && !x->o->new && c->leg_count == 1)
		return err_set(err, ERR_LAST_LEG, x->o->leg, "kvpoolctl remove POOL cache",
			       "it is the only SSD of the cache");
	if (note_held(x, err))
		return -1;
	x->old = leg_device(x->held[x->leg - c->first_leg]);
	return x->o->anew || x->o->returns ? check_out(x, s, err) : 0;
}

static int look(struct ssds_change *x, struct err *err)
{
	const char *mode;
	struct stats s;
	int ret;

	x->plan.name = x->entry.name;
	x->plan.force = x->o->force;
	x->plan.takes_spare = x->o->leaves && !x->o->returns;
	x->plan.takes_back = x->o->returns ? x->uuid : NULL;
	snprintf(x->plan.uuid, sizeof(x->plan.uuid), "%s", x->entry.uuid);
	if (x->entry.readonly)
		return err_set(err, ERR_READ_ONLY, x->entry.name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (dm_table(x->entry.name, &x->sectors, &x->params, err) ||
	    stats_load(x->entry.name, &s, err))
		return -1;
	mode = stats_text(&s, "cache.mode");
	/* With the log off for a while, what it was before counts. */
	if (!x->drained) {
		x->losses = stats_losses(&s);
		x->writeback = mode && !strcmp(mode, "writeback");
	}
	ret = shadow_none(&x->entry, &s, err) ?:
	      plan_pool(&x->plan, &s, &x->cache, &x->logs_there, err);
	if (!ret)
		ret = check_leg(x, &s, err);
	if (!ret)
		x->losses_after = losses_after(x, &s);
	stats_free(&s);
	return ret;
}

/* --- the plan --------------------------------------------------------------------- */

static int plan_new(struct ssds_change *x, struct err *err)
{
	char kind[] = "cache", *words[2] = { kind, NULL };
	const struct plan_leg *leg = &x->plan.legs[x->plan.first_leg];
	struct kvp_why why;
	int ret;

	if (!x->o->new)
		return 0;
	words[1] = strdup(x->o->new);
	if (!words[1])
		abort();
	ret = plan_vdevs(&x->plan, 2, words, err);
	if (!ret)
		ret = plan_devices(&x->plan, err);
	free(words[1]);
	if (ret)
		return -1;
	if (kvp_geometry_check(&x->cache, leg->dev.blocks, &why))
		return err_set(err, ERR_TOO_SMALL, leg->dev.path,
			       "use a larger one; or take the cache out, and add it again",
			       "it is smaller than the space that the cache uses of its SSDs");
	return 0;
}

static unsigned int count_missing(const struct ssds_change *x)
{
	unsigned int i, n = 0;

	for (i = 0; i < x->cache.leg_count; i++)
		n += !strcmp(x->held[i], "-");
	return n;
}

/*
 * The word of an SSD that stays, or starts again: numbers, if its path leads elsewhere or nowhere.
 * If several SSDs are missing, "-" would not say which one is to leave.
 */
static const char *ssd_word(const struct ssds_change *x, const struct stats *s, unsigned int leg)
{
	if (!strcmp(x->held[leg - x->cache.first_leg], "-") && count_missing(x) > 1)
		return stats_text(s, "leg.%u.uuid", leg) ?: "-";
	return path_holds(x, s, leg) ? stats_text(s, "leg.%u.path", leg) :
	       x->held[leg - x->cache.first_leg];
}

/* The data vdevs as they are, then the SSDs of the changed cache. */
static int write_table(struct ssds_change *x, const struct stats *s, struct err *err)
{
	const struct kvp_geometry *c = &x->cache;
	const char *vdevs = table_vdevs(x->params), *cache = vdevs ? table_cache(vdevs) : NULL;
	char word[DEVICE_WORD];
	const char *new = x->o->new ? device_word(&x->plan.legs[x->plan.first_leg].dev, word) :
		NULL;
	unsigned int n = c->leg_count + !!new - x->o->leaves, i;
	size_t at;

	if (!cache)
		return err_set(err, ERR_KERNEL, x->entry.name, "see dmsetup table",
			       "its table is unreadable");
	at = (size_t)snprintf(x->after, sizeof(x->after), "%s 1 replace%.*s %s %u", x->entry.uuid,
			      (int)(cache - vdevs), vdevs, vdev_word(c->kind), n);
	for (i = c->first_leg; i < c->first_leg + c->leg_count; i++) {
		if ((i != x->leg || !x->o->leaves) && at < sizeof(x->after))
			at += (size_t)snprintf(x->after + at, sizeof(x->after) - at, " %s",
					       ssd_word(x, s, i));
		if (i == x->leg && new && at < sizeof(x->after))
			at += (size_t)snprintf(x->after + at, sizeof(x->after) - at, " %s", new);
	}
	if (at >= sizeof(x->after))
		return err_set(err, ERR_REFUSED, x->entry.name, "use shorter paths",
			       "the table line would be too long");
	return 0;
}

static int make_table(struct ssds_change *x, struct err *err)
{
	struct stats s;
	int ret;

	if (stats_load(x->entry.name, &s, err))
		return -1;
	ret = write_table(x, &s, err);
	stats_free(&s);
	return ret;
}

static int make_plan(struct ssds_change *x, struct err *err)
{
	return look(x, err) || plan_new(x, err) || make_table(x, err) ? -1 : 0;
}

/* The plan was made before a drain, which takes hours, and the pool may have changed since. */
static int plan_again(struct ssds_change *x, struct err *err)
{
	const struct plan_leg was = x->plan.legs[x->plan.first_leg];

	plan_close(&x->plan);
	free(x->params);
	x->params = NULL;
	memset(&x->plan, 0, sizeof(x->plan));
	if (dm_find(x->entry.uuid, &x->entry, err) || make_plan(x, err))
		return -1;
	return x->o->new ? plan_leg_same(&was, &x->plan.legs[x->plan.first_leg], err) : 0;
}

/* --- devices that the pool need not hold --------------------------------------------- */

/*
 * True if SSD @leg is out of use and its device has gone; or if it is to leave, and has got another
 * use since it is out. Then its label must not be wiped.
 */
static bool is_let_go(const struct ssds_change *x, const struct stats *s, unsigned int leg)
{
	const char *held = x->held[leg - x->cache.first_leg];
	char type[SIGNATURE_TYPE];

	if (!leg_device(held) && !table_device_gone(held))
		return false;
	return !is_in_use(s, leg) &&
	       (table_device_gone(held) ||
		(leg == x->leg && x->o->leaves && reused_leg(s, leg, type)));
}

/* Writes the pool's table without these devices. False: there are none, or it is too long. */
static bool write_without(const struct ssds_change *x, const struct stats *s, char *buf,
			  size_t size)
{
	const struct kvp_geometry *c = &x->cache;
	const char *vdevs = table_vdevs(x->params), *cache = vdevs ? table_cache(vdevs) : NULL;
	unsigned int i;
	bool any = false, goes;
	size_t at;

	if (!cache)
		return false;
	at = (size_t)snprintf(buf, size, "%s 0%.*s %s %u", x->entry.uuid, (int)(cache - vdevs),
			      vdevs, vdev_word(c->kind), c->leg_count);
	for (i = c->first_leg; i < c->first_leg + c->leg_count && at < size; i++) {
		goes = is_let_go(x, s, i);
		any |= goes;
		at += (size_t)snprintf(buf + at, size - at, " %s",
				       goes ? "-" : x->held[i - c->first_leg]);
	}
	return any && at < size;
}

/*
 * Lets go of these devices. Device-mapper cannot hold two of one name, and an SSD that is back may
 * have the name of its device that has gone. The log has left the cache by now.
 */
static int let_go(struct ssds_change *x, struct err *err)
{
	char without[sizeof(x->after)], old[sizeof(x->after)];
	struct stats s;
	bool any;

	if (stats_load(x->entry.name, &s, err))
		return -1;
	any = write_without(x, &s, without, sizeof(without));
	stats_free(&s);
	if (!any)
		return 0;
	table_again(x->entry.uuid, x->params, old, sizeof(old));
	return dm_reload(x->entry.name, x->sectors, without, x->sectors, old, err) ||
	       plan_again(x, err) ? -1 : 0;
}

/* --- the run ------------------------------------------------------------------------- */

#define DRAINS		3

/*
 * While this waits for the log to leave the cache, it has no lock, so another command may change
 * the pool, and return the log to the cache. Ends with the lock, and a plan of the pool as it is.
 */
static int log_leaves(struct ctl *ctl, struct ssds_change *x, struct err *err)
{
	int i;

	for (i = 0; x->logs_there; i++) {
		if (i == DRAINS)
			return err_set(err, ERR_FAILED, x->entry.name, "ask for it again",
				       "other commands return the log to the cache");
		if (drain_for_a_while(ctl, x->entry.name, err))
			return -1;
		x->drained = true;
		if (pool_lock(ctl, x->entry.uuid, err) || plan_again(x, err)) {
			drain_undo_failed(x->entry.name, err);
			return -1;
		}
	}
	return 0;
}

/*
 * Returns the log to the cache. If too few SSDs are left, the pool continues without that, as the
 * plan said. The pool survives as many losses as before, so the log is forced there only if it
 * survived none before.
 */
static int log_returns(struct ctl *ctl, const struct ssds_change *x, struct err *err)
{
	const char *mend;

	if (!x->writeback)
		return 0;
	if (!dm_message(x->entry.name, log_forced(x) ? "set cache_mode writeback force" :
			"set cache_mode writeback", NULL, err))
		return 0;
	mend = strstr(err->mend, "set -f") ? "set -f" : "set";
	if (!x->stays_off || err->code != ERR_REFUSED)
		return drain_stays_off(x->entry.name, "the cache has its new set of SSDs", err);
	if (!ctl->quiet)
		fprintf(stderr, "kvpoolctl: note: the cache is write-through: %s; 'kvpoolctl %s %s "
			"cache_mode=writeback' moves the log there\n", err->why, mend,
			x->entry.name);
	return 0;
}

/* An earlier command may have been interrupted; the pool cannot tell. */
static void note_idle(struct ctl *ctl, const struct ssds_change *x)
{
	if (!x->writeback && !ctl->quiet)
		fprintf(stderr, "kvpoolctl: note: the cache is write-through, as before; "
			"'kvpoolctl set %s cache_mode=writeback' moves the log there\n",
			x->entry.name);
}

static int execute(struct ctl *ctl, struct ssds_change *x, struct err *err)
{
	char old[sizeof(x->after)], why[sizeof(err->why)];
	int ret;

	if (log_leaves(ctl, x, err))
		return -1;
	drain_shield();
	if (let_go(x, err)) {
		if (x->drained)
			drain_undo_failed(x->entry.name, err);
		return -1;
	}
	table_again(x->entry.uuid, x->params, old, sizeof(old));
	ctl_busy(ctl, "writing memory home");
	dm_message(x->entry.name, "checkpoint", NULL, NULL);
	/* Last of all: if the power goes before the change is made, the device has no label. */
	ret = x->o->new ? plan_wipe(&x->plan, err) : 0;
	plan_close(&x->plan);
	if (!ret)
		ret = dm_reload(x->entry.name, x->sectors, x->after, x->sectors, old, err);
	ctl_busy_end();
	if (x->o->new)
		announce_joined(x->plan.legs[x->plan.first_leg].dev.rdev);
	if (!ret && x->o->leaves && x->old)
		announce_left(x->old);
	if (!ret) {
		note_idle(ctl, x);
		return log_returns(ctl, x, err);
	}
	/* a refusal would say that the pool is unchanged */
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.340s (the cache has its old SSDs%s)", err->why,
		 x->o->new ? "; first and last MiB of the new device may be overwritten" : "");
	memcpy(err->why, why, sizeof(why));
	if (x->drained)
		drain_undo_failed(x->entry.name, err);
	return -1;
}

static bool on_cache_then(const struct ssds_change *x)
{
	return x->writeback && !x->stays_off;
}

static const char *log_then(const struct ssds_change *x)
{
	return on_cache_then(x) ? "on the cache, which is write-back" :
	       x->writeback ? "moves to the legs: the cache becomes write-through" :
	       "on the legs, as now";
}

static void print_plan(const struct ssds_change *x, const char *table)
{
	if (x->o->anew || x->o->returns)
		printf("would bring %s online, empty, in the cache of pool %s\n",
		       x->o->new ?: x->o->leg, x->entry.name);
	else
		printf("would %s %s%s%s, of the cache of pool %s\n", x->o->action, x->o->leg,
		       !x->o->new ? "" : x->o->leaves ? " by " : " and ", x->o->new ?: "",
		       x->entry.name);
	printf("survives  loss of %d leg(s), now %d\nlog       %s\ntable     %s\n",
	       x->losses_after, x->losses, log_then(x), table);
}

static void report(struct ctl *ctl, const struct ssds_change *x)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char table[sizeof(x->after) + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", x->sectors, x->after);
	json_text(plan, "action", x->o->action);
	json_text(plan, "pool", x->entry.name);
	json_text(plan, "uuid", x->entry.uuid);
	json_text(plan, "leg", x->uuid);
	json_text(plan, "new", x->o->new ? x->plan.legs[x->plan.first_leg].dev.path : NULL);
	json_redundancy(plan, x->losses, x->losses_after);
	json_text(plan, "log_on", on_cache_then(x) ? "cache" : "legs");
	json_text(plan, "table", table);
	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		print_plan(x, table);
	else
		ctl_say(ctl, "pool %s: the cache has %u SSD(s)", x->entry.name,
			x->cache.leg_count + !!x->o->new - x->o->leaves);
	json_object_put(root);
}

int ssds_change(struct ctl *ctl, const struct ssds_order *o)
{
	struct ssds_change *x = calloc(1, sizeof(*x));
	struct err err;
	int ret;

	if (!x)
		abort();
	x->o = o;
	ret = ctl_find(ctl, o->pool, &x->entry);
	if (!ret && (make_plan(x, &err) || (!ctl->dry_run && execute(ctl, x, &err))))
		ret = ctl_fail(ctl, &err);
	else if (!ret)
		report(ctl, x);
	if (!ret && o->new)
		plan_note_alignment(ctl, &x->plan);
	plan_close(&x->plan);
	free(x->params);
	free(x);
	return ret;
}

/* The path @word leads to the device @rdev, and is no pair of numbers. */
static bool is_path_of(const char *word, dev_t rdev)
{
	return word && word[strspn(word, "0123456789:")] && leg_device(word) == rdev;
}

/*
 * The label of the device that the pool has for an SSD is wiped when the SSD leaves. If that device
 * is there, it may lie on the same disk as @dev: two mappings of device-mapper can do that.
 */
static int check_old_gone(const char *params, unsigned int leg, const char *dev, struct err *err)
{
	const char *vdevs = table_vdevs(params);
	dev_t rdev = leg_device(dev);
	char word[64];

	if (!vdevs || !table_leg(vdevs, leg, word, sizeof(word)) || !strcmp(word, "-") ||
	    table_device_gone(word) || !rdev || rdev == leg_device(word))
		return 0;
	return err_set(err, ERR_REFUSED, dev, "kvpoolctl export POOL, close that device, kvpoolctl "
		       "import POOL, then kvpoolctl online POOL DEV",
		       "the pool has another device (%s) for this SSD, and it is still there",
		       word);
}

/* The device that is the SSD, and which the pool does not have; empty: it has it. */
static int find_device(const struct dm_entry *e, const struct stats *s, unsigned int leg,
		       const char *dev, char path[PATH_MAX], struct err *err)
{
	const char *known = stats_text(s, "leg.%u.path", leg);
	char *params, held[64];
	dev_t rdev;
	u64 sectors;
	bool gone;
	int ret;

	*path = 0;
	if (dm_table(e->name, &sectors, &params, err))
		return -1;
	ret = check_old_gone(params, leg, dev, err) ?:
	      resilver_find_device(e, s, leg, dev, params, &rdev, err);
	/* let_go() frees the name then */
	gone = table_leg(table_vdevs(params), leg, held, sizeof(held)) && table_device_gone(held);
	free(params);
	if (ret <= 0)
		return ret;
	/* a link that always leads there is a better name than the kernel's */
	if (is_path_of(dev, rdev) || is_path_of(known, rdev))
		snprintf(path, PATH_MAX, "%s", is_path_of(dev, rdev) ? dev : known);
	else
		device_name(rdev, path, PATH_MAX);
	return (gone ? 0 : returned_name(e, path, rdev, err)) ?: copies_check(path, 0, err);
}

int ssds_online(struct ctl *ctl, const struct dm_entry *e, const struct stats *s, unsigned int leg,
		const char *dev, bool force)
{
	struct ssds_order o = { .action = "online", .pool = e->name, .leg = dev, .anew = true,
				.force = force };
	char path[PATH_MAX];
	struct err err;

	if (is_in_use(s, leg))
		return ssds_change(ctl, &o);	/* which refuses it */
	if (find_device(e, s, leg, dev, path, &err))
		return ctl_fail(ctl, &err);
	if (*path && force)
		return ctl_usage(ctl, "the pool does not hold that SSD, so -f is of no use: "
				 "labelclear -f it, then kvpoolctl replace");
	if (*path) {
		o.leg = stats_text(s, "leg.%u.uuid", leg);
		o.new = path;
		o.leaves = o.returns = true;
		o.anew = false;
	}
	return ssds_change(ctl, &o);
}
