// SPDX-License-Identifier: GPL-2.0-only
/* Splits the text of an event. */
#include "event.h"

/* The blank before the next "key=", NULL: @field is the last one. */
static char *end_of(char *field)
{
	char *blank = field;
	size_t n;

	while ((blank = strchr(blank, ' '))) {
		n = strspn(++blank, "abcdefghijklmnopqrstuvwxyz_");
		if (n && blank[n] == '=')
			return blank - 1;
	}
	return NULL;
}

void event_fields(json_object *o, char *text)
{
	char *field = strchr(text, ' '), *next, *value;
	json_object *fields;

	if (field)
		*field++ = 0;
	json_text(o, "event", text);
	fields = json_child(o, "fields");
	for (; field && *field; field = next) {
		next = end_of(field);
		if (next)
			*next++ = 0;
		value = strchr(field, '=');
		if (value)
			*value++ = 0;
		json_text(fields, field, value ?: "");
	}
}
