// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "alarm.h"

static const struct {
	const char *event;
	struct verdict verdict;
} known[] = {
	{ "leg_lost", { PRI_ERR, "a disk was lost" } },
	{ "leg_outdated", { PRI_WARNING, "a disk was put back to an older state" } },
	{ "leg_passed_by", { PRI_WARNING, "a disk is stale: the others went on without it" } },
	{ "leg_slow", { PRI_WARNING, "a disk is much slower than the others" } },
	{ "leg_not_slow", { PRI_NOTICE, "a disk is as fast as the others again" } },
	{ "leg_stays_out", { PRI_ERR, "a disk could not be brought back" } },
	{ "leg_offline", { PRI_NOTICE, NULL } },
	{ "resilver_started", { PRI_NOTICE, NULL } },
	{ "resilver_finished", { PRI_NOTICE, "a disk has everything that it should have" } },
	{ "shadow_lost", { PRI_ERR, "a disk that is to replace another was lost" } },
	{ "shadow_missing", { PRI_WARNING, "a disk that is to replace another is missing" } },
	{ "leg_replaced", { PRI_NOTICE, NULL } },
	{ "unrepaired", { PRI_CRIT, "blocks are lost" } },
	{ "table_lost", { PRI_CRIT, "a page of the checksum table is lost" } },
	{ "table_silent", { PRI_CRIT, "a page of the checksum table cannot be read" } },
	{ "table_given_up", { PRI_CRIT, "blocks were given up" } },
	{ "log_discarded", { PRI_CRIT, "the log was discarded" } },
	{ "chain_damaged", { PRI_CRIT, "parity in the log is damaged" } },
	{ "commit_failed", { PRI_CRIT, "the log cannot be written" } },
	{ "taken_over", { PRI_ALERT, "another host has taken over the pool" } },
	{ "heartbeat_late", { PRI_WARNING, NULL } },
	{ "suspended", { PRI_ALERT, "the pool is faulted: it takes no writes" } },
	{ "resumed", { PRI_NOTICE, "the pool works again" } },
	{ "healed", { PRI_WARNING, NULL } },
	{ "table_healed", { PRI_WARNING, NULL } },
	{ "trim_failed", { PRI_WARNING, NULL } },
	{ "drain_ended", { PRI_WARNING, NULL } },
	{ "label_left", { PRI_WARNING, NULL } },
	{ "device_ignored", { PRI_WARNING, NULL } },
	/* of the monitor itself */
	{ "degraded", { PRI_WARNING, "the pool was started without all disks" } },
	{ "spare_taken", { PRI_NOTICE, "a spare has taken the place of a disk" } },
	{ "spare_failed", { PRI_ERR, "no spare could take the place of a disk" } },
	{ "spare_missing", { PRI_WARNING, "a spare was disconnected" } },
	{ "ssd_returned", { PRI_NOTICE, "an SSD of the cache is back, and starts empty" } },
	{ "return_failed", { PRI_ERR, "a disk is back, and cannot be brought online" } },
};

/* A scrub found blocks that no disk has. */
static bool scrub_found(const struct event_text *e)
{
	const char *n = event_text_field(e, "unrepaired");

	return !strcmp(e->name, "scrub_finished") && n && strtoull(n, NULL, 10);
}

struct verdict alarm_judge(const struct event_text *e)
{
	size_t i;

	if (scrub_found(e))
		return (struct verdict){ PRI_CRIT, "a scrub found blocks that are lost" };
	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(e->name, known[i].event))
			return known[i].verdict;
	return (struct verdict){ PRI_INFO, NULL };
}
