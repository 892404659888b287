// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl add: more vdevs for a running pool. */
#include "announce.h"
#include "drain.h"
#include "format/logplace.h"
#include "format/regions.h"
#include "host.h"
#include "memory.h"
#include "plan.h"
#include "pool_lock.h"
#include "pool_object.h"
#include "reload.h"
#include "shadow.h"
#include "spare_devices.h"
#include "spares.h"

/* The pool before the add. */
struct before {
	struct dm_entry entry;
	u64 sectors;
	char *params;		/* of its table */
	int losses;		/* legs that it can lose now */
	u32 designed;		/* legs that it could lose with all its legs */
	struct kvp_geometry cache;	/* its cache; no legs: it has none */
	bool logs_there;	/* the cache carries the log */
	bool drained;		/* it did, and was taken off for this change */
	const struct plan *asked;	/* the options alone, to plan again */
	int count;		/* of @words, which name the new vdevs */
	char **words;
};

/* --- the pool as it is -------------------------------------------------------- */

static u32 least_losses(const struct kvp_sb *sb, u32 first)
{
	u32 least = KVP_MAX_LEGS, v, n;

	for (v = first; v < sb->vdev_count; v++) {
		n = (u32)kvp_losses(&sb->vdevs[v]);
		if (kvp_has_data(&sb->vdevs[v]) && n < least)
			least = n;
	}
	return least;
}

static int find_pool(struct plan *p, struct before *b, struct err *err)
{
	struct stats s;
	int ret;

	if (b->entry.readonly)
		return err_set(err, ERR_READ_ONLY, p->name,
			       "export it and import it without --readonly",
			       "it was imported read-only");
	if (dm_table(b->entry.name, &b->sectors, &b->params, err) ||
	    stats_load(b->entry.name, &s, err))
		return -1;
	/* with the log off for a while, what it was before counts */
	if (!b->drained)
		b->losses = stats_losses(&s);
	ret = plan_pool(p, &s, &b->cache, &b->logs_there, err);
	stats_free(&s);
	if (ret)
		return -1;
	snprintf(p->uuid, sizeof(p->uuid), "%s", b->entry.uuid);
	b->designed = least_losses(&p->sb, 0);
	return 0;
}

/* --- the plan ------------------------------------------------------------------ */

static int check_redundancy(const struct plan *p, const struct before *b, struct err *err)
{
	u32 after = least_losses(&p->sb, p->first_vdev);

	if (after >= b->designed || p->force)
		return 0;
	return err_set(err, ERR_REFUSED, p->name,
			       "add vdevs that survive as much; or give -f to accept this",
			       "it would survive the loss of %u leg(s), not of %u: all its vdevs "
			       "are needed",
		       after, b->designed);
}

static int write_table(struct plan *p, const struct before *b, struct err *err)
{
	const char *vdevs = table_vdevs(b->params), *cache;

	if (!vdevs)
		return err_set(err, ERR_KERNEL, p->name, "see dmsetup table",
			       "its table is unreadable");
	cache = b->cache.leg_count ? table_cache(vdevs) : vdevs + strlen(vdevs);
	if (!cache)
		return err_set(err, ERR_KERNEL, p->name, "see dmsetup table",
			       "its table does not name its cache");
	plan_write(p, "%s %u add", p->uuid, 1 + plan_sizes(p));
	plan_write_sizes(p);
	plan_write(p, "%.*s", (int)(cache - vdevs), vdevs);
	plan_write_vdevs(p);
	plan_write(p, "%s", cache);
	return 0;
}

/* A cache does not change the size of the device. */
static u64 new_sectors(const struct plan *p, const struct before *b)
{
	return kvp_has_data(&p->sb.vdevs[p->first_vdev]) ? plan_blocks(p) << KVP_SECTORS_SHIFT :
							   b->sectors;
}

/* If the cache is to carry the log, the cache must survive losses too. */
static int losses_after(const struct plan *p, const struct before *b)
{
	int after = (int)least_losses(&p->sb, p->first_vdev), cache = kvp_cache_find(&p->sb), n;

	if (cache >= 0 && !kvp_cache_lowers(&p->sb)) {
		n = (int)kvp_losses(&p->sb.vdevs[cache]);
		after = n < after ? n : after;
	}
	return after < b->losses ? after : b->losses;
}

/*
 * The log returns to an old cache that had it. It goes to a new cache unless use_cache() decides
 * against it.
 */
static bool log_goes_on_cache(const struct plan *p, const struct before *b)
{
	return b->drained || b->logs_there ||
	       (kvp_cache_find(&p->sb) >= 0 && !kvp_cache_lowers(&p->sb));
}

