// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl list: one line a pool. */
#include "advice.h"
#include "columns.h"
#include "pool_object.h"
#include "spare_devices.h"

enum kind { TEXT, NUMBER, SIZE, YES_NO };

/* The columns: text and JSON come from the same object. */
static const struct pool_column {
	const char *key, *title, *path;
	enum kind kind;
} columns[] = {
	{ "name", "NAME", "name", TEXT },
	{ "size", "SIZE", "size", SIZE },
	{ "written", "WRITTEN", "written", SIZE },
	{ "state", "STATE", "state", TEXT },
	{ "losses", "LOSSES", "losses_survivable", NUMBER },
	{ "poisoned", "POISONED", "poisoned_total", NUMBER },
	{ "scrub", "SCRUB", "scrub.state", TEXT },
	{ "readonly", "READONLY", "readonly", YES_NO },
	{ "uuid", "UUID", "uuid", TEXT },
	{ "checkpoint", "CHECKPOINT", "checkpoint", NUMBER },
	{ "log", "LOG", "log.size", SIZE },
	{ "ram", "RAM", "ram.size", SIZE },
	{ "comment", "COMMENT", "comment", TEXT },
};

#define COLUMNS		(sizeof(columns) / sizeof(*columns))
#define DEFAULT_COLUMNS	7
#define CELL		160
#define MAX_COLUMNS	32

struct layout {
	const struct pool_column *cols[MAX_COLUMNS];
	unsigned int count;
	bool bare;	/* -H: no titles, tabs between */
};

static bool add_column(struct layout *l, const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		if (strlen(columns[i].key) == len && !strncasecmp(columns[i].key, key, len) &&
		    l->count < sizeof(l->cols) / sizeof(*l->cols)) {
			l->cols[l->count++] = &columns[i];
			return true;
		}
	return false;
}

static int parse_columns(struct ctl *ctl, struct layout *l, const char *text)
{
	size_t n;

	l->count = 0;
	for (; *text; text += n + !!text[n]) {
		n = strcspn(text, ",");
		if (!add_column(l, text, n))
			return ctl_usage(ctl, "'%.*s' is not a column", (int)n, text);
	}
	return l->count ? 0 : ctl_usage(ctl, "-o needs columns");
}

static void cell(const struct ctl *ctl, const struct pool_column *c, json_object *pool, char *buf)
{
	char size[SIZE_BUF];

	if (!json_at(pool, c->path))
		snprintf(buf, CELL, "-");
	else if (c->kind == SIZE)
		snprintf(buf, CELL, "%s", ctl_size(ctl, json_number_at(pool, c->path), size));
	else if (c->kind == YES_NO)
		snprintf(buf, CELL, "%s", json_flag_at(pool, c->path) ? "yes" : "no");
	else
		snprintf(buf, CELL, "%s", json_text_at(pool, c->path));
}

/* Output for scripts. */
static void print_bare(const struct ctl *ctl, const struct layout *l, json_object *pools)
{
	size_t n = json_object_array_length(pools), row, i;
	char buf[CELL];

	for (row = 0; row < n; row++)
		for (i = 0; i < l->count; i++) {
			cell(ctl, l->cols[i], json_object_array_get_idx(pools, row), buf);
			printf("%s%c", buf, i < l->count - 1 ? '\t' : '\n');
		}
}

static void print_pools(const struct ctl *ctl, const struct layout *l, json_object *pools)
{
	size_t n = json_object_array_length(pools), row, i;
	struct column heads[MAX_COLUMNS] = { 0 };
	struct columns *table;
	char buf[CELL];

	for (i = 0; i < l->count; i++)
		heads[i].title = l->cols[i]->title;
	table = columns_new(heads, l->count);
	for (row = 0; row < n; row++) {
		columns_row(table);
		for (i = 0; i < l->count; i++) {
			cell(ctl, l->cols[i], json_object_array_get_idx(pools, row), buf);
			columns_text(table, buf);
		}
	}
	columns_print(table, "", stdout);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	json_object *root = json_root(), *pools = json_list(root, "pools"), *pool;
	struct layout l = { .count = 0 };
	struct dm_entry *list;
	unsigned int i, count;
	struct err err;
	bool failed = false;
	int c, ret = 0;

	for (i = 0; i < DEFAULT_COLUMNS; i++)
		l.cols[l.count++] = &columns[i];
	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		if (c == 'H')
			l.bare = true;
		else if (parse_columns(ctl, &l, optarg))
			return EXIT_USAGE;
	}
	ctl_args(ctl, argc, 0, 0);
	if (dm_list(&list, &count, &err))
		return ctl_fail(ctl, &err);
	for (i = 0; i < count; i++) {
		pool = pool_describe(&list[i], &err);
		if (pool)
			json_object_array_add(pools, pool);
		else
			ret = ctl_fail_on(ctl, &err, &failed);
	}
	free(list);
	if (ctl->json && !failed) {
		spares_note(pools, NULL, 0);
		for (i = 0; i < json_object_array_length(pools); i++)
			advice_set(json_object_array_get_idx(pools, i));
		ctl_json(root);
		return ret;
	}
	if (!ctl->json && l.bare)
		print_bare(ctl, &l, pools);
	else if (!ctl->json)
		print_pools(ctl, &l, pools);
	json_object_put(root);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'H', NULL, NULL, "no titles, tabs between the columns" },
	{ 'o', NULL, "COLUMNS",
	  "some of: "
	  "name,size,written,state,losses,poisoned,scrub,readonly,uuid,checkpoint,log,ram,"
	  "comment" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_list = {
	.name = "list",
	.purpose = "list the pools that run, one a line",
	.args = "[-H] [-o COLUMNS]",
	.about = "Lists the pools that run, one a line.",
	.example = "kvpoolctl list -H -o name,state,written",
	.options = options,
	.run = run,
};
