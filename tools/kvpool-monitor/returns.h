/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the devices of legs that were lost are brought back: the rules, without any I/O.
 *
 * When a device has appeared, the monitor tries once to bring its leg back, a moment later. Before
 * another try of the same leg there is a pause: a minute after the first try, then twice as long
 * each time, up to six hours. After a day without a try the pauses begin anew. A try that fails is
 * repeated after such pauses, RETURN_TRIES times in all. All times are seconds of a clock that does
 * not jump.
 */
#ifndef KVPOOL_MONITOR_RETURNS_H
#define KVPOOL_MONITOR_RETURNS_H

#include <stdbool.h>
#include <time.h>

#include "text.h"

#define RETURN_SETTLE		2		/* after a device has appeared */
#define RETURN_PAUSE		60		/* after the first try */
#define RETURN_PAUSE_MAX	(6 * 3600)
#define RETURN_FORGET		(24 * 3600)
#define RETURN_TRIES		8
#define RETURN_NODE		64

/* A leg whose device is connected, whether its pool uses it or not. */
struct leg_device {
	char pool[UUID_BUF], leg[UUID_BUF];
	char node[RETURN_NODE];
	u64 seq;		/* the kernel's number of the disk; 0: unknown */
	bool present;		/* it is connected now */
	bool fresh;		/* it has appeared, and was not tried since */
	time_t due;		/* time of the next try; 0: none is due */
	time_t tried;		/* time of the last try; 0: there was none */
	unsigned int tries;	/* tries since the pauses began */
	unsigned int failed;	/* tries that failed since the device appeared */
	unsigned int ssd;	/* of an SSD that is tried: its number in the cache, + 1; else 0 */
	struct leg_device *next;
};

/**
 * returns_appeared() - a leg's device is there
 * @seq: diskseq of the disk, which differs each time that a disk is connected; 0: unknown
 * @anew: it was not there before. Otherwise it was found when the monitor started
 */
void returns_appeared(const char *pool, const char *leg, const char *node, u64 seq, bool anew,
		      time_t now);

/** returns_gone() - the device @node is no leg any more, or is not there */
void returns_gone(const char *node);

/** returns_keep() - returns_gone() for each device for which @there says no */
void returns_keep(bool (*there)(void *arg, const char *node), void *arg);

/**
 * returns_known() - is the leg @leg's device @node already known as present?
 *
 * Not if the disk has another number: it came loose, and is back under its name.
 */
bool returns_known(const char *leg, const char *node, u64 seq);

/** returns_lost() - the pool has noticed that a leg is out; its device may have appeared before */
void returns_lost(const char *leg, time_t now);

/**
 * returns_started() - a leg of a pool that was started
 * @missing: the pool does not have it, or has it as an SSD that was out before
 */
void returns_started(const char *leg, bool missing, time_t now);

/** returns_settled() - no try is needed: the leg is in use, or was taken out on purpose */
void returns_settled(const char *leg);

/** returns_wait() - not due before the pool notices the loss */
void returns_wait(struct leg_device *d);

/** returns_later() - after a pause, as the pool cannot be asked now */
void returns_later(struct leg_device *d, time_t now);

/** returns_due() - a leg to be tried now, or NULL */
struct leg_device *returns_due(time_t now);

/** returns_next() - when the next try is due; 0: none is */
time_t returns_next(void);

/** returns_begin() - a try begins */
void returns_begin(struct leg_device *d, time_t now);

/** returns_ended() - a try has ended; false: it failed for the last time */
bool returns_ended(const char *leg, bool ok);

/**
 * returns_follow() - note that the leg @was is @leg from now on, and is in use
 *
 * An SSD of a cache gets another UUID when it returns. Its pauses go on: else one that comes and
 * goes would have none.
 */
void returns_follow(const char *was, const char *leg);

/** returns_ssd() - the number in the cache of an SSD that is tried, + 1; 0: it is none */
unsigned int returns_ssd(const char *leg);

/** returns_forget() - forget all */
void returns_forget(void);

#endif
