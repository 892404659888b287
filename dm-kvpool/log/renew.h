/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Renewal in the log: which dirty blocks must be renewed now, and whether there is space for it
 * (kvp_log_renew_kept()).
 *
 * policy/renew.h says why; work/renew.h does it.
 *
 * Blocks are renewed only with the log on a cache, and only in a pool without a parity1: with one,
 * each record counts for the parity of a row.
 */
#ifndef KVP_LOG_RENEW_H
#define KVP_LOG_RENEW_H

#include <linux/types.h>

#include "core/core.h"
#include "core/log_ops.h"
#include "format/format.h"
#include "log/log.h"

/**
 * kvp_log_renews() - true if renewal makes space in the log, and destage need not
 *
 * False without a cache, while the log is closed, if more is dirty than the tunable renew_mark
 * allows, or if renewal does not get on. Any context.
 */
static inline bool kvp_log_renews(const struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->renews(log);
}

/** kvp_log_may_renew() - the same, whatever number of blocks is dirty. Context: any. */
static inline bool kvp_log_may_renew(const struct kvp_log *log)
{
	return kvp_log_ops(log->vdevs)->may_renew(log);
}

/**
 * kvp_log_streams_pass() - true if a stream should go home by intent over dirty blocks of a cache
 *
 * Then those blocks cannot stay: nothing is renewed, or writers are slowed down. It may go on doing
 * so for longer: kvp_log_lets_streams_pass(). Context: any.
 */
bool kvp_log_streams_pass(const struct kvp_log *log);

/**
 * kvp_log_lets_streams_pass() - decide that for the next entry: kvp_renew_passes(). Context: under
 * build_lock.
 */
bool kvp_log_lets_streams_pass(struct kvp_log *log);

/**
 * kvp_log_fullness() - as kvp_log_taken(), to slow down writers: if renewal makes space, only dirty
 * blocks count
 *
 * Return: blocks, of @most, which is kvp_log_limit_empty(). Any context.
 */
u64 kvp_log_fullness(const struct kvp_log *log, u64 most);

/**
 * kvp_log_clean_limit() - a clean block may enter the log while no more blocks than this are in use
 *
 * Where destage makes space, it is five eighths of the window. Where renewal does, most of the
 * window is in use all the time, and it is more (kvp_renew_clean()). Any context.
 */
u64 kvp_log_clean_limit(const struct kvp_log *log);

/** kvp_log_renew_step() - blocks that the tail passes at a time (kvp_renew_step()). Any context. */
u64 kvp_log_renew_step(const struct kvp_log *log);

/** kvp_log_renew_below() - dirty blocks below this place must be renewed; 0: none. Any context. */
kvp_lsn_t kvp_log_renew_below(const struct kvp_log *log);

/**
 * kvp_log_renew_due() - true if a version lies so far below that place that a round is worth it
 *
 * Context: process; takes wbuf->lock.
 */
bool kvp_log_renew_due(struct kvp_log *log);

/**
 * kvp_log_renew_stuck() - note that renewal did not get on: destage makes space until the tail
 * moves
 *
 * Context: the destage worker.
 */
void kvp_log_renew_stuck(struct kvp_log *log);

#endif /* KVP_LOG_RENEW_H */
