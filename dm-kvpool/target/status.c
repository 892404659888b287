// SPDX-License-Identifier: GPL-2.0-only
/* Texts for people and tools: docs/dm-interface.md lists every field. */
#include <linux/uuid.h>

#include "cache/admission.h"
#include "cache/rebuild.h"
#include "cache/scache.h"
#include "core/core.h"
#include "core/latency.h"
#include "core/log_ops.h"
#include "core/stats.h"
#include "core/vdev_ops.h"
#include "format/kind.h"
#include "format/logstripe.h"
#include "format/replaces.h"
#include "home/speed.h"
#include "io/flight.h"
#include "io/slow.h"
#include "log/log.h"
#include "pool/ahead.h"
#include "pool/cachemode.h"
#include "pool/cachevdev.h"
#include "pool/online.h"
#include "pool/pool.h"
#include "ram/rcache.h"
#include "ram/wbuf.h"
#include "super/events.h"
#include "super/heartbeat.h"
#include "super/members.h"
#include "table/table.h"
#include "target/registry.h"
#include "target/request.h"
#include "target/printer.h"
#include "target/status.h"
#include "target/target.h"
#include "work/changed.h"
#include "work/resilver.h"
#include "work/scrub.h"
#include "work/trim.h"

static const char *const scrub_states[] = {
	[KVP_SCRUB_NONE] = "none",
	[KVP_SCRUB_RUNNING] = "running",
	[KVP_SCRUB_PAUSED] = "paused",
	[KVP_SCRUB_FINISHED] = "finished",
	[KVP_SCRUB_STOPPED] = "stopped",
};

static const char *leg_state(const struct kvp_leg *leg)
{
	if (!leg->bdev)
		return "missing";
	switch (READ_ONCE(leg->state)) {
	case KVP_LEG_IN_SYNC:
		return "online";
	case KVP_LEG_STALE:
		return "stale";
	case KVP_LEG_FAULTED:
		return "faulted";
	case KVP_LEG_RESILVERING:
		return "resilvering";
	default:
		return "offline";
	}
}

static char leg_letter(const struct kvp_leg *leg)
{
	if (!leg->bdev)
		return '-';
	switch (READ_ONCE(leg->state)) {
	case KVP_LEG_IN_SYNC:
		return 'A';
	case KVP_LEG_STALE:
		return 'S';
	case KVP_LEG_FAULTED:
		return 'F';
	case KVP_LEG_RESILVERING:
		return 'R';
	default:
		return 'O';
	}
}

/*
 * "online": the shadow has all that its leg has. "stale": it waits, since its leg is out or
 * resilvers.
 */
static const char *shadow_state(const struct kvp_pool *pool)
{
	const struct kvp_leg *shadow = &pool->shadow;

	if (!shadow->v)
		return "missing";
	return kvp_leg_resilvers(shadow) && READ_ONCE(pool->shadow_ready) ? "online" :
									    leg_state(shadow);
}

/*
 * True if the leg is out, and no other leg fills its place. A leg that replaces one in use is one
 * leg more. So is the replaced leg, until it is detached.
 */
static bool is_missed(const struct kvp_leg *leg)
{
	const struct kvp_pool *pool = leg->pool;
	u32 old = kvp_replaces_leg(pool->sb, leg->index),
	    new = kvp_replaced_by(pool->sb, leg->index);

	return !kvp_leg_in_sync(leg) &&
	       !(old < KVP_MAX_LEGS && kvp_leg_in_sync(&pool->legs[old])) &&
	       !(new < KVP_MAX_LEGS && kvp_leg_in_sync(&pool->legs[new]));
}

static bool any_missed(const struct kvp_leg *legs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (is_missed(&legs[i]))
			return true;
	return false;
}

static const char *pool_state(const struct kvp_pool *pool)
{
	if (test_bit(KVP_POOL_QUIESCED, &pool->flags))
		return "suspended";
	/* No leg takes the log: nothing more becomes durable until one does. */
	if (kvp_pool_failure(pool) != KVP_WORKS)
		return "faulted";
	return any_missed(pool->legs, pool->nr_legs) ? "degraded" : "online";
}

static const char *pool_mode(const struct kvp_pool *pool)
{
	return kvp_pool_readonly(pool) ? "ro" : "rw";
}

static u64 scrub_done(const struct kvp_pool *pool)
{
	const struct kvp_scrub_info *info = kvp_scrub_progress(pool);

	return READ_ONCE(info->state) == KVP_SCRUB_NONE ? 0 :
	       kvp_block_nr(READ_ONCE(info->cursor));
}

