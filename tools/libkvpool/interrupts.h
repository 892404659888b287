/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVPOOL_INTERRUPTS_H
#define KVPOOL_INTERRUPTS_H

#include <signal.h>

/**
 * interrupts_hold() - hold SIGINT, SIGTERM and SIGHUP back: what follows is done as a whole
 * @before: for interrupts_release()
 */
void interrupts_hold(sigset_t *before);

/**
 * interrupts_release() - let a signal that came meanwhile have its effect now
 * @before: of interrupts_hold(). Calls may be nested
 */
void interrupts_release(const sigset_t *before);

#endif
