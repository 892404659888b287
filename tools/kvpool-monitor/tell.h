/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells of an event: in the journal; and of an alarm by hooks and by mail. */
#ifndef KVPOOL_MONITOR_TELL_H
#define KVPOOL_MONITOR_TELL_H

#include <time.h>

#include "event_text.h"
#include "text.h"

/* An event of a pool. */
struct told {
	const char *pool, *uuid;	/* of the pool */
	u64 seq, seconds;		/* seconds since 1970 */
	const char *text;		/* as the module gave it */
	struct event_text event;	/* @text, in parts */
};

/**
 * tell() - tell of an event
 * @now: of the clock of jobs.h
 *
 * The variables of a hook, and the fields in the journal, are KVPOOL_POOL, KVPOOL_POOL_UUID,
 * KVPOOL_EVENT, KVPOOL_SEQ, KVPOOL_TIME, KVPOOL_TEXT, KVPOOL_ALARM (for alarms), and KVPOOL_KEY
 * for each field of the event.
 */
void tell(const struct told *t, time_t now);

#endif
