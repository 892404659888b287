// SPDX-License-Identifier: GPL-2.0-only
/*
 * The constructor: a table line is taken apart, its devices are opened, and what needs no write is
 * checked.
 */
#include <linux/device-mapper.h>

#include "compat/compat.h"
#include "pool/tableline.h"
#include "target/registry.h"
#include "target/reload.h"
#include "target/bio.h"
#include "target/request.h"
#include "target/target.h"

static const char *open_mend(int error)
{
	switch (error) {
	case -EBUSY:
		return "see what holds it: lsblk, fuser";
	case -EACCES:
	case -EROFS:
		return "make it writable, or start with the option readonly and dmsetup --readonly";
	default:
		return "check the path; '-' stands for a leg that is missing";
	}
}

/*
 * Check that @leg, which has a device, is not the device of @other, which the table names before
 * it.
 */
static int check_beside(struct kvp_line *line, struct kvp_target *t,
			const struct kvp_start_leg *other, const struct kvp_start_leg *leg)
{
	if (other == leg || !other->bdev || !kvp_bdevs_overlap(other->bdev, leg->bdev))
		return 0;
	line->error = "a leg is named twice";
	return kvp_refuse(&t->refusal, -EINVAL, "name each device once",
			  "%s and %s are the same device, or one is a partition of the other",
			  other->path, leg->path);
}

static int check_leg(struct kvp_line *line, struct kvp_target *t, u32 i)
{
	struct kvp_start *s = &t->start;
	const struct kvp_start_leg *leg = kvp_target_leg(t, i);
	/* The shadow is an option, so it comes before all legs. */
	int ret = check_beside(line, t, &s->shadow, leg);
	u32 j;

	for (j = 0; !ret && i != KVP_SHADOW && j < i; j++)
		ret = check_beside(line, t, &s->legs[j], leg);
	if (!ret && bdev_logical_block_size(leg->bdev) > KVP_BLOCK_SIZE) {
		line->error = "logical blocks of a leg are larger than 4096 bytes";
		ret = -EINVAL;
	}
	return ret;
}

static int open_leg(struct kvp_line *line, struct kvp_start *s, u32 i, const char *arg)
{
	struct kvp_target *t = container_of(s, struct kvp_target, start);
	struct kvp_start_leg *leg = kvp_target_leg(t, i);
	struct dm_target *ti = t->ti;
	int ret;

	ret = dm_get_device(ti, arg, dm_table_get_mode(ti->table), &t->devs[i]);
	if (ret) {
		line->error = "cannot open a leg";
		return kvp_refuse(&t->refusal, ret, open_mend(ret), "leg %s cannot be opened: %pe",
				  arg, ERR_PTR(ret));
	}
	/*
	 * Events and refusals name the leg by this path, and may be read after a restart: numbers
	 * would tell nothing then. A path that is cut off would name something else, and one with
	 * control characters would forge lines of the status.
	 */
	if (*arg != '/')
		snprintf(leg->path, sizeof(leg->path), "/dev/%pg", t->devs[i]->bdev);
	else if (strlen(arg) >= sizeof(leg->path) || !kvp_text_valid(arg))
		strscpy(leg->path, t->devs[i]->name, sizeof(leg->path));
	leg->bdev = t->devs[i]->bdev;
	leg->size_blocks = bdev_nr_sectors(t->devs[i]->bdev) >> KVP_SECTORS_SHIFT;
	leg->rotational = !bdev_nonrot(t->devs[i]->bdev);
	return check_leg(line, t, i);
}

static int parse_line(struct dm_target *ti, struct kvp_target *t, unsigned int argc, char **argv)
{
	struct kvp_line line = {
		.argc = argc, .argv = argv, .refusal = &t->refusal, .open = open_leg,
	};
	int ret;

	t->ti = ti;
	t->start.pool_blocks = ti->len >> KVP_SECTORS_SHIFT;
	ret = kvp_line_parse(&line, &t->start);
	t->ti = NULL;
	ti->error = (char *)line.error;
	return ret;
}

void kvp_target_put_devices(struct dm_target *ti, struct kvp_target *t)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t->devs); i++)
		if (t->devs[i])
			dm_put_device(ti, t->devs[i]);
}

/* Keep the reason where tools read all other refusals. */
static void refuse_table(struct dm_target *ti, struct kvp_refusal *r)
{
	snprintf(r->what, sizeof(r->what), "table line");
	if (!r->why[0])
		kvp_refuse(r, 0, "see docs/dm-interface.md", "%s",
			   ti->error ?: "it cannot be read");
	kvp_registry_refused(r, true);
}

static void set_features(struct dm_target *ti)
{
	ti->num_flush_bios = 1;
	/* Without this, no FLUSH would reach this target if all legs are write-through. */
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->num_write_zeroes_bios = 1;
	ti->per_io_data_size = sizeof(struct kvp_bio);
}

/* Check the line as a whole: its place in the table, and its mode. */
static int check_line(struct dm_target *ti, struct kvp_target *t)
{
	if (ti->begin || ti->len % KVP_BLOCK_SECTORS) {
		ti->error = "a pool begins at sector 0 and has whole 4096 byte blocks";
		return -EINVAL;
	}
	/* The legs were opened for reading: no log may be written home, and no label written. */
	if (!t->start.readonly && !(dm_table_get_mode(ti->table) & KVP_MODE_WRITE)) {
		ti->error = "the device is read-only, and the pool is not";
		return kvp_refuse(&t->refusal, -EROFS,
				  "add the option readonly, or leave out --readonly",
				  "the device is to be read-only, and the pool is not");
	}
	return 0;
}

int kvp_target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct kvp_refusal none = { };
	struct kvp_target *t;
	int ret;

	if (argc < 5) {
		ti->error = "table needs UUID, options, vdev kind, number of legs and legs";
		refuse_table(ti, &none);
		return -EINVAL;
	}
	t = kvzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "out of memory";
		return -ENOMEM;
	}
	ret = parse_line(ti, t, argc, argv);
	if (!ret)
		ret = check_line(ti, t);
	if (ret)
		refuse_table(ti, &t->refusal);
	else
		ret = kvp_instance_check(ti, t);
	if (ret) {
		kvp_target_put_devices(ti, t);
		kvfree(t);
		return ret;
	}
	ti->error = NULL;
	ti->private = t;
	set_features(ti);
	return 0;
}
