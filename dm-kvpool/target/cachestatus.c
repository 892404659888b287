// SPDX-License-Identifier: GPL-2.0-only
/* The part of the status that is about a cache. */
#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/cache.h"
#include "core/core.h"
#include "core/stats.h"
#include "format/logstripe.h"
#include "log/log.h"
#include "pool/cachemode.h"
#include "ram/wbuf.h"
#include "target/printer.h"

const char *kvp_cache_state(struct kvp_pool *pool)
{
	const struct kvp_vdev *v = kvp_pool_cache(pool);

	return v ? kvp_vdev_state(v) : "-";
}

static const char *const drains[] = {
	[KVP_DRAIN_NONE] = "none",
	[KVP_DRAIN_RUNNING] = "running",
	[KVP_DRAIN_DONE] = "done",
	[KVP_DRAIN_CANCELLED] = "cancelled",
	[KVP_DRAIN_FAILED] = "failed",
};

void kvp_say_cache(struct kvp_printer *p, const struct kvp_vdev *v)
{
	struct kvp_drain_figures drain;
	char mode[16];

	if (v != kvp_pool_cache(v->pool))
		return;
	kvp_drain_figures(v->pool->drain, &drain);
	kvp_tunable_print(KVP_T_CACHE_MODE, READ_ONCE(v->pool->tunables[KVP_T_CACHE_MODE]), mode,
			  sizeof(mode));
	kvp_say(p, "cache.mode=%s\n", mode);
	kvp_say_number(p, "cache.vdev", v->index);
	kvp_say_number(p, "cache.dirty_max", kvp_log_window(v->g) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "cache.dirty_max_wanted", drain.window << KVP_BLOCK_SHIFT);
	kvp_say(p, "drain.state=%s\n", drains[drain.state]);
	kvp_say_number(p, "drain.left", drain.left << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "drain.total", drain.total << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "drain.rate", drain.state == KVP_DRAIN_RUNNING ?
		       kvp_drain_rate(v->pool) << KVP_BLOCK_SHIFT : 0);
}

static const char *const refusals[KVP_ADMIT_REFUSALS] = {
	[KVP_ADMIT_EVIDENCE] = "ssd.refused_evidence",
	[KVP_ADMIT_STREAM] = "ssd.refused_stream",
	[KVP_ADMIT_BUDGET] = "ssd.refused_budget",
	[KVP_ADMIT_MEMORY] = "ssd.refused_memory",
	[KVP_ADMIT_LOG] = "ssd.refused_log",
	[KVP_ADMIT_CHANGED] = "ssd.refused_changed",
};

static const char *const causes[KVP_LOG_CAUSES] = {
	[KVP_LOG_DATA] = "ssd.written_data",
	[KVP_LOG_HEADERS] = "ssd.written_headers",
	[KVP_LOG_PARITY] = "ssd.written_parity",
	[KVP_LOG_FILLS] = "ssd.written_fills",
	[KVP_LOG_AGAIN] = "ssd.written_reinserted",
	[KVP_LOG_RENEWED] = "ssd.written_renewed",
};

/*
 * Bytes that each SSD was written, for @blocks counted by the log. In a cache of kind parity1 each
 * SSD gets a part of them.
 */
static u64 written_to_each(const struct kvp_vdev *v, u64 blocks)
{
	u64 bytes = blocks << KVP_BLOCK_SHIFT;

	return v ? div_u64(bytes, kvp_ring_legs(v->g)) : bytes;
}

void kvp_say_ssd(struct kvp_printer *p, struct kvp_pool *pool, const struct kvp_stats *sum)
{
	const struct kvp_vdev *v = kvp_pool_cache(pool);
	struct kvp_rebuild_figures rebuild;
	struct kvp_wbuf_figures w;
	struct kvp_log_figures f;
	u32 i;

	kvp_rebuild_figures(pool->rebuild, &rebuild);
	kvp_wbuf_figures(pool->wbuf, &w);
	kvp_log_figures(pool->log, &f);
	kvp_say_number(p, "ssd.hits", sum->ssd_hits);
	kvp_say_number(p, "ssd.misses", sum->ssd_misses);
	kvp_say_number(p, "ssd.mistrusted", sum->ssd_mistrusted);
	kvp_say_number(p, "ssd.fills", sum->ssd_fills);
	kvp_say_number(p, "ssd.reinserted", sum->ssd_reinserted);
	kvp_say_number(p, "ssd.restored", rebuild.restored);
	kvp_say_number(p, "ssd.restore_ms", rebuild.ms);
	kvp_say_number(p, "ssd.unsealed", kvp_rebuild_unsealed(pool->rebuild));
	for (i = 0; i < KVP_ADMIT_REFUSALS; i++)
		kvp_say_number(p, refusals[i], sum->ssd_refused[i]);
	for (i = 0; i < KVP_LOG_CAUSES; i++)
		kvp_say_number(p, causes[i], written_to_each(v, f.ssd_blocks[i]));
	/* Each table page is on one SSD. */
	if (v)
		kvp_say_number(p, "ssd.written_table",
			       ((u64)atomic64_read(&pool->work_stats.ssd_page_writes)
				<< KVP_BLOCK_SHIFT) / v->nr_legs);
	kvp_say_number(p, "ssd.size", kvp_scache_size(pool->scache) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ssd.clean", kvp_scache_used(pool->scache) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ssd.parked", (u64)w.lone << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ssd.dirty", (u64)w.live << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ssd.ram", kvp_scache_bytes(pool->scache));
}