/* --- status line and table line ---------------------------------------------------------- */

static void status_line(struct kvp_instance *inst, char *result, unsigned int maxlen)
{
	struct kvp_pool *pool = inst->pool;
	u64 reads = 0, writes = 0, sums = 0, healed = 0;
	const struct kvp_scrub_info *scrub = kvp_scrub_progress(pool);
	char letters[KVP_MAX_LEGS + 1] = "";
	struct kvp_table_figures t;
	struct kvp_wbuf_figures w;
	unsigned int sz = 0;
	u32 i;

	kvp_wbuf_figures(pool->wbuf, &w);
	kvp_table_figures(pool->table, &t);
	for (i = 0; i < pool->nr_legs; i++) {
		const struct kvp_leg *leg = &pool->legs[i];

		letters[i] = leg_letter(leg);
		reads += atomic64_read(&leg->err_read);
		writes += atomic64_read(&leg->err_write);
		sums += atomic64_read(&leg->err_checksum);
		healed += atomic64_read(&leg->healed);
	}
	DMEMIT("%s %s %llu %u %llu %u/%u %s %u/%u %llu/%llu %llu,%llu,%llu,%llu %llu %s %llu/%llu %s %s",
	       pool_state(pool), pool_mode(pool),
	       READ_ONCE(pool->sb->epoch), READ_ONCE(pool->sb->era),
	       READ_ONCE(pool->sb->checkpoint), kvp_legs_usable(pool), pool->nr_legs, letters,
	       w.used, w.limit, kvp_log_used(pool->log), kvp_log_window(pool->vdevs.log_vdev->g),
	       reads, writes, sums, healed, t.poisoned, scrub_states[READ_ONCE(scrub->state)],
	       scrub_done(pool), pool->sb->pool_blocks, kvp_cache_state(pool),
	       kvp_log_ops(&pool->vdevs)->word);
}

/*
 * The shadow's device. NULL: there is none, or the pool does not take the device that the table
 * names.
 */
static const struct dm_dev *shadow_of(const struct kvp_target *t)
{
	return t->inst && !READ_ONCE(t->inst->pool->shadow.bdev) ? NULL : t->devs[KVP_SHADOW];
}

static void table_line(struct kvp_target *t, char *result, unsigned int maxlen)
{
	const struct kvp_start *s = &t->start;
	const struct dm_dev *shadow = shadow_of(t);
	unsigned int sz = 0, options = s->readonly + !!shadow;
	u32 i, v, leg = 0;

	if (t->inst)
		DMEMIT("%pUb", t->inst->pool->sb->pool_uuid);
	else if (s->any_uuid)
		DMEMIT("-");
	else
		DMEMIT("%pUb", s->uuid);
	DMEMIT(" %u%s", options, s->readonly ? " readonly" : "");
	if (shadow)
		DMEMIT(" shadow=%s", shadow->name);
	for (v = 0; v < s->nr_vdevs; v++) {
		DMEMIT(" %s %u", kvp_asked_word(&s->vdevs[v]), s->vdevs[v].nr_legs);
		for (i = 0; i < s->vdevs[v].nr_legs; i++, leg++)
			DMEMIT(" %s", t->devs[leg] ? t->devs[leg]->name : "-");
	}
}

/*
 * The text for IMA, when a table is loaded. Labels have not been read, so it has what the line
 * says.
 */
static void ima_line(struct dm_target *ti, struct kvp_target *t, char *result, unsigned int maxlen)
{
	const struct kvp_start *s = &t->start;
	unsigned int sz = 0;
	u32 i, v, leg = 0;

	DMEMIT_TARGET_NAME_VERSION(ti->type);
	if (s->any_uuid)
		DMEMIT(",uuid=-");
	else
		DMEMIT(",uuid=%pUb", s->uuid);
	DMEMIT(",mode=%s", s->readonly ? "ro" : "rw");
	for (v = 0; v < s->nr_vdevs; v++) {
		DMEMIT(",vdev_%u=%s,vdev_%u_legs=%u", v, kvp_asked_word(&s->vdevs[v]), v,
		       s->vdevs[v].nr_legs);
		for (i = 0; i < s->vdevs[v].nr_legs; i++, leg++)
			DMEMIT(",leg_%u=%s", leg, t->devs[leg] ? t->devs[leg]->name : "-");
	}
	if (t->devs[KVP_SHADOW])
		DMEMIT(",shadow=%s", t->devs[KVP_SHADOW]->name);
	DMEMIT(";");
}

