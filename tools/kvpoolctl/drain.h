/* SPDX-License-Identifier: GPL-2.0-only */
/* The log of a pool leaves its cache, which may last. */
#ifndef KVPOOLCTL_DRAIN_H
#define KVPOOLCTL_DRAIN_H

#include "ctl.h"

/** drain_wait() - until none runs any more, with progress; -1 with @err: it was cancelled, or failed */
int drain_wait(struct ctl *ctl, const char *pool, struct err *err);

/**
 * drain_set_mode() - set cache_mode, and wait until the log is where that wants it, with progress
 *
 * Return: 0; or -1 with @err: it was refused, cancelled, interrupted, or failed, and the mode is as it was.
 */
int drain_set_mode(struct ctl *ctl, const char *pool, const char *mode, bool force, struct err *err);

/**
 * drain_for_a_while() - take the log off the cache, which is to come back: begin, and wait
 *
 * From here on until the process ends nobody who interrupts it (SIGINT, SIGTERM, SIGHUP) ends it: until
 * the log is off the cache that is given up, later what was begun is brought to its end.
 *
 * Return: 0: the log is off; -1 with @err: it is where it was.
 */
int drain_for_a_while(struct ctl *ctl, const char *pool, struct err *err);

/** drain_shield() - until the process ends SIGINT, SIGTERM and SIGHUP do not: a table is exchanged */
void drain_shield(void);

/** drain_undo() - the log, which was on the cache, returns there; -1 with @err: why it does not */
int drain_undo(const char *pool, struct err *err);

/** drain_stays_off() - what was asked for is @done, but the log does not return, as @err says: now that says both; -1 */
int drain_stays_off(const char *pool, const char *done, struct err *err);

#endif
