/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Spares. A running pool does not know its spares: they are devices with a label that names the
 * pool (format/spare.h). The pool sees a spare when a table names it in the place of a leg that is
 * out.
 */
#ifndef KVP_POOL_SPARE_H
#define KVP_POOL_SPARE_H

#include "core/core.h"

/**
 * kvp_spare_is_ours() - true if @leg has both labels of one spare of this pool
 * @leg: a new device, whose size is set
 * @page: buffer to read into
 *
 * False also if a label cannot be read, or without memory. Context: process, waits for I/O; needs
 * no lock.
 */
bool kvp_spare_is_ours(const struct kvp_pool *pool, struct kvp_leg *leg, struct page *page);

#endif
