/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg that was replaced while it was in use leaves, when the new one is in sync.
 *
 * 1. The superblock that attaches the new leg says which one it replaces (attach.c, replaces.h).
 * 2. The new leg is resilvered as any other. The old one is a source as before.
 * 3. A superblock calls the new leg in sync. Only when that is durable, another one calls the old
 *    leg offline, as by order: it does not return by itself.
 * 4. The old leg is detached (attach.c): by kvpoolctl or the monitor, since that takes a table.
 *
 * A power cut before 3: the next start goes on. Between the two superblocks of 3: the next start
 * takes the old leg out. Before 4: the leg is out. kvpoolctl or the monitor detaches it then.
 *
 * Why not one superblock for both: it could be on the old leg alone. A start without the new leg,
 * which is no source yet by its own label, would then have no source at all.
 */
#ifndef KVP_LEAVES_H
#define KVP_LEAVES_H

#include "core/core.h"

/** kvp_replaced_waits() - true if a leg is to leave. Context: any. */
bool kvp_replaced_waits(const struct kvp_pool *pool);

/**
 * kvp_replaced_leave() - take out all legs whose place is taken, durably
 *
 * Return: 0: none is left that is to leave; -EAGAIN: the pool is faulted, or a leg is not recorded
 * yet. Context: process; waits for I/O. The caller holds no lock.
 */
int __must_check kvp_replaced_leave(struct kvp_pool *pool);

#endif /* KVP_LEAVES_H */
