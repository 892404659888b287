/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a spare takes the place of a leg that was lost: the rules, without any I/O.
 *
 * A lost leg may return for some time, the grace. If it returns and is lost again, the grace begins
 * anew. When the grace is over, a spare is taken, or the first one that appears later. A try that
 * fails is repeated after a pause, TAKE_TRIES times in all. A new spare begins the tries anew.
 * After a success the old leg belongs to the pool no more, so no leg takes two spares. All times
 * are seconds of a clock that does not jump.
 */
#ifndef KVPOOL_MONITOR_TAKES_H
#define KVPOOL_MONITOR_TAKES_H

#include <stdbool.h>
#include <time.h>

#include "text.h"

#define TAKE_GRACE	300	/* the default */
#define TAKE_SETTLE	2	/* after a spare has appeared */
#define TAKE_PAUSE	600	/* after the first try; then twice as long each time */
#define TAKE_LATER	60	/* when the pool cannot be asked */
#define TAKE_TRIES	6
#define TAKE_NODE	64

/* A leg that is out, and not by order. */
struct lost_leg {
	char pool[UUID_BUF], leg[UUID_BUF];
	bool ssd;		/* of a cache: only a spare that does not rotate is for it */
	time_t since;		/* when it was lost */
	time_t due;		/* time of the next try; 0: none is due */
	unsigned int tries;
	struct lost_leg *next;
};

/** takes_lost() - note that a leg is out. @grace: seconds; 0: it gets no spare */
void takes_lost(const char *pool, const char *leg, bool ssd, unsigned int grace, time_t now);

/** takes_settled() - note that a leg needs no spare: it is in use, out by order, or has left */
void takes_settled(const char *leg);

/** takes_spare() - note that the device @node, which rotates or is an SSD, is a spare of @pool */
void takes_spare(const char *pool, const char *node, bool rotates, time_t now);

/** takes_spare_of() - the UUID of the pool of which the device @node is a spare, or NULL */
const char *takes_spare_of(const char *node);

/** takes_spare_without() - the device of a spare for which @there says no; NULL: there is none */
const char *takes_spare_without(bool (*there)(void *arg, const char *node), void *arg);

/** takes_spare_gone() - note that the device @node is no spare, or is not there */
void takes_spare_gone(const char *node);

/** takes_due() - a leg that is to get a spare now, or NULL */
struct lost_leg *takes_due(time_t now);

/** takes_next() - when the next try is due; 0: none is */
time_t takes_next(void);

/** takes_later() - the pool cannot be asked now: try again after a pause */
void takes_later(struct lost_leg *l, time_t now);

/** takes_begin() - note that a try begins */
void takes_begin(struct lost_leg *l, time_t now);

/** takes_ended() - note that a try has ended, well with @ok. Return: true if it is to be told */
bool takes_ended(const char *leg, bool ok);

/** takes_forget() - forget all */
void takes_forget(void);

#endif
