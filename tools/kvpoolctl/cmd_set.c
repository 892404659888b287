// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl set: change a tunable of a running pool. */
#define _GNU_SOURCE
#include "drain.h"
#include "memory.h"
#include "order_plan.h"
#include "pool_lock.h"
#include "setting.h"
#include "spares.h"

/* KEY=VALUE, or KEY and VALUE as two words. */
static int parse(struct ctl *ctl, const char *key, const char *value, struct setting *s)
{
	char *text = NULL;
	struct err err;
	int ret;

	if (value && strchr(key, '='))
		return ctl_usage(ctl, "too many arguments");
	if (value && asprintf(&text, "%s=%s", key, value) < 0)
		err_set(&err, ERR_FAILED, key, "free some memory", "no memory");
	else if (!setting_parse(text ?: key, s, &err)) {
		free(text);
		return 0;
	}
	ret = ctl_fail(ctl, &err);
	free(text);
	return ret;
}

/* --- the plan --------------------------------------------------------------------------- */

/* The number of SSDs that the cache can lose with the log on it; -1: it has too few for that. */
static int cache_spare(const struct stats *s)
{
	unsigned int vdev = (unsigned int)stats_number(s, "cache.vdev"), i;
	unsigned int first = (unsigned int)stats_number(s, "vdev.%u.first_leg", vdev);
	unsigned int legs = (unsigned int)stats_number(s, "vdev.%u.legs", vdev);
	const char *kind = stats_text(s, "vdev.%u.kind", vdev);
	int used = 0;

	for (i = first; i < first + legs; i++)
		used += !strcmp(stats_text(s, "leg.%u.state", i) ?: "-", "online");
	return used - (kind && !strcmp(kind, "cache-parity1") ? (int)legs - 1 : 1);
}

/* A change of the cache needs one, and one change at a time is made. */
static int check_cache(const struct stats *s, const char *pool, struct err *err)
{
	if (!stats_text(s, "cache.vdev"))
		return err_set(err, ERR_REFUSED, pool, "kvpoolctl add POOL cache DEVICE...",
			       "the pool has no cache");
	if (!strcmp(order_state(s, "drain"), "running"))
		return err_set(err, ERR_REFUSED, pool,
			       "kvpoolctl cancel POOL drain; or wait for that",
			       "the cache is being drained");
	return 0;
}

/* What the module would refuse of a new mode. */
static int check_mode(const struct stats *s, const char *pool, const char *mode, bool force,
		      struct err *err)
{
	bool on_cache = !strcmp(stats_text(s, "log.on") ?: "-", "cache");
	int spare;

	if (strcmp(mode, "writeback") || on_cache)
		return 0;
	spare = cache_spare(s);
	if (spare < 0)
		return err_set(err, ERR_REFUSED, pool, "take the cache out and add another",
			       "too few SSDs of the cache are in use");
	if (!spare && losses_without_cache(s) && !force)
		return err_set(err, ERR_REFUSED, pool, "give the cache two SSDs; or accept this "
			       "with -f",
			       "with the log on the SSDs that are left the pool would lose writes "
			       "with one more, though it can lose a leg");
	return 0;
}

/* The value of a comment, without the backslashes that its message needs. */
static void plain_value(const struct setting *set, char buf[VALUE_LEN])
{
	const char *p = set->value;
	bool escaped = !strcmp(set->key, KEY_COMMENT);
	size_t n = 0;

	for (; *p; p++) {
		if (escaped && *p == '\\' && p[1])
			p++;
		buf[n++] = *p;
	}
	buf[n] = 0;
}

static const char *log_after(const struct stats *s, const char *mode)
{
	const char *now = stats_text(s, "log.on");

	return !mode ? now : !strcmp(mode, "writeback") ? "cache" : "legs";
}

static void show(const struct ctl *ctl, const char *key, const char *value, char buf[VALUE_LEN])
{
	int id = kvp_tunable_find(key);

	if (value && id >= 0)
		tunable_show(ctl, (unsigned int)id, value, buf, VALUE_LEN);
	else
		snprintf(buf, VALUE_LEN, "%s", value ?: "-");
}

/* --- the plan of cache_dirty_max --- */

/* The limit as the module will set it: in whole segments, and no more than the cache has. */
static u64 dirty_max_of(const struct stats *s, const struct setting *set)
{
	u64 bytes = strtoull(set->value, NULL, 10), size = stats_number(s, "ssd.size");

	if (size && bytes > size)
		bytes = size;
	return bytes - bytes % ((u64)KVP_SEGMENT_BLOCKS << KVP_BLOCK_SHIFT);
}

