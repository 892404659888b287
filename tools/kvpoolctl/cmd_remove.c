// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl remove: take the cache, or a spare, out of a running pool. */
#include <string.h>
#include <sys/stat.h>
#include <uuid/uuid.h>

#include "announce.h"
#include "device.h"
#include "drain.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "reload.h"
#include "reused.h"
#include "shadow.h"
#include "spare_devices.h"
#include "spares.h"

/* The pool before the removal. */
struct removal {
	struct dm_entry entry;
	u64 sectors, dirty, drain_ms;
	int losses, losses_after;
	char *params;		/* of the pool's table */
	char after[8192];	/* the table without the cache */
	dev_t ssds[KVP_MAX_MIRROR_LEGS];
	unsigned int nr_ssds;
	bool drained;		/* the log is off: what it was before that counts */
};

/* Notes the SSDs, so that udev can be told once their labels are gone. */
static void note_ssds(struct removal *r, const struct stats *s)
{
	struct vdev_range legs = vdev_range(s, (unsigned int)stats_number(s, "cache.vdev"));
	unsigned int i;
	char name[PATH_MAX];
	const char *path;
	struct stat st;

	for (i = legs.first; i < legs.end && r->nr_ssds < KVP_MAX_MIRROR_LEGS; i++) {
		path = stats_text(s, "leg.%u.path", i);
		if (path && strcmp(path, "-") && !stat(leg_path(path, name, sizeof(name)), &st))
			r->ssds[r->nr_ssds++] = st.st_rdev;
	}
}

/* The labels of all SSDs will be wiped. */
static int check_ssds(const struct stats *s, struct err *err)
{
	struct vdev_range legs = vdev_range(s, (unsigned int)stats_number(s, "cache.vdev"));
	unsigned int i;

	for (i = legs.first; i < legs.end; i++)
		if (reused_check(s, i, NULL, err))
			return -1;
	return 0;
}

/* The table without its last vdev, which is the cache. */
static int write_table(struct removal *r, struct err *err)
{
	const char *vdevs = table_vdevs(r->params), *cache = vdevs ? table_cache(vdevs) : NULL;
	unsigned int legs;
	int at = 0;

	if (!cache || sscanf(cache, " %*s %u%n", &legs, &at) != 1)
		return err_set(err, ERR_KERNEL, r->entry.name, "see dmsetup table",
			       "its table is unreadable");
	for (; legs && cache[at]; legs--)
		at += 1 + (int)strcspn(cache + at + 1, " ");
	if (cache[at])
		return err_set(err, ERR_REFUSED, r->entry.name, "see kvpoolctl status",
			       "only a cache that is the last vdev can be taken out");
	snprintf(r->after, sizeof(r->after), "%s 1 remove%.*s", r->entry.uuid, (int)(cache - vdevs),
		 vdevs);
	return 0;
}

static int look(struct removal *r, struct err *err)
{
	const char *on;
	struct stats s;
	int ret = 0;

	if (r->entry.readonly)
		return err_set(err, ERR_READ_ONLY, r->entry.name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (dm_table(r->entry.name, &r->sectors, &r->params, err) ||
	    stats_load(r->entry.name, &s, err))
		return -1;
	on = stats_text(&s, "log.on");
	if (!r->drained) {
		if (on && !strcmp(on, "cache"))
			r->dirty = stats_number(&s, "log.used");
		r->drain_ms = r->dirty ? stats_number(&s, "destage.drain_ms") : 0;
		r->losses = stats_losses(&s);
	}
	r->losses_after = losses_without_cache(&s);
	if (shadow_none(&r->entry, &s, err))
		ret = -1;
	else if (!stats_text(&s, "cache.vdev"))
		ret = err_set(err, ERR_REFUSED, r->entry.name, "see kvpoolctl status",
			      "the pool has no cache");
	else
		ret = check_ssds(&s, err);
	if (!ret)
		note_ssds(r, &s);
	stats_free(&s);
	return ret ? -1 : write_table(r, err);
}

static int still_on(const struct removal *r, struct err *err)
{
	const char *on;
	struct stats s;
	int ret = 0;

	if (stats_load(r->entry.name, &s, err))
		return -1;
	on = stats_text(&s, "log.on");
	if (on && !strcmp(on, "cache"))
		ret = err_set(err, ERR_FAILED, r->entry.name, "ask for it again",
			      "another command has returned the log to the cache meanwhile");
	stats_free(&s);
	return ret;
}

/* The drain takes hours, and has no lock: the pool may have changed since. */
static int look_again(struct ctl *ctl, struct removal *r, struct err *err)
{
	r->drained = true;
	r->nr_ssds = 0;
	free(r->params);
	r->params = NULL;
	return pool_lock(ctl, r->entry.uuid, err) || dm_find(r->entry.uuid, &r->entry, err) ||
	       look(r, err) || still_on(r, err) ? -1 : 0;
}

static int reload(struct ctl *ctl, struct removal *r, struct err *err)
{
	char old[sizeof(r->after)];
	int ret;

	if (look_again(ctl, r, err))
		return -1;
	drain_shield();
	table_again(r->entry.uuid, r->params, old, sizeof(old));
	ctl_busy(ctl, "writing memory home");
	dm_message(r->entry.name, "checkpoint", NULL, NULL);
	ret = dm_reload(r->entry.name, r->sectors, r->after, r->sectors, old, err);
	ctl_busy_end();
	return ret;
}

static int execute(struct ctl *ctl, struct removal *r, struct err *err)
{
	char why[sizeof(err->why)];
	unsigned int i;

	if (dm_message(r->entry.name, "drain start", NULL, err) ||
	    drain_wait(ctl, r->entry.name, err))
		return -1;
	if (!reload(ctl, r, err)) {
		for (i = 0; i < r->nr_ssds; i++)
			announce_left(r->ssds[i]);
		return 0;
	}
	/* a refusal would say that the pool is unchanged */
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why),
		 "%.400s (the cache is still there, and idle: its mode is writethrough)",
		 err->why);
	memcpy(err->why, why, sizeof(why));
	return -1;
}

