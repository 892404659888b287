// SPDX-License-Identifier: GPL-2.0-only
/* A running pool as a JSON object. */
#include "advice.h"
#include "device.h"
#include "flush_latency.h"
#include "pool_object.h"
#include "shadow.h"
#include "spares.h"
#include "ssd_counts.h"

#define MAX_LEGS	64	/* bounds for numbers from the module */
#define MAX_VDEVS	16

/* "MAJOR:MINOR", or 0. */
static dev_t parse_numbers(const char *text)
{
	unsigned int ma, mi;
	char end;

	return sscanf(text, "%u:%u%c", &ma, &mi, &end) == 2 ? device_make(ma, mi) : 0;
}

dev_t leg_device(const char *path)
{
	dev_t rdev = parse_numbers(path);

	return rdev || !device_find(path, &rdev) ? rdev : 0;
}

const char *leg_path(const char *path, char *buf, size_t size)
{
	dev_t rdev = parse_numbers(path);

	/* The module knows a leg that a table named by its numbers by the kernel's name. */
	if (!rdev && !strncmp(path, "/dev/dm-", strlen("/dev/dm-")))
		rdev = leg_device(path);
	if (rdev)
		return device_name(rdev, buf, size);
	snprintf(buf, size, "%s", path);
	return buf;
}

/* UUID of the leg that is to take the place of the leg @uuid, or NULL. */
static const char *replaced_by(const struct stats *s, const char *uuid)
{
	const char *old = stats_text(s, "shadow.replaces");
	unsigned int i;

	if (uuid && old && !strcmp(old, uuid))
		return stats_text(s, "shadow.uuid");
	for (i = 0; uuid && i < KVP_MAX_LEGS; i++) {
		old = stats_text(s, "leg.%u.replaces", i);
		if (old && !strcmp(old, uuid))
			return stats_text(s, "leg.%u.uuid", i);
	}
	return NULL;
}

/* Microseconds of a time in ns, rounded up; null if the module does not tell it. */
static void add_us(json_object *o, const char *key, const struct stats *s, const char *what,
		   const char *time)
{
	if (stats_text(s, "%s.%s", what, time))
		json_number(o, key, (stats_number(s, "%s.%s", what, time) + 999) / 1000);
	else
		json_object_object_add(o, key, NULL);
}

/* How long the leg takes, and whether that is too long. An older module tells nothing of it. */
static void add_times(json_object *leg, const struct stats *s, const char *what)
{
	static const char *const kinds[] = { "read", "long_read", "write", "flush" };
	const char *state = stats_text(s, "%s.slow", what), *by = stats_text(s, "%s.slow_by", what);
	json_object *slow, *times = json_child(leg, "p99_us");
	char key[32];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(key, sizeof(key), "p99_%s", kinds[i]);
		add_us(times, kinds[i], s, what, key);
	}
	if (!state || !by || !strcmp(state, "no")) {
		json_object_object_add(leg, "slow", NULL);
		return;
	}
	slow = json_child(leg, "slow");
	json_text(slow, "state", state);
	json_text(slow, "by", by);
	snprintf(key, sizeof(key), "p99_%.20s", by);
	add_us(slow, "p99_us", s, what, key);
	add_us(slow, "others_us", s, what, "slow_others");
}

/* @what: "leg.NUMBER", or "shadow" */
static json_object *leg_object(const struct stats *s, const char *what)
{
	const char *path = stats_text(s, "%s.path", what);
	json_object *leg = json_object_new_object(), *errors;
	char buf[PATH_MAX];

	json_text(leg, "path", path && *path && strcmp(path, "-") ?
		  leg_path(path, buf, sizeof(buf)) : NULL);
	json_text(leg, "uuid", stats_text(s, "%s.uuid", what));
	json_text(leg, "state", stats_text(s, "%s.state", what));
	json_flag(leg, "by_order", stats_number(s, "%s.by_order", what));
	json_text(leg, "replaces", stats_text(s, "%s.replaces", what));
	json_text(leg, "replaced_by", replaced_by(s, stats_text(s, "%s.uuid", what)));
	json_text(leg, "foreign", NULL);	/* null until foreign_note() has probed the leg */
	json_text(leg, "found", NULL);		/* until found_note() has found it */
	json_number(leg, "size", stats_number(s, "%s.size", what));
	errors = json_child(leg, "errors");
	json_number(errors, "read", stats_number(s, "%s.err_read", what));
	json_number(errors, "write", stats_number(s, "%s.err_write", what));
	json_number(errors, "checksum", stats_number(s, "%s.err_checksum", what));
	json_number(errors, "healed", stats_number(s, "%s.healed", what));
	add_times(leg, s, what);
	return leg;
}

