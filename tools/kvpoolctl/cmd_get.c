// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl get: tunables of a running pool. */
#include "setting.h"
#include "stats.h"

static const char *value_of(const struct stats *s, unsigned int id, char *def, size_t size)
{
	const char *value = stats_text(s, "tunable.%s", kvp_tunables[id].key);

	if (value)
		return value;
	kvp_tunable_print(id, kvp_tunables[id].def, def, size);
	return def;
}

static void print_json(const char *pool, const struct stats *s, int only)
{
	json_object *root = json_root(), *all, *o;
	char buf[64];
	unsigned int i;

	json_text(root, "pool", pool);
	all = json_child(root, "tunables");
	for (i = 0; i < KVP_TUNABLES; i++) {
		const struct kvp_tunable *t = &kvp_tunables[i];

		if (only >= 0 && (int)i != only)
			continue;
		o = json_child(all, t->key);
		json_text(o, "unit", tunable_unit(i));
		if (t->unit == KVP_UNIT_WORD) {
			json_text(o, "value", value_of(s, i, buf, sizeof(buf)));
			kvp_tunable_print(i, t->def, buf, sizeof(buf));
			json_text(o, "default", buf);
			json_text(o, "words", t->words);
		} else {
			json_number(o, "value", strtoull(value_of(s, i, buf, sizeof(buf)),
							 NULL, 10));
			json_number(o, "default", t->def);
			json_number(o, "min", t->min);
			json_number(o, "max", t->max);
		}
		json_text(o, "meaning", t->meaning);
	}
	if (only < 0 || only == KVP_TUNABLES)
		json_text(root, KEY_COMMENT, stats_text(s, KEY_COMMENT) ?: "");
	ctl_json(root);
}

static void print_table(const struct ctl *ctl, const struct stats *s)
{
	char def[64], shown[64], min[64], max[64], range[160];
	unsigned int i;

	printf("%-20s %-10s %-10s %-16s %s\n", "KEY", "VALUE", "DEFAULT", "RANGE", "MEANING");
	for (i = 0; i < KVP_TUNABLES; i++) {
		const struct kvp_tunable *t = &kvp_tunables[i];

		tunable_show(ctl, i, value_of(s, i, def, sizeof(def)), shown, sizeof(shown));
		kvp_tunable_print(i, t->min, range, sizeof(range));
		tunable_show(ctl, i, range, min, sizeof(min));
		kvp_tunable_print(i, t->max, range, sizeof(range));
		tunable_show(ctl, i, range, max, sizeof(max));
		snprintf(range, sizeof(range), "%s..%s", min, max);
		kvp_tunable_print(i, t->def, def, sizeof(def));
		tunable_show(ctl, i, def, min, sizeof(min));
		printf("%-20s %-10s %-10s %-16s %s\n", t->key, shown, min,
		       t->unit == KVP_UNIT_WORD ? t->words : range, t->meaning);
	}
	printf("%-20s %s\n", KEY_COMMENT, stats_text(s, KEY_COMMENT) ?: "");
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	int n, id = -1;
	struct dm_entry e;
	struct stats s;
	struct err err;
	char def[64], shown[64];

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	n = ctl_args(ctl, argc, 1, 2);
	if (n == 2) {
		const char *key = argv[optind + 1];

		id = strcmp(key, KEY_COMMENT) ? kvp_tunable_find(key) : KVP_TUNABLES;
		if (id < 0)
			return ctl_usage(ctl, "there is no tunable '%.64s'", key);
	}
	if (dm_find(argv[optind], &e, &err) || stats_load(e.name, &s, &err))
		return ctl_fail(ctl, &err);
	if (ctl->json) {
		print_json(e.name, &s, id);
	} else if (id == KVP_TUNABLES) {
		puts(stats_text(&s, KEY_COMMENT) ?: "");
	} else if (id >= 0) {
		tunable_show(ctl, (unsigned int)id, value_of(&s, (unsigned int)id, def,
							      sizeof(def)), shown, sizeof(shown));
		puts(shown);
	} else {
		print_table(ctl, &s);
	}
	stats_free(&s);
	return EXIT_DONE;
}

const struct command cmd_get = {
	.name = "get",
	.args = "POOL [KEY]",
	.help = "Shows the tunables of a running pool, or the value of one.",
	.shorts = "",
	.run = run,
};
