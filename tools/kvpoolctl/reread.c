// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "reread.h"

/* The UUID of the pool to which @l belongs; NULL: it does not say. */
static const u8 *pool_of(const struct label *l)
{
	if (l->sb)
		return l->sb->pool_uuid;
	if (l->short_sb)
		return l->short_sb->pool_uuid;
	return l->spare_valid || l->spare_resized ? l->spare.pool_uuid : NULL;
}

static bool belongs(const struct found_leg *leg, const u8 uuid[16])
{
	const u8 *pool = pool_of(&leg->label);

	return pool && !memcmp(pool, uuid, 16);
}

static bool is_as_before(const struct scan *now, const struct found_leg *leg)
{
	unsigned int i;

	for (i = 0; i < now->leg_count; i++)
		if (device_same(&now->legs[i]->dev, &leg->dev))
			return now->legs[i]->dev.bytes == leg->dev.bytes &&
			       label_same(&now->legs[i]->label, &leg->label);
	return false;
}

bool reread_same(const struct scan *s, const u8 uuid[16])
{
	const char **paths = calloc(s->leg_count + 1, sizeof(*paths));
	unsigned int i, count = 0;
	struct scan now;
	bool same;

	if (!paths)
		abort();
	for (i = 0; i < s->leg_count; i++)
		if (belongs(s->legs[i], uuid))
			paths[count++] = s->legs[i]->dev.path;
	same = count && !scan_run(paths, count, &now, NULL);
	free(paths);
	if (!same)
		return false;
	for (i = 0; same && i < s->leg_count; i++)
		same = !belongs(s->legs[i], uuid) || is_as_before(&now, s->legs[i]);
	scan_free(&now);
	return same;
}
