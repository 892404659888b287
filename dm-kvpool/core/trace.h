/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, under events/kvpool/ in tracefs. The pool calls these functions; trace_points.h
 * defines the tracepoints. The simulator has none.
 */
#ifndef KVP_TRACE_H
#define KVP_TRACE_H

#include <linux/types.h>

#include "format/format.h"

struct kvp_pool;
struct kvp_sb;

/**
 * kvp_trace_commit() - the log sends the entry at @lsn
 * @data: how many blocks of data are in it
 * @intents: how many blocks it announces, which go home by themselves
 *
 * kvp_trace_destage() - a round begins, with @versions versions
 *
 * kvp_trace_checkpoint() - a checkpoint has ended, with @error or 0
 * @tail: the new tail of the log; 0: it stays
 *
 * kvp_trace_heal() - a bad copy of block @block of the pool, on leg @leg, was rewritten
 *
 * kvp_trace_recovery() - a recovery has read @entries entries, and replayed @records records
 *
 * Without a listener, each does next to nothing. Context: process.
 */
#ifdef KVP_SIM
static inline void kvp_trace_commit(const struct kvp_sb *sb, kvp_lsn_t lsn, u32 data,
				    u32 intents) {}
static inline void kvp_trace_destage(struct kvp_pool *pool, u32 versions) {}
static inline void kvp_trace_checkpoint(struct kvp_pool *pool, kvp_lsn_t tail, int error) {}
static inline void kvp_trace_heal(struct kvp_pool *pool, u32 leg, kvp_block_t block) {}
static inline void kvp_trace_recovery(struct kvp_pool *pool, u64 entries, u64 records) {}
#else
void kvp_trace_commit(const struct kvp_sb *sb, kvp_lsn_t lsn, u32 data, u32 intents);
void kvp_trace_destage(struct kvp_pool *pool, u32 versions);
void kvp_trace_checkpoint(struct kvp_pool *pool, kvp_lsn_t tail, int error);
void kvp_trace_heal(struct kvp_pool *pool, u32 leg, kvp_block_t block);
void kvp_trace_recovery(struct kvp_pool *pool, u64 entries, u64 records);
#endif

#endif /* KVP_TRACE_H */