void kvp_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen)
{
	struct kvp_target *t = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		if (t->inst)
			status_line(t->inst, result, maxlen);
		else
			DMEMIT("suspended");
		break;
	case STATUSTYPE_TABLE:
		table_line(t, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		ima_line(ti, t, result, maxlen);
		break;
	}
}

/* --- stats -------------------------------------------------------------------------------- */

void kvp_say(struct kvp_printer *p, const char *fmt, ...)
{
	va_list args;

	if (p->sz >= p->maxlen)
		return;
	va_start(args, fmt);
	p->sz += vscnprintf(p->result + p->sz, p->maxlen - p->sz, fmt, args);
	va_end(args);
	/* With a full buffer device-mapper tells the caller to use a larger one. */
	if (p->sz + 1 >= p->maxlen)
		p->sz = p->maxlen;
}

void kvp_say_number(struct kvp_printer *p, const char *key, u64 value)
{
	kvp_say(p, "%s=%llu\n", key, value);
}

const char *kvp_vdev_state(const struct kvp_vdev *v)
{
	const char *of_pool = pool_state(v->pool);

	if (v->ops->is_lost(v))
		return "faulted";
	if (strcmp(of_pool, "degraded"))
		return of_pool;
	return any_missed(v->legs, v->nr_legs) ? "degraded" : "online";
}

static void say_vdev(struct kvp_printer *p, const struct kvp_vdev *v)
{
	const struct kvp_geometry *g = v->g;

	kvp_say(p, "vdev.%u.kind=%s\nvdev.%u.state=%s\n", v->index, kvp_geometry_word(g), v->index,
		kvp_vdev_state(v));
	kvp_say(p, "vdev.%u.first_leg=%u\nvdev.%u.legs=%u\n", v->index, g->first_leg, v->index,
		v->nr_legs);
	kvp_say_cache(p, v);
	kvp_say(p, "vdev.%u.leg_size=%llu\n", v->index, kvp_leg_used(g) << KVP_BLOCK_SHIFT);
	if (kvp_unit_blocks(g) > 1)
		kvp_say(p, "vdev.%u.chunk=%u\n", v->index, g->chunk_blocks << KVP_BLOCK_SHIFT);
	kvp_say(p, "vdev.%u.size=%llu\n", v->index, g->data_blocks << KVP_BLOCK_SHIFT);
}

/* Print the figures of the heartbeat, if the pool has one. */
static void say_heartbeat(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_heartbeat_figures f;

	if (!kvp_heartbeat_figures(pool, &f))
		return;
	kvp_say_number(p, "heartbeat.age_ms", f.age_ms);
	kvp_say_number(p, "heartbeat.left_ms", f.left_ms);
}

static void say_pool(struct kvp_printer *p, struct kvp_pool *pool)
{
	const struct kvp_requests *r = pool->requests;
	const struct kvp_sb *sb = p->sb;
	char features[KVP_FEATURES_LEN];
	struct kvp_table_figures t;
	u32 i;

	kvp_table_figures(pool->table, &t);
	kvp_features_print(sb->incompat, features);
	kvp_say(p, "name=%s\nuuid=%pUb\nstate=%s\nmode=%s\ncomment=%s\nfeatures=%s\n", sb->name,
		sb->pool_uuid, pool_state(pool), pool_mode(pool), sb->comment, features);
	kvp_say_number(p, "size", sb->pool_blocks << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "epoch", sb->epoch);
	kvp_say_number(p, "era", sb->era);
	kvp_say_number(p, "checkpoint", sb->checkpoint);
	kvp_say_number(p, "sequence", sb->sequence);
	kvp_say_number(p, "created", sb->create_time);
	kvp_say_number(p, "written_blocks", t.written);
	kvp_say_number(p, "uncounted_leaves", t.uncounted);
	kvp_say_number(p, "poisoned_blocks", t.poisoned);
	kvp_say_number(p, "losses_survivable", kvp_losses_survivable(pool));
	kvp_say_number(p, "unanswered", kvp_strays(pool));
	kvp_say_number(p, "uptime_ms", ktime_ms_delta(ktime_get_boottime(), r->since));
	for (i = 0; i < pool->vdevs.nr; i++)
		say_vdev(p, &pool->vdevs.v[i]);
}

