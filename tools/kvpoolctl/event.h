/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of an event, taken apart. */
#ifndef KVPOOLCTL_EVENT_H
#define KVPOOLCTL_EVENT_H

#include "ctl.h"

/**
 * event_fields() - add "event" and "fields" of @text to @o
 * @text: "name key=value key=value", as the module tells it; is changed
 *
 * A value goes up to the next key, so it may have blanks.
 */
void event_fields(json_object *o, char *text);

#endif
