/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of a log, by its place: on the legs of vdevs with data, or on a cache.
 *
 * There is a table for each place, and for each order in which versions go home (core/order_ops.h).
 * They are in kinds/log_on_legs.c and kinds/cachelog.c. Each vdev points to the table of a log that
 * lies on it. A pool with a cache moves its log there and back while it runs, so code asks
 * kvp_log_ops() anew each time. The log does not move while it holds a version.
 */
#ifndef KVP_LOG_OPS_H
#define KVP_LOG_OPS_H

#include "core/vdev.h"

struct kvp_destage_ops;
struct kvp_entry_io;
struct kvp_log;
struct kvp_log_mark;
struct kvp_log_memory;
struct kvp_spilled_read;

/**
 * struct kvp_log_ops - how a log is used that lies on a vdev
 * @word: what the status calls its place
 * @read_us: kvp_recovery_work.read_us
 * @memory: get what a pool needs that may have its log there. Return: 0 or -ENOMEM. May sleep.
 *
 * The place itself:
 * @lost: true if all legs that had it are lost, so that it moves. Context: any.
 * @refuge: where a log goes whose legs are lost, if an order wants it on @v. Context: any.
 * @arrived: the log has moved here. Return: true if that ends the loss of its legs. Context:
 *	log->lock is held.
 *
 * How an entry is built:
 * @quick_data: blocks of data that an entry has at most if no caller waits for it. The caller that
 *	sends a write may have to build it, and other writes wait meanwhile. So it is short, but not
 *	where the space of headers counts.
 * @most_joined: an entry may go together with the next one if it is shorter than that, in blocks
 * @plan_intents: set what the entry takes as intents: @only_streams, @keeps, @over and @least_run.
 *	Context: under build_lock and the lock of the buffer's lists.
 * @has_room: set e->tight. Return: false if not even the first version in the buffer can be
 *	appended, since the parity of older ones needs the room. Context: under build_lock.
 * @count: count the blocks of an entry by cause. Context: log->lock is held.
 *
 * Its space:
 * @most_apart: a recovery reads so many vdevs side by side at most
 * @least_apart: if much is dirty, there may be as many intents behind the tail as if it read at
 *	least so many vdevs: then the recovery takes long anyway
 * @reserve: blocks that are kept for the parity of so many rows. Any context.
 * @most_holes: how many discards may be pending. Any context.
 * @resolved: get the place of struct kvp_intents.resolved. Context: log->lock is held.
 * @may_stay: kvp_log_may_stay()
 * @renew_kept: kvp_log_renew_kept()
 * @may_renew: kvp_log_may_renew()
 * @renews: kvp_log_renews()
 *
 * The pace of destage and of writers:
 * @destage: how destage runs (work/destage_ops.h)
 * @half: eighths of the window; a checkpoint is wanted if more is used, with all that is reserved
 * @in_use: blocks of the log that are in use, or of the buffer if that limits writers; @most
 *	receives the limit. Context: any.
 * @in_use_for_streams: the same, for streams that go home by intent
 * @joins_stream: true if a write of @blocks from @first on belongs to a stream that has gone on for
 *	long enough to go home by intent. @ask: KVP_ASK_*. Call it once for each write. Context:
 *	any.
 *
 * Versions without pages:
 * @spill: kvp_spill()
 * @read_spilled: kvp_spilled_read()
 */
struct kvp_log_ops {
	const char *word;
	u32 read_us;
	int (*memory)(struct kvp_log *log, struct kvp_log_memory *m);

	bool (*lost)(const struct kvp_vdevs *vdevs);
	struct kvp_vdev *(*refuge)(struct kvp_vdevs *vdevs, struct kvp_vdev *v);
	bool (*arrived)(struct kvp_vdevs *vdevs);

	u32 quick_data, most_joined;
	void (*plan_intents)(struct kvp_log *log, struct kvp_entry_io *e);
	bool (*has_room)(struct kvp_log *log, struct kvp_entry_io *e);
	void (*count)(struct kvp_log *log, const struct kvp_entry_io *e);

	u32 most_apart, least_apart;
	u64 (*reserve)(const struct kvp_log *log, u32 rows);
	u32 (*most_holes)(const struct kvp_log *log);
	void (*resolved)(const struct kvp_log *log, struct kvp_log_mark *mark);
	bool (*may_stay)(const struct kvp_log *log);
	u64 (*renew_kept)(const struct kvp_log *log);
	bool (*may_renew)(const struct kvp_log *log);
	bool (*renews)(const struct kvp_log *log);

	const struct kvp_destage_ops *destage;
	u32 half;
	u64 (*in_use)(const struct kvp_pool *pool, u64 *most);
	u64 (*in_use_for_streams)(const struct kvp_pool *pool, u64 *most);
	bool (*joins_stream)(struct kvp_pool *pool, kvp_block_t first, u32 blocks, u32 ask);

	bool (*spill)(struct kvp_log *log);
	struct kvp_spilled_read *(*read_spilled)(struct kvp_log *log, kvp_block_t block, u32 count,
						 kvp_block_t *end);
};

#endif /* KVP_LOG_OPS_H */