/* A device that is to take the place of a leg comes last, as in a mirror. */
static void add_legs(json_object *o, const struct stats *s, unsigned int vdev)
{
	struct vdev_range range = vdev_range(s, vdev);
	json_object *legs = json_list(o, "legs");
	unsigned int i;
	char what[32];

	for (i = range.first; i < range.end; i++) {
		snprintf(what, sizeof(what), "leg.%u", i);
		json_object_array_add(legs, leg_object(s, what));
	}
	i = (unsigned int)stats_number(s, "shadow.leg");
	if (stats_text(s, "shadow.uuid") && i >= range.first && i < range.end)
		json_object_array_add(legs, leg_object(s, "shadow"));
}

static void add_vdevs(json_object *pool, const struct stats *s)
{
	json_object *vdevs = json_list(pool, "vdevs"), *vdev;
	const char *kind;
	unsigned int v;

	for (v = 0; v < MAX_VDEVS && (kind = stats_text(s, "vdev.%u.kind", v)); v++) {
		if (!strncmp(kind, "cache", 5))
			continue;
		vdev = json_item(vdevs);
		json_text(vdev, "kind", kind);
		json_text(vdev, "state", stats_text(s, "vdev.%u.state", v));
		json_number(vdev, "size", stats_number(s, "vdev.%u.size", v));
		json_flag(vdev, "log", stats_number(s, "log.vdevs") >> v & 1);
		add_legs(vdev, s, v);
	}
}

/* Dirty: in the log of a cache and not home yet. Clean: home, and known in the cache. */
static void add_cache(json_object *pool, const struct stats *s)
{
	const char *on = stats_text(s, "log.on");
	bool log = on && !strcmp(on, "cache");
	json_object *o, *drain;
	struct ssd_counts counts;
	unsigned int v;

	if (!stats_text(s, "cache.vdev")) {
		json_object_object_add(pool, "cache", NULL);
		return;
	}
	v = (unsigned int)stats_number(s, "cache.vdev");
	o = json_child(pool, "cache");
	json_text(o, "kind", stats_text(s, "vdev.%u.kind", v));
	json_text(o, "mode", stats_text(s, "cache.mode"));
	json_text(o, "state", stats_text(s, "vdev.%u.state", v));
	json_number(o, "size", stats_number(s, "ssd.size"));
	json_number(o, "dirty", log ? stats_number(s, "log.used") : 0);
	json_number(o, "dirty_max", stats_number(s, "cache.dirty_max"));
	json_number(o, "dirty_max_wanted", stats_number(s, "cache.dirty_max_wanted"));
	json_number(o, "parked", stats_number(s, "ssd.parked"));
	json_number(o, "clean", stats_number(s, "ssd.clean"));
	json_number(o, "hits", stats_number(s, "ssd.hits"));
	json_number(o, "misses", stats_number(s, "ssd.misses"));
	json_number(o, "fills", stats_number(s, "ssd.fills"));
	json_number(o, "reinserted", stats_number(s, "ssd.reinserted"));
	json_number(o, "restored", stats_number(s, "ssd.restored"));
	json_number(o, "restore_ms", stats_number(s, "ssd.restore_ms"));
	ssd_counts_load(s, &counts);
	ssd_counts_json(o, &counts);
	json_number(o, "destage_rate", stats_number(s, "destage.rate"));
	json_number(o, "drain_ms", stats_number(s, "destage.drain_ms"));
	json_number(o, "ram_bytes", stats_number(s, "ssd.ram"));
	drain = json_child(o, "drain");
	json_text(drain, "state", stats_text(s, "drain.state"));
	json_number(drain, "left", stats_number(s, "drain.left"));
	json_number(drain, "total", stats_number(s, "drain.total"));
	json_number(drain, "rate", stats_number(s, "drain.rate"));
	add_legs(o, s, v);
}

