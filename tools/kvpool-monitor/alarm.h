/* SPDX-License-Identifier: GPL-2.0-only */
/* Which events people should hear of. */
#ifndef KVPOOL_MONITOR_ALARM_H
#define KVPOOL_MONITOR_ALARM_H

#include <stdbool.h>

#include "event_text.h"
#include "journal.h"

struct verdict {
	enum priority priority;	/* in the journal */
	const char *alarm;	/* in a few words; NULL: people need not hear of it */
};

/** alarm_judge() - how bad is this event? */
struct verdict alarm_judge(const struct event_text *e);

#endif
