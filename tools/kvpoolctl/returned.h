/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An SSD of a cache that was lost, and is back: as another device, or as one that the pool holds,
 * since it was there at the start, or was never unplugged.
 *
 * It begins anew: its label is wiped, and it gets another one in its old place. So nothing on it
 * may be of use any more. It must have been recorded out by a superblock that counts: the log has
 * gone on without it then, or has left the cache, and no start reads the SSD again. What the pool
 * has lost since may be on it, so the owner decides about such an SSD.
 */
#ifndef KVPOOLCTL_RETURNED_H
#define KVPOOLCTL_RETURNED_H

#include "dm.h"
#include "label.h"

/**
 * returned_check() - may the label @l of an SSD of the pool be wiped, as the SSD begins anew?
 * @path: its device
 * @l: a label that can be used: label_fault() says nothing
 * @uuid: of the SSD
 * @pool: a superblock of the running pool, its cache included, as it is on a leg in use
 *
 * Return: 0, or -1 with @err.
 */
int returned_check(const char *path, const struct label *l, const char *uuid,
		   const struct kvp_sb *pool, struct err *err);

/**
 * returned_check_held() - the same for an SSD that is out, whose device @path the pool holds
 *
 * A device without any label passes: a power cut as the SSD began anew may leave it so. One with a
 * signature of another tool does not: it may have got another use.
 */
int returned_check_held(const char *path, const char *uuid, const struct kvp_sb *pool,
			struct err *err);

/** returned_no_label() - refuse a device that has no label, so that it may be any */
int returned_no_label(const char *path, struct err *err);

/**
 * returned_name() - refuse the device @rdev if its name is that of a device that the pool holds
 *
 * Device-mapper cannot hold two of one name, not even if one has gone.
 */
int returned_name(const struct dm_entry *e, const char *path, dev_t rdev, struct err *err);

#endif
