// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "kvpool_format.h"
#include "resilver.h"
#include "spare_kind.h"
#include "spares.h"

/* The legs of the vdev that leg @leg is of. */
static struct vdev_range legs_beside(const struct stats *s, unsigned int leg)
{
	struct vdev_range range = { 0, 0 };
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS; v++) {
		range = vdev_range(s, v);
		if (leg >= range.first && leg < range.end)
			return range;
	}
	return (struct vdev_range){ 0, 0 };
}

enum spare_kind spare_kind(const struct stats *s, unsigned int leg,
			   int (*rotates)(unsigned int i, void *arg), void *arg)
{
	struct vdev_range range = legs_beside(s, leg);
	const char *state;
	unsigned int i;

	if (resilver_is_ssd(s, leg))
		return SPARE_SSD;
	for (i = range.first; stats_text(s, "cache.vdev") && i < range.end; i++) {
		state = stats_text(s, "leg.%u.state", i);
		if (state && !strcmp(state, "online") && rotates(i, arg) == 1)
			return SPARE_DISK;
	}
	return SPARE_ANY;
}

bool spare_is_of(enum spare_kind kind, int rotates)
{
	return kind == SPARE_SSD ? !rotates : kind == SPARE_ANY || rotates;
}

const char *spare_kind_words(enum spare_kind kind)
{
	return kind == SPARE_SSD ? ", and does not rotate, as a cache needs it" :
	       kind == SPARE_DISK ? ", and rotates, as the disks of its vdev do" : "";
}
