/* SPDX-License-Identifier: GPL-2.0-only */
/* Signatures of other tools on the legs and spares of a pool, in words. */
#ifndef KVPOOLCTL_FOREIGN_NOTE_H
#define KVPOOLCTL_FOREIGN_NOTE_H

#include "ctl.h"

/** foreign_note() - set "foreign" of each leg or spare in @legs that has a path */
void foreign_note(json_object *legs);

#define FOREIGN_TEXT	768

/**
 * foreign_text() - what to do about a leg or spare with a signature of another tool, one line
 * @word: "leg" or "spare"
 *
 * Return: @buf, or NULL if @leg carries none.
 */
const char *foreign_text(json_object *leg, const char *word, char buf[FOREIGN_TEXT]);

/** foreign_say() - a note for people about each leg or spare in @legs that has a signature */
void foreign_say(const struct ctl *ctl, json_object *legs, const char *word);

#endif
