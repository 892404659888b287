// SPDX-License-Identifier: GPL-2.0-only
/* The legs of a running pool, drawn below their vdevs. */
#include <limits.h>
#include <string.h>

#include "columns.h"
#include "layout_tree.h"

#define INDENT		2	/* for each level: pool, vdev, leg */

struct tree {
	const struct ctl *ctl;
	struct columns *table;
	bool verbose;
};

static const char *leg_name(json_object *leg)
{
	return json_text_at(leg, json_at(leg, "path") ? "path" : "uuid");
}

static json_object *item(json_object *list, size_t i)
{
	return json_object_array_get_idx(list, i);
}

static size_t length(json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

/* A row at depth @level, indented by it. */
static void new_row(const struct tree *t, int level, const char *name)
{
	char text[PATH_MAX + 16];

	columns_row(t->table);
	snprintf(text, sizeof(text), "%*s%s", level * INDENT, "", name);
	columns_text(t->table, text);
}

/* Name and state, and with -v the size. */
static void draw_name(const struct tree *t, int level, const char *name, json_object *o)
{
	char size[SIZE_BUF];

	new_row(t, level, name);
	columns_text(t->table, json_text_at(o, "state"));
	if (t->verbose)
		columns_text(t->table, json_at(o, "size") ?
			     ctl_size(t->ctl, json_number_at(o, "size"), size) : "-");
}

/* Beside the counters: the advice may be about another fault. A disk beside SSDs is no news. */
static void draw_slow(const struct tree *t, json_object *leg)
{
	if (json_at(leg, "slow") && !strcmp(json_text_at(leg, "slow.state"), "yes"))
		columns_text(t->table, "slow");
}

static void draw_leg(const struct tree *t, json_object *leg)
{
	draw_name(t, 2, leg_name(leg), leg);
	columns_number(t->table, json_number_at(leg, "errors.read"));
	columns_number(t->table, json_number_at(leg, "errors.write"));
	columns_number(t->table, json_number_at(leg, "errors.checksum"));
	columns_number(t->table, json_number_at(leg, "errors.healed"));
	draw_slow(t, leg);
	if (t->verbose && json_at(leg, "path"))
		new_row(t, 3, json_text_at(leg, "uuid"));
}

static void draw_group(const struct tree *t, json_object *vdev, const char *name, bool log)
{
	json_object *legs = json_at(vdev, "legs");
	size_t i;

	draw_name(t, 1, name, vdev);
	if (t->verbose && log) {
		for (i = 0; i < 4; i++)
			columns_text(t->table, NULL);	/* the counters of a leg */
		columns_text(t->table, "has the log");
	}
	for (i = 0; i < length(legs); i++)
		draw_leg(t, item(legs, i));
}

static void draw_spares(const struct tree *t, json_object *spares)
{
	size_t i;

	if (length(spares))
		new_row(t, 1, "spares");
	for (i = 0; i < length(spares); i++)
		draw_name(t, 2, leg_name(item(spares, i)), item(spares, i));
}

static void draw_vdev(const struct tree *t, json_object *vdev, size_t index)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%zu", json_text_at(vdev, "kind"), index);
	draw_group(t, vdev, name, json_flag_at(vdev, "log"));
}

static struct columns *new_table(bool verbose)
{
	static const struct column list[] = {
		{ .title = "LAYOUT" }, { .title = "STATE" }, { "READ", true, 0 },
			{ "WRITE", true, 0 },
		{ "CHECKSUM", true, 0 }, { "HEALED", true, 0 }, { .title = "" }
	};
	static const struct column more[] = {
		{ .title = "LAYOUT" }, { .title = "STATE" }, { "SIZE", true, 0 },
			{ "READ", true, 0 },
		{ "WRITE", true, 0 }, { "CHECKSUM", true, 0 }, { "HEALED", true, 0 },
			{ .title = "" }
	};

	return verbose ? columns_new(more, 8) : columns_new(list, 7);
}

void layout_tree(const struct ctl *ctl, json_object *pool, bool verbose, FILE *out)
{
	json_object *vdevs = json_at(pool, "vdevs");
	struct tree t = { ctl, new_table(verbose), verbose };
	size_t v;

	draw_name(&t, 0, json_text_at(pool, "name"), pool);
	for (v = 0; v < length(vdevs); v++)
		draw_vdev(&t, item(vdevs, v), v);
	if (json_at(pool, "cache"))
		draw_group(&t, json_at(pool, "cache"), json_text_at(pool, "cache.kind"),
			   !strcmp(json_text_at(pool, "log.on"), "cache"));
	draw_spares(&t, json_at(pool, "spares"));
	columns_print(t.table, "  ", out);
}