static int print_dirty_max(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
			   const struct setting *set)
{
	u64 before = stats_number(s, "cache.dirty_max"), after = dirty_max_of(s, set), over = 0;
	char text[24], was[24], from[SIZE_BUF], to[SIZE_BUF], buf[SIZE_BUF], ram[SIZE_BUF];
	const char *on = stats_text(s, "log.on");
	json_object *root, *plan = order_plan(e, "set", &root);
	char more[80] = "";

	if (on && !strcmp(on, "cache") && after < before && stats_number(s, "log.used") > after)
		over = stats_number(s, "log.used") - after;
	snprintf(text, sizeof(text), "%" PRIu64, after);
	snprintf(was, sizeof(was), "%" PRIu64, before);
	json_text(plan, "key", set->key);
	json_text(plan, "before", was);
	json_text(plan, "value", text);
	json_text(plan, "log_on", on);
	json_number(plan, "dirty_ram_bytes", memory_of_dirty(after));
	json_number(plan, "over_bytes", over);
	if (over)
		snprintf(more, sizeof(more), "first     %s of the log become free\n",
			 ctl_size(ctl, over, buf));
	return order_plan_print(ctl, root, "would set %s of pool %s to %s, now %s\n"
				"memory    %s at most, if all of that is dirty\n%s", set->key,
				e->name, size_exact(after, to), size_exact(before, from),
				ctl_size(ctl, memory_of_dirty(after), ram), more);
}

static int print_plan(struct ctl *ctl, const struct dm_entry *e, const struct stats *s,
		      const struct setting *set)
{
	const char *mode = strcmp(set->key, "cache_mode") ? NULL : set->value;
	const char *before = !strcmp(set->key, KEY_COMMENT) ? stats_text(s, "comment") :
			     stats_text(s, "tunable.%s", set->key);
	const char *log = log_after(s, mode), *log_now = stats_text(s, "log.on");
	char value[VALUE_LEN], new[VALUE_LEN], old[VALUE_LEN], moves[40] = "";
	json_object *root, *plan = order_plan(e, "set", &root);

	plain_value(set, value);
	show(ctl, set->key, value, new);
	show(ctl, set->key, before, old);
	json_text(plan, "key", set->key);
	json_text(plan, "before", before);
	json_text(plan, "value", value);
	json_text(plan, "log_on", log);
	if (mode && log_now && strcmp(log, log_now))
		snprintf(moves, sizeof(moves), "log       moves to the %s\n", log);
	return order_plan_print(ctl, root, "would set %s of pool %s to %s, now %s\n%s", set->key,
				e->name, new, old, moves);
}

static int dry_run(struct ctl *ctl, const struct dm_entry *e, const struct setting *set, bool force)
{
	bool mode = !strcmp(set->key, "cache_mode"), dirty = !strcmp(set->key, KEY_DIRTY_MAX);
	struct stats s;
	struct err err;
	int ret;

	if (order_writable(e, &err) || stats_load(e->name, &s, &err))
		return ctl_fail(ctl, &err);
	if (((mode || dirty) && check_cache(&s, e->name, &err)) ||
	    (mode && check_mode(&s, e->name, set->value, force, &err)))
		ret = ctl_fail(ctl, &err);
	else
		ret = dirty ? print_dirty_max(ctl, e, &s, set) : print_plan(ctl, e, &s, set);
	stats_free(&s);
	return ret;
}

/* --- the run ------------------------------------------------------------------------------ */

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	struct dm_entry e;
	struct setting s;
	struct err err;
	int n, ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;	/* -f is the only option */
	n = ctl_args(ctl, argc, 2, 3);
	ret = parse(ctl, argv[optind + 1], n == 3 ? argv[optind + 2] : NULL, &s);
	if (ret)
		return ret;
	if (dm_find(argv[optind], &e, &err))
		return ctl_fail(ctl, &err);
	if (force && strcmp(s.key, "cache_mode")) {
		err_set(&err, ERR_USAGE, "-f", "leave it out", "only cache_mode takes it");
		return ctl_fail(ctl, &err);
	}
	if (ctl->dry_run)
		return dry_run(ctl, &e, &s, force);
	if (!strcmp(s.key, "cache_mode"))
		ret = pool_lock(ctl, e.uuid, &err) ?:
		      drain_set_mode(ctl, e.name, s.value, force, &err);
	else if (!strcmp(s.key, KEY_DIRTY_MAX))
		ret = pool_lock(ctl, e.uuid, &err) ?:
		      drain_set_dirty_max(ctl, e.name, s.value, &err);
	else
		ret = setting_apply(e.name, &s, &err);
	if (ret)
		return ctl_fail(ctl, &err);
	return ctl_done(ctl);
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "cache_mode=writeback onto a single SSD, although the pool then survives fewer losses" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_set = {
	.name = "set",
	.purpose = "change a tunable; durable at once",
	.args = "[-n] [-f] POOL KEY=VALUE|KEY VALUE",
	.about = "Changes a tunable of a running pool. The change is durable when the command "
		"returns. 'kvpoolctl get' lists all tunables with range, default and meaning. "
		"cache_mode moves the log onto the cache or off it. That may take minutes, and the "
		"pool stays in use. If the command is interrupted before the log moves, nothing "
		"has changed. cache_dirty_max is how much of the cache may be dirty, from 64M to "
		"64G. A larger limit counts at once. For a smaller one, dirty data that does not "
		"fit goes home first.",
	.more = "Each GiB of cache_dirty_max takes 6 MiB of memory while it is dirty, and makes "
		"the start after a power cut longer. A smaller limit is a drain: 'status' and "
		"'metrics' show how much is left. Meanwhile writes slow down to the rate at which "
		"data goes home. 'kvpoolctl cancel POOL drain' keeps the limit as it was.",
	.example = "kvpoolctl set tank scrub_rate=100M\nkvpoolctl set tank cache_dirty_max=8G",
	.options = options,
	.dry_run = true,
	.run = run,
};
