/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that a running pool keeps, and an event as JSON. */
#ifndef KVPOOLCTL_EVENT_H
#define KVPOOLCTL_EVENT_H

#include "ctl.h"

/* One event. @text, "name key=value key=value", may be modified. */
typedef void (*event_fn)(void *arg, u64 seq, u64 seconds, char *text);

/**
 * event_each() - hand the events of a running pool to @fn, oldest first
 * @next: the first that is wanted; receives the seq behind the last one
 */
int event_each(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err);

/**
 * event_fields() - add "event" and "fields" of @text to @o
 * @text: "name key=value key=value" from the module; modified
 *
 * See event_text_split().
 */
void event_fields(json_object *o, char *text);

#endif
