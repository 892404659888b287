// SPDX-License-Identifier: GPL-2.0-only
/*
 * kvpoolctl upgrade: the on-disk features that this version has, and those that a pool uses. It
 * gives legs of an older kvpoolctl their protective MBR.
 */
#include <string.h>

#include "columns.h"
#include "pool_object.h"
#include "protect.h"

/*
 * Each feature is set by what makes use of it; none is to be turned on. Sums are those that the
 * pool was made with.
 */
static const struct feature {
	u64 bit;
	const char *set, *clears;	/* when; NULL: never */
} features[] = {
	{ KVP_INCOMPAT_VDEVS, "create or add with more than one vdev, a cache included", NULL },
	{ KVP_INCOMPAT_CACHE, "create or add with a cache", "remove POOL cache" },
	{ KVP_INCOMPAT_CACHE_PARITY1, "create or add with a cache of kind parity1",
	  "remove POOL cache" },
	{ KVP_INCOMPAT_LOG_WINDOW, "create or add of a cache with cache_dirty_max, or set of that",
	  "remove POOL cache" },
	{ KVP_INCOMPAT_LOG_TURNS, "a log on the legs of several vdevs",
	  "the log moves to a cache, or to one vdev" },
	{ KVP_INCOMPAT_GENERATIONS, "a start that leaves older entries in the log of a cache",
	  "the tail passes them" },
	{ KVP_INCOMPAT_RESILVER, "a leg resilvers", "it is in sync, or out" },
	{ KVP_INCOMPAT_TABLE_BEHIND, "grow, which moves the table behind the data", NULL },
	{ KVP_INCOMPAT_HEARTBEAT, "set heartbeat=SECONDS", "set heartbeat=0" },
	{ KVP_INCOMPAT_FOLDED_SUMS, "create; an older pool keeps its sums", NULL },
};

/* A bit that this version knows, and the list here does not, is a fault of the build. */
#define BIT_OF(bit, name)	+ 1
_Static_assert(sizeof(features) / sizeof(*features) == 0 KVP_INCOMPAT_NAMES(BIT_OF),
	       "each feature has a line");

static const char *name_of(u64 bit, char text[KVP_FEATURES_LEN])
{
	kvp_features_print(bit, text);
	return text;
}

static bool has(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
	return false;
}

struct protected {
	unsigned int count, failed;
	struct err err;		/* of the first that failed */
};

/* Gives the legs that lack it the protective MBR; a dry run only counts them. */
static void protect_legs(const struct stats *s, bool dry_run, struct protected *p)
{
	char name[PATH_MAX];
	const char *path;
	struct err err;
	unsigned int i;
	bool done;

	for (i = 0; stats_text(s, "leg.%u.state", i); i++) {
		path = stats_text(s, "leg.%u.path", i);
		if (!path || !strcmp(path, "-"))
			continue;
		if (protect_device(leg_path(path, name, sizeof(name)), true, dry_run, &done,
				   &err) && !p->failed++)
			p->err = err;
		p->count += done;
	}
}

/* If a leg could not be looked at, the error says so: it may lack one. */
static void print_protected(const char *name, const struct protected *p, bool dry_run)
{
	if (!p->count && p->failed)
		return;
	if (!p->count)
		printf("pool %s has nothing to turn on: nothing was changed\n", name);
	else
		printf("%s the protective MBR on %u leg(s) of pool %s, which had none\n",
		       dry_run ? "would write" : "wrote", p->count, name);
}

/* Without a pool the table does not say what is used. */
static struct columns *new_table(const char *used)
{
	static const struct column list[] = {
		{ .title = "FEATURE" }, { .title = "USED" }, { .title = "SET BY" },
		{ .title = "CLEARED BY" }
	};
	static const struct column unused[] = {
		{ .title = "FEATURE" }, { .title = "SET BY" }, { .title = "CLEARED BY" }
	};

	return used ? columns_new(list, 4) : columns_new(unused, 3);
}

/* @used: the features of a pool, by commas; NULL: no pool was named. */
static void print(const char *used)
{
	struct columns *table = new_table(used);
	char text[KVP_FEATURES_LEN];
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		columns_row(table);
		columns_text(table, name_of(features[i].bit, text));
		if (used)
			columns_text(table, has(used, text) ? "yes" : "no");
		columns_text(table, features[i].set);
		columns_text(table, features[i].clears ?: "-");
	}
	columns_print(table, "", stdout);
}

static void print_json(const char *name, const char *used, unsigned int protected)
{
	json_object *root = json_root(), *o = json_child(root, "upgrade"), *list, *one;
	char text[KVP_FEATURES_LEN];
	size_t i;

	json_text(o, "pool", name);
	json_number(o, "format", KVP_FORMAT_VERSION);
	list = json_list(o, "features");
	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		one = json_item(list);
		json_text(one, "name", name_of(features[i].bit, text));
		if (used)
			json_flag(one, "used", has(used, text));
		else
			json_object_object_add(one, "used", NULL);
		json_text(one, "set_by", features[i].set);
		json_text(one, "cleared_by", features[i].clears);
	}
	json_list(o, "turned_on");
	if (name)
		json_number(o, "protected", protected);
	else
		json_text(o, "protected", NULL);
	ctl_json(root);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *name = NULL, *used = NULL;
	struct protected protected = { .count = 0 };
	bool dry_run;
	struct dm_entry e;
	struct stats s;
	struct err err;
	int ret;

	ctl_getopt(ctl, argc, argv);
	ctl_args(ctl, argc, 0, 1);
	dry_run = ctl->dry_run;
	if (argv[optind]) {
		ret = ctl_find(ctl, argv[optind], &e);
		if (ret)
			return ret;
		if (stats_load(e.name, &s, &err))
			return ctl_fail(ctl, &err);
		name = e.name;
		used = stats_text(&s, "features") ?: "";
		/* nothing is written to a pool that was imported read-only */
		dry_run |= e.readonly;
		protect_legs(&s, dry_run, &protected);
	}
	if (!ctl->json)
		print(used);
	else if (!protected.failed)
		print_json(name, used, protected.count);
	if (name && !ctl->json)
		print_protected(name, &protected, dry_run);
	if (name)
		stats_free(&s);
	return protected.failed ? ctl_fail(ctl, &protected.err) : EXIT_DONE;
}

const struct command cmd_upgrade = {
	.name = "upgrade",
	.purpose = "on-disk features, and those that a pool uses",
	.args = "[POOL]",
	.about = "Lists the features of the on-disk format that this version knows, what sets each "
		"of them and what clears it, and which of them the pool uses. A module that does "
		"not know a feature cannot start a pool that uses it. No version adds a feature to "
		"a pool by itself: that happens only when something is used that needs it. This "
		"version has no feature for upgrade to turn on.\n"
		"Legs that an older kvpoolctl made have no protective MBR in block 0, which has "
		"mkfs and other tools ask before they overwrite a leg. With POOL the command "
		"writes it where block 0 is blank. No feature stands for it, and any module can "
		"go on with the pool. With -n nothing is written.",
	.more = "If a later version has features that can be turned on in place, this command will "
		"do that. It will then say that it cannot be undone. Until then a pool can go back "
		"to any older module that knows all features that it uses.",
	.example = "kvpoolctl upgrade\nkvpoolctl upgrade tank",
	.dry_run = true,
	.run = run,
};
