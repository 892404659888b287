/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells of an event: in the journal; and of an alarm by hooks and by mail. */
#ifndef KVPOOL_MONITOR_TELL_H
#define KVPOOL_MONITOR_TELL_H

#include <stdbool.h>

#include "event_text.h"
#include "text.h"

/* An event of a pool. */
struct told {
	const char *pool, *uuid;	/* of the pool */
	u64 seq, seconds;		/* seconds since 1970 */
	const char *text;		/* as the module gave it */
	struct event_text event;	/* @text, in parts */
	bool own;			/* of the monitor, not of the pool: it has no @seq */
};

/**
 * tell() - tell of an event
 *
 * The variables of a hook, and the fields in the journal, are KVPOOL_POOL, KVPOOL_POOL_UUID,
 * KVPOOL_EVENT, KVPOOL_SEQ, KVPOOL_TIME, KVPOOL_TEXT, KVPOOL_ALARM (for alarms), and KVPOOL_KEY
 * for each field of the event.
 */
void tell(const struct told *t);

/**
 * tell_waits() - the first event of a pool of which no program has begun; UINT64_MAX: none waits
 *
 * Once one has begun, the event counts as told: a hook may end the system, and must not run again
 * at each start.
 */
u64 tell_waits(const char *uuid);

#endif
