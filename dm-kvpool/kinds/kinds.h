/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of vdev: one table of operations each (core/vdev_ops.h), in a file of the kind's name.
 */
#ifndef KVP_KINDS_H
#define KVP_KINDS_H

#include "core/vdev_ops.h"

/** kvp_vdev_kinds - the operations of each kind, by its number on disk */
extern const struct kvp_vdev_ops *const kvp_vdev_kinds[];

/* also for a single, which is a mirror of one leg */
extern const struct kvp_vdev_ops kvp_copies_ops;
extern const struct kvp_vdev_ops kvp_parity1_ops;
extern const struct kvp_vdev_ops kvp_cache_ops;
extern const struct kvp_vdev_ops kvp_cache_parity1_ops;

/**
 * kvp_homes_needed() - kvp_vdev_needed() for a vdev with data: it needs the same legs at all times
 */
u32 kvp_homes_needed(const struct kvp_vdev *v);

/** kvp_log_on_all() - no leg is the only one that has the log: NULL */
const struct kvp_leg *kvp_log_on_all(const struct kvp_vdev *v, struct kvp_place at);

/** kvp_set_each_leg() - a set of pages for each leg that has a copy of the log */
u32 kvp_set_each_leg(const struct kvp_recovery *rec);

/** kvp_homes_join() - kvp_vdev_ops.join for all vdevs with data: homes, and roots of the table */
u32 kvp_homes_join(struct kvp_pool *pool, const struct kvp_vdev *v);

/**
 * kvp_too_few_homes() - does nothing: the entry fails with its legs, which are not those of a cache
 */
void kvp_too_few_homes(struct kvp_vdev *v, unsigned long failed);

/* For both kinds of cache. */
u32 kvp_cache_join(struct kvp_pool *pool, const struct kvp_vdev *v);
u32 kvp_cache_needed(const struct kvp_vdev *v);
u32 kvp_cache_survives(const struct kvp_vdev *v);

/* Loops over all vdevs call these for a cache, too, which has no homes or rows. */
int kvp_no_discard(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
		   struct kvp_log_at behind, u32 *leaves);
u32 kvp_none(const struct kvp_vdev *v);
int kvp_no_redo(struct kvp_recovery *rec, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end);
int kvp_no_rows(struct kvp_recovery *rec, const struct kvp_vdev *v,
		int (*fn)(struct kvp_recovery *rec));

#endif /* KVP_KINDS_H */
