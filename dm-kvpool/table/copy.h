/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of a vdev's table are written to legs that resilver. */
#ifndef KVP_TABLE_COPY_H
#define KVP_TABLE_COPY_H

#include "core/core.h"
#include "io/batch.h"
#include "table/table.h"

#define KVP_COPY_PAGES	128u	/* that are written together: half a MiB */

/**
 * struct kvp_table_copy - pages of a vdev's table on their way to legs that resilver
 * @t, @v: the table, and the vdev
 * @since: era; pages whose newest change on disk is older are on these legs already
 * @level, @own: all pages of lower levels are written, and of @level those before block @own
 * @batch: to write with
 * @pages: KVP_COPY_PAGES of them, to copy into
 * @is: which pages these are
 */
struct kvp_table_copy {
	struct kvp_table *t;
	struct kvp_vdev *v;
	u32 since, level;
	kvp_vblock_t own;
	struct kvp_batch *batch;
	struct page **pages;
	struct kvp_table_page is[KVP_COPY_PAGES];
};

/**
 * kvp_table_copy_some() - write the next @most pages, of KVP_COPY_PAGES
 *
 * Each goes into the slot that the durable pointer names. A page that is dirty is passed over: the
 * next checkpoint writes it to these legs as well. They are not flushed. A leg that does not take a
 * page is given up.
 *
 * Context: process. Caller holds checkpoint_lock: until it is released no slot that was written
 * here gets another page. Return: 1; 0: there are no more; -ENOMEM: try again; or -errno: a page,
 * or one above it, cannot be read. Then it was passed over.
 */
int __must_check kvp_table_copy_some(struct kvp_table_copy *c, u32 most);

#endif /* KVP_TABLE_COPY_H */
