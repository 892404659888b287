/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A leg that was replaced while it was in use leaves when the new leg is in sync.
 *
 * 1. The superblock that attaches the new leg says which leg it replaces (attach.c, replaces.h).
 * 2. The new leg is resilvered as any other. The old leg remains a source.
 * 3. A superblock calls the new leg in sync. Only when that superblock is durable, another one
 *    calls the old leg offline, as by order: it does not return by itself.
 * 4. kvpoolctl or the monitor detaches the old leg (attach.c), since that takes a table.
 *
 * A power cut before 3: the next start goes on. Between the two superblocks of 3: the next start
 * takes the old leg out. Before 4: the old leg is out, and kvpoolctl or the monitor detaches it
 * then.
 *
 * Why not one superblock for both: after a power cut it could be on the old leg alone, which it
 * calls offline. By its own label the new leg is no source yet. So a start without the new leg
 * would have no source at all.
 */
#ifndef KVP_LEAVES_H
#define KVP_LEAVES_H

#include "core/core.h"

/** kvp_replaced_waits() - true if a leg must leave. Context: any. */
bool kvp_replaced_waits(const struct kvp_pool *pool);

/**
 * kvp_replaced_leave() - take out all legs whose new leg is in sync, durably
 *
 * Return: 0: no leg has to leave any more; -EAGAIN: the pool is faulted, or a leg is not recorded
 * out yet. Context: process; waits for I/O. The caller holds no lock.
 */
int __must_check kvp_replaced_leave(struct kvp_pool *pool);

#endif /* KVP_LEAVES_H */
