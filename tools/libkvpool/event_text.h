/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that a running pool keeps: each is a text with a name and fields. */
#ifndef KVPOOLCTL_EVENT_TEXT_H
#define KVPOOLCTL_EVENT_TEXT_H

#include "dm.h"

#define EVENT_FIELDS	16	/* the text has 215 bytes */

struct event_text {
	const char *name;
	unsigned int count;
	struct {
		const char *key, *value;
	} fields[EVENT_FIELDS];
};

/**
 * event_text_split() - split "name key=value key=value" from the module
 * @text: modified; @e points into it
 *
 * A value ends before the next key, so it may contain blanks.
 */
void event_text_split(char *text, struct event_text *e);

/** event_text_field() - the value of a field, or NULL */
const char *event_text_field(const struct event_text *e, const char *key);

/* One event. @text, "name key=value key=value", may be modified. */
typedef void (*event_fn)(void *arg, u64 seq, u64 seconds, char *text);

/** event_parse() - event_each() of an answer, which is modified */
void event_parse(char *text, u64 *next, event_fn fn, void *arg);

/**
 * event_each() - hand the events of a running pool to @fn, oldest first
 * @fn: NULL: they are only counted
 * @next: the first that is wanted; receives the seq behind the last one
 */
int event_each(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err);

/**
 * event_each_order() - hand what a user ordered to @fn, oldest first
 *
 * The pool keeps these events for longer than others. An older module does not, and refuses.
 */
int event_each_order(const char *pool, event_fn fn, void *arg, struct err *err);

#endif