/* Print whether the leg is slow, and how long it takes for requests, as far as that is known. */
static void say_times(struct kvp_printer *p, const struct kvp_leg *leg)
{
	struct kvp_slow_figures f;
	u32 i = leg->index, kind;

	kvp_slow_figures(leg, &f);
	kvp_say(p, "leg.%u.slow=%s\n", i, f.state);
	if (f.by)
		kvp_say(p, "leg.%u.slow_by=%s\nleg.%u.slow_others=%llu\n", i, f.by, i, f.others);
	for (kind = 0; kind < KVP_SLOW_KINDS; kind++)
		if (f.p99[kind])
			kvp_say(p, "leg.%u.p99_%s=%llu\n", i, kvp_slow_kinds[kind], f.p99[kind]);
}

static void say_leg(struct kvp_printer *p, struct kvp_pool *pool, u32 i)
{
	const struct kvp_leg *leg = &pool->legs[i];

	kvp_say(p, "leg.%u.uuid=%pUb\nleg.%u.path=%s\nleg.%u.state=%s\n", i, p->sb->legs[i].uuid,
		i, leg->bdev ? leg->path : "-", i, leg_state(leg));
	kvp_say(p, "leg.%u.err_read=%lld\nleg.%u.err_write=%lld\n", i,
		atomic64_read(&leg->err_read), i, atomic64_read(&leg->err_write));
	kvp_say(p, "leg.%u.err_checksum=%lld\nleg.%u.healed=%lld\n", i,
		atomic64_read(&leg->err_checksum), i, atomic64_read(&leg->healed));
	kvp_say(p, "leg.%u.size=%llu\n", i, p->sb->legs[i].size_blocks << KVP_BLOCK_SHIFT);
	/* Print this for a missing leg, too: the superblock keeps the order. */
	kvp_say(p, "leg.%u.by_order=%u\n", i, READ_ONCE(leg->state) == KVP_LEG_OFFLINE);
	if (kvp_replaces_leg(p->sb, i) < KVP_MAX_LEGS)
		kvp_say(p, "leg.%u.replaces=%pUb\n", i,
			p->sb->legs[kvp_replaces_leg(p->sb, i)].uuid);
	kvp_say(p, "leg.%u.in_sync_era=%u\n", i,
		kvp_leg_in_sync(leg) ? p->sb->era : p->sb->legs[i].in_sync_era);
	say_times(p, leg);
}

/* Print the device that is to take the place of a leg of a parity1. It is no leg. */
static void say_shadow(struct kvp_printer *p, struct kvp_pool *pool)
{
	const struct kvp_shadow_info *order = &p->sb->shadow;
	const struct kvp_leg *shadow = &pool->shadow;
	u32 leg = kvp_shadow_leg(p->sb);

	if (!order->of)
		return;
	kvp_say(p, "shadow.uuid=%pUb\nshadow.path=%s\nshadow.state=%s\n", order->uuid,
		shadow->v ? shadow->path : "-", shadow_state(pool));
	kvp_say(p, "shadow.leg=%u\nshadow.replaces=%pUb\n", leg, p->sb->legs[leg].uuid);
	kvp_say_number(p, "shadow.size", order->size_blocks << KVP_BLOCK_SHIFT);
	kvp_say(p, "shadow.err_read=%lld\nshadow.err_write=%lld\n",
		atomic64_read(&shadow->err_read), atomic64_read(&shadow->err_write));
	kvp_say(p, "shadow.err_checksum=%lld\nshadow.healed=%lld\n",
		atomic64_read(&shadow->err_checksum), atomic64_read(&shadow->healed));
}

