/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The glue to device-mapper: the only floor that knows bios and struct dm_target.
 *
 * A table line makes a struct kvp_target. The pool itself is a struct kvp_instance (registry.h),
 * which outlives the line: when a new line is loaded, both are there for a while, and the new one
 * takes over the running pool.
 *
 * The life of a line, in target.c:
 * 1. ctr (ctr.c) takes the line apart, opens the devices, and checks what can be checked without a
 *    write.
 * 2. preresume starts the pool (instance.c), or gives a running one the shape that the line asks
 *    for (reload.c). resume lets waiting bios go on.
 * 3. map serves bios (request.c): write.c has the steps of writes, discards and flushes; paced.c
 *    slows writers down. read.c has the steps of reads; long_read.c cuts those over several legs.
 * 4. A message either answers at once or gives an order to a worker (message.c, order.c). status.c
 *    writes status, statistics and events.
 * 5. presuspend ends the orders, and writes back while bios are still served. Then device-mapper
 *    stops all I/O, and postsuspend quiesces the pool. pm.c deals with a machine that sleeps.
 * 6. dtr leaves the pool. The last line that leaves frees it.
 *
 * This floor may call all others. They call it only through clients that it registers with the
 * pool, as pool->space. Nothing here decides what is durable or in sync. map runs in any process
 * that does I/O: it allocates with GFP_NOIO, and never waits for the pool's own I/O.
 *
 * Locks: the registry's mutex guards the list of pools and their references; no I/O is done under
 * it. The lock of kvp_requests (irqsave) guards bios that wait.
 */
#ifndef KVP_TARGET_H
#define KVP_TARGET_H

#include "core/refusal.h"
#include "pool/pool.h"
#include "target/registry.h"

struct dm_dev;
struct dm_target;

struct kvp_target {
	struct kvp_start start;			/* the line, taken apart */
	/* Of the line, if more can be said than ti->error. */
	struct kvp_refusal refusal;
	struct dm_target *ti;			/* while the line is taken apart */
	struct dm_dev *devs[KVP_LEGS_BESIDE];	/* the last one: the shadow */
	struct kvp_instance *inst;		/* NULL until resumed */
	bool resuming;				/* it has been loaded, and was found good then */
};

/** kvp_target_leg() - leg @i of the table, or the shadow (KVP_SHADOW) */
static inline struct kvp_start_leg *kvp_target_leg(struct kvp_target *t, u32 i)
{
	return i == KVP_SHADOW ? &t->start.shadow : &t->start.legs[i];
}

/**
 * kvp_target_ctr() - device-mapper's constructor: make a struct kvp_target of a table line (ctr.c)
 *
 * Return: 0, or -errno with ti->error set, and the reason in the registry. Context: process.
 */
int kvp_target_ctr(struct dm_target *ti, unsigned int argc, char **argv);

/** kvp_target_put_devices() - put all devices that the constructor opened. Context: process. */
void kvp_target_put_devices(struct dm_target *ti, struct kvp_target *t);

#endif /* KVP_TARGET_H */
