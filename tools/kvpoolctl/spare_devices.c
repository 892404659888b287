// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "announce.h"
#include "format/spare.h"
#include "pool_object.h"
#include "foreign.h"
#include "found.h"
#include "reload.h"
#include "spare_devices.h"
#include "spare_kind.h"

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

/* Lists a spare in the pool's superblock, or takes it off the list. */
static int note(const char *pool, const u8 uuid[16], bool listed, struct err *err)
{
	char text[UUID_BUF], message[64];

	snprintf(message, sizeof(message), "spare %s %s", listed ? "add" : "remove",
		 uuid_print(uuid, text));
	return dm_message(pool, message, NULL, err);
}

/* Listed first: if the rest fails, the pool misses a spare, and does not lack one unseen. */
static int write_spare(struct plan *p, struct plan_leg *leg, struct kvp_spare *s, struct err *err)
{
	struct device *d = &leg->dev;
	struct labelling l = { d, s };
	struct err ignored;
	int ret;

	uuid_generate_random(s->uuid);
	s->size_blocks = d->blocks;
	ret = note(p->name, s->uuid, true, err);
	if (ret)
		return ret;
	ret = plan_wipe_leg(p, leg, err);
	if (!ret)
		ret = device_apart(d->path, write_labels, &l, NULL, 0, err);
	if (ret)
		note(p->name, s->uuid, false, &ignored);
	return ret;
}

/* A refusal would say that nothing was changed. */
static void say_written(unsigned int count, struct err *err)
{
	char why[sizeof(err->why)];

	if (!count)
		return;
	if (err_exit(err->code) == EXIT_REFUSED)
		err->code = ERR_FAILED;
	snprintf(why, sizeof(why), "%.400s (%u spare(s) named before it were added)", err->why,
		 count);
	memcpy(err->why, why, sizeof(why));
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
		ret = write_spare(p, &p->spares[i], &s, err);
		if (ret)
			say_written(i, err);
		device_close(&p->spares[i].dev);
		announce_joined(p->spares[i].dev.rdev);
	}
	return ret;
}