static void say_log(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_table_figures t;
	struct kvp_wbuf_figures w;
	struct kvp_log_figures f;

	kvp_log_figures(pool->log, &f);
	kvp_wbuf_figures(pool->wbuf, &w);
	kvp_table_figures(pool->table, &t);
	kvp_say_number(p, "log.vdev", pool->vdevs.log_vdev->index);
	kvp_say_number(p, "log.vdevs",
		       BIT(pool->vdevs.log_vdev->index) | READ_ONCE(p->sb->log_others));
	kvp_say_number(p, "log.size", kvp_log_window(pool->vdevs.log_vdev->g) << KVP_BLOCK_SHIFT);
	kvp_say(p, "log.on=%s\n", kvp_log_ops(&pool->vdevs)->word);
	kvp_say_number(p, "log.used", kvp_log_used(pool->log) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "log.commits", f.commits);
	kvp_say_number(p, "log.flushes", f.flushes);
	kvp_say_number(p, "log.lsn", kvp_lsn_nr(f.lsn));
	kvp_say_number(p, "log.data_blocks", f.data_blocks);
	kvp_say_number(p, "log.intent_blocks", f.intent_blocks);
	kvp_say_number(p, "log.failed", kvp_log_failed(pool->log));
	kvp_say_number(p, "ram.write_buffer", (u64)w.limit << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ram.dirty_blocks", w.used);
	kvp_say_number(p, "ram.table_budget", (u64)t.budget << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ram.table_used", (u64)t.pages << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ram.read_cache", kvp_rcache_capacity(pool->rcache) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "ram.read_cache_used", kvp_rcache_used(pool->rcache) << KVP_BLOCK_SHIFT);
}

static void say_work(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_work_stats *w = &pool->work_stats;

	kvp_say_number(p, "table.page_reads", atomic64_read(&w->page_reads));
	kvp_say_number(p, "table.ssd_page_reads", atomic64_read(&w->ssd_page_reads));
	kvp_say_number(p, "table.page_writes", atomic64_read(&w->page_writes));
	kvp_say_number(p, "table.leaf_writes", atomic64_read(&w->leaf_writes));
	kvp_say_number(p, "table.leaf_discards", atomic64_read(&w->leaf_discards));
	kvp_say_number(p, "table.checkpoints", atomic64_read(&w->checkpoints));
	kvp_say_number(p, "table.healed", atomic64_read(&w->table_healed));
	kvp_say_number(p, "destage.blocks", atomic64_read(&w->destage_blocks));
	kvp_say_number(p, "destage.ios", atomic64_read(&w->destage_ios));
	kvp_say_number(p, "destage.renewed", atomic64_read(&w->renewed));
	kvp_say_number(p, "destage.rate", kvp_speed_shown(pool) << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "destage.drain_ms", kvp_speed_drain_ms(pool));
}

static const char *const ram_bypasses[KVP_RAM_BYPASSES] = {
	[KVP_RAM_LONG] = "ram.bypassed_long",
	[KVP_RAM_STREAM] = "ram.bypassed_stream",
	[KVP_RAM_AHEAD] = "ram.bypassed_ahead",
};

/* Print how many bytes are in use now, for all memory that grows with load or size. */
static void say_memory(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_table_figures t;
	struct kvp_wbuf_figures w;

	kvp_wbuf_figures(pool->wbuf, &w);
	kvp_table_figures(pool->table, &t);
	kvp_say_number(p, "memory.write_buffer", w.page_bytes);
	kvp_say_number(p, "memory.parked", w.lone_bytes);
	kvp_say_number(p, "memory.table",
		       (u64)t.pages * (KVP_BLOCK_SIZE + sizeof(struct kvp_tpage)));
	kvp_say_number(p, "memory.ram_cache", kvp_rcache_bytes(pool->rcache));
	kvp_say_number(p, "memory.index", kvp_scache_bytes(pool->scache));
	kvp_say_number(p, "memory.fills", kvp_admit_bytes(pool->admission));
	kvp_say_number(p, "memory.summaries", kvp_rebuild_bytes(pool->rebuild));
	kvp_say_number(p, "memory.log_parity", kvp_log_rows_bytes(pool->log));
}

static void say_io(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_stats sum = { 0 };
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct kvp_stats *s = per_cpu_ptr(pool->stats, cpu);

		sum.read_blocks += s->read_blocks;
		sum.write_blocks += s->write_blocks;
		sum.discard_blocks += s->discard_blocks;
		sum.zero_read_blocks += s->zero_read_blocks;
		sum.coalesced_blocks += s->coalesced_blocks;
		sum.buffer_read_blocks += s->buffer_read_blocks;
		sum.read_retries += s->read_retries;
		sum.rebuilt_blocks += s->rebuilt_blocks;
		sum.passed_blocks += s->passed_blocks;
		sum.ram_hits += s->ram_hits;
		sum.ram_misses += s->ram_misses;
		sum.ram_fills += s->ram_fills;
		sum.ram_written += s->ram_written;
		for (i = 0; i < KVP_RAM_BYPASSES; i++)
			sum.ram_bypassed[i] += s->ram_bypassed[i];
		sum.ssd_hits += s->ssd_hits;
		sum.ssd_misses += s->ssd_misses;
		sum.ssd_mistrusted += s->ssd_mistrusted;
		sum.ssd_fills += s->ssd_fills;
		sum.ssd_reinserted += s->ssd_reinserted;
		for (i = 0; i < KVP_ADMIT_REFUSALS; i++)
			sum.ssd_refused[i] += s->ssd_refused[i];
	}
	kvp_say_number(p, "io.read_blocks", sum.read_blocks);
	kvp_say_number(p, "io.write_blocks", sum.write_blocks);
	kvp_say_number(p, "io.discard_blocks", sum.discard_blocks);
	kvp_say_number(p, "io.zero_read_blocks", sum.zero_read_blocks);
	kvp_say_number(p, "io.coalesced_blocks", sum.coalesced_blocks);
	kvp_say_number(p, "io.buffer_read_blocks", sum.buffer_read_blocks);
	kvp_say_number(p, "read.retries", sum.read_retries);
	kvp_say_number(p, "read.rebuilt_blocks", sum.rebuilt_blocks);
	kvp_say_number(p, "read.passed_blocks", sum.passed_blocks);
	kvp_say_number(p, "ram.hits", sum.ram_hits);
	kvp_say_number(p, "ram.misses", sum.ram_misses);
	kvp_say_number(p, "ram.fills", sum.ram_fills);
	kvp_say_number(p, "ram.written", sum.ram_written);
	for (i = KVP_RAM_LONG; i < KVP_RAM_BYPASSES; i++)
		kvp_say_number(p, ram_bypasses[i], sum.ram_bypassed[i]);
	kvp_say_ssd(p, pool, &sum);
}