static json_object *plan_json(const struct plan *p, const struct before *b)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *vdevs;
	char table[sizeof(p->params) + 64];
	u32 v;

	json_text(plan, "action", "add");
	json_text(plan, "pool", p->name);
	json_text(plan, "uuid", p->uuid);
	json_number(plan, "size_before", b->sectors << 9);
	json_number(plan, "size", new_sectors(p, b) << 9);
	json_number(plan, "cache_size", plan_cache_bytes(p));
	json_number(plan, "cache_dirty_max", plan_cache_dirty(p));
	json_text(plan, "cache_mode", kvp_cache_find(&p->sb) < 0 ? NULL :
		  kvp_cache_lowers(&p->sb) ? "writethrough" : "writeback");
	json_text(plan, "log_on", log_goes_on_cache(p, b) ? "cache" : "legs");
	json_number(plan, "cache_ram_bytes", memory_of_cache(&p->sb));
	json_redundancy(plan, b->losses, losses_after(p, b));
	vdevs = json_list(plan, "vdevs");
	for (v = p->first_vdev; v < p->sb.vdev_count; v++)
		plan_add_vdev(vdevs, p, &p->sb.vdevs[v]);
	snprintf(table, sizeof(table), "0 %" PRIu64 " kvpool %s", new_sectors(p, b), p->params);
	json_text(plan, "table", table);
	return root;
}

static void report(struct ctl *ctl, const struct plan *p, const struct before *b)
{
	json_object *root = plan_json(p, b), *plan = json_at(root, "plan");
	char was[SIZE_BUF], is[SIZE_BUF], ram[SIZE_BUF];

	ctl_size(ctl, json_number_at(plan, "size_before"), was);
	ctl_size(ctl, json_number_at(plan, "size"), is);
	if (ctl->json) {
		ctl_json(json_object_get(root));
	} else if (ctl->dry_run) {
		printf("would add to pool %s:", p->name);
		plan_print_vdevs(ctl, p);
		printf("usable    %s, now %s\n", is, was);
		if (plan_cache_bytes(p))
			printf("cache     %s, of which %s may be dirty\n"
			       "mode      %s: the log %s\nmemory    %s\n",
			       ctl_size(ctl, plan_cache_bytes(p), is),
			       ctl_size(ctl, plan_cache_dirty(p), was),
			       json_text_at(plan, "cache_mode"),
			       log_goes_on_cache(p, b) ? "moves onto it" :
			       "stays on the legs, which survive more losses than one SSD",
			       ctl_size(ctl, memory_of_cache(&p->sb), ram));
		printf("survives  loss of %" PRIu64 " leg(s), now %" PRIu64 "\n",
		       json_number_at(plan, "redundancy.after"),
		       json_number_at(plan, "redundancy.before"));
		printf("table     %s\n", json_text_at(plan, "table"));
	} else if (plan_cache_bytes(p)) {
		ctl_say(ctl, "added to pool %s: a cache of %s", p->name,
			ctl_size(ctl, plan_cache_bytes(p), is));
	} else {
		ctl_say(ctl, "added to pool %s: %s, was %s", p->name, is, was);
	}
	json_object_put(root);
}

/* --- the run ------------------------------------------------------------------------- */

/* A new cache that may carry the log gets it, as in a new pool. */
static int use_cache(struct ctl *ctl, const struct plan *p, const struct before *b, struct err *err)
{
	if (kvp_cache_find(&p->sb) < 0)
		return 0;
	if (!kvp_cache_lowers(&p->sb)) {
		if (losses_after(p, b) < b->losses && !ctl->quiet)
			fprintf(stderr, "kvpoolctl: note: with its log on this cache the pool "
				"survives the loss of %d leg(s), not of %d\n",
				losses_after(p, b), b->losses);
		return dm_message(b->entry.name, "set cache_mode writeback", NULL, err);
	}
	if (!ctl->quiet)
		fprintf(stderr, "kvpoolctl: note: the cache is write-through: the legs survive "
			"more losses than one SSD; 'kvpoolctl set -f %s cache_mode=writeback' "
			"moves the log there\n", p->name);
	return 0;
}

static int make_plan(struct plan *p, struct before *b, struct err *err);

/* The plan was made before a drain, which takes hours: pool and devices may have changed since. */
static int plan_again(struct plan *p, struct before *b, struct err *err)
{
	struct plan *was = malloc(sizeof(*was));
	unsigned int i;
	int ret;

	if (!was)
		abort();
	plan_close(p);
	*was = *p;
	*p = *b->asked;
	free(b->params);
	b->params = NULL;
	ret = dm_find(b->entry.uuid, &b->entry, err) || make_plan(p, b, err) ? -1 : 0;
	for (i = 0; !ret && i < p->leg_count - p->first_leg; i++)
		ret = plan_leg_same(&was->legs[was->first_leg + i], &p->legs[p->first_leg + i],
				    err);
	free(was);
	return ret;
}

