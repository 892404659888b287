/* SPDX-License-Identifier: GPL-2.0-only */
/* Advice about a pool, in one line, and the exit status for its health. */
#ifndef KVPOOLCTL_ADVICE_H
#define KVPOOLCTL_ADVICE_H

#include "ctl.h"

#define ADVICE_BUF	2048

/** advice_exit() - exit status for the health of a pool */
enum exit_status advice_exit(json_object *pool);

/**
 * advice_text() - what to do about the worst fault of a pool
 * @pool: as pool_object() makes it
 *
 * One line, which names the next command. Return: false if the pool has no fault.
 */
bool advice_text(json_object *pool, char *buf, size_t size);

/** advice_set() - set "advice" of @pool to that text, or null */
void advice_set(json_object *pool);

#endif