static void say_trim(struct kvp_printer *p, struct kvp_pool *pool)
{
	static const char *const states[] = {
		[KVP_TRIM_NONE] = "none", [KVP_TRIM_RUNNING] = "running",
		[KVP_TRIM_FINISHED] = "finished",
		[KVP_TRIM_STOPPED] = "stopped", [KVP_TRIM_FAILED] = "failed",
	};
	struct kvp_trim_figures f;

	kvp_trim_figures(pool->trim, pool->passdown, &f);
	kvp_say(p, "trim.state=%s\n", states[f.state]);
	kvp_say_number(p, "trim.done", kvp_block_nr(f.cursor));
	kvp_say_number(p, "trim.total", p->sb->pool_blocks);
	kvp_say_number(p, "trim.blocks", f.blocks);
	kvp_say_number(p, "passdown.blocks", f.passed);
	kvp_say_number(p, "passdown.dropped", f.dropped);
}

static void say_ahead(struct kvp_printer *p, struct kvp_pool *pool)
{
	static const char *const states[] = {
		[KVP_AHEAD_NONE] = "none", [KVP_AHEAD_RUNNING] = "running",
		[KVP_AHEAD_READY] = "ready", [KVP_AHEAD_STOPPED] = "stopped",
		[KVP_AHEAD_FAILED] = "failed",
	};

	kvp_say(p, "grow.state=%s\n", states[kvp_ahead_state(pool->ahead)]);
	kvp_say_number(p, "grow.pages", kvp_ahead_written(pool->ahead));
}

static void say_resilver(struct kvp_printer *p, struct kvp_pool *pool)
{
	struct kvp_resilver_figures f;

	kvp_resilver_figures(pool, &f);
	kvp_say(p, "resilver.state=%s\n",
		kvp_resilver_runs(pool) || kvp_returns_wait(pool) ? "running" : "none");
	kvp_say_number(p, "resilver.done", f.done << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "resilver.total", f.total << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "resilver.copied", f.copied << KVP_BLOCK_SHIFT);
	kvp_say_number(p, "resilver.unread", f.unread << KVP_BLOCK_SHIFT);
}

static void say_scrub(struct kvp_printer *p, struct kvp_pool *pool)
{
	const struct kvp_scrub_info *info = kvp_scrub_progress(pool);
	const struct kvp_recovery_info *rec = &pool->recovery;

	kvp_say(p, "scrub.state=%s\n", scrub_states[READ_ONCE(info->state)]);
	kvp_say_number(p, "scrub.done", scrub_done(pool));
	kvp_say_number(p, "scrub.total", p->sb->pool_blocks);
	kvp_say_number(p, "scrub.healed", READ_ONCE(info->healed));
	kvp_say_number(p, "scrub.unrepaired", READ_ONCE(info->unrepaired));
	kvp_say_number(p, "scrub.started", info->started);
	kvp_say_number(p, "scrub.finished", info->finished);
	kvp_say_number(p, "recovery.last_ms", rec->ms);
	kvp_say_number(p, "recovery.worst_case_ms", kvp_pool_recovery_ms(pool));
	kvp_say_number(p, "recovery.replayed", rec->replayed);
	kvp_say_number(p, "recovery.kept", rec->kept);
	kvp_say_number(p, "recovery.torn_accepted", rec->torn_accepted);
}