#define DRAINS		3

/*
 * Data that only the cache has is written home while the pool is in use, not while all requests
 * wait. This waits without a lock, so another command may change the pool, and return the log. Ends
 * with the lock, and a plan of the pool as it is.
 */
static int log_leaves_cache(struct ctl *ctl, struct plan *p, struct before *b, struct err *err)
{
	int i;

	for (i = 0; b->logs_there; i++) {
		if (i == DRAINS)
			return err_set(err, ERR_FAILED, b->entry.name, "ask for it again",
				       "other commands return the log to the cache");
		if (drain_for_a_while(ctl, b->entry.name, err))
			return -1;
		b->drained = true;
		if (pool_lock(ctl, b->entry.uuid, err) || plan_again(p, b, err)) {
			drain_undo_failed(b->entry.name, err);
			return -1;
		}
	}
	return 0;
}

/* The log was on this cache before, so it returns without -f. */
static int log_returns(const struct before *b, struct err *err)
{
	return b->drained ? drain_undo(b->entry.name, err) : 0;
}

static int execute(struct ctl *ctl, struct plan *p, struct before *b, struct err *err)
{
	char old[sizeof(p->params)], why[sizeof(err->why)];
	unsigned int i;
	int ret;

	if (log_leaves_cache(ctl, p, b, err))
		return -1;
	drain_shield();
	ret = plan_wipe(p, err);
	plan_close(p);
	table_again(p->uuid, b->params, old, sizeof(old));
	ctl_busy(ctl, "writing memory home");
	/* the log is off already, so the suspend has little to write home */
	if (!ret)
		dm_message(b->entry.name, "checkpoint", NULL, NULL);
	if (!ret)
		ret = dm_reload(b->entry.name, new_sectors(p, b), p->params, b->sectors, old, err);
	ctl_busy_end();
	for (i = p->first_leg; i < p->leg_count; i++)
		announce_joined(p->legs[i].dev.rdev);
	if (!ret)
		return log_returns(b, err) || use_cache(ctl, p, b, err) ?
			drain_stays_off(p->name, "the vdevs were added", err) : 0;
	/* a refusal would say that the pool is unchanged */
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.340s (nothing was added; first and last MiB of the new "
		 "devices may be overwritten)", err->why);
	memcpy(err->why, why, sizeof(why));
	if (b->drained)
		drain_undo_failed(b->entry.name, err);
	return -1;
}

static int parse(struct ctl *ctl, struct plan *p, int argc, char **argv)
{
	struct err err;
	int c;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		if (c == 'f')
			p->force = true;
		else if (plan_option(p, optarg, &err))
			return ctl_fail(ctl, &err);
	}
	ctl_args(ctl, argc, 2, -1);
	if (!p->setting_count && !*p->comment.key)
		return 0;
	err_set(&err, ERR_USAGE, "-o", "kvpoolctl set changes tunables",
		"add takes only log_size=, size=, chunk= and cache_dirty_max=, for the new vdevs");
	return ctl_fail(ctl, &err);
}

static int check_words(const struct plan *p, const struct before *b, struct err *err)
{
	u32 more = !!b->cache.leg_count;

	if (p->in_spares)
		return err_set(err, ERR_USAGE, "spare", "kvpoolctl add POOL spare DEV...",
			       "spares must be added alone");
	if (p->sb.vdev_count == p->first_vdev)
		return err_set(err, ERR_USAGE, "VDEV", "name it", "no vdev was named");
	if (more && kvp_cache_find(&p->sb) >= 0)
		return err_set(err, ERR_USAGE, "cache", "kvpoolctl remove POOL cache takes it out",
			       "a pool has one cache at most, and this pool has one");
	if (kvp_cache_find(&p->sb) >= 0 && p->sb.vdev_count > p->first_vdev + 1)
		return err_set(err, ERR_USAGE, "cache", "add the other vdevs first",
			       "a cache must be added alone");
	if (p->sb.vdev_count + more > KVP_MAX_VDEVS ||
	    p->leg_count + b->cache.leg_count > KVP_MAX_LEGS)
		return err_set(err, ERR_USAGE, p->name, "make another pool",
			       "a pool has at most %d vdevs and %d legs", KVP_MAX_VDEVS,
			       KVP_MAX_LEGS);
	return 0;
}

static int make_plan(struct plan *p, struct before *b, struct err *err)
{
	if (find_pool(p, b, err) || shadow_check_none(&b->entry, err) ||
	    plan_vdevs(p, b->count, b->words, err) || check_words(p, b, err) ||
	    check_redundancy(p, b, err) || plan_devices(p, err) || plan_cache_size(p, err) ||
	    plan_check_logs(p, &b->cache, err))
		return -1;
	return write_table(p, b, err);
}