static void add_features(json_object *pool, const struct stats *s)
{
	json_object *list = json_list(pool, "features");
	const char *p = stats_text(s, "features");
	size_t n;

	for (; p && *p; p += n + !!p[n]) {
		n = strcspn(p, ", ");
		if (n && !(n == 1 && *p == '-'))
			json_object_array_add(list, json_object_new_string_len(p, (int)n));
	}
}

static void add_bypassed(json_object *ram, const struct stats *s)
{
	static const char *const reasons[] = { "long", "stream", "ahead" };
	json_object *o = json_child(ram, "bypassed");
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		json_number(o, reasons[i], stats_number(s, "ram.bypassed_%s", reasons[i]));
}

static void add_ram_and_log(json_object *pool, const struct stats *s)
{
	json_object *o = json_child(pool, "ram");
	u64 wbuf = stats_number(s, "ram.write_buffer");

	json_number(o, "size", wbuf + stats_number(s, "ram.table_budget") +
		    stats_number(s, "ram.read_cache"));
	json_number(o, "used", stats_number(s, "ram.dirty_blocks") * KVP_BLOCK_SIZE +
		    stats_number(s, "ram.table_used") + stats_number(s, "ram.read_cache_used"));
	json_number(o, "hits", stats_number(s, "ram.hits"));
	json_number(o, "misses", stats_number(s, "ram.misses"));
	json_number(o, "write_buffer", wbuf);
	json_number(o, "read_cache", stats_number(s, "ram.read_cache"));
	add_bypassed(o, s);
	o = json_child(pool, "log");
	json_text(o, "on", stats_text(s, "log.on"));
	json_number(o, "size", stats_number(s, "log.size"));
	json_number(o, "used", stats_number(s, "log.used"));
	json_number(o, "commits", stats_number(s, "log.commits"));
	json_number(o, "flushes", stats_number(s, "log.flushes"));
	json_number(o, "lsn", stats_number(s, "log.lsn"));
	json_number(o, "data", stats_number(s, "log.data_blocks") * KVP_BLOCK_SIZE);
	json_number(o, "bypassed", stats_number(s, "log.intent_blocks") * KVP_BLOCK_SIZE);
	json_flag(o, "failed", stats_number(s, "log.failed"));
}

static void add_memory(json_object *pool, const struct stats *s)
{
	static const char *const uses[] = { "write_buffer", "parked", "table", "ram_cache", "index",
		"fills", "summaries", "log_parity" };
	json_object *o = json_child(pool, "memory");
	size_t i;

	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		json_number(o, uses[i], stats_number(s, "memory.%s", uses[i]));
}

static void add_work(json_object *pool, const struct stats *s)
{
	static const char *const copied[] = { "done", "total", "copied", "unread" };
	static const char *const times[] = { "last_ms", "worst_case_ms", "replayed", "kept",
		"torn_accepted" };
	json_object *o = json_child(pool, "scrub");
	const char *state = stats_text(s, "scrub.state");
	char key[64];
	size_t i;

	json_text(o, "state", state ?: "none");
	json_number(o, "done", stats_number(s, "scrub.done"));
	json_number(o, "total", stats_number(s, "scrub.total"));
	json_number(o, "healed", stats_number(s, "scrub.healed"));
	json_number(o, "unrepaired", stats_number(s, "scrub.unrepaired"));
	json_time(o, "started", stats_number(s, "scrub.started"));
	json_time(o, "finished", stats_number(s, "scrub.finished"));
	o = json_child(pool, "trim");
	state = stats_text(s, "trim.state");
	json_text(o, "state", state ?: "none");
	json_number(o, "done", stats_number(s, "trim.done"));
	json_number(o, "total", stats_number(s, "trim.total"));
	json_number(o, "blocks", stats_number(s, "trim.blocks"));
	o = json_child(pool, "resilver");
	state = stats_text(s, "resilver.state");
	json_text(o, "state", state ?: "none");
	for (i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		snprintf(key, sizeof(key), "resilver.%s", copied[i]);
		json_number(o, copied[i], stats_number(s, "%s", key));
	}
	o = json_child(pool, "recovery");
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		snprintf(key, sizeof(key), "recovery.%s", times[i]);
		json_number(o, times[i], stats_number(s, "%s", key));
	}
}

