/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of a vdev's table are written to another place, on all its legs. */
#ifndef KVP_TABLE_MOVE_H
#define KVP_TABLE_MOVE_H

#include "core/core.h"

/**
 * struct kvp_table_move - pages of a vdev's table on their way to other places
 * @v: the vdev
 * @to: of kvp_layout_larger(): no place of it is one of v->g
 * @since: era; pages whose newest change is older are in their new places already. 0: none is
 * @level, @own: all pages of lower levels are written, and of @level those before block @own
 * @written: pages that were written so far
 *
 * A page keeps its slot and its pointer. Nothing names the new places yet. They are not flushed.
 */
struct kvp_table_move {
	struct kvp_vdev *v;
	const struct kvp_geometry *to;
	u32 since, level;
	kvp_vblock_t own;
	u64 written;
};

#define KVP_MOVE_PAGES	128u	/* that are written together: half a MiB */

struct kvp_move_pages;

/** kvp_move_pages_alloc() - memory that a move needs; NULL: none. Context: process. */
struct kvp_move_pages *kvp_move_pages_alloc(void);
void kvp_move_pages_free(struct kvp_move_pages *p);

/**
 * kvp_table_move_some() - write the next @most pages to their new places, of KVP_MOVE_PAGES
 *
 * The pool may be in use. A page that is dirty is passed over: the next checkpoint writes it, under
 * an era that is not older than the durable one.
 *
 * Context: process. Takes checkpoint_lock. Return: 1; 0: there are no more; -EIO: one cannot be
 * read, or a leg does not take one, and may have been given up; -ENOMEM: try again.
 */
int __must_check kvp_table_move_some(struct kvp_table_move *m, struct kvp_move_pages *p, u32 most);

/**
 * kvp_table_move() - write all pages that @m has not written yet
 * @roots: receives the pointers of the top level under m->to, those that are not null at the end
 *
 * New pages are made above the old top level if m->to has more levels.
 *
 * Context: process, for long; the pool is quiesced. Takes checkpoint_lock. Return: 0; -EAGAIN: a
 * page is not as it is on disk; or as kvp_table_move_some().
 */
int __must_check kvp_table_move(struct kvp_table_move *m, u64 roots[KVP_MAX_ROOTS]);

#endif /* KVP_TABLE_MOVE_H */
