// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "kvpool_format.h"
#include "spares.h"

struct vdev_range vdev_range(const struct stats *s, unsigned int v)
{
	u64 first = stats_number(s, "vdev.%u.first_leg", v),
		legs = stats_number(s, "vdev.%u.legs", v);

	if (first > KVP_MAX_LEGS || legs > KVP_MAX_LEGS - first)
		return (struct vdev_range){ 0, 0 };
	return (struct vdev_range){ (unsigned int)first, (unsigned int)(first + legs) };
}

int vdev_spares(const struct stats *s, unsigned int v)
{
	const char *kind = stats_text(s, "vdev.%u.kind", v), *state;
	struct vdev_range legs = vdev_range(s, v);
	unsigned int used = 0, needed = 1, i;

	for (i = legs.first; i < legs.end; i++) {
		state = stats_text(s, "leg.%u.state", i);
		used += state && !strcmp(state, "online");
	}
	if (kind && (!strcmp(kind, "parity1") || !strcmp(kind, "cache-parity1")) &&
	    legs.end > legs.first)
		needed = legs.end - legs.first - 1;
	return used > needed ? (int)(used - needed) : 0;
}

int stats_losses(const struct stats *s)
{
	u64 losses = stats_number(s, "losses_survivable");

	return losses < KVP_MAX_LEGS ? (int)losses : 0;
}

/* Does the cache carry the log? Otherwise losing the cache loses no data. */
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

/* The vdev of leg @leg; KVP_MAX_VDEVS: none has it. */
static unsigned int vdev_of(const struct stats *s, unsigned int leg)
{
	struct vdev_range legs;
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		legs = vdev_range(s, v);
		if (leg >= legs.first && leg < legs.end)
			break;
	}
	return v;
}

bool leg_is_needed(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);
	unsigned int v = vdev_of(s, leg);

	/* Without its cache the pool goes on. */
	return v < KVP_MAX_VDEVS && state && !strcmp(state, "online") && !is_cache(s, v) &&
	       !vdev_spares(s, v);
}

bool leg_has_log(const struct stats *s, unsigned int leg)
{
	unsigned int v = vdev_of(s, leg);

	return v < KVP_MAX_VDEVS && is_cache(s, v) && carries_log(s);
}

bool log_stays_without(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return leg_has_log(s, leg) &&
	       (!state || strcmp(state, "online") || vdev_spares(s, vdev_of(s, leg)));
}

int losses_without_leg(const struct stats *s, unsigned int leg)
{
	int now = stats_losses(s), spares;
	const char *state = stats_text(s, "leg.%u.state", leg);
	unsigned int v = vdev_of(s, leg);

	if (v == KVP_MAX_VDEVS || !state || strcmp(state, "online") ||
	    (is_cache(s, v) && !carries_log(s)))
		return now;
	spares = vdev_spares(s, v);
	/* with too few SSDs left, the log moves to the legs */
	if (is_cache(s, v) && !spares)
		return losses_without_cache(s);
	return spares - 1 < now ? spares - 1 : now;
}

/* The losses that the pool survives with @more in sync in vdev @joined. */
static int losses_with_more(const struct stats *s, unsigned int joined, int more)
{
	int least = KVP_MAX_LEGS, n;
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS && stats_text(s, "vdev.%u.kind", v); v++) {
		if (is_cache(s, v) && !carries_log(s))
			continue;
		n = vdev_spares(s, v) + (v == joined ? more : 0);
		least = n < least ? n : least;
	}
	return least < KVP_MAX_LEGS ? least : stats_losses(s);
}

int losses_with_copy(const struct stats *s, unsigned int v)
{
	return losses_with_more(s, v, 1);
}

int losses_with_leg(const struct stats *s, unsigned int leg)
{
	const char *state = stats_text(s, "leg.%u.state", leg);

	return losses_with_more(s, vdev_of(s, leg), state && strcmp(state, "online"));
}
