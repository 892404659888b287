/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of pools in use, one for the module (R25). It has one pool for each mapped device. A
 * table that is reloaded finds its pool here. No pool and no leg is in use twice.
 */
#ifndef KVP_REGISTRY_H
#define KVP_REGISTRY_H

#include <linux/blkdev.h>

#include "ram/shrinker.h"
#include "table/shrinker.h"
#include "target/order.h"
#include "target/request.h"

struct kvp_refusal;
struct mapped_device;

/**
 * struct kvp_instance - a pool in use by a mapped device
 * @refs: number of tables that use it; by the registry's lock. It is 0 while the pool starts or
 *	stops: then only kvp_registry_claim() and the like find the instance
 * @table: its mapped device hears of events; NULL once that table is gone
 * @joining: names legs that the pool is about to take in, behind its own; by the
 *	registry's lock
 */
struct kvp_instance {
	struct list_head list;
	struct mapped_device *md;
	u32 refs;
	struct kvp_pool *pool;
	struct kvp_requests requests;
	struct kvp_orders orders;
	struct kvp_shrinker table_shrinker, ram_shrinker;
	struct dm_table *table;
	const struct kvp_start *joining;
	bool haste;	/* of the last suspend: nothing is written home with all I/O stopped */
};

/** kvp_registry_get() - the instance of @md with a reference, or NULL */
struct kvp_instance *kvp_registry_get(struct mapped_device *md);

/**
 * kvp_registry_check() - call @check for the running instance of @md, if there is one
 *
 * Return: what @check returns, or 0. Context: process; the registry's lock is
 * held around @check, so that the instance and its devices stay, and allocations are GFP_NOIO.
 */
int __must_check kvp_registry_check(struct mapped_device *md,
				    int (*check)(struct kvp_instance *inst, void *data),
				    void *data);

/**
 * kvp_registry_each() - call @fn for each pool that runs, until it returns something
 *
 * Return: that, or 0. Context: process; as in kvp_registry_check(), so @fn does no I/O.
 */
int kvp_registry_each(int (*fn)(struct kvp_instance *inst, void *data), void *data);

/**
 * kvp_registry_bar() - no pool may start until kvp_registry_unbar(), unless one is there
 *
 * Return: 0; -EBUSY, with *@pool the name of one that runs, starts or stops: nothing is barred.
 * Context: process.
 */
int __must_check kvp_registry_bar(char pool[KVP_NAME_LEN + 1]);
void kvp_registry_unbar(void);

/** kvp_registry_started() - the instance that was claimed is complete, and has one reference */
void kvp_registry_started(struct kvp_instance *inst);

/** kvp_registry_put() - give a reference back; true for the last one: the caller stops the pool */
bool kvp_registry_put(struct kvp_instance *inst);

/**
 * kvp_registry_linger() - keep the legs of a pool that stops, but has requests in flight, from
 * other pools
 *
 * These requests may still reach the legs. kvp_registry_gone() follows when all have ended.
 */
void kvp_registry_linger(struct kvp_pool *pool);
void kvp_registry_gone(struct kvp_pool *pool);

/**
 * kvp_registry_answered() - check that each of these devices has answered all requests of pools
 *
 * Call it before anything is read: a read would wait for a device that has not answered. Return: 0,
 * or -EBUSY with words in @refusal. Context: process.
 */
int __must_check kvp_registry_answered(const struct kvp_start *s, struct kvp_refusal *refusal);

/** kvp_registry_leave() - the pool has stopped, or did not start: other pools may have its legs */
void kvp_registry_leave(struct kvp_instance *inst);

/**
 * kvp_registry_claim() - enter pool->owner
 *
 * It is refused if another device has the pool or one of its legs, or no pool may start now. It is
 * refused, too, if a leg has not answered all requests of an earlier pool. The caller then calls
 * kvp_registry_started() or kvp_registry_leave().
 */
int __must_check kvp_registry_claim(struct kvp_pool *pool, struct kvp_refusal *refusal);

/**
 * kvp_registry_reserve() - keep other pools off the legs that @inst is to get, unless one has them
 * @s: names the pool's legs, then those; stays until kvp_registry_reserved()
 *
 * kvp_registry_reserved() ends it: the pool has them now, or does not want them any more.
 */
int __must_check kvp_registry_reserve(struct kvp_instance *inst, const struct kvp_start *s,
				      struct kvp_refusal *refusal);
void kvp_registry_reserved(struct kvp_instance *inst);

/**
 * kvp_bdevs_overlap() - true for the same device, or if one is a partition of the other
 *
 * Device-mapper is one holder, whatever its devices are, and may open one device twice. The kernel
 * refuses to let a disk be claimed beside its partition (EBUSY), but this code does not rely on it.
 */
static inline bool kvp_bdevs_overlap(struct block_device *a, struct block_device *b)
{
	return a->bd_disk == b->bd_disk &&
	       (a->bd_dev == b->bd_dev || !bdev_is_partition(a) || !bdev_is_partition(b));
}

/**
 * kvp_registry_refused() - remember a refusal for last_refusal, and log it
 * @table: of a table or a start: also for last_table_refusal. Another program may send messages
 * while a table is loaded, and must not replace its reason
 */
void kvp_registry_refused(const struct kvp_refusal *r, bool table);

#endif /* KVP_REGISTRY_H */
