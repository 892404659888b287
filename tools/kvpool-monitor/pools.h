/* SPDX-License-Identifier: GPL-2.0-only */
/* The pools that run, and what to do at their events. */
#ifndef KVPOOL_MONITOR_POOLS_H
#define KVPOOL_MONITOR_POOLS_H

#include <time.h>

/**
 * pools_look() - find pools that were started or stopped, and tell of all new events
 * @now: of the clock of jobs.h and returns.h
 * @since: when the monitor started, in seconds since 1970. Older events of a pool that the monitor
 * has never seen are not told
 */
void pools_look(time_t now, time_t since);

/**
 * pools_next() - when to look again at a pool that has not answered, or for pools if
 * device-mapper has not; 0: all have
 */
time_t pools_next(time_t now);

/** pools_told() - save the place in a pool's events, as a program that tells of one begins */
void pools_told(const char *uuid);

/** pools_return() - try to bring back the legs whose devices are due */
void pools_return(time_t now);

/** pools_spare_missing() - tell that the device @node, a spare of the pool, was disconnected */
void pools_spare_missing(const char *uuid, const char *node);

/** pools_take() - order a spare in the place of each leg for which one is due */
void pools_take(time_t now);

#endif
