// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl get: tunables of a running pool, or without a pool their defaults. */
#include "columns.h"
#include "setting.h"
#include "stats.h"

/* Values of a vdev. Most can be given only when a pool is made. */
static const struct {
	const char *key, *stat, *when, *meaning;
	/* taken from the first vdev that has it; not every pool has one */
	bool of_any;
	bool can_be_set;
} fixed[] = {
	{ "log_size", "log.size", "at create", "of the log on each leg", false, false },
	{ "size", "vdev.0.leg_size", "at create", "how much of each leg is used", false, false },
	{ "chunk", "chunk", "at create", "neighbouring blocks on one leg of a parity1", true,
	  false },
	{ KEY_DIRTY_MAX, "cache.dirty_max", "64M..64G",
	  "limit of dirty data in the cache, no more than the cache has", false, true },
};

#define FIXED	((int)(sizeof(fixed) / sizeof(*fixed)))

/* Keys beside those of the numeric tunables. */
enum { COMMENT = KVP_TUNABLES, FIRST_FIXED };

static int find_key(const char *key)
{
	int i;

	for (i = 0; i < FIXED; i++)
		if (!strcmp(key, fixed[i].key))
			return FIRST_FIXED + i;
	return strcmp(key, KEY_COMMENT) ? kvp_tunable_find(key) : COMMENT;
}

/* 0: the pool has no such value */
static u64 fixed_bytes(const struct stats *s, unsigned int i)
{
	u64 bytes = 0;
	unsigned int v;

	if (!fixed[i].of_any)
		return stats_number(s, "%s", fixed[i].stat);
	for (v = 0; !bytes && v < KVP_MAX_VDEVS; v++)
		bytes = stats_number(s, "vdev.%u.%s", v, fixed[i].stat);
	return bytes;
}

static const char *fixed_value(const struct ctl *ctl, const struct stats *s, unsigned int i,
			       char buf[SIZE_BUF])
{
	u64 bytes = fixed_bytes(s, i);

	if (!bytes)
		return "-";
	return ctl->plain ? ctl_size(ctl, bytes, buf) : size_exact(bytes, buf);
}

static const char *value_of(const struct stats *s, unsigned int id, char *def, size_t size)
{
	const char *value = stats_text(s, "tunable.%s", kvp_tunables[id].key);

	if (value)
		return value;
	kvp_tunable_print(id, kvp_tunables[id].def, def, size);
	return def;
}

/* As the number is written: with a decimal point, if it has one. */
static void add_number(json_object *o, const char *key, const char *text)
{
	if (strchr(text, '.'))
		json_object_object_add(o, key, json_object_new_double_s(strtod(text, NULL), text));
	else
		json_number(o, key, strtoull(text, NULL, 10));
}

static void add_limit(json_object *o, const char *key, unsigned int id, u64 value)
{
	char buf[64];

	kvp_tunable_print(id, value, buf, sizeof(buf));
	add_number(o, key, buf);
}

static void add_tunable(json_object *all, const struct stats *s, unsigned int id)
{
	const struct kvp_tunable *t = &kvp_tunables[id];
	json_object *o = json_child(all, t->key);
	char buf[64];

	json_text(o, "unit", tunable_unit(id));
	if (!s)
		json_text(o, "value", NULL);
	if (t->unit == KVP_UNIT_WORD) {
		if (s)
			json_text(o, "value", value_of(s, id, buf, sizeof(buf)));
		kvp_tunable_print(id, t->def, buf, sizeof(buf));
		json_text(o, "default", buf);
		json_text(o, "words", t->words);
	} else {
		if (s)
			add_number(o, "value", value_of(s, id, buf, sizeof(buf)));
		add_limit(o, "default", id, t->def);
		add_limit(o, "min", id, t->min);
		add_limit(o, "max", id, t->max);
		json_flag(o, "zero", t->by_itself || !t->min);
	}
	json_text(o, "meaning", t->meaning);
}

static void add_fixed(json_object *all, const struct stats *s, unsigned int i)
{
	json_object *o = json_child(all, fixed[i].key);

	json_text(o, "unit", "bytes");
	if (s && fixed_bytes(s, i))
		json_number(o, "value", fixed_bytes(s, i));
	else
		json_text(o, "value", NULL);
	json_flag(o, "fixed", !fixed[i].can_be_set);
	json_text(o, "meaning", fixed[i].meaning);
}

/* @pool and @s are NULL if no pool was named. */
static void print_json(const char *pool, const struct stats *s, int only)
{
	json_object *root = json_root(), *all;
	int i;

	json_text(root, "pool", pool);
	all = json_child(root, "tunables");
	for (i = 0; i < KVP_TUNABLES; i++)
		if (only < 0 || only == i)
			add_tunable(all, s, (unsigned int)i);
	for (i = 0; i < FIXED; i++)
		if (only < 0 || only == FIRST_FIXED + i)
			add_fixed(all, s, (unsigned int)i);
	if (only < 0 || only == COMMENT || !s)
		json_text(root, KEY_COMMENT, s ? stats_text(s, KEY_COMMENT) ?: "" : NULL);
	ctl_json(root);
}

static const char *show_limit(const struct ctl *ctl, unsigned int id, u64 value, char buf[64])
{
	char text[64];

	kvp_tunable_print(id, value, text, sizeof(text));
	tunable_show(ctl, id, text, buf, 64);
	return buf;
}