/*
 * Add the ranges of blocks that @message lists from *@from on, and set *@from behind them. One
 * answer may end amid a range. Returns -1: no answer; else how many lines it had.
 */
static int add_some(json_object *list, const char *name, const char *message, u64 *from,
		    struct err *err)
{
	size_t n = json_object_array_length(list);
	char *text = NULL, *p, order[64];
	json_object *last = n ? json_object_array_get_idx(list, n - 1) : NULL;
	u64 lba, blocks;
	int used = 0, lines = 0;

	snprintf(order, sizeof(order), "%s %" PRIu64, message, *from);
	if (dm_message(name, order, &text, err))
		return -1;
	for (p = text; sscanf(p, "%" SCNu64 " %" SCNu64 "%n", &lba, &blocks, &used) == 2 &&
	     lba >= *from && blocks && blocks <= UINT64_MAX - lba; p += used, lines++) {
		if (last && lba == *from) {
			json_number(last, "blocks", json_number_at(last, "blocks") + blocks);
		} else if (json_object_array_length(list) < RANGES_MAX) {
			last = json_item(list);
			json_number(last, "lba", lba);
			json_number(last, "blocks", blocks);
		} else {
			lines = 0;
			break;
		}
		*from = lba + blocks;
	}
	free(text);
	return lines;
}

/* Add all ranges of blocks that @message lists, at most RANGES_MAX. */
static int add_ranges(json_object *list, const char *name, const char *message, struct err *err)
{
	u64 from = 0;
	int lines;

	while ((lines = add_some(list, name, message, &from, err)) > 0)
		;
	return lines;
}

static int add_poisoned(json_object *pool, const char *name, u64 total, struct err *err)
{
	json_object *list;

	json_number(pool, "poisoned_total", total);
	list = json_list(pool, "poisoned");
	return total ? add_ranges(list, name, "poisoned", err) : 0;
}

/* Null: a module that is older than this tool does not tell. */
static void add_skipped(json_object *pool, const char *name)
{
	json_object *resilver = json_at(pool, "resilver"), *list = json_list(resilver, "skipped");
	struct err ignored;

	if (json_number_at(resilver, "unread") && add_ranges(list, name, "skipped", &ignored))
		json_object_object_add(resilver, "skipped", NULL);
}

/* Null: the pool has no heartbeat. */
static void add_heartbeat(json_object *pool, const struct stats *s)
{
	json_object *o;

	if (!stats_text(s, "heartbeat.age_ms")) {
		json_object_object_add(pool, "heartbeat", NULL);
		return;
	}
	o = json_child(pool, "heartbeat");
	json_number(o, "age_ms", stats_number(s, "heartbeat.age_ms"));
	json_number(o, "left_ms", stats_number(s, "heartbeat.left_ms"));
}

static void add_head(json_object *pool, const struct dm_entry *e, const struct stats *s)
{
	const char *state = stats_text(s, "state"), *mode = stats_text(s, "mode");
	const char *comment = stats_text(s, "comment");

	json_text(pool, "name", e->name);
	json_text(pool, "uuid", e->uuid);
	json_text(pool, "state", e->suspended ? "suspended" : state ?: "faulted");
	json_flag(pool, "readonly", e->readonly || (mode && !strcmp(mode, "ro")));
	json_number(pool, "size", stats_number(s, "size"));
	json_number(pool, "written", stats_number(s, "written_blocks") * KVP_BLOCK_SIZE);
	json_number(pool, "uncounted",
		    stats_number(s, "uncounted_leaves") * KVP_PTRS_PER_PAGE * KVP_BLOCK_SIZE);
	json_number(pool, "checkpoint", stats_number(s, "era"));
	json_number(pool, "epoch", stats_number(s, "epoch"));
	json_text(pool, "comment", comment ?: "");
	add_features(pool, s);
	json_number(pool, "losses_survivable", stats_number(s, "losses_survivable"));
	add_heartbeat(pool, s);
}

