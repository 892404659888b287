/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the log moves (log/move.h), the superblock of a checkpoint names the new log. The same
 * checkpoint says that all of the old log is home.
 */
#ifndef KVP_NEWLOG_H
#define KVP_NEWLOG_H

struct kvp_pool;

/**
 * kvp_log_new_fill() - let pool->sb name the log that the next checkpoint begins
 *
 * Caller holds sb_lock, and fills in the tail.
 */
void kvp_log_new_fill(struct kvp_pool *pool);

/**
 * kvp_log_new_undo() - the superblock could not be written: name the old log again; caller holds
 * sb_lock
 */
void kvp_log_new_undo(struct kvp_pool *pool);

/**
 * kvp_log_new_check() - if too few legs of the new log are left, let pool->sb name the old one
 *
 * The checkpoint that is being written says that all of the old log is home. Caller holds sb_lock.
 */
void kvp_log_new_check(struct kvp_pool *pool);

/** kvp_log_new_adopt() - the superblock that names the new log is durable; caller holds sb_lock */
void kvp_log_new_adopt(struct kvp_pool *pool);

#endif /* KVP_NEWLOG_H */
