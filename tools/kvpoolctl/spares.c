// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "kvpool_format.h"
#include "spares.h"

int vdev_spares(const struct stats *s, unsigned int v)
{
	unsigned int first = (unsigned int)stats_number(s, "vdev.%u.first_leg", v), used = 0, i;
	unsigned int legs = (unsigned int)stats_number(s, "vdev.%u.legs", v), needed = 1;
	const char *kind = stats_text(s, "vdev.%u.kind", v), *state;

	for (i = first; i < first + legs; i++) {
		state = stats_text(s, "leg.%u.state", i);
		used += state && !strcmp(state, "online");
	}
	if (kind && (!strcmp(kind, "parity1") || !strcmp(kind, "cache-parity1")))
		needed = legs - 1;
	return used > needed ? (int)(used - needed) : 0;
}

/* Does the cache carry the log? With another one nothing is lost. */
static bool carries_log(const struct stats *s)
{
	const char *on = stats_text(s, "log.on");

	return on && !strcmp(on, "cache");
}

static bool is_cache(const struct stats *s, unsigned int v)
{
	const char *kind = stats_text(s, "vdev.%u.kind", v);

	return kind && !strncmp(kind, "cache", 5);
}

int losses_without_cache(const struct stats *s)
{
	int least = KVP_MAX_LEGS, n;
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS && stats_text(s, "vdev.%u.kind", v); v++) {
		n = vdev_spares(s, v);
		if (!is_cache(s, v) && n < least)
			least = n;
	}
	return least;
}

int losses_without_leg(const struct stats *s, unsigned int leg)
{
	int now = (int)stats_number(s, "losses_survivable"), spares;
	const char *state = stats_text(s, "leg.%u.state", leg);
	unsigned int v;

	for (v = 0; stats_text(s, "vdev.%u.kind", v); v++)
		if (leg - (unsigned int)stats_number(s, "vdev.%u.first_leg", v) <
		    (unsigned int)stats_number(s, "vdev.%u.legs", v))
			break;
	if (!stats_text(s, "vdev.%u.kind", v) || !state || strcmp(state, "online") ||
	    (is_cache(s, v) && !carries_log(s)))
		return now;
	spares = vdev_spares(s, v);
	/* Too few are left of it: the log goes to the legs. */
	if (is_cache(s, v) && !spares)
		return losses_without_cache(s);
	return spares - 1 < now ? spares - 1 : now;
}
