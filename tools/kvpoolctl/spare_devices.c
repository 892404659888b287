// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "format/spare.h"
#include "pool_object.h"
#include "foreign.h"
#include "found.h"
#include "spare_devices.h"

/* --- labels ----------------------------------------------------------------------- */

static int write_failed(const struct device *d, struct err *err)
{
	return err_set(err, ERR_IO, d->path, "check the device", "it did not take its label: %s",
		       strerror(errno));
}

struct labelling {
	const struct device *d;
	const struct kvp_spare *spare;
};

static int write_labels(void *arg, struct err *err)
{
	const struct labelling *l = arg;
	const struct device *d = l->d;
	int fd = device_claim(d, err), ret = fd < 0 ? -1 : 0;
	struct kvp_disk_sb label;
	unsigned int end;

	for (end = 0; !ret && end < 2; end++) {
		u64 at = kvp_spare_offset(d->blocks, end);

		kvp_spare_encode(l->spare, at, &label);
		if (pwrite(fd, &label, sizeof(label), (off_t)at) != sizeof(label))
			ret = write_failed(d, err);
	}
	if (!ret && fsync(fd))
		ret = write_failed(d, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

int spares_write(struct plan *p, struct err *err)
{
	struct kvp_spare s = { .create_time = (u64)time(NULL) };
	unsigned int i;
	int ret = 0;

	if (uuid_parse(p->uuid, s.pool_uuid))
		return err_set(err, ERR_FAILED, p->name, "see kvpoolctl status", "it has no UUID");
	snprintf(s.name, sizeof(s.name), "%s", p->name);
	for (i = 0; !ret && i < p->spare_count; i++) {
		struct device *d = &p->spares[i].dev;
		struct labelling l = { d, &s };

		uuid_generate_random(s.uuid);
		s.size_blocks = d->blocks;
		ret = plan_wipe_leg(p, &p->spares[i], err);
		if (!ret)
			ret = device_apart(d->path, write_labels, &l, NULL, 0, err);
		device_close(d);
		device_announce(d->rdev);
	}
	return ret;
}

int spares_clear(const struct device *d, const struct label *l, struct err *err)
{
	int ret = label_clear(d, l, err);

	device_announce(d->rdev);
	return ret;
}

/* --- the search -------------------------------------------------------------------- */

static const struct found_pool *find(struct scan *s, const char *pool_uuid)
{
	u8 uuid[16];

	return uuid_parse(pool_uuid, uuid) ? NULL : scan_pool(s, uuid);
}

/* Is the spare that was found free? It is open then. */
static bool is_free(const struct found_leg *spare, struct device *d, struct err *err)
{
	if (device_open(spare->dev.path, true, d, err))
		return false;
	if (!device_unused(d, err))
		return true;
	device_close(d);
	return false;
}

void spares_forget(struct ctl *ctl, const char *pool_uuid)
{
	const struct found_pool *p;
	unsigned int i;
	struct device d;
	struct scan s;
	struct err err;

	if (scan_run(NULL, 0, &s, &err))
		return;
	p = find(&s, pool_uuid);
	for (i = 0; p && i < p->spare_count; i++) {
		if (!is_free(p->spares[i], &d, &err) ||
		    spares_clear(&d, &p->spares[i]->label, &err))
			ctl_say(ctl, "note: the spare %s keeps its label: %s",
				p->spares[i]->dev.path, err.why);
		device_close(&d);
	}
	scan_free(&s);
}

static const struct kvp_geometry *geometry_of(const struct kvp_sb *sb, unsigned int leg)
{
	u32 v = 0;

	while (v + 1 < sb->vdev_count && leg >= sb->vdevs[v].first_leg + sb->vdevs[v].leg_count)
		v++;
	return &sb->vdevs[v];
}

/* @d: receives its properties, closed. */
static bool fits(const struct found_leg *spare, const struct kvp_geometry *g, struct device *d)
{
	struct kvp_why why;
	struct err err;

	if (!label_is_spare(&spare->label) || !is_free(spare, d, &err))
		return false;
	device_close(d);
	return d->rdev && !d->readonly && d->sector <= KVP_BLOCK_SIZE &&
	       !kvp_geometry_check(g, d->blocks, &why);
}

/* Another tool may have been run on it since. Its owner decides, by replace -f or labelclear. */
static bool has_signature(const struct device *d)
{
	const char *path = d->path;
	char type[1][SIGNATURE_TYPE];

	foreign_find(&path, 1, type);
	return *type[0];
}

int spares_choose(const struct dm_entry *e, const struct stats *stats, unsigned int leg,
		  char *path, struct err *err)
{
	const struct found_pool *p;
	struct device d;
	struct scan s;
	u64 least = 0;
	unsigned int i, count = 0, foreign = 0;

	if (scan_run(NULL, 0, &s, err))
		return -1;
	p = find(&s, e->uuid);
	for (i = 0; p && i < p->spare_count; i++, count++) {
		if (!fits(p->spares[i], geometry_of(p->sb, leg), &d) || (least &&
									 d.blocks >= least))
			continue;
		if (has_signature(&d)) {
			foreign++;
			continue;
		}
		least = d.blocks;
		snprintf(path, PATH_MAX, "%s", d.path);
	}
	scan_free(&s);
	if (least)
		return 0;
	if (foreign)
		return err_set(err, ERR_REFUSED, e->name, "'kvpoolctl status' names it, and what "
			       "to do about it", "a spare of it carries a signature of another "
			       "tool, and no other spare is free and large enough");
	return err_set(err, ERR_REFUSED, stats_text(stats, "leg.%u.uuid", leg) ?: e->name,
		       "name a device: kvpoolctl replace POOL OLD NEW",
		       count ? "none of the spares of pool %s is free and large enough" :
		       "no spare of pool %s was found", e->name);
}

static const char *state_of(const struct found_leg *spare)
{
	struct err err;

	if (!label_is_spare(&spare->label))
		return "resized";
	if (device_readonly(&spare->dev))
		return "readonly";
	/* It is not read: the search has its label, and it may sleep. */
	return device_unused(&spare->dev, &err) ? "held" : "available";
}

void spares_add_found(json_object *o, const struct found_pool *p)
{
	json_object *list = json_list(o, "spares"), *spare;
	char uuid[UUID_BUF];
	unsigned int i;

	for (i = 0; p && i < p->spare_count; i++) {
		spare = json_item(list);
		json_text(spare, "path", p->spares[i]->dev.path);
		json_text(spare, "uuid", uuid_print(p->spares[i]->label.spare.uuid, uuid));
		json_text(spare, "state", state_of(p->spares[i]));
		json_text(spare, "foreign", NULL);	/* until foreign_note() has probed it */
		json_number(spare, "size", p->spares[i]->dev.bytes);
	}
}

/* A glance leaves out legs in use, so it does not find the pools that the spares belong to. */
static void collect(const struct scan *s, const char *pool_uuid, struct found_pool *p)
{
	unsigned int i;
	u8 uuid[16];

	memset(p, 0, sizeof(*p));
	if (uuid_parse(pool_uuid, uuid))
		return;
	for (i = 0; i < s->leg_count && p->spare_count < MAX_SPARES; i++) {
		const struct label *l = &s->legs[i]->label;

		if ((label_is_spare(l) || label_is_resized_spare(l)) &&
		    !memcmp(l->spare.pool_uuid, uuid, 16))
			p->spares[p->spare_count++] = s->legs[i];
	}
}

void spares_note(json_object *pools, const char *const *where, unsigned int count)
{
	size_t i, n = json_object_array_length(pools);
	struct found_pool found;
	json_object *pool;
	struct scan s;

	if (!n || scan_glance(where, count, &s, NULL))
		return;
	for (i = 0; i < n; i++) {
		pool = json_object_array_get_idx(pools, i);
		if (!json_at(pool, "vdevs"))
			continue;
		collect(&s, json_text_at(pool, "uuid"), &found);
		spares_add_found(pool, &found);
		found_note(pool, &s);
	}
	scan_free(&s);
}
