/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of a vdev's table are written to another place, on all its legs. */
#ifndef KVP_TABLE_MOVE_H
#define KVP_TABLE_MOVE_H

#include "core/core.h"

/**
 * kvp_table_move() - write all pages of @v that are on disk to their places under @to
 * @to: of kvp_layout_larger(): no place of it is one of v->g
 * @roots: receives the pointers of the top level under @to, those that are not null at the end
 *
 * A page keeps its slot and its pointer. New pages are made above the old top level if @to has more
 * levels. Nothing names the new places yet. They are not flushed.
 *
 * Context: process, for long; the pool is quiesced. Takes checkpoint_lock. Return: 0; -EAGAIN: a
 * page is not as it is on disk; -EIO: one cannot be read, or a leg does not take one, and may have
 * been given up; -ENOMEM.
 */
int __must_check kvp_table_move(struct kvp_vdev *v, const struct kvp_geometry *to,
				u64 roots[KVP_MAX_ROOTS]);

#endif /* KVP_TABLE_MOVE_H */
