/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checkpoint makes the table and the tail of the log durable. It uses three parts: table,
 * superblock and log.
 */
#ifndef KVP_CHECKPOINT_H
#define KVP_CHECKPOINT_H

#include <linux/workqueue.h>

struct kvp_log_mark;
struct kvp_log_new;
struct kvp_pool;

/**
 * kvp_checkpoint() - make the table, and @tail as the log's tail, durable (R3)
 * @tail: everything recorded before it is home, or superseded by a durable version; NULL to leave
 *	the tail where it is
 *
 * Caller holds checkpoint_lock. Return: 0, or -EIO: the old checkpoint is still the durable one,
 * and nothing is lost.
 */
int __must_check kvp_checkpoint(struct kvp_pool *pool, const struct kvp_log_mark *tail);

/**
 * kvp_checkpoint_anew() - the same, at the head of the empty log @to, which replaces this one
 *
 * The superblock of the checkpoint names @to (to->in_sb). If too few of the new log's legs are left
 * by then, it names the present log as before. Takes sb_lock.
 */
int __must_check kvp_checkpoint_anew(struct kvp_pool *pool, const struct kvp_log_mark *head,
				     struct kvp_log_new *to);

/**
 * kvp_poison_make_durable() - make poison durable before a read of it is answered
 *
 * Return: 0 or -EIO. After an error the poison stays in memory. The next read that finds poison
 * tries again, and so does the next FLUSH. Caller holds no range lock. Context: process, waits for
 * I/O.
 */
int __must_check kvp_poison_make_durable(struct kvp_pool *pool);

/**
 * kvp_poison_note() - the same for a reader, a scrub or a resilver
 *
 * They do not depend on the result: the read fails in both cases, and a FLUSH tries again.
 */
void kvp_poison_note(struct kvp_pool *pool);

/** kvp_poison_work() - the same for a FLUSH, whose work on commit_wq must not wait for it */
void kvp_poison_work(struct work_struct *work);

#endif /* KVP_CHECKPOINT_H */
