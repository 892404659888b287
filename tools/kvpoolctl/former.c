// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>

#include "dm.h"
#include "former.h"
#include "stats.h"
#include "text.h"

/* Does @s name the leg, or the device that is to take the place of one? */
static bool has_leg(const struct stats *s, const char *uuid)
{
	const char *leg = stats_text(s, "shadow.uuid");
	unsigned int i;

	if (leg && !strcasecmp(leg, uuid))
		return true;
	for (i = 0; i < KVP_MAX_LEGS && (leg = stats_text(s, "leg.%u.uuid", i)); i++)
		if (!strcasecmp(leg, uuid))
			return true;
	return false;
}

/* Is the pool active, as @e, and without this leg? If it does not tell, it may have the leg. */
static bool runs_without(const struct kvp_sb *sb, struct dm_entry *e)
{
	char pool[UUID_BUF], leg[UUID_BUF];
	struct stats s;
	bool without;

	if (dm_find(uuid_print(sb->pool_uuid, pool), e, NULL) || stats_load(e->name, &s, NULL))
		return false;
	without = !has_leg(&s, uuid_print(sb->leg_uuid, leg));
	stats_free(&s);
	return without;
}

int former_refuse(const char *path, const struct kvp_sb *sb, const char *mend, struct err *err)
{
	char free_it[PATH_MAX + 64];
	struct dm_entry e;

	if (runs_without(sb, &e)) {
		snprintf(free_it, sizeof(free_it), "to free it: kvpoolctl labelclear -f %.200s",
			 path_whole(path, 200));
		return err_set(err, ERR_MEMBER, path, free_it,
			       "it was a leg of pool %s, which runs without it", e.name);
	}
	return err_set(err, ERR_MEMBER, path, mend,
		       "it is a member of %spool %s, which was not destroyed as far as the labels "
		       "here say", sb->flags & KVP_SB_EXPORTED ? "the exported " : "", sb->name);
}
