// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "dm.h"
#include "names.h"
#include "scan.h"

static int taken(const char *name, const char *by, struct err *err)
{
	struct dm_entry e;
	char mend[128];

	if (!dm_find(by, &e, NULL))
		snprintf(mend, sizeof(mend), "choose another name, or rename that pool first");
	else
		snprintf(mend, sizeof(mend), "choose another name, or give that pool one: "
			 "kvpoolctl import %s NEWNAME", by);
	return err_set(err, ERR_NAME_IN_USE, name, mend, "the pool %s has this name in its labels",
		       by);
}

int names_check(const char *name, const char *uuid, struct err *err)
{
	char other[UUID_BUF];
	struct scan s;
	unsigned int i;
	int ret = 0;

	if (scan_run(NULL, 0, &s, err))
		return -1;
	for (i = 0; !ret && i < s.pool_count; i++) {
		const struct kvp_sb *sb = s.pools[i].sb;

		if (!strcmp(sb->name, name) && !(sb->flags & (KVP_SB_DESTROYED | KVP_SB_JOINING)) &&
		    strcasecmp(uuid_print(sb->pool_uuid, other), uuid))
			ret = taken(name, other, err);
	}
	scan_free(&s);
	return ret;
}
