/* SPDX-License-Identifier: GPL-2.0-only */
/* One command of this host at a time starts, stops or changes the table of a pool. */
#ifndef KVPOOLCTL_POOL_LOCK_H
#define KVPOOLCTL_POOL_LOCK_H

#include "ctl.h"

/* where the lock files are; only tests change it */
extern const char *pool_lock_dir;

/**
 * pool_lock() - wait until no other command of this host starts, stops or changes the pool
 * @uuid: of the pool, as text
 *
 * Device-mapper keeps one new table for each device. If two commands load one each, the resume of
 * the first runs the table of the second. At boot each leg that appears starts an import, and a
 * check whether a leg is free holds the leg for a moment: two at once could both fail.
 *
 * A command takes the lock before it asks the pool, and keeps it until the table is changed. What
 * takes hours is waited for without it (pool_unlock()): a drain, a resilver. After that a command
 * takes the lock again, and plans again.
 *
 * A process has one lock at most. To take that again does nothing. Without @pool_lock_dir, or the
 * right to write there, there is no waiting. The lock is this process's: one that is given up, as
 * its disk hangs, does not keep it.
 *
 * A wait names the command that has the lock, and ends by a signal. Where drain_shield() holds
 * signals back, one that comes makes the wait fail.
 *
 * Return: 0, or -1 with @err: the wait was interrupted.
 */
int pool_lock(const struct ctl *ctl, const char *uuid, struct err *err);

/** pool_unlock() - let other commands go on; without a lock this does nothing */
void pool_unlock(void);

/**
 * pool_lock_named() - find the running pool @name, and lock it, but for a dry run
 *
 * Return: the exit status.
 */
int pool_lock_named(struct ctl *ctl, const char *name);

#endif
