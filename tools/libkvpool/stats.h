/* SPDX-License-Identifier: GPL-2.0-only */
/* The answer to the module's message "stats": lines of key=value. */
#ifndef KVPOOLCTL_STATS_H
#define KVPOOLCTL_STATS_H

#include "err.h"
#include "text.h"

struct stats {
	char *text;		/* lines, each ended by NUL */
	const char **keys;	/* into text; the value stands behind the key's NUL */
	unsigned int count;
};

/** stats_load() - ask the pool called @name */
int stats_load(const char *name, struct stats *s, struct err *err);

/** stats_parse() - split @text, which this takes over; 0 or -ENOMEM */
int stats_parse(char *text, struct stats *s);
void stats_free(struct stats *s);

/** stats_text() - value of a key, NULL if the module does not report the key */
const char *stats_text(const struct stats *s, const char *key, ...)
	__attribute__((format(printf, 2, 3)));

/** stats_number() - value as a number, 0 if the module does not report the key */
u64 stats_number(const struct stats *s, const char *key, ...)
	__attribute__((format(printf, 2, 3)));

#endif
