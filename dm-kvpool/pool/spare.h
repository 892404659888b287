/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spares: devices with a label that names the pool (format/spare.h). A running pool does not hold
 * them. It sees a spare when a table names it in the place of a leg that is out. Its superblock has
 * their UUIDs, so that a tool misses one that has gone.
 */
#ifndef KVP_POOL_SPARE_H
#define KVP_POOL_SPARE_H

#include "core/core.h"

/**
 * kvp_spare_is_ours() - true if @leg has both labels of one spare of this pool
 * @leg: a new device, whose size is set
 * @page: buffer to read into
 * @uuid: receives that of the spare
 *
 * False also if a label cannot be read, or without memory. Context: process, waits for I/O; needs
 * no lock.
 */
bool kvp_spare_is_ours(const struct kvp_pool *pool, struct kvp_leg *leg, struct page *page,
		       u8 uuid[16]);

/**
 * kvp_spare_note() - list a spare in the superblock, durably, or take it off the list
 *
 * Return: 0, also if nothing had to be done; -EROFS; -EINVAL: @uuid is zeros; -ENOSPC: the list is
 * full; -EIO: the list is unchanged in memory. Context: process, waits for I/O; takes sb_lock.
 */
int __must_check kvp_spare_note(struct kvp_pool *pool, const u8 uuid[16], bool listed);

/**
 * kvp_spare_taken() - take a spare off the list, in memory
 *
 * The superblock that takes the device in tells the legs so. The caller holds sb_lock.
 */
void kvp_spare_taken(struct kvp_pool *pool, const u8 uuid[16]);

#endif
