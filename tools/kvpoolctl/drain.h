/* SPDX-License-Identifier: GPL-2.0-only */
/* The log of a pool leaves its cache, which may take minutes. */
#ifndef KVPOOLCTL_DRAIN_H
#define KVPOOLCTL_DRAIN_H

#include "ctl.h"

/*
 * All that wait for a drain let go of the pool's lock (pool_lock.h), and do not take it again.
 */

/**
 * drain_wait() - wait, with progress, until no drain runs; -1 with @err: it was cancelled, or
 * failed
 */
int drain_wait(struct ctl *ctl, const char *pool, struct err *err);

/**
 * drain_set_mode() - set cache_mode, and wait, with progress, until the log is in its place
 *
 * Return: 0; or -1: the change was refused, cancelled, interrupted, or failed, and the mode is
 * unchanged.
 */
int drain_set_mode(struct ctl *ctl, const char *pool, const char *mode, bool force,
		   struct err *err);

/**
 * drain_set_dirty_max() - set cache_dirty_max to @bytes
 *
 * If it becomes smaller, it waits, with progress, until the dirty data fits.
 *
 * Return: as drain_set_mode().
 */
int drain_set_dirty_max(struct ctl *ctl, const char *pool, const char *bytes, struct err *err);

/**
 * drain_for_a_while() - take the log off the cache for a change of SSDs, and wait
 *
 * From here until the process ends, drain_shield() holds. A signal that comes before the log is off
 * cancels the drain. After that the change runs to its end.
 *
 * Return: 0: the log is off; -1 with @err: it is where it was.
 */
int drain_for_a_while(struct ctl *ctl, const char *pool, struct err *err);

/**
 * drain_shield() - hold the signals of interrupts_hold() back until the process ends, but for those
 * that are ignored: a table is exchanged
 */
void drain_shield(void);

/** drain_undo() - return the log to the cache; -1 with @err: the reason why it does not return */
int drain_undo(const char *pool, struct err *err);

/**
 * drain_undo_failed() - the change failed, as @err says: return the log; if that fails, too, @err
 * says that as well
 */
void drain_undo_failed(const char *pool, struct err *err);

/**
 * drain_stays_off() - the change @done was made, but the log does not return, as @err says: put
 * both into @err. Returns -1.
 */
int drain_stays_off(const char *pool, const char *done, struct err *err);

#endif
