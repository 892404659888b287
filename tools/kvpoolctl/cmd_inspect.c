// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl inspect: labels, log and table of one leg, without the module. */
#include "columns.h"
#include "found.h"
#include "format/tunables.h"
#include "inspect.h"

enum { UDEV = 1 };

static void print_label(json_object *o)
{
	static const struct column list[] = {
		{ .title = "OFFSET" }, { .title = "STATE" }, { "EPOCH", true, 0 },
		{ "SEQUENCE", true, 0 }, { .title = "" }
	};
	json_object *slots = json_at(o, "labels"), *s;
	struct columns *table = columns_new(list, 5);
	size_t i;

	for (i = 0; i < json_object_array_length(slots); i++) {
		s = json_object_array_get_idx(slots, i);
		if (!strcmp(json_text_at(s, "state"), "empty"))
			continue;
		columns_row(table);
		columns_number(table, json_number_at(s, "offset"));
		columns_text(table, json_text_at(s, "state"));
		columns_text(table, json_text_at(s, "epoch"));
		columns_text(table, json_text_at(s, "sequence"));
		columns_text(table, json_at(s, "why") ? json_text_at(s, "why") : NULL);
	}
	puts("labels");
	columns_print(table, "  ", stdout);
}

/* Numbers and words of an object, one a line. */
static void print_object(const char *title, json_object *o)
{
	struct json_object_iterator it = json_object_iter_begin(o);
	struct json_object_iterator end = json_object_iter_end(o);

	printf("%s\n", title);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		json_object *v = json_object_iter_peek_value(&it);

		if (v && (json_object_is_type(v, json_type_array) ||
			  json_object_is_type(v, json_type_object)))
			continue;
		printf("  %-22s %s\n", json_object_iter_peek_name(&it),
		       v ? json_object_get_string(v) : "-");
	}
}

/* Of a leg that is out, or resilvers: a later resilver copies only what is newer. */
static void print_what_it_has(json_object *leg)
{
	u64 cursor = json_number_at(leg, "cursor");

	printf(", has all up to era %" PRIu64, json_number_at(leg, "in_sync_era"));
	if (cursor)
		printf(", and of the first %" PRIu64 " blocks of its vdev up to era %" PRIu64,
		       cursor,
		       json_number_at(leg, "cursor_era"));
}

static void print_legs(json_object *legs)
{
	json_object *l;
	size_t i;

	puts("legs");
	for (i = 0; i < json_object_array_length(legs); i++) {
		l = json_object_array_get_idx(legs, i);
		printf("  %s %s%s", json_text_at(l, "uuid"), json_text_at(l, "state"),
		       json_flag_at(l, "this") ? " (this one)" : "");
		if (strcmp(json_text_at(l, "state"), "online"))
			print_what_it_has(l);
		putchar('\n');
	}
}

static void print_entries(json_object *log)
{
	json_object *list = json_at(log, "list"), *e;
	u64 total = json_number_at(log, "entries");
	size_t i, n = json_object_array_length(list);

	for (i = 0; i < n; i++) {
		e = json_object_array_get_idx(list, i);
		printf("  lsn %" PRIu64 ": %" PRIu64 " blocks, data %" PRIu64 ", intents %" PRIu64
		       ", discards %" PRIu64 ", parity %" PRIu64 ", clean %" PRIu64
		       ", open %" PRIu64 ", durable %" PRIu64 "\n",
		       json_number_at(e, "lsn"), json_number_at(e, "blocks"),
		       json_number_at(e, "data"), json_number_at(e, "intents"),
		       json_number_at(e, "discards"), json_number_at(e, "parity"),
		       json_number_at(e, "clean"), json_number_at(e, "open"),
		       json_number_at(e, "durable"));
	}
	if (total > n)
		printf("  and %" PRIu64 " more\n", total - n);
}

/* The leg has no part of the log that can be read alone: says where the log is. */
static void print_no_log(json_object *o)
{
	u64 vdev = json_number_at(o, "superblock.log_vdev");

	if (vdev == json_number_at(o, "superblock.vdev"))
		puts("log\n  on all SSDs of this cache together, in full stripes: "
		     "see kvpoolctl check");
	else
		printf("log\n  on the legs of vdev %" PRIu64 "\n", vdev);
}

