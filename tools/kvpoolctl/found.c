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
		*mend = label_mend(l, *mend);
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

/* Is it the label of leg @uuid of @pool, whether or not it can be used? */
static bool is_label_of(const struct label *l, const u8 pool[16], const u8 uuid[16])
{
	const struct kvp_sb *sb = l->sb ?: l->short_sb;

	return !memcmp(sb ? sb->pool_uuid : l->newer_pool, pool, 16) &&
	       !memcmp(sb ? sb->leg_uuid : l->newer_leg, uuid, 16);
}

static void note_leg(json_object *leg, const u8 pool[16], const struct scan *s)
{
	unsigned int i;
	u8 uuid[16];

	if (json_at(leg, "path") || uuid_parse(json_text_at(leg, "uuid"), uuid))
		return;
	for (i = 0; i < s->leg_count; i++)
		if (is_label_of(&s->legs[i]->label, pool, uuid))
			found_json(leg, s->legs[i]);
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
