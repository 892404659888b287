/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that may hang on a device, done in a process that can be abandoned. */
#ifndef KVPOOLCTL_WATCHED_H
#define KVPOOLCTL_WATCHED_H

#include <stdio.h>

#include "err.h"

#define WATCHED_PATIENCE	30	/* seconds, if the caller has no reason for others */

/**
 * watched_run() - call @work in a process of its own, and take what it writes to @out
 * @work: returns 0, or another number if it failed
 * @patience: in seconds
 * @what: the subject of @err
 * @text: what was written, to be freed; with a zero behind it
 *
 * Gives up when the process has used no processor for @patience seconds: then it waits for a
 * device. The process ends as soon as the device answers.
 *
 * Return: 0, or -1 with @err.
 */
int watched_run(int (*work)(void *arg, FILE *out), void *arg, int patience, const char *what,
		char **text, size_t *size, struct err *err);

#endif
