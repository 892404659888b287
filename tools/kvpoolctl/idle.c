// SPDX-License-Identifier: GPL-2.0-only
#include "idle.h"
#include "import.h"

/* Should the pool run on this host? */
static bool is_wanted(const struct found_pool *p, const struct host *self)
{
	char uuid[UUID_BUF];
	struct dm_entry e;

	return !(p->sb->flags & (KVP_SB_EXPORTED | KVP_SB_DESTROYED | KVP_SB_JOINING)) &&
	       !host_has_other(self, p->sb) && dm_find(uuid_print(p->sb->pool_uuid, uuid), &e,
						       NULL);
}

static void add_pool(json_object *list, const struct found_pool *p, const struct import_options *o)
{
	json_object *idle = json_item(list);
	char uuid[UUID_BUF], mend[128];
	struct found_pool without;
	struct refusals r;

	if (import_leave_out(p, o, &without))
		p = &without;
	import_check(p, o, &r);
	import_check_devices(p, o, &r);
	snprintf(mend, sizeof(mend), "kvpoolctl import %.64s", p->sb->name);
	json_text(idle, "name", p->sb->name);
	json_text(idle, "uuid", uuid_print(p->sb->pool_uuid, uuid));
	json_text(idle, "why", r.count ? r.list[0].why : import_automatic(p->sb) ?
		  "it was not started" :
		  "it was not started; its autoimport is 0");
	json_text(idle, "mend", r.count ? r.list[0].mend : mend);
}

int idle_find(const char *const *where, unsigned int count, json_object *list, struct err *err)
{
	struct import_options o = { .readonly = false };
	struct scan s;
	unsigned int i;

	host_self(&o.self);
	if (scan_run(where, count, &s, err))
		return -1;
	for (i = 0; i < s.pool_count; i++)
		if (is_wanted(&s.pools[i], &o.self))
			add_pool(list, &s.pools[i], &o);
	scan_free(&s);
	return 0;
}
