// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_text.h"

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

void event_text_split(char *text, struct event_text *e)
{
	char *field = strchr(text, ' '), *next, *value;

	*e = (struct event_text){ .name = text };
	if (field)
		*field++ = 0;
	for (; field && *field && e->count < EVENT_FIELDS; field = next) {
		next = end_of(field);
		if (next)
			*next++ = 0;
		value = strchr(field, '=');
		if (value)
			*value++ = 0;
		e->fields[e->count].key = field;
		e->fields[e->count++].value = value ? value : "";
	}
}

const char *event_text_field(const struct event_text *e, const char *key)
{
	unsigned int i;

	for (i = 0; i < e->count; i++)
		if (!strcmp(e->fields[i].key, key))
			return e->fields[i].value;
	return NULL;
}

void event_parse(char *text, u64 *next, event_fn fn, void *arg)
{
	char *line, *save;
	u64 seq, seconds;
	int used;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		used = 0;
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &seq, &seconds, &used) < 2 ||
		    !used || seq < *next || seq == UINT64_MAX)
			continue;
		if (fn)
			fn(arg, seq, seconds, line + used);
		*next = seq + 1;
	}
}

/* The answer to the message @word. */
static int each(const char *word, const char *pool, u64 *next, event_fn fn, void *arg,
		struct err *err)
{
	char message[64], *text;

	snprintf(message, sizeof(message), "%s %" PRIu64, word, *next);
	if (dm_message(pool, message, &text, err))
		return -1;
	event_parse(text, next, fn, arg);
	free(text);
	return 0;
}

int event_each(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err)
{
	return each("events", pool, next, fn, arg, err);
}

int event_each_order(const char *pool, event_fn fn, void *arg, struct err *err)
{
	u64 next = 0;

	return each("orders", pool, &next, fn, arg, err);
}
