// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl grow: use the space of legs that have become larger. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drain.h"
#include "format/grow.h"
#include "plan.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "reload.h"
#include "shadow.h"

#define TABLE_LEN	8192
#define POLL_US		200000

struct change {
	struct dm_entry e;
	struct plan plan;		/* its superblock is that of the pool, without its cache */
	struct kvp_geometry cache;
	bool logs_there;		/* the cache carries the log */
	bool drained;			/* it did, and was taken off for this change */
	struct kvp_sb next;
	struct kvp_grow w;
	u64 sectors;
	char *params;			/* of the pool's table */
	char before[TABLE_LEN], table[TABLE_LEN];
};

/* --- the plan ----------------------------------------------------------------------- */

/* A device that does not answer has the size that it had. */
static void measure(struct change *c, const struct stats *s, u32 leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);
	const char *path = stats_text(s, "leg.%u.path", leg);
	char name[PATH_MAX];
	struct device dev;
	struct err err;

	c->w.leg_blocks[leg] = c->plan.sb.legs[leg].size_blocks;
	if (!path || !state || strcmp(state, "online"))
		return;
	c->w.sources |= 1ull << leg;
	if (device_open(leg_path(path, name, sizeof(name)), false, &dev, &err))
		return;
	c->w.leg_blocks[leg] = dev.blocks;
	device_close(&dev);
}

static int plan_growth(struct change *c, struct err *err)
{
	struct kvp_why why;
	int ret = kvp_grow_plan(&c->next, &c->plan.sb, &c->w, &why);

	if (!ret)
		return 0;
	return err_set(err, ret == -ENOSPC ? ERR_TOO_SMALL : ERR_REFUSED, c->e.name,
		       kvp_grow_mend(ret), "%s", why.text);
}

static int write_tables(struct change *c, struct err *err)
{
	const char *vdevs = table_vdevs(c->params);

	if (!vdevs || (size_t)snprintf(c->table, sizeof(c->table), "%s 1 grow%s", c->e.uuid,
				       vdevs) >=
		      sizeof(c->table))
		return err_set(err, ERR_KERNEL, c->e.name, "see dmsetup table",
			       "its table is unreadable");
	table_again(c->e.uuid, c->params, c->before, sizeof(c->before));
	return 0;
}

static int make_plan(struct change *c, struct err *err)
{
	struct stats s;
	u32 i;
	int ret;

	if (c->e.readonly)
		return err_set(err, ERR_READ_ONLY, c->e.name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	c->plan.name = c->e.name;
	if (dm_table(c->e.name, &c->sectors, &c->params, err) || stats_load(c->e.name, &s, err))
		return -1;
	ret = shadow_none(&c->e, &s, err) ?:
	      plan_pool(&c->plan, &s, &c->cache, &c->logs_there, err);
	for (i = 0; !ret && i < c->plan.sb.leg_count; i++)
		measure(c, &s, i);
	stats_free(&s);
	if (ret)
		return -1;
	return plan_growth(c, err) || write_tables(c, err) ? -1 : 0;
}

/* --- the report --------------------------------------------------------------------- */

static u64 new_sectors(const struct change *c)
{
	return c->next.pool_blocks << KVP_SECTORS_SHIFT;
}

/* Of tables that are full: half of their places. */
static u64 most_to_copy(const struct change *c)
{
	u64 blocks = 0;
	u32 v;

	for (v = 0; v < c->next.vdev_count; v++)
		if (c->w.grown >> v & 1)
			blocks += kvp_table_blocks(&c->plan.sb.vdevs[v]) / 2;
	return blocks << KVP_BLOCK_SHIFT;
}

static json_object *plan_json(const struct change *c)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *vdevs, *o;
	char table[TABLE_LEN + 64];
	u32 v;

	json_text(plan, "action", "grow");
	json_text(plan, "pool", c->e.name);
	json_text(plan, "uuid", c->e.uuid);
	json_number(plan, "size_before", c->sectors << 9);
	json_number(plan, "size", new_sectors(c) << 9);
	json_number(plan, "copied_at_most", most_to_copy(c));
	vdevs = json_list(plan, "vdevs");
	for (v = 0; v < c->next.vdev_count; v++) {
		if (!(c->w.grown >> v & 1))
			continue;
		o = json_item(vdevs);
		json_number(o, "vdev", v);
		json_number(o, "size_before", c->plan.sb.vdevs[v].data_blocks << KVP_BLOCK_SHIFT);
		json_number(o, "size", c->next.vdevs[v].data_blocks << KVP_BLOCK_SHIFT);
	}
	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", new_sectors(c), c->table);
	json_text(plan, "table", table);
	return root;
}

