// SPDX-License-Identifier: GPL-2.0-only
/* The legs of a running pool, drawn below their vdevs. */
#include <string.h>

#include "layout_tree.h"

#define LEAST_WIDTH	32	/* of the first column */
#define INDENT		2	/* for each level: pool, vdev, leg */

struct tree {
	const struct ctl *ctl;
	FILE *out;
	bool verbose;
	int width;
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

static int width_of_legs(json_object *legs, int width)
{
	size_t i;

	for (i = 0; i < length(legs); i++) {
		int need = 3 * INDENT + (int)strlen(leg_name(item(legs, i)));

		width = need > width ? need : width;
	}
	return width;
}

/* So wide that the longest path has room, and states stand below one another. */
static int width_of(json_object *pool)
{
	json_object *vdevs = json_at(pool, "vdevs");
	int width = width_of_legs(json_at(pool, "cache.legs"), LEAST_WIDTH);
	size_t v;

	for (v = 0; v < length(vdevs); v++)
		width = width_of_legs(json_at(item(vdevs, v), "legs"), width);
	return width;
}

/* Name and state, and with -v the size, of something @level deep. */
static void draw_name(const struct tree *t, int level, const char *name, json_object *o)
{
	char size[SIZE_BUF];

	fprintf(t->out, "%*s%-*s %-12s", level * INDENT, "", t->width - level * INDENT, name,
		json_text_at(o, "state"));
	if (t->verbose)
		fprintf(t->out, " %12s", json_at(o, "size") ?
			ctl_size(t->ctl, json_number_at(o, "size"), size) : "-");
}

static void draw_leg(const struct tree *t, json_object *leg)
{
	draw_name(t, 3, leg_name(leg), leg);
	fprintf(t->out, " %6" PRIu64 " %6" PRIu64 " %8" PRIu64 " %6" PRIu64 "\n",
		json_number_at(leg, "errors.read"), json_number_at(leg, "errors.write"),
		json_number_at(leg, "errors.checksum"), json_number_at(leg, "errors.healed"));
	if (t->verbose && json_at(leg, "path"))
		fprintf(t->out, "%*s%s\n", 4 * INDENT, "", json_text_at(leg, "uuid"));
}

static void draw_group(const struct tree *t, json_object *vdev, const char *name, bool log)
{
	json_object *legs = json_at(vdev, "legs");
	size_t i;

	draw_name(t, 2, name, vdev);
	fprintf(t->out, "%s\n", t->verbose && log ? "  has the log" : "");
	for (i = 0; i < length(legs); i++)
		draw_leg(t, item(legs, i));
}

static void draw_vdev(const struct tree *t, json_object *vdev, size_t index)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%zu", json_text_at(vdev, "kind"), index);
	draw_group(t, vdev, name, json_flag_at(vdev, "log"));
}

void layout_tree(const struct ctl *ctl, json_object *pool, bool verbose, FILE *out)
{
	json_object *vdevs = json_at(pool, "vdevs");
	struct tree t = { ctl, out, verbose, width_of(pool) };
	size_t v;

	fprintf(out, "%*s%-*s %-12s", INDENT, "", t.width - INDENT, "LAYOUT", "STATE");
	if (verbose)
		fprintf(out, " %12s", "SIZE");
	fprintf(out, " %6s %6s %8s %6s\n", "READ", "WRITE", "CHECKSUM", "HEALED");
	draw_name(&t, 1, json_text_at(pool, "name"), pool);
	fputc('\n', out);
	for (v = 0; v < length(vdevs); v++)
		draw_vdev(&t, item(vdevs, v), v);
	if (json_at(pool, "cache"))
		draw_group(&t, json_at(pool, "cache"), json_text_at(pool, "cache.kind"),
			   !strcmp(json_text_at(pool, "log.on"), "cache"));
}
