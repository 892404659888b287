// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl labelclear: remove the labels of a former leg. */
#include <unistd.h>

#include "ctl.h"
#include "dm.h"
#include "foreign.h"
#include "former.h"
#include "protect.h"
#include "scan.h"

enum { FOREIGN = 1000 };

static int check(const struct device *d, const struct label *l, bool force, struct err *err)
{
	if (!l->valid && !l->bad && protect_is_there(d))
		return 0;
	if (!l->valid && !l->bad)
		return err_set(err, ERR_NO_LABEL, d->path, "check the path",
			       "it has no kvpool label");
	if (force || (l->sb && !label_fault(l) && scan_was_destroyed(l->sb)))
		return 0;
	if (label_is_spare(l))
		return err_set(err, ERR_MEMBER, d->path,
			       "kvpoolctl remove POOL DEV; or -f, if that pool is gone", "%s",
			       label_fault(l));
	if (l->sb && !label_fault(l))
		return former_refuse(d->path, l->sb,
				     "-f, if that pool is not needed any more", err);
	return err_set(err, ERR_MEMBER, d->path,
		       label_mend(l, "-f, if its data is not needed any more"),
		       "it carries a label that cannot be read: %s", label_fault(l));
}

static int clear(const struct device *d, const struct label *l, struct err *err)
{
	int ret = label_clear(d, l, err);

	device_announce(d->rdev);
	return ret;
}

static void report(struct ctl *ctl, const struct device *d, const struct label *l)
{
	json_object *root, *plan;

	if (ctl->json) {
		root = json_root();
		plan = json_child(root, "plan");
		json_text(plan, "action", "labelclear");
		json_text(plan, "path", d->path);
		json_text(plan, "pool", l->sb ? l->sb->name : NULL);
		json_number(plan, "labels", l->valid + l->bad);
		ctl_json(root);
	} else if (!l->valid && !l->bad) {
		ctl_say(ctl, "%s the protective MBR of %s, which has no label",
			ctl->dry_run ? "would clear" : "cleared", d->path);
	} else if (ctl->dry_run) {
		printf("would clear %u labels of %s%s%s\n", l->valid + l->bad, d->path,
		       l->sb ? ", of pool " : "", l->sb ? l->sb->name : "");
	} else {
		ctl_say(ctl, "cleared the labels of %s", d->path);
	}
}

/* --- signatures of other tools on a leg -------------------------------------------- */

/* A running pool holds the leg; bytes that the pool never writes may still be wiped. */
static bool held_by_pool(const struct device *d)
{
	char name[256], uuid[160];

	return d->rdev && device_holder(d->rdev, name, sizeof(name), uuid, sizeof(uuid)) &&
	       !strncmp(uuid, DM_POOL_PREFIX, strlen(DM_POOL_PREFIX));
}

static int open_to_wipe(const struct device *d, bool in_use, struct err *err)
{
	return in_use ? device_again(d, true, err) : device_claim(d, err);
}

static void list_signatures(json_object *o, const char *key, const struct signature_list *s)
{
	json_object *list = json_list(o, key), *item;
	unsigned int i;

	for (i = 0; i < s->count; i++) {
		item = json_item(list);
		json_text(item, "type", s->list[i].type);
		json_number(item, "offset", s->list[i].offset);
	}
}

/*
 * A pool that runs may write its labels at any time, so a signature among them stays until then, or
 * until the pool is stopped.
 */
static void say_left(const struct ctl *ctl, const struct device *d, const struct label *l,
		     const struct signature *s)
{
	if (foreign_free(d, l, s->offset, s->bytes, false))
		ctl_say(ctl, "left the signature of %s at byte %llu of %s: the running pool writes "
			"labels there; kvpoolctl export %s, and then this command, wipes it",
			s->type, s->offset, d->path, l->sb ? l->sb->name : "POOL");
	else
		ctl_say(ctl,
			"left the signature of %s at byte %llu of %s: the pool uses that place",
			s->type, s->offset, d->path);
}