/* Print the list of spares. Those that are connected are for a search to find. */
static void say_spares(struct kvp_printer *p, const struct kvp_sb *sb)
{
	static const u8 none[16];
	u32 i, n = 0;

	for (i = 0; i < KVP_MAX_SPARES; i++)
		if (memcmp(sb->spares[i], none, 16))
			kvp_say(p, "spare.%u.uuid=%pUb\n", n++, sb->spares[i]);
}

static void say_tunables(struct kvp_printer *p, struct kvp_pool *pool)
{
	char text[32];
	u32 i;

	for (i = 0; i < KVP_TUNABLES; i++) {
		kvp_tunable_print(i, READ_ONCE(pool->tunables[i]), text, sizeof(text));
		kvp_say(p, "tunable.%s=%s\n", kvp_tunables[i].key, text);
	}
}

static void say_members(struct kvp_printer *p, struct kvp_pool *pool)
{
	u32 i;

	p->sz = 0;
	kvp_sb_published(pool, p->sb);
	say_pool(p, pool);
	say_heartbeat(p, pool);
	for (i = 0; i < pool->nr_legs; i++)
		say_leg(p, pool, i);
	say_shadow(p, pool);
	say_spares(p, p->sb);
}

/*
 * Print the pool and its legs. A superblock that is being written is not waited for: a leg may
 * hang. While a new table changes legs, wait: they change places. Then the superblock that counts
 * and the legs would not go together.
 */
static int print_members(struct kvp_printer *p, struct kvp_pool *pool)
{
	u32 changes;

	do {
		changes = smp_load_acquire(&pool->changes);
		if (changes & 1 && mutex_lock_killable(&pool->sb_lock))
			return -EINTR;
		say_members(p, pool);
		if (changes & 1)
			mutex_unlock(&pool->sb_lock);
		smp_rmb();	/* legs, then changes; pairs with kvp_change_begin() */
	} while (!(changes & 1) && changes != READ_ONCE(pool->changes));
	return 0;
}

int kvp_print_stats(struct kvp_pool *pool, char *result, unsigned int maxlen)
{
	struct kvp_printer p = { result, maxlen, 0, kvmalloc(sizeof(*p.sb), GFP_NOIO) };
	int ret = p.sb ? print_members(&p, pool) : -ENOMEM;

	if (ret) {
		kvfree(p.sb);
		return ret;
	}
	say_log(&p, pool);
	say_work(&p, pool);
	say_io(&p, pool);
	say_memory(&p, pool);
	say_scrub(&p, pool);
	say_resilver(&p, pool);
	say_trim(&p, pool);
	say_ahead(&p, pool);
	say_tunables(&p, pool);
	kvfree(p.sb);
	return 1;
}

/* --- latency ------------------------------------------------------------------------------ */

int kvp_print_latency(struct kvp_pool *pool, char *result, unsigned int maxlen)
{
	struct kvp_requests *r = pool->requests;
	struct kvp_printer p = { result, maxlen, 0 };
	u32 i;

	*result = 0;
	kvp_say(&p, "flush sum %lld\n", atomic64_read(&r->flushes.sum));
	for (i = 0; i < KVP_LATENCY_BUCKETS; i++) {
		s64 n = atomic64_read(&r->flushes.count[i]);

		if (n)
			kvp_say(&p, "flush %llu %lld\n", kvp_latency_bound(i), n);
	}
	return 1;
}

/* --- lists -------------------------------------------------------------------------------- */

#define MAX_RANGES	1000
#define MAX_LEAVES	16384u	/* 32 GiB */

/* Returns how many neighbours from @block on, below one leaf, are poisoned; or -errno. */
static int poisoned_run(struct kvp_pool *pool, kvp_block_t block)
{
	struct kvp_tpage *leaf = kvp_table_load(pool->table, block);
	u32 left = kvp_locate(pool, block).left, run = 0;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	for (; run < left; run++) {
		u64 entry = kvp_table_entry(leaf, kvp_block_add(block, run));

		if (kvp_entry_state(entry) != KVP_ENTRY_POISONED)
			break;
	}
	kvp_table_put(leaf);
	return run;
}

static void say_blocks(struct kvp_printer *p, kvp_block_t first, kvp_block_t end)
{
	kvp_say(p, "%llu %llu\n", kvp_block_nr(first), kvp_block_since(end, first));
}

