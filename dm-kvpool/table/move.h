/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves a vdev's table: it writes the pages to another place, on all legs of the vdev. */
#ifndef KVP_TABLE_MOVE_H
#define KVP_TABLE_MOVE_H

#include "core/core.h"

struct kvp_table;

/**
 * struct kvp_table_move - pages of a vdev's table on their way to other places
 * @t, @v: the table, and the vdev
 * @to: the new geometry, of kvp_layout_larger(); none of its table places is a place of v->g
 * @since: era; a page whose newest change is older is in its new place already. 0: no page is
 * @level, @own: all pages of lower levels are written, and those of @level before block @own
 * @written: pages written so far
 *
 * A page keeps its slot and its pointer. Nothing names the new places yet, and they are not
 * flushed.
 */
struct kvp_table_move {
	struct kvp_table *t;
	struct kvp_vdev *v;
	const struct kvp_geometry *to;
	u32 since, level;
	kvp_vblock_t own;
	u64 written;
};

#define KVP_MOVE_PAGES	128u	/* pages written together: half a MiB */

struct kvp_move_pages;

/**
 * kvp_move_pages_alloc() - allocate the memory for a move; NULL on failure
 *
 * kvp_move_pages_free() - free it; @p may be NULL
 *
 * Context: process.
 */
struct kvp_move_pages *kvp_move_pages_alloc(void);
void kvp_move_pages_free(struct kvp_move_pages *p);

/**
 * kvp_table_move_some() - write the next pages to their new places
 * @most: pages to write, up to KVP_MOVE_PAGES
 *
 * The pool may be in use. A dirty page is passed over: the next checkpoint writes it, under an era
 * that is not older than the durable one.
 *
 * Context: process. Takes checkpoint_lock, and waits for I/O. Return: 1: there may be more pages;
 * 0: there are no more; -EIO: a page cannot be read, or a leg does not take one, and may have been
 * given up; -ENOMEM: try again.
 */
int __must_check kvp_table_move_some(struct kvp_table_move *m, struct kvp_move_pages *p, u32 most);

/**
 * kvp_table_move() - write all pages that @m has not written yet
 * @roots: receives the pointers of the top level under m->to
 *
 * The pool is quiesced. If m->to has more levels, new pages are made above the old top level.
 *
 * Context: process; waits for I/O, for long. Takes checkpoint_lock. Return: 0; -EAGAIN: a page
 * differs from its copy on disk; or as kvp_table_move_some().
 */
int __must_check kvp_table_move(struct kvp_table_move *m, u64 roots[KVP_MAX_ROOTS]);

#endif /* KVP_TABLE_MOVE_H */
