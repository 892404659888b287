// SPDX-License-Identifier: GPL-2.0-only
#include "foreign.h"
#include "foreign_note.h"

static void note_some(json_object *legs, size_t first, unsigned int count)
{
	char types[KVP_MAX_LEGS][SIGNATURE_TYPE];
	json_object *with_path[KVP_MAX_LEGS], *o;
	const char *paths[KVP_MAX_LEGS] = { NULL };
	unsigned int i, n = 0;

	for (i = 0; i < count; i++) {
		o = json_object_array_get_idx(legs, first + i);
		if (!json_at(o, "path"))
			continue;
		with_path[n] = o;
		paths[n++] = json_text_at(o, "path");
	}
	foreign_find(paths, n, types);
	for (i = 0; i < n; i++)
		if (*types[i])
			json_text(with_path[i], "foreign", types[i]);
}

void foreign_note(json_object *legs)
{
	size_t i, left, n = legs ? json_object_array_length(legs) : 0;

	/* A pool has no more legs, but may have more spares. */
	for (i = 0; i < n; i += KVP_MAX_LEGS) {
		left = n - i;
		note_some(legs, i, left < KVP_MAX_LEGS ? (unsigned int)left : KVP_MAX_LEGS);
	}
}

const char *foreign_text(json_object *leg, const char *word, char buf[FOREIGN_TEXT])
{
	if (!json_at(leg, "foreign"))
		return NULL;
	snprintf(buf, FOREIGN_TEXT,
		 "%s %.200s carries a signature of %.60s as well, and another tool may take the "
		 "%s for its own at the next boot: kvpoolctl labelclear --foreign %.200s wipes "
		 "only the signature%s", word,
		 json_text_at(leg, "path"), json_text_at(leg, "foreign"), word,
		 path_whole(json_text_at(leg, "path"), 200),
		 strcmp(word, "leg") ? "" : "; kvpoolctl scrub finds other damage");
	return buf;
}

void foreign_say(const struct ctl *ctl, json_object *legs, const char *word)
{
	size_t i, n = legs ? json_object_array_length(legs) : 0;
	char buf[FOREIGN_TEXT];
	const char *text;

	for (i = 0; i < n; i++) {
		text = foreign_text(json_object_array_get_idx(legs, i), word, buf);
		if (text && !ctl->json)
			ctl_say(ctl, "note: %s", text);
	}
}
