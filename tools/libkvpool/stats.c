// SPDX-License-Identifier: GPL-2.0-only
/* Statistics of a running pool. */
#include <stdarg.h>
#include <stdlib.h>

#include "dm.h"
#include "stats.h"

int stats_parse(char *text, struct stats *s)
{
	char *line, *next, *value;
	unsigned int lines = 1;

	memset(s, 0, sizeof(*s));
	s->text = text;
	for (line = text; *line; line++)
		lines += *line == '\n';
	s->keys = calloc(lines, sizeof(*s->keys));
	if (!s->keys) {
		stats_free(s);
		return -ENOMEM;
	}
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		value = strchr(line, '=');
		if (!value)
			continue;
		*value = 0;
		s->keys[s->count++] = line;
	}
	return 0;
}

void stats_free(struct stats *s)
{
	free(s->text);
	free(s->keys);
	memset(s, 0, sizeof(*s));
}

int stats_load(const char *name, struct stats *s, struct err *err)
{
	char *text;

	memset(s, 0, sizeof(*s));
	if (dm_message(name, "stats", &text, err))
		return -1;
	if (stats_parse(text, s))
		return err_set(err, ERR_FAILED, name, "free some memory", "out of memory");
	return 0;
}

static const char *find(const struct stats *s, const char *key)
{
	unsigned int i;

	for (i = 0; i < s->count; i++)
		if (!strcmp(s->keys[i], key))
			return s->keys[i] + strlen(key) + 1;
	return NULL;
}

const char *stats_text(const struct stats *s, const char *key, ...)
{
	char buf[128];
	va_list ap;

	va_start(ap, key);
	vsnprintf(buf, sizeof(buf), key, ap);
	va_end(ap);
	return find(s, buf);
}

u64 stats_number(const struct stats *s, const char *key, ...)
{
	const char *value;
	char buf[128];
	va_list ap;

	va_start(ap, key);
	vsnprintf(buf, sizeof(buf), key, ap);
	va_end(ap);
	value = find(s, buf);
	return value ? strtoull(value, NULL, 10) : 0;
}