static void report(struct ctl *ctl, const struct removal *r)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char dirty[SIZE_BUF], table[sizeof(r->after) + 64];

	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", r->sectors, r->after);
	json_text(plan, "action", "remove");
	json_text(plan, "pool", r->entry.name);
	json_text(plan, "uuid", r->entry.uuid);
	json_number(plan, "dirty", r->dirty);
	json_number(plan, "drain_ms", r->drain_ms);
	json_redundancy(plan, r->losses, r->losses_after);
	json_text(plan, "table", table);
	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		printf("would take the cache out of pool %s\ndirty     %s to be written home "
		       "first, some %"
		       PRIu64 " s\nsurvives  loss of %d leg(s), now %d\ntable     %s\n",
		       r->entry.name, ctl_size(ctl, r->dirty, dirty), (r->drain_ms + 999) / 1000,
		       r->losses_after, r->losses, table);
	else
		ctl_say(ctl, "the cache was taken out of pool %s", r->entry.name);
	json_object_put(root);
}

/* --- spares --------------------------------------------------------------------------- */

static int check_spare(const struct dm_entry *e, const struct device *d, const struct label *l,
		       struct err *err)
{
	char uuid[UUID_BUF];

	if ((l->spare_valid || label_is_resized_spare(l)) &&
	    !strcasecmp(uuid_print(l->spare.pool_uuid, uuid), e->uuid))
		return device_unused(d, err);
	return err_set(err, ERR_REFUSED, d->path, "'kvpoolctl status' lists the spares; of the "
		       "rest of a pool only the cache can be taken out: kvpoolctl remove POOL "
		       "cache",
		       "it is no spare of pool %s", e->name);
}

/* @path: NULL: it is missing */
static void report_spare(struct ctl *ctl, const struct dm_entry *e, const char *path,
			 const u8 spare[16])
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	char uuid[UUID_BUF];

	json_text(plan, "action", "remove");
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_text(plan, "spare", uuid_print(spare, uuid));
	json_text(plan, "path", path);
	if (ctl->json)
		ctl_json(json_object_get(root));
	else
		ctl_say(ctl, ctl->dry_run ? "would take the spare %s from pool %s" :
			"%s is no spare of pool %s any more", path ?: uuid, e->name);
	json_object_put(root);
}

static int remove_spare(struct ctl *ctl, const struct dm_entry *e, const char *path)
{
	struct device d;
	struct label l;
	struct err err;
	int ret;

	if (device_open(path, false, &d, &err))
		return ctl_fail(ctl, &err);
	ret = label_read(&d, &l, &err);
	if (!ret) {
		ret = check_spare(e, &d, &l, &err) ||
		      (!ctl->dry_run && (spares_unlist(e->name, l.spare.uuid, &err) ||
					 spares_clear(&d, &l, &err)));
		if (!ret)
			report_spare(ctl, e, d.path, l.spare.uuid);
		label_free(&l);
	}
	device_close(&d);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

/* By UUID. One that is connected is removed as by its path. */
static int remove_listed(struct ctl *ctl, const struct dm_entry *e, const u8 uuid[16])
{
	char path[PATH_MAX];
	struct err err;

	if (spares_find(e, uuid, path, &err))
		return ctl_fail(ctl, &err);
	if (*path)
		return remove_spare(ctl, e, path);
	if (!ctl->dry_run && spares_unlist(e->name, uuid, &err))
		return ctl_fail(ctl, &err);
	report_spare(ctl, e, NULL, uuid);
	return EXIT_DONE;
}

static int remove_named(struct ctl *ctl, const struct dm_entry *e, const char *what)
{
	u8 uuid[16];

	return uuid_parse(what, uuid) ? remove_spare(ctl, e, what) : remove_listed(ctl, e, uuid);
}

static int remove_cache(struct ctl *ctl, struct removal *r)
{
	struct err err;

	if (look(r, &err) || (!ctl->dry_run && execute(ctl, r, &err)))
		return ctl_fail(ctl, &err);
	report(ctl, r);
	return EXIT_DONE;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct removal *r = calloc(1, sizeof(*r));
	const char *what;
	int ret;

	if (!r)
		abort();
	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	what = argv[optind + 1];
	ret = pool_lock_named(ctl, argv[optind]) ?: ctl_find(ctl, argv[optind], &r->entry);
	if (!ret)
		ret = strcmp(what, "cache") ? remove_named(ctl, &r->entry, what) :
					      remove_cache(ctl, r);
	free(r->params);
	free(r);
	return ret;
}

const struct command cmd_remove = {
	.name = "remove",
	.purpose = "take the cache, or a spare, out",
	.args = "[-n] POOL cache|DEV",
	.about = "Takes the cache out of a running pool. Data that only the cache has is written "
		"home first, while the pool is in use, and the command says how long that takes. "
		"At the end writes wait for a moment, and the labels of the SSDs are wiped. "
		"'kvpoolctl cancel POOL drain' stops it before that. If this command is "
		"interrupted, the drain goes on, and leaves an idle cache.\n"
		"If DEV is a spare, its label is cleared, and the pool does not miss it. A spare "
		"that is missing is named by its UUID; the pool misses it no more.",
	.more = "A power cut at any time leaves the pool with its cache or without it.",
	.example = "kvpoolctl remove tank cache",
	.dry_run = true,
	.run = run,
};
