// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl labelclear: make a device forget the pool it was a leg of. */
#include <unistd.h>

#include "label.h"
#include "ctl.h"

static int check(const struct device *d, const struct label *l, bool force, struct err *err)
{
	if (!l->valid && !l->bad)
		return err_set(err, ERR_NO_LABEL, d->path, "check the path",
			       "it has no kvpool label");
	if (force || (l->sb && !label_fault(l) && l->sb->flags & KVP_SB_DESTROYED))
		return 0;
	if (l->sb)
		return err_set(err, ERR_MEMBER, d->path, "-f, if that pool is not needed any more",
			       "it is a member of pool %s, which was not destroyed", l->sb->name);
	return err_set(err, ERR_MEMBER, d->path, "-f, if what it holds is not needed any more",
		       "it carries a label that cannot be read: %s", label_fault(l));
}

static int clear(const struct device *d, const struct label *l, struct err *err)
{
	int fd = device_claim(d, err), ret;

	if (fd < 0)
		return -1;
	ret = label_clear(d, l, fd, err);
	close(fd);
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
	} else if (ctl->dry_run) {
		printf("would clear %u labels of %s%s%s\n", l->valid + l->bad, d->path,
		       l->sb ? ", of pool " : "", l->sb ? l->sb->name : "");
	} else {
		ctl_say(ctl, "cleared the labels of %s", d->path);
	}
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	struct device d;
	struct label l;
	struct err err;
	int ret;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;
	ctl_args(ctl, argc, 1, 1);
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

const struct command cmd_labelclear = {
	.name = "labelclear",
	.args = "[-n] [-f] DEV",
	.help = "Removes the kvpool labels of a device that is not in use.\n\n"
		"  -f  also if its pool was not destroyed: what the pool holds there is lost",
	.shorts = "f",
	.dry_run = true,
	.run = run,
};
