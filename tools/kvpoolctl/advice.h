/* SPDX-License-Identifier: GPL-2.0-only */
/* What to do about a pool: one line, and the exit status that goes with its health. */
#ifndef KVPOOLCTL_ADVICE_H
#define KVPOOLCTL_ADVICE_H

#include "ctl.h"

#define ADVICE_BUF	640

/** advice_exit() - exit status that the health of a pool asks for */
enum exit_status advice_exit(json_object *pool);

/**
 * advice_text() - what to do about the worst that is wrong with a pool
 * @pool: as pool_object() makes it
 *
 * One line, which names the next command. Return: false when nothing is wrong.
 */
bool advice_text(json_object *pool, char *buf, size_t size);

#endif
