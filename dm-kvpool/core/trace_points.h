/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvpool

#if !defined(KVP_TRACE_POINTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define KVP_TRACE_POINTS_H

#include <linux/tracepoint.h>

TRACE_EVENT(kvpool_commit,
	TP_PROTO(const char *pool, u64 lsn, u32 data, u32 intents),
	TP_ARGS(pool, lsn, data, intents),
	TP_STRUCT__entry(
		__string(pool, pool)
		__field(u64, lsn)
		__field(u32, data)
		__field(u32, intents)
	),
	TP_fast_assign(
		KVP_ASSIGN_STR(pool, pool);
		__entry->lsn = lsn;
		__entry->data = data;
		__entry->intents = intents;
	),
	TP_printk("%s lsn=%llu data=%u intents=%u", __get_str(pool), __entry->lsn,
		  __entry->data, __entry->intents)
);

TRACE_EVENT(kvpool_destage,
	TP_PROTO(const char *pool, u32 versions),
	TP_ARGS(pool, versions),
	TP_STRUCT__entry(
		__string(pool, pool)
		__field(u32, versions)
	),
	TP_fast_assign(
		KVP_ASSIGN_STR(pool, pool);
		__entry->versions = versions;
	),
	TP_printk("%s versions=%u", __get_str(pool), __entry->versions)
);

TRACE_EVENT(kvpool_checkpoint,
	TP_PROTO(const char *pool, u64 tail, int error),
	TP_ARGS(pool, tail, error),
	TP_STRUCT__entry(
		__string(pool, pool)
		__field(u64, tail)
		__field(int, error)
	),
	TP_fast_assign(
		KVP_ASSIGN_STR(pool, pool);
		__entry->tail = tail;
		__entry->error = error;
	),
	TP_printk("%s tail=%llu error=%d", __get_str(pool), __entry->tail, __entry->error)
);

TRACE_EVENT(kvpool_heal,
	TP_PROTO(const char *pool, u32 leg, u64 block),
	TP_ARGS(pool, leg, block),
	TP_STRUCT__entry(
		__string(pool, pool)
		__field(u32, leg)
		__field(u64, block)
	),
	TP_fast_assign(
		KVP_ASSIGN_STR(pool, pool);
		__entry->leg = leg;
		__entry->block = block;
	),
	TP_printk("%s leg=%u block=%llu", __get_str(pool), __entry->leg, __entry->block)
);

TRACE_EVENT(kvpool_recovery,
	TP_PROTO(const char *pool, u64 entries, u64 records),
	TP_ARGS(pool, entries, records),
	TP_STRUCT__entry(
		__string(pool, pool)
		__field(u64, entries)
		__field(u64, records)
	),
	TP_fast_assign(
		KVP_ASSIGN_STR(pool, pool);
		__entry->entries = entries;
		__entry->records = records;
	),
	TP_printk("%s entries=%llu records=%llu", __get_str(pool), __entry->entries,
		  __entry->records)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_points
#include <trace/define_trace.h>

