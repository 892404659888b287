// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl rename: give a running pool, and its device, another name. */
#include "ctl.h"
#include "names.h"
#include "pool_lock.h"
#include "stats.h"
#include "text.h"

static json_object *plan_object(const struct dm_entry *e, const char *name)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");

	json_text(plan, "action", "rename");
	json_text(plan, "pool", e->name);
	json_text(plan, "uuid", e->uuid);
	json_text(plan, "name", name);
	return root;
}

static int check(const struct dm_entry *e, const char *name, struct err *err)
{
	if (e->readonly)
		return err_set(err, ERR_READ_ONLY, e->name,
			       "export it and import it without --readonly",
			       "it was imported read-only, its labels cannot be changed");
	/* the device's name and that in the labels may differ: this makes them one */
	if (strcmp(e->name, name) && dm_name_used(name))
		return err_set(err, ERR_NAME_IN_USE, name, "choose another name",
			       "a mapped device called %s exists", name);
	return names_check(name, e->uuid, err);
}

/* The name in the labels, which need not be the device's. */
static int label_name(const struct dm_entry *e, char *name, size_t size, struct err *err)
{
	struct stats s;

	if (stats_load(e->name, &s, err))
		return -1;
	snprintf(name, size, "%.64s", stats_text(&s, "name") ?: e->name);
	stats_free(&s);
	return 0;
}

/* The labels first: without a leg that takes them, nothing has changed. */
static int rename_pool(const struct dm_entry *e, const char *name, struct err *err)
{
	char message[KVP_NAME_LEN + 16], old[KVP_NAME_LEN + 1];
	struct err why;

	if (label_name(e, old, sizeof(old), err))
		return -1;
	snprintf(message, sizeof(message), "rename %s", name);
	if (dm_message(e->name, message, NULL, err))
		return -1;
	if (!strcmp(e->name, name) || !dm_rename(e->name, name, err))
		return 0;
	snprintf(message, sizeof(message), "rename %.64s", old);
	if (dm_message(e->name, message, NULL, &why))
		snprintf(err->mend, sizeof(err->mend),
			 "the labels have the new name; the device: dmsetup rename %.64s %.64s",
			 e->name, name);
	return -1;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	const char *name, *fault;
	struct dm_entry e;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		;
	ctl_args(ctl, argc, 2, 2);
	name = argv[optind + 1];
	fault = name_fault(name, command_names());
	if (fault)
		return ctl_usage(ctl, "'%.64s': %s", name, fault);
	ret = pool_lock_named(ctl, argv[optind]) ?: ctl_find(ctl, argv[optind], &e);
	if (ret)
		return ret;
	if (check(&e, name, &err) || (!ctl->dry_run && rename_pool(&e, name, &err)))
		return ctl_fail(ctl, &err);
	if (ctl->json)
		ctl_json(plan_object(&e, name));
	ctl_say(ctl, "%s pool %s: it is %s, at /dev/mapper/%s",
		ctl->dry_run ? "would rename" : "renamed", e.name, name, name);
	if (e.open_count)
		ctl_say(ctl, "note: what has it open goes on; fstab and other files still have the "
			"old name");
	return EXIT_DONE;
}

const struct command cmd_rename = {
	.name = "rename",
	.purpose = "give a running pool another name",
	.args = "[-n] POOL NEWNAME",
	.about = "Gives a running pool and its device another name, while it is in use. The new "
		"name is in the labels, and durable when the command returns. Programs that have "
		"the device open go on. Change the name in fstab and other files yourself. A name "
		"that another pool has is refused, even if that pool does not run.",
	.more = "A pool that does not run gets another name by 'kvpoolctl import POOL NEWNAME'.",
	.example = "kvpoolctl rename tank archive",
	.dry_run = true,
	.run = run,
};
