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

static int clear(const char *path, bool force, struct err *err)
{
	struct device d;
	struct label l;
	int ret, fd;

	if (device_open(path, false, &d, err))
		return -1;
	ret = device_unused(&d, err);
	if (!ret && !(ret = label_read(&d, &l, err))) {
		ret = check(&d, &l, force, err);
		fd = ret ? -1 : device_claim(&d, err);
		if (fd >= 0) {
			ret = label_clear(&d, &l, fd, err);
			close(fd);
			device_announce(d.rdev);
		} else {
			ret = -1;
		}
		label_free(&l);
	}
	device_close(&d);
	return ret;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	bool force = false;
	struct err err;

	while (ctl_getopt(ctl, argc, argv) != -1)
		force = true;
	ctl_args(ctl, argc, 1, 1);
	if (clear(argv[optind], force, &err))
		return ctl_fail(ctl, &err);
	ctl_say(ctl, "cleared the labels of %s", argv[optind]);
	return ctl_done(ctl);
}

const struct command cmd_labelclear = {
	.name = "labelclear",
	.args = "[-f] DEV",
	.help = "Removes the kvpool labels of a device that is not in use.\n\n"
		"  -f  also if its pool was not destroyed: what the pool holds there is lost",
	.shorts = "f",
	.run = run,
};
