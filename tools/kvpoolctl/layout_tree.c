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

/* So wide that the longest path has room, and states stand below one another. */
static int width_of(json_object *vdevs)
{
	int width = LEAST_WIDTH, need;
	size_t v, i;

	for (v = 0; v < length(vdevs); v++) {
		json_object *legs = json_at(item(vdevs, v), "legs");

		for (i = 0; i < length(legs); i++) {
			need = 3 * INDENT + (int)strlen(leg_name(item(legs, i)));
			width = need > width ? need : width;
		}
	}
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

static void draw_vdev(const struct tree *t, json_object *vdev, size_t index)
{
	json_object *legs = json_at(vdev, "legs");
	char name[32];
	size_t i;

	snprintf(name, sizeof(name), "%s-%zu", json_text_at(vdev, "kind"), index);
	draw_name(t, 2, name, vdev);
	fprintf(t->out, "%s\n", t->verbose && json_flag_at(vdev, "log") ? "  has the log" : "");
	for (i = 0; i < length(legs); i++)
		draw_leg(t, item(legs, i));
}

void layout_tree(const struct ctl *ctl, json_object *pool, bool verbose, FILE *out)
{
	json_object *vdevs = json_at(pool, "vdevs");
	struct tree t = { ctl, out, verbose, width_of(vdevs) };
	size_t v;

	fprintf(out, "%*s%-*s %-12s", INDENT, "", t.width - INDENT, "LAYOUT", "STATE");
	if (verbose)
		fprintf(out, " %12s", "SIZE");
	fprintf(out, " %6s %6s %8s %6s\n", "READ", "WRITE", "CHECKSUM", "HEALED");
	draw_name(&t, 1, json_text_at(pool, "name"), pool);
	fputc('\n', out);
	for (v = 0; v < length(vdevs); v++)
		draw_vdev(&t, item(vdevs, v), v);
}