int kvp_print_poisoned(struct kvp_pool *pool, kvp_block_t from, char *result, unsigned int maxlen)
{
	kvp_block_t block = from, first = from, end = from, size = kvp_pool_end(pool);
	struct kvp_printer p = { result, maxlen, 0 };
	u32 lines = 0, leaves = 0;
	int run;

	*result = 0;
	/* Neighbours make one line. Limits let a message end. */
	for (; kvp_block_before(block, size) && lines < MAX_RANGES && leaves < MAX_LEAVES;
	     leaves++) {
		run = kvp_table_next_poisoned(pool->table, block, &block);
		if (run)
			return run == -EINTR ? run : -EIO;
		run = kvp_block_before(block, size) ? poisoned_run(pool, block) : 0;
		if (run < 0)
			return run;
		if (block != end && kvp_block_before(first, end)) {
			say_blocks(&p, first, end);
			lines++;
		}
		if (block != end)
			first = block;
		block = kvp_block_add(block, run);
		end = block;
		kvp_table_shrink(pool->table, false);
	}
	if (kvp_block_before(first, end) && kvp_block_before(first, size) && lines < MAX_RANGES)
		say_blocks(&p, first, end);
	return 1;
}

int kvp_print_skipped(struct kvp_pool *pool, kvp_block_t from, char *result, unsigned int maxlen)
{
	kvp_block_t first = from, end = from, at;
	struct kvp_printer p = { result, maxlen, 0 };
	u32 lines = 0, leaves = 0;
	u64 count;

	*result = 0;
	/* Neighbours make one line, as those of poisoned blocks do. */
	for (; lines < MAX_RANGES && leaves < MAX_LEAVES; leaves++) {
		if (test_bit(KVP_POOL_SUSPENDING, &pool->flags))
			return -EINTR;
		if (!kvp_resilver_skipped(pool, end, &at, &count))
			break;
		if (at != end && first != end) {
			say_blocks(&p, first, end);
			lines++;
		}
		if (at != end)
			first = at;
		end = kvp_block_add(at, count);
		cond_resched();
	}
	if (first != end && lines < MAX_RANGES)
		say_blocks(&p, first, end);
	return 1;
}

int kvp_print_point(const struct kvp_point *point, char *result, unsigned int maxlen)
{
	struct kvp_printer p = { result, maxlen, 0 };
	char text[KVP_POINT_LEN];

	kvp_point_print(point->era, point->tag, text);
	kvp_say(&p, "%s\n", text);
	return 1;
}

#define CHANGED_LINE	64	/* bytes: room for a line, and for the last line */
#define CHANGED_TIME	(HZ / 2)	/* a search that takes longer ends its answer */

int kvp_print_changed(struct kvp_pool *pool, u32 since, kvp_block_t from, char *result,
		      unsigned int maxlen)
{
	kvp_block_t first = from, end = from, at;
	unsigned long until = jiffies + CHANGED_TIME;
	struct kvp_printer p = { result, maxlen, 0 };
	u64 count;
	int ret = 1;

	*result = 0;
	/* Neighbours make one line. Limits let a message end. */
	while (p.sz + CHANGED_LINE < maxlen && time_before(jiffies, until)) {
		ret = kvp_changed_next(pool, since, &from, &at, &count);
		if (ret <= 0)
			break;
		if (count && at != end) {
			if (first != end)
				say_blocks(&p, first, end);
			first = at;
		}
		if (count)
			end = kvp_block_add(at, count);
		cond_resched();
	}
	if (ret < 0)
		return ret;
	if (first != end)
		say_blocks(&p, first, end);
	if (ret)
		kvp_say(&p, "next %llu\n", kvp_block_nr(from));
	else
		kvp_say(&p, "end\n");
	return 1;
}

int kvp_print_events(struct kvp_pool *pool, u64 from, char *result, unsigned int maxlen)
{
	struct kvp_printer p = { result, maxlen, 0 };
	u64 next = kvp_events_next(pool->events), seq = from;
	struct kvp_disk_event e;

	*result = 0;
	if (next > KVP_EVENT_RING)
		seq = max_t(u64, seq, next - KVP_EVENT_RING);
	for (; seq < next; seq++)
		if (kvp_event_get(pool, seq, &e))
			kvp_say(&p, "%llu %llu %s\n", seq, le64_to_cpu(e.time), (char *)e.text);
	return 1;
}

int kvp_print_orders(struct kvp_pool *pool, u64 from, char *result, unsigned int maxlen)
{
	struct kvp_printer p = { result, maxlen, 0 };
	struct kvp_disk_event e;

	*result = 0;
	for (; p.sz < maxlen && kvp_event_order(pool, from, &e); from = le64_to_cpu(e.seq) + 1)
		kvp_say(&p, "%llu %llu %s\n", le64_to_cpu(e.seq), le64_to_cpu(e.time),
			(char *)e.text);
	return 1;
}
