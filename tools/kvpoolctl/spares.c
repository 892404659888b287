// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

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
