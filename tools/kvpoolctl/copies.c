// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>

#include "copies.h"
#include "overlap.h"

int copies_check_label(const char *path, const struct label *l, u64 in_sync_era, struct err *err)
{
	if (!l->sb || !l->all_read || l->sb->era >= in_sync_era)
		return 0;
	return err_set(err, ERR_REFUSED, path, "connect the leg itself; or, if nothing on this "
		       "device is needed, kvpoolctl online -f POOL DEV",
		       "it is an older copy of the leg: it knows checkpoint %u, and the leg had "
		       "everything up to %" PRIu64, l->sb->era, in_sync_era);
}

/* A part of another device shows the same label, and so does a disk with its partition. */
static bool is_twin(const struct found_leg *leg, const struct device *d, const struct kvp_sb *own)
{
	const struct kvp_sb *sb = leg->label.sb;

	return sb && !*leg->part && !memcmp(sb->pool_uuid, own->pool_uuid, 16) &&
	       !memcmp(sb->leg_uuid, own->leg_uuid, 16) && !device_overlaps(&leg->dev, d);
}

int copies_check_scan(const struct scan *s, const struct device *d, const struct label *l,
		      struct err *err)
{
	unsigned int i;

	for (i = 0; l->sb && i < s->leg_count; i++)
		if (is_twin(s->legs[i], d, l->sb))
			return err_set(err, ERR_DUPLICATE_LEG, d->path,
				       DUPLICATE_MEND,
				       "%.200s carries the same UUID, and one of the two is a copy",
				       s->legs[i]->dev.path);
	return 0;
}

static int check_scan(const struct device *d, const struct label *l, struct err *err)
{
	struct scan s;
	int ret = scan_run(NULL, 0, &s, err);

	if (ret)
		return ret;
	ret = copies_check_scan(&s, d, l, err);
	scan_free(&s);
	return ret;
}

int copies_check(const char *path, u64 in_sync_era, struct err *err)
{
	struct device d;
	struct label l;
	int ret;

	if (device_open(path, true, &d, err))
		return -1;
	ret = label_read(&d, &l, err);
	if (!ret) {
		ret = copies_check_label(path, &l, in_sync_era, err) ?: check_scan(&d, &l, err);
		label_free(&l);
	}
	device_close(&d);
	return ret;
}
