/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of an event: a name and fields. */
#ifndef KVPOOLCTL_EVENT_TEXT_H
#define KVPOOLCTL_EVENT_TEXT_H

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

#endif