/* Without @s the table has no column of values. */
static struct columns *new_table(const struct stats *s)
{
	static const struct column list[] = {
		{ .title = "KEY" }, { .title = "VALUE" }, { .title = "DEFAULT" },
		{ .title = "RANGE" }, { .title = "MEANING" }
	};
	static const struct column unset[] = {
		{ .title = "KEY" }, { .title = "DEFAULT" }, { .title = "RANGE" },
			{ .title = "MEANING" }
	};

	return s ? columns_new(list, 5) : columns_new(unset, 4);
}

/* @value is NULL in a table without values. */
static void add_row(struct columns *table, const char *key, const char *value, const char *def,
		    const char *range, const char *meaning)
{
	columns_row(table);
	columns_text(table, key);
	if (value)
		columns_text(table, value);
	columns_text(table, def);
	columns_text(table, range);
	columns_text(table, meaning);
}

static void add_tunables(const struct ctl *ctl, const struct stats *s, struct columns *table)
{
	char def[64], shown[64], min[64], max[64], range[160];
	unsigned int i;

	for (i = 0; i < KVP_TUNABLES; i++) {
		const struct kvp_tunable *t = &kvp_tunables[i];

		if (s)
			tunable_show(ctl, i, value_of(s, i, def, sizeof(def)), shown,
				     sizeof(shown));
		snprintf(range, sizeof(range), "%s%s..%s", t->by_itself ? "0, " : "",
			 show_limit(ctl, i, t->min, min), show_limit(ctl, i, t->max, max));
		add_row(table, t->key, s ? shown : NULL, show_limit(ctl, i, t->def, def),
			t->unit == KVP_UNIT_WORD ? t->words : range, t->meaning);
	}
}

static void print_table(const struct ctl *ctl, const struct stats *s)
{
	struct columns *table = new_table(s);
	char shown[SIZE_BUF];
	unsigned int i;

	add_tunables(ctl, s, table);
	for (i = 0; i < FIXED; i++)
		add_row(table, fixed[i].key, s ? fixed_value(ctl, s, i, shown) : NULL, "-",
			fixed[i].when, fixed[i].meaning);
	if (!s)
		add_row(table, KEY_COMMENT, NULL, "-", "a text", "free text of at most 128 bytes");
	columns_print(table, "", stdout);
	/* A comment may be long, so it must not widen a column. */
	if (s)
		printf("%s  %s\n", KEY_COMMENT, stats_text(s, KEY_COMMENT) ?: "");
}

static void print_one(const struct ctl *ctl, const struct stats *s, int id)
{
	char def[64], shown[64];

	if (id == COMMENT) {
		puts(stats_text(s, KEY_COMMENT) ?: "");
	} else if (id >= FIRST_FIXED) {
		puts(fixed_value(ctl, s, (unsigned int)(id - FIRST_FIXED), shown));
	} else {
		tunable_show(ctl, (unsigned int)id, value_of(s, (unsigned int)id, def,
							      sizeof(def)), shown, sizeof(shown));
		puts(shown);
	}
}

static int print_defaults(const struct ctl *ctl)
{
	if (ctl->json)
		print_json(NULL, NULL, -1);
	else
		print_table(ctl, NULL);
	return EXIT_DONE;
}

static int print_default(const struct ctl *ctl, int id)
{
	char def[64];

	if (ctl->json)
		print_json(NULL, NULL, id);
	else
		puts(show_limit(ctl, (unsigned int)id, kvp_tunables[id].def, def));
	return EXIT_DONE;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	int n, id = -1;
	struct dm_entry e;
	struct stats s;
	struct err err;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	n = ctl_args(ctl, argc, 0, 2);
	if (!n)
		return print_defaults(ctl);
	if (n == 2) {
		const char *key = argv[optind + 1];

		id = find_key(key);
		if (id < 0)
			return ctl_usage(ctl, "'%.64s' is not a tunable", key);
	}
	if (dm_find(argv[optind], &e, &err)) {
		/* A pool may be called like a tunable: the pool comes first. */
		id = n == 1 ? kvp_tunable_find(argv[optind]) : -1;
		return id < 0 ? ctl_fail(ctl, &err) : print_default(ctl, id);
	}
	if (stats_load(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	if (ctl->json)
		print_json(e.name, &s, id);
	else if (id >= 0)
		print_one(ctl, &s, id);
	else
		print_table(ctl, &s);
	stats_free(&s);
	return EXIT_DONE;
}

const struct command cmd_get = {
	.name = "get",
	.purpose = "show tunables, with range, default and meaning",
	.args = "[POOL] [KEY]",
	.about = "Shows the tunables of a running pool, or the value of one; also log_size, size "
		"and chunk, which are fixed when a vdev is made, and cache_dirty_max of the cache. "
		"Without POOL: all tunables, with default, range and meaning, or the default of "
		"KEY. A name that a pool has, too, means the pool.",
	.more = "While the log is on the cache, log_size shows the limit of the log there, which "
		"is cache_dirty_max. The configured size applies again once the log is back on the "
		"legs.",
	.example = "kvpoolctl get tank scrub_rate\nkvpoolctl get scrub_rate",
	.run = run,
};
