/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KVPOOL_INTERRUPTS_H
#define KVPOOL_INTERRUPTS_H

#include <signal.h>

/** interrupts_set() - the signals by which a person or the system ends a command, not SIGKILL */
void interrupts_set(sigset_t *set);

/**
 * interrupts_hold() - hold those signals back, and SIGPIPE: what follows is done as a whole
 * @before: for interrupts_release()
 *
 * A note may be written meanwhile, and the reader of the pipe may have gone.
 */
void interrupts_hold(sigset_t *before);

/**
 * interrupts_release() - let a signal that came meanwhile have its effect now
 * @before: of interrupts_hold(). Calls may be nested
 */
void interrupts_release(const sigset_t *before);

#endif
