/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a spare takes the place of a leg that was lost: the rules, without any I/O.
 *
 * A leg has a time of grace, in which it may return. If it returns and is lost again, the time
 * begins anew. After that a spare is taken, if the pool has one; else as soon as one appears. A try
 * that fails is repeated after a pause, TAKE_TRIES times in all. Once it has succeeded the old leg
 * is none any more, so it never takes a second spare. All times are seconds of a clock that does
 * not jump.
 */
#ifndef KVPOOL_MONITOR_TAKES_H
#define KVPOOL_MONITOR_TAKES_H

#include <stdbool.h>
#include <time.h>

#include "text.h"

#define TAKE_GRACE	300	/* default */
#define TAKE_SETTLE	2	/* after a spare has appeared */
#define TAKE_PAUSE	600	/* after the first try; then twice as long each time */
#define TAKE_LATER	60	/* when the pool cannot be asked */
#define TAKE_TRIES	6
#define TAKE_NODE	64

/* A leg that is out, and not by order. */
struct lost_leg {
	char pool[UUID_BUF], leg[UUID_BUF];
	time_t since;		/* it is out */
	time_t due;		/* of the next try; 0: none */
	unsigned int tries;
	struct lost_leg *next;
};

/** takes_lost() - a leg is out; @grace: seconds in which it may return, 0: no spare is taken */
void takes_lost(const char *pool, const char *leg, unsigned int grace, time_t now);

/** takes_settled() - the leg is in use, was taken out on purpose, or is no leg any more */
void takes_settled(const char *leg);

/** takes_spare() - the device @node is a spare of @pool */
void takes_spare(const char *pool, const char *node, time_t now);

/** takes_spare_gone() - the device @node is no spare, or is not there */
void takes_spare_gone(const char *node);

/** takes_due() - a leg for which a spare is to be taken now, or NULL */
struct lost_leg *takes_due(time_t now);

/** takes_next() - when the next try is due; 0: none is */
time_t takes_next(void);

/** takes_later() - after a pause, as the pool cannot be asked now */
void takes_later(struct lost_leg *l, time_t now);

/** takes_begin() - a try begins */
void takes_begin(struct lost_leg *l, time_t now);

/** takes_ended() - a try has ended; true: people should hear how */
bool takes_ended(const char *leg, bool ok);

/** takes_forget() - forget all */
void takes_forget(void);

#endif
