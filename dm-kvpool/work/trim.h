/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trim: legs that offer it are told which of their blocks hold nothing. By order, in the background,
 * from the start of the pool to its end.
 */
#ifndef KVP_TRIM_H
#define KVP_TRIM_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct kvp_pool;

enum kvp_trim_state {
	KVP_TRIM_NONE,
	KVP_TRIM_RUNNING,
	KVP_TRIM_FINISHED,
	KVP_TRIM_STOPPED,
	KVP_TRIM_FAILED,
};

/**
 * struct kvp_trim - one trim, or the last one; not kept over a restart
 * @lock: start and stop
 * @cursor: all before it has been looked at; by the worker
 * @blocks: of the pool, of which all legs that can were told; by the worker
 * @stop: somebody wants it to end
 * @quiesce: the pool is suspended, or stops: it goes on at @cursor afterwards, if it is the same pool
 */
struct kvp_trim {
	struct kvp_pool *pool;
	struct work_struct work;
	struct mutex lock;
	enum kvp_trim_state state;
	u64 cursor, blocks;
	bool stop, quiesce;
};

void kvp_trim_init(struct kvp_pool *pool);

/**
 * kvp_trim_start() - begin
 *
 * What was discarded before goes home first. Return: 0; -EBUSY: one runs; -EOPNOTSUPP: no leg can
 * discard; -EROFS. Context: process; does not wait for I/O.
 */
int kvp_trim_start(struct kvp_pool *pool);

/** kvp_trim_stop() - end it; -ENOENT: none runs. Context: process, waits for one batch. */
int kvp_trim_stop(struct kvp_pool *pool);

void kvp_trim_quiesce(struct kvp_pool *pool);
void kvp_trim_unquiesce(struct kvp_pool *pool);

#endif /* KVP_TRIM_H */
