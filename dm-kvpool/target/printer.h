/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files that print the status share. */
#ifndef KVP_PRINTER_H
#define KVP_PRINTER_H

#include <linux/compiler.h>
#include <linux/types.h>

struct kvp_pool;
struct kvp_sb;
struct kvp_stats;
struct kvp_vdev;

/* @sb: the newest superblock that counts, for figures of the pool as a whole */
struct kvp_printer {
	char *result;
	unsigned int maxlen, sz;
	struct kvp_sb *sb;
};

/** kvp_say() - print into the buffer of @p, as far as it has room */
__printf(2, 3) void kvp_say(struct kvp_printer *p, const char *fmt, ...);

/** kvp_say_number() - print a field with a number */
void kvp_say_number(struct kvp_printer *p, const char *key, u64 value);

/**
 * kvp_vdev_state() - state of a vdev: if the whole pool is suspended or faulted, so are its vdevs
 */
const char *kvp_vdev_state(const struct kvp_vdev *v);

/* --- cachestatus.c --- */

/** kvp_cache_state() - state of the cache, or "-" without one */
const char *kvp_cache_state(struct kvp_pool *pool);

/** kvp_say_cache() - print mode and drain of the cache, if @v is that */
void kvp_say_cache(struct kvp_printer *p, const struct kvp_vdev *v);

/** kvp_say_ssd() - print the figures of the SSD cache; @sum: those of all processors */
void kvp_say_ssd(struct kvp_printer *p, struct kvp_pool *pool, const struct kvp_stats *sum);

#endif /* KVP_PRINTER_H */
