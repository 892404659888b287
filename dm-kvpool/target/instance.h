/* SPDX-License-Identifier: GPL-2.0-only */
/* The pool of a mapped device, from its first table to its last. */
#ifndef KVP_INSTANCE_H
#define KVP_INSTANCE_H

struct dm_target;
struct kvp_instance;
struct kvp_target;

/**
 * kvp_instance_start() - start the pool that table @t of @ti names
 *
 * Return: 0, and @t->inst is set; or -errno, and the registry has the reason. Context: process, may
 * sleep, waits for I/O; the device is suspended, so the caller allocates without I/O.
 */
int __must_check kvp_instance_start(struct dm_target *ti, struct kvp_target *t);

/**
 * kvp_instance_free() - stop the pool, and free @inst
 *
 * Context: process, waits for I/O; kvp_registry_put() has put the last reference.
 */
void kvp_instance_free(struct kvp_instance *inst);

#endif /* KVP_INSTANCE_H */
