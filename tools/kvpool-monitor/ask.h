/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions to a pool that may hang. The monitor has one thread, so each is asked in a process of
 * its own: one pool that does not answer must not stop the alarms of all others.
 */
#ifndef KVPOOL_MONITOR_ASK_H
#define KVPOOL_MONITOR_ASK_H

#include "event_text.h"
#include "stats.h"

#define ASK_PATIENCE	10	/* seconds */
#define ASK_AGAIN	60	/* after a pool that did not answer */

/* how long an answer may take; only tests change it; 0: for ever, and asked in this process */
extern unsigned int ask_patience;

/**
 * ask_stats() - as stats_load(), with a time limit
 *
 * A pool that has not answered is not asked again before the process that asks has ended. Until
 * then this fails at once. Return: 0, or -1 with @err; @s is empty then.
 */
int ask_stats(const char *pool, struct stats *s, struct err *err);

/** ask_events() - as event_each(), with a time limit, and as ask_stats() */
int ask_events(const char *pool, u64 *next, event_fn fn, void *arg, struct err *err);

#endif
