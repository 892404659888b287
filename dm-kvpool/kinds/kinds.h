/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of vdev. Each has a table of operations (core/vdev_ops.h): copies.c for single and
 * mirror, parity1.c, and cache.c and cache_parity1.c for the kinds of cache. kinds.c has the list
 * of tables, and functions that several kinds share. log_on_legs.c and cachelog.c have the tables
 * for the two places of a log (core/log_ops.h).
 *
 * This floor exists so that the floors below need not ask which kind a vdev is. They call v->ops.
 * What a kind does in its own way is here, or in a file below that only its table names: the rows
 * of a parity1 in home/home_row.c and home/row.c, the SSD cache in cache/. Numbers of the geometry
 * are not operations: they are in format/, since codecs and the tool need them, too.
 *
 * An operation may call all floors below: home, cache, work, recovery. It must not call pool/ or
 * target/. Its caller passes what it knows already, and an operation looks up no other vdev.
 *
 * Locks: an operation takes no locks of its own. The comment in core/vdev_ops.h says which locks
 * its caller holds, and in which context it runs.
 *
 * A new kind of vdev:
 * 1. Its name, legs and geometry: format/kind.c, format/layout.c.
 * 2. Its table, in its own file here. Callers do not ask whether there is an operation. An
 *    operation that the kind does not need does nothing, as kvp_no_rows(). Only a cache, which has
 *    no homes, leaves out operations on blocks at home.
 * 3. What the vdev brings to its pool, in @join: the order in which versions go home
 *    (core/order_ops.h), or a cache.
 * 4. A line in kinds[] of kinds.c, and sequences of tests/sim.
 */
#ifndef KVP_KINDS_H
#define KVP_KINDS_H

#include "core/vdev_ops.h"

/** kvp_vdev_ops_of() - the operations of a vdev with geometry @g. Any context. */
const struct kvp_vdev_ops *kvp_vdev_ops_of(const struct kvp_geometry *g);

/* A log beside homes, on their legs (log_on_legs.c). */
extern const struct kvp_log_ops kvp_legs_log_ops;
extern const struct kvp_log_ops kvp_legs_log_in_order_ops;
/* A log on SSDs that have no homes: dirty blocks stay there (cachelog.c). */
extern const struct kvp_log_ops kvp_cache_log_ops;
extern const struct kvp_log_ops kvp_cache_log_in_order_ops;

/** kvp_log_at_homes(), kvp_log_at_cache() - kvp_vdev_ops.log, by the order of the pool */
const struct kvp_log_ops *kvp_log_at_homes(const struct kvp_vdevs *vdevs);
const struct kvp_log_ops *kvp_log_at_cache(const struct kvp_vdevs *vdevs);

/* also for a single, which is a mirror with one leg */
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

/** kvp_set_each_leg() - one set of pages for each leg that has a copy of the log */
u32 kvp_set_each_leg(const struct kvp_recovery *rec);

/**
 * kvp_homes_join() - kvp_vdev_ops.join for all vdevs with data: they have homes, and roots of the
 * table
 */
u32 kvp_homes_join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v);

/** kvp_homes_fail_together() - false: if a vdev with data is lost, so is the pool */
bool kvp_homes_fail_together(const struct kvp_vdev *v);

/**
 * kvp_too_few_homes() - does nothing: without a cache, the entry fails together with its legs
 */
void kvp_too_few_homes(struct kvp_vdev *v, unsigned long failed);

/**
 * kvp_cache_join() - kvp_vdev_ops.join for both kinds of cache
 *
 * The vdevs get the client of the cache, and the window within which versions may be spilled. A
 * cache has no roots of the table.
 *
 * kvp_cache_needed() - kvp_vdev_needed() for both: kvp_log_needs() while a recovery reads the log
 * on @v; else 0
 *
 * kvp_cache_survives() - kvp_vdev_ops.survives for both; a cache without the log holds no
 * acknowledged blocks
 *
 * kvp_cache_is_lost(), kvp_cache_needs_no_flush() - kvp_vdev_ops.is_lost and needs_flush for both
 */
u32 kvp_cache_join(struct kvp_vdevs *vdevs, const struct kvp_vdev *v);
u32 kvp_cache_needed(const struct kvp_vdev *v);
u32 kvp_cache_survives(const struct kvp_vdev *v);
bool kvp_cache_is_lost(const struct kvp_vdev *v);
bool kvp_cache_needs_no_flush(const struct kvp_leg *leg);

/**
 * kvp_no_discard() - kvp_vdev_ops.discard of a cache, which has no homes: does nothing, returns 0
 *
 * kvp_none() - 0, for operations that count what a kind does not have
 *
 * kvp_no_redo() - kvp_vdev_ops.redo_discard of a cache, and of a parity1, whose @plan_discard
 * covers all: does nothing, returns 0
 *
 * kvp_no_rows() - kvp_vdev_ops.each_row of kinds without rows: does nothing, returns 0
 *
 * Loops over all vdevs call these for a cache, too. Context: any.
 */
int kvp_no_discard(struct kvp_home *h, struct kvp_vdev *v, kvp_vblock_t *own, kvp_vblock_t end,
		   struct kvp_log_at behind, u32 *leaves);
u32 kvp_none(const struct kvp_vdev *v);
int kvp_no_redo(struct kvp_recovery *rec, struct kvp_vdev *v, kvp_vblock_t own, kvp_vblock_t end);
int kvp_no_rows(struct kvp_recovery *rec, const struct kvp_vdev *v,
		int (*fn)(struct kvp_recovery *rec));

#endif /* KVP_KINDS_H */