int spares_unlist(const char *pool, const u8 uuid[16], struct err *err)
{
	return note(pool, uuid, false, err);
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

/* The device that the pool holds as leg @i, by its table. */
static int leg_rotates(unsigned int i, void *params)
{
	const char *vdevs = table_vdevs(params);
	char word[64];

	return vdevs && table_leg(vdevs, i, word, sizeof(word)) ?
		device_rotates(leg_device(word)) : -1;
}

/* Without its table nothing is known of legs in use. */
static int kind_for(const struct dm_entry *e, const struct stats *s, unsigned int leg,
		    enum spare_kind *kind, struct err *err)
{
	char *params;
	u64 sectors;

	if (dm_table(e->name, &sectors, &params, err))
		return -1;
	*kind = spare_kind(s, leg, leg_rotates, params);
	free(params);
	return 0;
}

/*
 * Another tool may have been run on it since. Its owner decides, by replace -f or labelclear. One
 * that cannot be looked at is no spare to take either.
 */
static bool has_signature(const struct device *d)
{
	const char *path = d->path;
	char type[1][SIGNATURE_TYPE];

	foreign_find_sure(&path, 1, type);
	return *type[0];
}

/* What was found for a leg. */
struct choice {
	enum spare_kind kind;
	u64 least;		/* blocks of the smallest that fits; 0: none does */
	unsigned int count, foreign;
};

static void choose(struct choice *c, const struct found_pool *p, unsigned int leg, char *path)
{
	struct device d;
	unsigned int i;

	for (i = 0; p && i < p->spare_count; i++, c->count++) {
		if (!fits(p->spares[i], geometry_of(p->sb, leg), &d) ||
		    (c->least && d.blocks >= c->least) ||
		    !spare_is_of(c->kind, device_rotates(d.rdev)))
			continue;
		if (has_signature(&d)) {
			c->foreign++;
			continue;
		}
		c->least = d.blocks;
		snprintf(path, PATH_MAX, "%s", d.path);
	}
}

static int none_fits(const struct choice *c, const char *pool, const char *leg, struct err *err)
{
	if (c->foreign)
		return err_set(err, ERR_REFUSED, pool, "'kvpoolctl status' names it, and what "
			       "to do about it", "a spare of it carries a signature of another "
			       "tool, or cannot be looked at, and no other spare is free and "
			       "large enough%s",
			       spare_kind_words(c->kind));
	return err_set(err, ERR_REFUSED, leg, "name a device: kvpoolctl replace POOL OLD NEW",
		       c->count ? "none of the spares of pool %s is free and large enough%s" :
		       "no spare of pool %s was found", pool, spare_kind_words(c->kind));
}

int spares_choose(const struct dm_entry *e, const struct stats *stats, unsigned int leg,
		  char *path, struct err *err)
{
	struct choice c = { .least = 0 };
	struct scan s;

	if (kind_for(e, stats, leg, &c.kind, err) || scan_run(NULL, 0, &s, err))
		return -1;
	choose(&c, find(&s, e->uuid), leg, path);
	scan_free(&s);
	return c.least ? 0 : none_fits(&c, e->name, stats_text(stats, "leg.%u.uuid", leg) ?:
				       e->name, err);
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

static bool is_listed(const struct stats *s, const u8 uuid[16])
{
	const char *text;
	unsigned int i;
	u8 listed[16];

	for (i = 0; i < KVP_MAX_SPARES && (text = stats_text(s, "spare.%u.uuid", i)); i++)
		if (!uuid_parse(text, listed) && !memcmp(listed, uuid, 16))
			return true;
	return false;
}

int spares_find(const struct dm_entry *e, const u8 uuid[16], char *path, struct err *err)
{
	const struct found_pool *p;
	struct stats stats;
	char text[UUID_BUF];
	unsigned int i;
	struct scan s;
	bool listed;

	*path = 0;
	if (stats_load(e->name, &stats, err))
		return -1;
	listed = is_listed(&stats, uuid);
	stats_free(&stats);
	if (scan_run(NULL, 0, &s, err))
		return -1;
	p = find(&s, e->uuid);
	for (i = 0; p && i < p->spare_count; i++)
		if (!memcmp(p->spares[i]->label.spare.uuid, uuid, 16))
			snprintf(path, PATH_MAX, "%s", p->spares[i]->dev.path);
	scan_free(&s);
	if (*path || listed)
		return 0;
	return err_set(err, ERR_REFUSED, uuid_print(uuid, text), "'kvpoolctl status' lists the "
		       "spares", "it is no spare of pool %s", e->name);
}

static void add_rotates(json_object *spare, int rotates)
{
	if (rotates < 0)
		json_text(spare, "rotates", NULL);
	else
		json_flag(spare, "rotates", rotates);
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
		add_rotates(spare, device_rotates(p->spares[i]->dev.rdev));
	}
}

static bool was_found(const struct found_pool *p, const u8 uuid[16])
{
	unsigned int i;

	for (i = 0; i < p->spare_count; i++)
		if (!memcmp(p->spares[i]->label.spare.uuid, uuid, 16))
			return true;
	return false;
}

static void add_missing(json_object *list, const char *uuid)
{
	json_object *spare = json_item(list);

	json_text(spare, "path", NULL);
	json_text(spare, "uuid", uuid);
	json_text(spare, "state", "missing");
	json_text(spare, "foreign", NULL);
	json_text(spare, "size", NULL);
	json_text(spare, "rotates", NULL);
}

void spares_add_missing(json_object *o, const struct found_pool *p)
{
	char text[UUID_BUF];
	unsigned int i;

	for (i = 0; i < KVP_MAX_SPARES; i++)
		if (!uuid_is_null(p->sb->spares[i]) && !was_found(p, p->sb->spares[i]))
			add_missing(json_at(o, "spares"), uuid_print(p->sb->spares[i], text));
}

/* Of a running pool, those of its list that were not found. */
static void add_unfound(json_object *pool, const struct found_pool *p)
{
	const char *text;
	struct stats s;
	struct err err;
	unsigned int i;
	u8 uuid[16];

	if (stats_load(json_text_at(pool, "name"), &s, &err))
		return;
	for (i = 0; i < KVP_MAX_SPARES && (text = stats_text(&s, "spare.%u.uuid", i)); i++)
		if (!uuid_parse(text, uuid) && !was_found(p, uuid))
			add_missing(json_at(pool, "spares"), text);
	stats_free(&s);
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
		/* A search in some places only finds only some. */
		if (!count)
			add_unfound(pool, &found);
		found_note(pool, &s);
	}
	scan_free(&s);
}

void spares_advise(json_object *pool)
{
	json_object *list = json_at(pool, "spares"), *spare;
	char text[512];
	size_t i;

	for (i = 0; list && i < json_object_array_length(list); i++) {
		spare = json_object_array_get_idx(list, i);
		if (json_at(pool, "advice") || strcmp(json_text_at(spare, "state"), "missing"))
			continue;
		snprintf(text, sizeof(text), "spare %.40s is missing: connect it; if it has gone "
			 "for good, kvpoolctl remove %.64s %.40s, and add another one",
			 json_text_at(spare, "uuid"), json_text_at(pool, "name"),
			 json_text_at(spare, "uuid"));
		json_text(pool, "advice", text);
	}
}