static void print_leg(json_object *o)
{
	print_label(o);
	if (!json_at(o, "superblock"))
		return;
	print_object("superblock", json_at(o, "superblock"));
	print_legs(json_at(o, "superblock.legs"));
	if (json_at(o, "superblock.shadow"))
		print_object("to replace a leg", json_at(o, "superblock.shadow"));
	print_object("geometry, in blocks", json_at(o, "superblock.geometry"));
	print_object("tunables", json_at(o, "superblock.tunables"));
	if (json_at(o, "log")) {
		print_object("log", json_at(o, "log"));
		print_entries(json_at(o, "log"));
	} else {
		print_no_log(o);
	}
	if (json_at(o, "table"))
		print_object("table", json_at(o, "table"));
	else
		puts("table\n  on the legs with data: this is an SSD of a cache");
}

/* Properties for udev, which expects no other output. */
static void print_udev(const struct kvp_sb *sb)
{
	char uuid[UUID_BUF];

	printf("ID_FS_TYPE=kvpool_member\nID_FS_USAGE=raid\n");
	printf("ID_FS_UUID=%s\n", uuid_print(sb->pool_uuid, uuid));
	printf("ID_FS_UUID_SUB=%s\n", uuid_print(sb->leg_uuid, uuid));
	if (!name_fault(sb->name, command_names()))
		printf("ID_FS_LABEL=%s\n", sb->name);
}

/* It has no UUID of a leg, so a rule does not take it for one. */
static void print_udev_spare(const struct kvp_spare *s)
{
	char uuid[UUID_BUF];

	printf("ID_FS_TYPE=kvpool_member\nID_FS_USAGE=raid\n");
	printf("ID_FS_UUID=%s\n", uuid_print(s->pool_uuid, uuid));
	printf("KVPOOL_SPARE=%s\n", uuid_print(s->uuid, uuid));
}

static int print_all(struct ctl *ctl, const struct device *d, const struct label *l)
{
	struct err err;
	json_object *root, *o;

	if (!ctl->quiet && device_unused(d, &err))
		fprintf(stderr, "kvpoolctl: note: %s is in use, and its contents may change "
				"meanwhile\n",
			d->path);
	o = inspect_object(d, l, &err);
	if (!o)
		return ctl_fail(ctl, &err);
	if (ctl->json) {
		root = json_root();
		json_object_object_add(root, "inspect", o);
		ctl_json(root);
		return EXIT_DONE;
	}
	print_leg(o);
	json_object_put(o);
	return EXIT_DONE;
}

/* What to do about a label that is none of a leg, or not of one that can be used. */
static const char *mend_of(const struct label *l)
{
	if (label_is_small(l))
		return FOUND_FULL_SIZE;
	if (label_is_spare(l))
		return "nothing; a spare has a label, and no data";
	if (l->spare_resized)
		return "make it as large as it was; or kvpoolctl labelclear -f DEV, then kvpoolctl "
		       "add POOL spare DEV makes it a spare again";
	if (l->spare_valid)
		return "kvpoolctl labelclear -f DEV, then kvpoolctl add POOL spare DEV makes it a "
		       "spare again";
	return label_mend(l, "try another leg of the pool");
}

static int no_label(struct ctl *ctl, const struct device *d, const struct label *l)
{
	json_object *o;
	struct err err;

	if (!ctl->json && l->bad) {
		o = inspect_object(d, l, &err);
		print_label(o);
		json_object_put(o);
	}
	err_set(&err, ERR_NO_LABEL, d->path, mend_of(l), "%s", label_fault(l));
	return ctl_fail(ctl, &err);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	int ret = EXIT_DONE;
	bool udev = false;
	struct device d;
	struct label l;
	struct err err;

	while (ctl_getopt(ctl, argc, argv) != -1)
		udev = true;
	ctl_args(ctl, argc, 1, 1);
	if (device_open(argv[optind], true, &d, &err) || label_read(&d, &l, &err))
		return ctl_fail(ctl, &err);
	if (udev && label_is_spare(&l))
		print_udev_spare(&l.spare);
	else if (!l.sb)
		ret = no_label(ctl, &d, &l);
	else if (udev)
		print_udev(l.sb);
	else
		ret = print_all(ctl, &d, &l);
	label_free(&l);
	device_close(&d);
	return ret;
}

static const struct ctl_option options[] = {
	{ UDEV, "udev", NULL, "only the pool of the leg, for a udev rule" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_inspect = {
	.name = "inspect",
	.purpose = "show labels, log and table of one device",
	.args = "[--udev] DEV",
	.about = "Shows labels, log and table of one leg, or of an image of it. It only reads, and "
		"needs no module.",
	.more = "The table is that of the leg's own vdev. The log of a pool may be on the legs of "
		"another vdev. A leg of a parity1 has only a part of the table and the log.",
	.example = "kvpoolctl inspect /dev/sdb",
	.options = options,
	.run = run,
};