/* --- spares -------------------------------------------------------------------------- */

/* The pool does not change, and does not know. */
static int plan_new_spares(struct plan *p, struct before *b, struct err *err)
{
	if (find_pool(p, b, err) || plan_vdevs(p, b->count, b->words, err))
		return -1;
	if (plan_sizes(p))
		return err_set(err, ERR_USAGE, "-o", "leave it out", "a spare has no sizes");
	return plan_spares(p, &b->cache, err);
}

static void report_spares(struct ctl *ctl, const struct plan *p)
{
	json_object *root = json_root(), *plan = json_child(root, "plan"), *list;
	unsigned int i;

	json_text(plan, "action", "add");
	json_text(plan, "pool", p->name);
	json_text(plan, "uuid", p->uuid);
	list = json_list(plan, "spares");
	for (i = 0; i < p->spare_count; i++)
		plan_add_leg(list, &p->spares[i]);
	if (ctl->json) {
		ctl_json(root);
		return;
	}
	json_object_put(root);
	if (ctl->dry_run) {
		printf("would add to pool %s:", p->name);
		plan_print_vdevs(ctl, p);
	} else {
		ctl_say(ctl, "added to pool %s: %u spare(s)", p->name, p->spare_count);
	}
}

static int add_spares(struct ctl *ctl, struct plan *p, struct before *b)
{
	struct err err;

	if (plan_new_spares(p, b, &err) || (!ctl->dry_run && spares_write(p, &err)))
		return ctl_fail(ctl, &err);
	report_spares(ctl, p);
	return EXIT_DONE;
}

/* --- vdevs --------------------------------------------------------------------------- */

static int add_vdevs(struct ctl *ctl, struct plan *p, struct before *b)
{
	struct plan *asked = malloc(sizeof(*asked));
	struct err err;
	int ret;

	if (!asked)
		abort();
	*asked = *p;
	b->asked = asked;
	ret = make_plan(p, b, &err) || (!ctl->dry_run && execute(ctl, p, b, &err));
	free(asked);
	if (ret)
		return ctl_fail(ctl, &err);
	plan_note_alignment(ctl, p);
	report(ctl, p, b);
	return EXIT_DONE;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct plan *p = calloc(1, sizeof(*p));
	struct before b = { .params = NULL };
	int ret;

	if (!p)
		abort();
	ret = parse(ctl, p, argc, argv);
	b.words = argv + optind + 1;
	b.count = argc - optind - 1;
	if (!ret)
		ret = pool_lock_named(ctl, argv[optind]) ?:
		      ctl_find(ctl, argv[optind], &b.entry);
	p->name = b.entry.name;
	if (!ret)
		ret = (strcmp(*b.words, "spare") ? add_vdevs : add_spares)(ctl, p, &b);
	plan_close(p);
	free(b.params);
	free(p);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "wipe foreign signatures, accept that the pool survives fewer losses, accept an SSD of "
	  "less than 64 MiB in a cache, accept devices that have one WWID" },
	{ 'o', NULL, "KEY=VALUE",
	  "log_size=, size= (use less of each leg), chunk= and cache_dirty_max=, as for create; "
	  "a cache takes only the last of these, and uses all of its SSDs" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_add = {
	.name = "add",
	.purpose = "make a pool larger, or add a cache or spares",
	.args = "[-n] [-f] [-o KEY=VALUE]... POOL VDEV...",
	.about = "Adds vdevs to a running pool. VDEV is as for create. The pool's device grows at "
		"once; a file system on it can grow afterwards (resize2fs, xfs_growfs). Existing "
		"data stays in place, and blocks beyond the old end go to the new vdevs. Writes "
		"wait while the pool writes its memory home. If the pool has a cache, data that "
		"only the cache has is written home first, while the pool is in use.\n"
		"A cache is added alone. It is the only vdev that can be taken out again "
		"(remove).\n"
		"spare DEV..., also alone, names devices that wait until a leg or an SSD of the "
		"cache is lost. Then kvpool-monitor, or replace without NEW, puts one in its "
		"place. Spares do not change the pool.",
	.more = "A cache carries the log at once if it survives as many losses as the legs. A "
		"power cut at any time leaves the old pool or the larger one. If a new device "
		"fails, the pool stops cleanly and starts again with its old table, which takes a "
		"moment. From then on the pool needs the new vdevs as well as the old ones.",
	.example = "kvpoolctl add -n tank mirror /dev/sdd /dev/sde\n"
		"kvpoolctl add tank cache mirror /dev/nvme0n1 /dev/nvme1n1",
	.options = options,
	.dry_run = true,
	.run = run,
};
