// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>

#include "around.h"
#include "label.h"
#include "scan.h"
#include "text.h"

#define MAX_PARTITIONS	256	/* as many as the kernel has of a disk */

/*
 * As for the device itself: a label that names no sound leg may still be that of one. Slots that
 * cannot be read say nothing, unless that is all of them. A leg that an unfinished change was to
 * add has no data.
 */
bool around_has_member(const struct label *l)
{
	if (!l->sb && l->bad == l->unreadable && !label_unread(l))
		return false;
	return label_fault(l) ||
	       (!(l->sb->flags & KVP_SB_JOINING) && !scan_was_destroyed(l->sb));
}

static int refuse(const struct device *d, const struct device *other, const struct label *l,
		  bool partition, struct err *err)
{
	char mend[PATH_MAX + 64];

	snprintf(mend, sizeof(mend), "to give up its data: kvpoolctl labelclear -f %.200s",
		 path_whole(other->path, 200));
	if (label_fault(l))
		return err_set(err, ERR_MEMBER, d->path, label_mend(l, mend), "%s %.200s carries a "
			       "kvpool label: %s", partition ? "its partition" : "its disk",
			       other->path, label_fault(l));
	return err_set(err, ERR_MEMBER, d->path, mend,
		       "%s %.200s is a member of %spool %s, which was not destroyed as far as the "
		       "labels say",
		       partition ? "its partition" : "its disk", other->path,
		       l->sb->flags & KVP_SB_EXPORTED ? "the exported " : "", l->sb->name);
}

static int check(const struct device *d, dev_t rdev, bool partition, struct err *err)
{
	char name[PATH_MAX];
	struct device other;
	struct label l;
	int ret = 0;

	/* what cannot be opened is in the way of none of the commands that ask */
	if (device_open(device_name(rdev, name, sizeof(name)), false, &other, NULL))
		return 0;
	if ((partition || !device_unused(&other, NULL)) && !label_read(&other, &l, NULL)) {
		if (around_has_member(&l))
			ret = refuse(d, &other, &l, partition, err);
		label_free(&l);
	}
	device_close(&other);
	return ret;
}

int around_check(const struct device *d, struct err *err)
{
	dev_t disk = device_disk(d->rdev), list[MAX_PARTITIONS];
	unsigned int n, i;
	int ret = 0;

	if (!d->rdev)
		return 0;
	if (disk != d->rdev)
		return check(d, disk, false, err);
	n = device_partitions(d->rdev, list, MAX_PARTITIONS);
	for (i = 0; !ret && i < n; i++)
		ret = check(d, list[i], true, err);
	return ret;
}