static void report(struct ctl *ctl, const struct change *c, json_object *root)
{
	char was[SIZE_BUF], is[SIZE_BUF], most[SIZE_BUF];

	ctl_size(ctl, c->sectors << 9, was);
	ctl_size(ctl, new_sectors(c) << 9, is);
	if (ctl->json)
		ctl_json(json_object_get(root));
	else if (ctl->dry_run)
		printf("would grow pool %s\nusable    %s, now %s\ncopies    at most %s of its "
		       "checksum table, while the pool is in use\ntable     %s\n",
		       c->e.name, is, was, ctl_size(ctl, most_to_copy(c), most),
		       json_text_at(json_at(root, "plan"), "table"));
	else
		ctl_say(ctl, "grown pool %s: %s, was %s", c->e.name, is, was);
}

/* --- the run ------------------------------------------------------------------------ */

/*
 * Most of the checksum table is copied while the pool is in use. If that fails, or the module does
 * not know it, all of it is copied while requests wait.
 */
static void copy_ahead(struct ctl *ctl, const struct change *c)
{
	const char *state;
	struct stats s;
	struct err err;
	bool running;

	pool_unlock();
	if (dm_message(c->e.name, "grow start", NULL, NULL))
		return;
	do {
		usleep(POLL_US);
		if (stats_load(c->e.name, &s, &err))
			break;
		state = stats_text(&s, "grow.state");
		running = state && !strcmp(state, "running");
		ctl_progress(ctl, "copying the checksum table", stats_number(&s, "grow.pages"),
			     most_to_copy(c) >> KVP_BLOCK_SHIFT);
		stats_free(&s);
	} while (running);
	ctl_progress(ctl, "copying the checksum table", 0, 0);
}

/* What took hours had no lock: the pool may have changed since the plan was made. */
static int plan_again(struct ctl *ctl, struct change *c, struct err *err)
{
	if (pool_lock(ctl, c->e.uuid, err))
		return -1;
	plan_close(&c->plan);
	free(c->params);
	c->params = NULL;
	memset(&c->plan, 0, sizeof(c->plan));
	memset(&c->w, 0, sizeof(c->w));
	if (dm_find(c->e.uuid, &c->e, err) || make_plan(c, err))
		return -1;
	return !c->logs_there ? 0 :
	       err_set(err, ERR_FAILED, c->e.name, "ask for it again",
		       "another command has moved the log to the cache meanwhile");
}

static int reload(struct ctl *ctl, struct change *c, struct err *err)
{
	int ret;

	drain_shield();
	dm_message(c->e.name, "checkpoint", NULL, NULL);
	copy_ahead(ctl, c);
	if (plan_again(ctl, c, err))
		return -1;
	ctl_busy(ctl, "writing memory home, and copying the rest of the checksum table");
	dm_message(c->e.name, "checkpoint", NULL, NULL);
	ret = dm_reload(c->e.name, new_sectors(c), c->table, c->sectors, c->before, err);
	ctl_busy_end();
	return ret;
}

/*
 * Data that only the cache has is written home while the pool is in use. That changes the table, so
 * what changed is copied once more.
 */
static int execute(struct ctl *ctl, struct change *c, struct err *err)
{
	int ret;

	copy_ahead(ctl, c);
	if (c->logs_there && drain_for_a_while(ctl, c->e.name, err))
		return -1;
	c->drained = c->logs_there;
	ret = reload(ctl, c, err);
	if (!c->drained)
		return ret;
	if (ret) {
		drain_undo_failed(c->e.name, err);
		return -1;
	}
	return drain_undo(c->e.name, err) ? drain_stays_off(c->e.name, "the pool has grown", err) :
	       0;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct change *c = calloc(1, sizeof(*c));
	json_object *root;
	struct err err;
	int ret;

	if (!c)
		abort();
	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 1, 1);
	ret = pool_lock_named(ctl, argv[optind]) ?: ctl_find(ctl, argv[optind], &c->e);
	if (ret)
		goto out;
	ret = make_plan(c, &err) || (!ctl->dry_run && execute(ctl, c, &err)) ? ctl_fail(ctl, &err) :
									       EXIT_DONE;
	if (!ret) {
		root = plan_json(c);
		report(ctl, c, root);
		json_object_put(root);
	}
out:
	plan_close(&c->plan);
	free(c->params);
	free(c);
	return ret;
}

const struct command cmd_grow = {
	.name = "grow",
	.purpose = "use the space of legs that have become larger",
	.args = "[-n] POOL",
	.about = "Makes vdevs larger whose legs have all become larger, because larger devices "
		"took their place or the devices themselves grew. The pool's device grows at once; "
		"a file system on it can grow afterwards (resize2fs, xfs_growfs). Existing data "
		"stays in place, at its address.\n"
		"The checksum table moves to the end of the legs. It is copied while the pool is "
		"in use. Then requests wait while the pages are copied that changed meanwhile. -n "
		"says how much is copied at most.",
	.more = "All legs of the vdev must be in sync, and the smallest decides. A cache does not "
		"grow: replace its SSDs. As with replace, data that only the cache has is written "
		"home first. A power cut at any time leaves the pool as it was, or the larger one. "
		"An older version of the module does not start a pool that has grown.",
	.example = "kvpoolctl grow -n tank\n"
		"kvpoolctl grow tank && resize2fs /dev/mapper/tank",
	.dry_run = true,
	.run = run,
};