static void report_foreign(struct ctl *ctl, const struct device *d, const struct label *l,
			   const struct signature_list *done, const struct signature_list *left)
{
	json_object *root = json_root(), *plan = json_child(root, "plan");
	unsigned int i;

	json_text(plan, "action", "labelclear");
	json_text(plan, "path", d->path);
	json_text(plan, "pool", l->sb ? l->sb->name : NULL);
	list_signatures(plan, "wiped", done);
	list_signatures(plan, "left", left);
	if (ctl->json) {
		ctl_json(root);
		return;
	}
	json_object_put(root);
	for (i = 0; i < done->count; i++)
		ctl_say(ctl, "%s the signature of %s at byte %llu of %s",
			ctl->dry_run ? "would wipe" : "wiped",
			done->list[i].type, done->list[i].offset, d->path);
	if (done->more)
		ctl_say(ctl, "%s %u more", ctl->dry_run ? "would wipe" : "wiped", done->more);
	for (i = 0; i < left->count; i++)
		say_left(ctl, d, l, &left->list[i]);
	if (!done->count && !left->count)
		ctl_say(ctl, "%s carries no signature of other tools", d->path);
}

struct wiping {
	const struct device *d;
	const struct label *l;
	bool in_use, dry_run;
	struct {
		struct signature_list done, left;
	} found;
};

static int wipe_some(void *arg, struct err *err)
{
	struct wiping *w = arg;
	int fd = w->dry_run ? -1 : open_to_wipe(w->d, w->in_use, err), ret;

	if (!w->dry_run && fd < 0)
		return -1;
	ret = foreign_wipe(w->d, w->l, fd, w->in_use, &w->found.done, &w->found.left, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int wipe_foreign(struct ctl *ctl, const struct device *d, const struct label *l)
{
	struct wiping w = { .d = d, .l = l, .in_use = held_by_pool(d), .dry_run = ctl->dry_run };
	struct err err;
	int ret;

	if (label_fault(l) && !label_is_spare(l)) {
		err_set(&err, ERR_NO_LABEL, d->path,
			label_mend(l, "wipefs, if it is not a leg of a pool"), "%s",
			label_fault(l));
		return ctl_fail(ctl, &err);
	}
	if (!w.in_use && device_unused(d, &err))
		return ctl_fail(ctl, &err);
	ret = device_apart(d->path, wipe_some, &w, &w.found, sizeof(w.found), &err);
	if (!ctl->dry_run)
		device_announce(d->rdev);
	if (ret)
		return ctl_fail(ctl, &err);
	report_foreign(ctl, d, l, &w.found.done, &w.found.left);
	return w.found.left.count ? EXIT_FAILED : EXIT_DONE;
}

static int run_foreign(struct ctl *ctl, const char *path)
{
	struct device d;
	struct label l;
	struct err err;
	int ret;

	/* a dry run accepts an image file */
	if (device_open(path, ctl->dry_run, &d, &err))
		return ctl_fail(ctl, &err);
	ret = label_read(&d, &l, &err) ? ctl_fail(ctl, &err) : wipe_foreign(ctl, &d, &l);
	label_free(&l);
	device_close(&d);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false, foreign = false;
	struct device d;
	struct label l;
	struct err err;
	int c, ret;

	while ((c = ctl_getopt(ctl, argc, argv)) != -1) {
		force |= c == 'f';
		foreign |= c == FOREIGN;
	}
	ctl_args(ctl, argc, 1, 1);
	if (foreign)
		return force ? ctl_usage(ctl,
					 "--foreign leaves the labels alone, and needs no -f") :
			       run_foreign(ctl, argv[optind]);
	if (device_open(argv[optind], false, &d, &err))
		return ctl_fail(ctl, &err);
	ret = device_unused(&d, &err) || label_read(&d, &l, &err);
	if (!ret) {
		ret = check(&d, &l, force, &err);
		if (!ret && !ctl->dry_run)
			ret = clear(&d, &l, &err);
		if (!ret)
			report(ctl, &d, &l);
		label_free(&l);
	}
	device_close(&d);
	return ret ? ctl_fail(ctl, &err) : EXIT_DONE;
}

static const struct ctl_option options[] = {
	{ 'f', NULL, NULL,
	  "even if its pool was not destroyed: the pool's data there is lost" },
	{ FOREIGN, "foreign", NULL,
	  "leave the labels, and wipe signatures that mkfs, pvcreate, mdadm, mkswap or a "
	  "partitioning tool left on a leg by mistake, where the pool does not use the space. The "
	  "pool may run" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_labelclear = {
	.name = "labelclear",
	.purpose = "remove kvpool labels, or signatures of other tools, from a device",
	.args = "[-n] [-f | --foreign] DEV",
	.about = "Removes the kvpool labels of a device that is not in use, and the protective MBR "
		"in its block 0, if that is kvpool's.",
	.more = "A leg that was out or missing when its pool was destroyed has no mark that says "
		"so. The labels of the pool's other legs have it, if they are connected.",
	.example = "kvpoolctl labelclear -n -f /dev/sde",
	.options = options,
	.dry_run = true,
	.run = run,
};
