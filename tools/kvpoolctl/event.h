/* SPDX-License-Identifier: GPL-2.0-only */
/* Splits the text of an event. */
#ifndef KVPOOLCTL_EVENT_H
#define KVPOOLCTL_EVENT_H

#include "ctl.h"

/**
 * event_fields() - add "event" and "fields" of @text to @o
 * @text: "name key=value key=value" from the module; modified
 *
 * A value ends before the next key, so it may contain blanks.
 */
void event_fields(json_object *o, char *text);

#endif