json_object *pool_object(const struct dm_entry *e, struct err *err)
{
	json_object *pool;
	struct latency flush;
	struct err ignored;
	struct stats s;
	u64 poisoned;

	if (stats_load(e->name, &s, err))
		return NULL;
	/* a pool can be stopped without this answer */
	latency_load(e->name, &flush, &ignored);
	pool = json_object_new_object();
	add_head(pool, e, &s);
	add_vdevs(pool, &s);
	json_list(pool, "spares");
	add_cache(pool, &s);
	add_ram_and_log(pool, &s);
	add_memory(pool, &s);
	latency_json(json_child(pool, "flush"), &flush);
	add_work(pool, &s);
	poisoned = stats_number(&s, "poisoned_blocks");
	stats_free(&s);
	if (add_poisoned(pool, e->name, poisoned, err)) {
		json_object_put(pool);
		return NULL;
	}
	add_skipped(pool, e->name);
	advice_set(pool);
	return pool;
}

json_object *pool_unasked(const struct dm_entry *e)
{
	static const char *const unknown[] = {
		"size", "written", "uncounted", "checkpoint", "epoch", "comment", "features",
		"losses_survivable", "heartbeat", "vdevs", "spares", "cache", "ram", "log",
		"memory", "flush", "scrub", "trim", "resilver", "recovery", "poisoned_total",
		"poisoned",
	};
	json_object *pool = json_object_new_object();
	size_t i;

	json_text(pool, "name", e->name);
	json_text(pool, "uuid", e->uuid);
	json_text(pool, "state", "suspended");
	json_flag(pool, "readonly", e->readonly);
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		json_object_object_add(pool, unknown[i], NULL);
	advice_set(pool);
	return pool;
}

json_object *pool_describe(const struct dm_entry *e, struct err *err)
{
	json_object *pool = pool_object(e, err);

	return pool || !e->suspended ? pool : pool_unasked(e);
}

json_object *pool_legs(json_object *pool)
{
	json_object *all = json_object_new_array(), *vdevs = json_at(pool, "vdevs"), *legs;
	size_t v, i, n = vdevs ? json_object_array_length(vdevs) : 0;

	/* also the cache, if there is one */
	for (v = 0; v <= n; v++) {
		legs = v < n ? json_at(json_object_array_get_idx(vdevs, v), "legs") :
			       json_at(pool, "cache.legs");
		for (i = 0; legs && i < json_object_array_length(legs); i++)
			json_object_array_add(all, json_object_get(
					      json_object_array_get_idx(legs, i)));
	}
	return all;
}

int leg_find(const char *pool, const struct stats *s, const char *dev, char uuid[UUID_BUF],
	     unsigned int *index, struct err *err)
{
	dev_t want = leg_device(dev);
	const char *leg, *path;
	char mend[REPLACED_MEND];
	unsigned int i;

	for (i = 0; i < MAX_LEGS && (leg = stats_text(s, "leg.%u.uuid", i)); i++) {
		path = stats_text(s, "leg.%u.path", i) ?: "-";
		/* if the device has gone, the pool's own path for it is accepted */
		if (strcasecmp(leg, dev) && !(want && want == leg_device(path)) &&
		    strcmp(path, dev))
			continue;
		snprintf(uuid, UUID_BUF, "%s", leg);
		*index = i;
		return 0;
	}
	if (shadow_is(s, dev))
		return err_set(err, ERR_REFUSED, dev, shadow_mend(pool, s, mend),
			       "it is no leg of pool %s yet: it is to take the place of one", pool);
	return err_set(err, ERR_NOT_FOUND, dev, "'kvpoolctl status' lists the legs by path, "
		       "with -v by UUID", "not a leg of pool %s", pool);
}

int leg_open(struct ctl *ctl, const char *pool, const char *dev, struct dm_entry *e,
	     struct stats *s, unsigned int *leg)
{
	char uuid[UUID_BUF];
	struct err err;
	int ret = ctl_find(ctl, pool, e);

	if (ret)
		return ret;
	if (stats_load(e->name, s, &err))
		return ctl_fail(ctl, &err);
	if (!leg_find(e->name, s, dev, uuid, leg, &err))
		return 0;
	stats_free(s);
	return ctl_fail(ctl, &err);
}
