// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <string.h>

#include "found.h"
#include "idle.h"
#include "import.h"

/* Should the pool run on this host? */
static bool is_wanted(const struct kvp_sb *sb, const struct host *self)
{
	char uuid[UUID_BUF];
	struct dm_entry e;

	return !(sb->flags & (KVP_SB_EXPORTED | KVP_SB_DESTROYED | KVP_SB_JOINING)) &&
	       !host_has_other(self, sb) && dm_find(uuid_print(sb->pool_uuid, uuid), &e, NULL);
}

/*
 * The superblock of leg @i if no leg of its pool has its full size, and no leg before @i is of that
 * pool; else NULL. A dock may hide the last sectors of all disks in it.
 */
static const struct kvp_sb *all_small(struct scan *s, unsigned int i)
{
	const struct kvp_sb *sb = s->legs[i]->label.short_sb, *before;
	unsigned int k;

	if (!sb || scan_pool(s, sb->pool_uuid))
		return NULL;
	for (k = 0; k < i; k++) {
		before = s->legs[k]->label.short_sb;
		if (before && !memcmp(before->pool_uuid, sb->pool_uuid, 16))
			return NULL;
	}
	return sb;
}

static void add_small(json_object *list, const struct kvp_sb *sb, const struct found_leg *leg)
{
	json_object *idle = json_item(list);
	char uuid[UUID_BUF], why[PATH_MAX + 128];

	snprintf(why, sizeof(why), "no leg has its full size: %s is %llu bytes smaller than when "
		 "it became one", leg->dev.path, (unsigned long long)leg->label.short_by);
	json_text(idle, "name", sb->name);
	json_text(idle, "uuid", uuid_print(sb->pool_uuid, uuid));
	json_text(idle, "why", why);
	json_text(idle, "mend", FOUND_FULL_SIZE);
}

static void add_pool(json_object *list, const struct scan *s, const struct found_pool *p,
		     const struct import_options *o)
{
	json_object *idle = json_item(list);
	char uuid[UUID_BUF], mend[128];
	struct import_without without;
	struct refusals r;

	if (import_leave_out(p, o, &without))
		p = &without.pool;
	import_check(p, o, &r);
	import_check_devices(p, o, &r);
	snprintf(mend, sizeof(mend), "kvpoolctl import %.64s", import_word(s, p, uuid));
	json_text(idle, "name", p->sb->name);
	json_text(idle, "uuid", uuid_print(p->sb->pool_uuid, uuid));
	json_text(idle, "why", r.count ? r.list[0].why : import_automatic(p->sb) ?
		  "it was not started" :
		  "it was not started; its autoimport is 0");
	json_text(idle, "mend", r.count ? r.list[0].mend : mend);
}

/* @list: NULL: only count them */
static unsigned int find_in(struct scan *s, const struct import_options *o, json_object *list)
{
	const struct kvp_sb *sb;
	unsigned int i, n = 0;

	for (i = 0; i < s->pool_count; i++) {
		if (!is_wanted(s->pools[i].sb, &o->self))
			continue;
		if (list)
			add_pool(list, s, &s->pools[i], o);
		n++;
	}
	for (i = 0; i < s->leg_count; i++) {
		sb = all_small(s, i);
		if (!sb || !is_wanted(sb, &o->self))
			continue;
		if (list)
			add_small(list, sb, s->legs[i]);
		n++;
	}
	return n;
}

int idle_find(const char *const *where, unsigned int count, json_object *list, struct err *err)
{
	struct import_options o = { .readonly = false };
	struct scan s;
	unsigned int n;

	host_self(&o.self);
	if (scan_glance(where, count, &s, err))
		return -1;
	n = find_in(&s, &o, NULL);
	scan_free(&s);
	if (!n)
		return 0;
	/* What a glance remembers may be out of date, and names may be those of pools that run. */
	if (scan_run(where, count, &s, err))
		return -1;
	find_in(&s, &o, list);
	scan_free(&s);
	return 0;
}
