/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules that say which events become alarms: people hear of them by hooks and mail. */
#ifndef KVPOOL_MONITOR_ALARM_H
#define KVPOOL_MONITOR_ALARM_H

#include <stdbool.h>

#include "event_text.h"
#include "journal.h"

struct verdict {
	enum priority priority;	/* in the journal */
	const char *alarm;	/* the alarm in a few words; NULL: the event is no alarm */
};

/** alarm_judge() - decide how bad an event is */
struct verdict alarm_judge(const struct event_text *e);

#endif
