/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spares. A running pool does not know them: they are devices with a label that names the pool
 * (format/spare.h). The pool meets one when a table names it in the place of a leg that is out.
 */
#ifndef KVP_POOL_SPARE_H
#define KVP_POOL_SPARE_H

#include "core/core.h"

/**
 * kvp_spare_is_ours() - has @leg both labels of one spare of this pool?
 * @leg: a new device, whose size is set
 * @page: to read into
 *
 * Context: sleeps for I/O. No lock is needed. False also if a label cannot be read, or without
 * memory.
 */
bool kvp_spare_is_ours(const struct kvp_pool *pool, struct kvp_leg *leg, struct page *page);

#endif
