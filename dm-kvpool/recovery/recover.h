/* SPDX-License-Identifier: GPL-2.0-only */
/* Recovery: the data that a log holds after a crash goes home. */
#ifndef KVP_RECOVER_H
#define KVP_RECOVER_H

struct kvp_log_mark;
struct kvp_pool;
struct kvp_refusal;

/**
 * kvp_recover() - write the log's data home, take a checkpoint, and choose the place for new
 * entries
 * @head: receives that place
 * @refusal: filled if it fails
 *
 * Called once, before a request is served. Return: 0 or -errno. Context: process, waits for I/O;
 * takes checkpoint_lock and sb_lock.
 */
int __must_check kvp_recover(struct kvp_pool *pool, struct kvp_log_mark *head,
			     struct kvp_refusal *refusal);

#endif /* KVP_RECOVER_H */
