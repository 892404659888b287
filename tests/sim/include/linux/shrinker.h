/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: asked now and then by allocations that may reclaim. */
#ifndef SIM_LINUX_SHRINKER_H
#define SIM_LINUX_SHRINKER_H

#include <linux/slab.h>

struct shrink_control {
	unsigned long nr_to_scan;
	gfp_t gfp_mask;
};

struct shrinker {
	unsigned long (*count_objects)(struct shrinker *s, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *s, struct shrink_control *sc);
	void *private_data;
	int seeks;
	struct shrinker *next;
};

#define SHRINK_STOP	(~0ul)
#define SHRINK_EMPTY	(~0ul - 1)
#define DEFAULT_SEEKS	2

struct shrinker *shrinker_alloc(unsigned int flags, const char *fmt, ...);
void shrinker_register(struct shrinker *s);
void shrinker_free(struct shrinker *s);

#endif
