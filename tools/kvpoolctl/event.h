/* SPDX-License-Identifier: GPL-2.0-only */
/* An event as JSON. */
#ifndef KVPOOLCTL_EVENT_H
#define KVPOOLCTL_EVENT_H

#include "ctl.h"
#include "event_text.h"

/**
 * event_fields() - add "event" and "fields" of @text to @o
 * @text: "name key=value key=value" from the module; modified
 *
 * See event_text_split().
 */
void event_fields(json_object *o, char *text);

#endif
