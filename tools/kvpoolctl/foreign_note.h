/* SPDX-License-Identifier: GPL-2.0-only */
/* Signatures of other tools on the legs of a pool, in words. */
#ifndef KVPOOLCTL_FOREIGN_NOTE_H
#define KVPOOLCTL_FOREIGN_NOTE_H

#include "ctl.h"

/**
 * foreign_note() - set "foreign" of each leg in @legs that has a path to the signature on it
 * @leg: receives the last such leg, or NULL
 *
 * Return: number of legs with a signature. @leg is owned by @legs.
 */
unsigned int foreign_note(json_object *legs, json_object **leg);

#define FOREIGN_TEXT	768

/** foreign_text() - what to do about such a leg, one line */
const char *foreign_text(json_object *leg, char buf[FOREIGN_TEXT]);

#endif
