/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of an order: in which order versions go home.
 *
 * Usually each block has an order of its own: the newest version counts, and it does not matter
 * what happens to other blocks meanwhile (kinds/copies.c). In a pool with a parity1, the parity of
 * a row counts all versions in the order of the log (kinds/parity1.c). The kind of vdev brings its
 * table along, as a cache brings its client.
 */
#ifndef KVP_ORDER_OPS_H
#define KVP_ORDER_OPS_H

#include "core/vdev.h"

struct kvp_elevator;
struct kvp_log_ops;
struct kvp_rec;
struct kvp_recovery;
struct kvp_row_home;
struct kvp_version;
struct kvp_wbuf;
struct list_head;

/**
 * struct kvp_order_ops - in which order versions go home
 * @on_legs, @on_cache: how a log on legs, or on a cache, is used
 * @alone: in a pool of so many vdevs, a leg that lacks an entry also lacks its versions at home
 *
 * Destage. All are called by its worker:
 * @drains: everything goes home so many times, until the log is empty: parity is logged meanwhile
 * @most_passed: a discard may go home before so many older versions of the elevator
 * @gather: let the elevator learn of all versions that are older than the next discard. Takes and
 *	releases checkpoint_lock.
 * @pass_on: kvp_wbuf_pass_on(). @kept: the elevator has versions that are kept back.
 * @drop_outlived: drop those of @versions of which a newer one of the block is durable
 * @drop_older: the elevator learns of @d: drop whole older versions of the block that it knows, if
 *	@d is durable data and the newest. Return: true: it is. So a packed one is outlived, too,
 *	and the caller drops that
 *
 * Home:
 * @alloc_rows: allocate memory to write rows home, if there are any. Return: false: there is none.
 *	Context: process, may sleep.
 * @changes: true if a version that goes home may have left @block at home between two versions.
 *	Context: the caller has locked the block.
 * @look_before_copy: a resilver is about to copy @block. Return: 0: it may; 1: a newer version that
 *	is durable goes home to the leg, so home may lack the block; -EAGAIN: the same, but it is
 *	not durable yet. Context: as @changes.
 * @scrub_pages: pages that a step of scrub needs
 *
 * Recovery:
 * @alloc: get the memory for rows. Return: 0 or -ENOMEM.
 * @plan: note a record, and where its payload is. @limit: as in the header of its entry.
 * @apply: write home, or retain, what the log has. @complete: an earlier recovery has logged its
 *	chain of parity.
 */
struct kvp_order_ops {
	const struct kvp_log_ops *on_legs, *on_cache;
	u32 alone;

	u32 drains, most_passed;
	void (*gather)(struct kvp_pool *pool, kvp_lsn_t limit);
	void (*pass_on)(struct kvp_wbuf *w, kvp_lsn_t limit, u32 max, bool kept);
	void (*drop_outlived)(struct kvp_pool *pool, struct list_head *versions);
	bool (*drop_older)(struct kvp_elevator *e, const struct kvp_version *d);

	bool (*alloc_rows)(struct kvp_pool *pool, bool whole, struct kvp_row_home **rows);
	bool (*changes)(struct kvp_pool *pool, kvp_block_t block);
	int (*look_before_copy)(struct kvp_pool *pool, kvp_block_t block);
	u32 scrub_pages;

	int (*alloc)(struct kvp_recovery *rec);
	int (*plan)(struct kvp_recovery *rec, const struct kvp_rec *r, struct kvp_log_at at,
		    struct kvp_log_at limit, kvp_lsn_t payload, u8 row);
	int (*apply)(struct kvp_recovery *rec, bool complete);
};

#endif /* KVP_ORDER_OPS_H */
