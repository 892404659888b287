// SPDX-License-Identifier: GPL-2.0-only
/* The events that a running pool keeps, and an event as JSON. */
#include "event.h"
#include "event_text.h"

int event_each(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err)
{
	char message[64], *text, *line, *save;
	u64 seq, seconds;
	int used;

	snprintf(message, sizeof(message), "events %" PRIu64, *next);
	if (dm_message(pool, message, &text, err))
		return -1;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		used = 0;
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &seq, &seconds, &used) < 2 ||
		    !used || seq < *next)
			continue;
		fn(arg, seq, seconds, line + used);
		*next = seq + 1;
	}
	free(text);
	return 0;
}

void event_fields(json_object *o, char *text)
{
	struct event_text e;
	json_object *fields;
	unsigned int i;

	event_text_split(text, &e);
	json_text(o, "event", e.name);
	fields = json_child(o, "fields");
	for (i = 0; i < e.count; i++)
		json_text(fields, e.fields[i].key, e.fields[i].value);
}
