// SPDX-License-Identifier: GPL-2.0-only
#include "foreign.h"
#include "foreign_note.h"

unsigned int foreign_note(json_object *legs, json_object **leg)
{
	char types[KVP_MAX_LEGS][SIGNATURE_TYPE];
	json_object *with_path[KVP_MAX_LEGS], *o;
	const char *paths[KVP_MAX_LEGS];
	unsigned int n = 0, found = 0;
	size_t i;

	*leg = NULL;
	for (i = 0; i < json_object_array_length(legs) && n < KVP_MAX_LEGS; i++) {
		o = json_object_array_get_idx(legs, i);
		if (!json_at(o, "path"))
			continue;
		with_path[n] = o;
		paths[n++] = json_text_at(o, "path");
	}
	foreign_find(paths, n, types);
	for (i = 0; i < n; i++) {
		if (!*types[i])
			continue;
		json_text(with_path[i], "foreign", types[i]);
		*leg = with_path[i];
		found++;
	}
	return found;
}

const char *foreign_text(json_object *leg, char buf[FOREIGN_TEXT])
{
	snprintf(buf, FOREIGN_TEXT,
		 "leg %.200s carries a signature of %.60s as well, and another tool may take the "
		 "leg for its own at the next boot: kvpoolctl labelclear --foreign %.200s wipes "
		 "only the signature; kvpoolctl scrub finds other damage",
		 json_text_at(leg, "path"), json_text_at(leg, "foreign"),
		 json_text_at(leg, "path"));
	return buf;
}
