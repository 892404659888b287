/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A new table for a pool that runs. It is checked twice: when it is loaded, as the old table is
 * destroyed before the resume; and at the resume, as the pool may have changed in between.
 */
#ifndef KVP_TARGET_RELOAD_H
#define KVP_TARGET_RELOAD_H

struct dm_target;
struct kvp_instance;
struct kvp_target;

/**
 * kvp_instance_check() - check that a running pool of this mapped device can go on with table @t
 *
 * Return: 0, also if no pool runs; or -errno, and the registry has the reason. Context: process;
 * takes the registry's lock; no I/O.
 */
int __must_check kvp_instance_check(struct dm_target *ti, struct kvp_target *t);

/**
 * kvp_instance_reload() - let @inst go on with the devices of table @t, and make the change that it
 * asks for
 *
 * Return: 0, and @t->inst is set; or -errno, and the registry has the reason: the caller puts
 * @inst. Context: process, waits for I/O; the pool is quiesced.
 */
int __must_check kvp_instance_reload(struct dm_target *ti, struct kvp_target *t,
				     struct kvp_instance *inst);

#endif /* KVP_TARGET_RELOAD_H */
