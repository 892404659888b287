// SPDX-License-Identifier: GPL-2.0-only
#include "event.h"

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
