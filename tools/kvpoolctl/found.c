// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <uuid/uuid.h>

#include "found.h"
#include "pool_object.h"

bool found_fault(const struct found_leg *leg, char why[FOUND_WHY], const char **mend)
{
	const struct label *l = &leg->label;
	const char *ignored;
	struct err err;

	mend = mend ?: &ignored;
	*mend = "see kvpoolctl inspect DEV";
	if (label_is_small(l)) {
		*mend = FOUND_FULL_SIZE;
		snprintf(why, FOUND_WHY, "it is %llu bytes smaller than when it became a leg",
			 (unsigned long long)l->short_by);
	} else if (*leg->part && !label_fault(l)) {
		*mend = FOUND_PART;
		snprintf(why, FOUND_WHY, "it is a part of another device, which has the leg: %s",
			 leg->part);
	} else if (label_fault(l)) {
		snprintf(why, FOUND_WHY, "%.200s", label_fault(l));
	} else if (device_readonly(&leg->dev)) {
		*mend = "make it writable: blockdev --setrw";
		snprintf(why, FOUND_WHY, "it is read-only");
	} else if (device_unused(&leg->dev, &err)) {
		*mend = "see what holds it: lsblk, fuser";
		snprintf(why, FOUND_WHY, "%.240s", err.why);
	} else {
		return false;
	}
	return true;
}

void found_json(json_object *o, const struct found_leg *leg)
{
	json_object *found;
	char why[FOUND_WHY];
	const char *mend;
	bool fault;

	if (!leg) {
		json_text(o, "found", NULL);
		return;
	}
	fault = found_fault(leg, why, &mend);
	found = json_child(o, "found");
	json_text(found, "path", leg->dev.path);
	json_text(found, "why", fault ? why : NULL);
	json_text(found, "mend", fault ? mend : NULL);
}

static const struct kvp_sb *own_sb(const struct label *l)
{
	return l->sb ?: l->short_sb;
}

static void note_leg(json_object *leg, const u8 pool[16], const struct scan *s)
{
	const struct kvp_sb *sb;
	unsigned int i;
	u8 uuid[16];

	if (json_at(leg, "path") || uuid_parse(json_text_at(leg, "uuid"), uuid))
		return;
	for (i = 0; i < s->leg_count; i++) {
		sb = own_sb(&s->legs[i]->label);
		if (sb && !memcmp(sb->pool_uuid, pool, 16) && !memcmp(sb->leg_uuid, uuid, 16))
			found_json(leg, s->legs[i]);
	}
}

void found_note(json_object *pool, const struct scan *s)
{
	json_object *legs = pool_legs(pool);
	u8 uuid[16];
	size_t i;

	for (i = 0; !uuid_parse(json_text_at(pool, "uuid"), uuid) &&
	     i < json_object_array_length(legs); i++)
		note_leg(json_object_array_get_idx(legs, i), uuid, s);
	json_object_put(legs);
}
