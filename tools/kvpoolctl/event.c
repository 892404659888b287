// SPDX-License-Identifier: GPL-2.0-only
#include "event.h"

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
