// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl metrics: all pools, in the text format of Prometheus. */
#include "ctl.h"
#include "flush_latency.h"
#include "idle.h"
#include "spare_devices.h"
#include "ssd_counts.h"
#include "stats.h"

#define MAX_LEGS	64	/* bounds for numbers from the module */
#define LABEL_BUF	1024
#define MAX_PLACES	64

struct pool {
	char label[LABEL_BUF];		/* pool="NAME" */
	bool suspended;
	struct stats stats;
	struct latency flush;
};

enum { GAUGE, COUNTER };

/* @unit: factor for the module's number; below 0: divisor. */
static const struct metric {
	const char *name, *key;
	int type, unit;
	const char *help;
} metrics[] = {
	{ "size_bytes", "size", GAUGE, 1, "Size of the device." },
	{ "written_bytes", "written_blocks", GAUGE, KVP_BLOCK_SIZE, "Bytes of it that hold data." },
	{ "uptime_seconds", "uptime_ms", GAUGE, -1000, "Time since the pool was started." },
	{ "losses_survivable", "losses_survivable", GAUGE, 1, "Legs that may still be lost." },
	{ "poisoned_blocks", "poisoned_blocks", GAUGE, 1, "Blocks of 4 KiB that are lost." },
	{ "dirty_bytes", "ram.dirty_blocks", GAUGE, KVP_BLOCK_SIZE,
	  "Data in the write buffer that is not yet home." },
	{ "write_buffer_bytes", "ram.write_buffer", GAUGE, 1, "Size of the write buffer." },
	{ "ram_cache_bytes", "ram.read_cache", GAUGE, 1, "Size of the RAM cache." },
	{ "ram_cache_used_bytes", "ram.read_cache_used", GAUGE, 1, "Bytes in the RAM cache." },
	{ "ram_cache_hits_total", "ram.hits", COUNTER, 1, "Blocks found in the RAM cache." },
	{ "ram_cache_misses_total", "ram.misses", COUNTER, 1,
	  "Blocks not found in the RAM cache." },
	{ "ram_cache_fills_total", "ram.fills", COUNTER, 1, "Blocks admitted to the RAM cache." },
	{ "ram_cache_bypassed_long_total", "ram.bypassed_long", COUNTER, 1,
	  "Blocks not admitted: reads over 64 KiB." },
	{ "ram_cache_bypassed_stream_total", "ram.bypassed_stream", COUNTER, 1,
	  "Blocks not admitted: long streams." },
	{ "ram_cache_bypassed_ahead_total", "ram.bypassed_ahead", COUNTER, 1,
	  "Blocks not admitted: read ahead and not requested yet." },
	{ "ssd_cache_bytes", "ssd.size", GAUGE, 1, "Size of the SSD cache; 0: it is not in use." },
	{ "ssd_cache_dirty_max_bytes", "cache.dirty_max", GAUGE, 1,
	  "Limit of dirty data in the SSD cache." },
	{ "ssd_cache_dirty_max_wanted_bytes", "cache.dirty_max_wanted", GAUGE, 1,
	  "Smaller limit that will count once dirty data has gone home; 0: none." },
	{ "drain_left_bytes", "drain.left", GAUGE, 1,
	  "Data left to write home before the log can move onto the SSD cache, or off it, or "
	  "fits a smaller limit of dirty data; 0: none of that." },
	{ "drain_total_bytes", "drain.total", GAUGE, 1, "Data to write home when that began." },
	{ "drain_rate_bytes_per_second", "drain.rate", GAUGE, 1,
	  "Rate at which it is written home." },
	{ "ssd_cache_parked_bytes", "ssd.parked", GAUGE, 1,
	  "Dirty data that is not in RAM: only the cache has it." },
	{ "ssd_cache_clean_bytes", "ssd.clean", GAUGE, 1,
	  "Clean data that the SSD cache can serve." },
	{ "ssd_cache_hits_total", "ssd.hits", COUNTER, 1, "Blocks read from the SSD cache." },
	{ "ssd_cache_misses_total", "ssd.misses", COUNTER, 1,
	  "Blocks not found in the SSD cache." },
	{ "ssd_cache_mistrusted_total", "ssd.mistrusted", COUNTER, 1,
	  "Blocks that failed verification there, and were read from home." },
	{ "ssd_cache_fills_total", "ssd.fills", COUNTER, 1,
	  "Blocks read from home and admitted." },
	{ "ssd_cache_refused_evidence_total", "ssd.refused_evidence", COUNTER, 1,
	  "Blocks not admitted: read too seldom." },
	{ "ssd_cache_refused_stream_total", "ssd.refused_stream", COUNTER, 1,
	  "Blocks not admitted: long streams." },
	{ "ssd_cache_refused_budget_total", "ssd.refused_budget", COUNTER, 1,
	  "Blocks not admitted: no write budget." },
	{ "ssd_cache_refused_memory_total", "ssd.refused_memory", COUNTER, 1,
	  "Blocks not admitted: no memory." },
	{ "ssd_cache_refused_log_total", "ssd.refused_log", COUNTER, 1,
	  "Blocks not admitted: no log space." },
	{ "ssd_cache_refused_changed_total", "ssd.refused_changed", COUNTER, 1,
	  "Blocks not admitted: they, or neighbours, changed meanwhile." },
	{ "ssd_cache_written_data_bytes_total", "ssd.written_data", COUNTER, 1,
	  "Written to each SSD: data of users." },
	{ "ssd_cache_written_headers_bytes_total", "ssd.written_headers", COUNTER, 1,
	  "Written to each SSD: headers of the log." },
	{ "ssd_cache_written_parity_bytes_total", "ssd.written_parity", COUNTER, 1,
	  "To each SSD: parity." },
	{ "ssd_cache_written_fills_bytes_total", "ssd.written_fills", COUNTER, 1,
	  "Written to each SSD: admitted blocks." },
	{ "ssd_cache_written_reinserted_bytes_total", "ssd.written_reinserted", COUNTER, 1,
	  "Written to each SSD: reinserted blocks, which had hits before the log overwrote them." },
	{ "ssd_cache_written_renewed_bytes_total", "ssd.written_renewed", COUNTER, 1,
	  "Written to each SSD: renewed blocks, which were dirty where the log came round." },
	{ "ssd_cache_written_table_bytes_total", "ssd.written_table", COUNTER, 1,
	  "Written to each SSD: copies of pages of the checksum table." },
	{ "ssd_cache_reinserted_total", "ssd.reinserted", COUNTER, 1,
	  "Blocks reinserted into the SSD cache." },
	{ "ssd_cache_restored_blocks", "ssd.restored", GAUGE, 1,
	  "Blocks that the cache rebuild found after the start." },
	{ "ssd_cache_restore_seconds", "ssd.restore_ms", GAUGE, -1000,
	  "Duration of the cache rebuild; 0: it still runs." },
	{ "ssd_cache_index_bytes", "ssd.ram", GAUGE, 1, "Memory of the SSD cache's index." },
	{ "memory_write_buffer_bytes", "memory.write_buffer", GAUGE, 1,
	  "In use: pages of the write buffer, with their descriptions." },
	{ "memory_parked_bytes", "memory.parked", GAUGE, 1,
	  "In use: descriptions of spilled versions and of discards." },
	{ "memory_table_bytes", "memory.table", GAUGE, 1, "In use: pages of the checksum table." },
	{ "memory_ram_cache_bytes", "memory.ram_cache", GAUGE, 1,
	  "In use: the RAM cache, with its index." },
	{ "memory_index_bytes", "memory.index", GAUGE, 1, "In use: the SSD cache's index." },
	{ "memory_fills_bytes", "memory.fills", GAUGE, 1,
	  "In use: blocks to be admitted to the SSD cache, and the ghost." },
	{ "memory_summaries_bytes", "memory.summaries", GAUGE, 1,
	  "In use: summaries of the SSD cache." },
	{ "memory_log_parity_bytes", "memory.log_parity", GAUGE, 1,
	  "In use: parity of writes in flight to a cache of kind parity1." },
	{ "table_cache_bytes", "ram.table_budget", GAUGE, 1, "Memory for the checksum table." },
	{ "table_cache_used_bytes", "ram.table_used", GAUGE, 1, "Part of it in use." },
	{ "table_page_reads_total", "table.page_reads", COUNTER, 1,
	  "Pages of the table that were read." },
	{ "table_page_reads_from_ssd_total", "table.ssd_page_reads", COUNTER, 1,
	  "Pages of the table that were read from the SSD cache." },
	{ "table_page_writes_total", "table.page_writes", COUNTER, 1,
	  "Pages of the table that were written." },
	{ "checkpoints_total", "table.checkpoints", COUNTER, 1, "Checkpoints taken." },
	{ "log_size_bytes", "log.size", GAUGE, 1, "Size of the log." },
	{ "log_used_bytes", "log.used", GAUGE, 1, "Part of it in use." },
	{ "log_commits_total", "log.commits", COUNTER, 1, "Entries written to the log." },
	{ "log_data_bytes_total", "log.data_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Data written to the log." },
	{ "log_bypass_bytes_total", "log.intent_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Data written home directly, past the log." },
	{ "log_failed", "log.failed", GAUGE, 1, "1 while no leg takes the log." },
	{ "destaged_bytes_total", "destage.blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Data written home from the log." },
	{ "destage_rate_bytes_per_second", "destage.rate", GAUGE, 1,
	  "Recent rate of writing home." },
	{ "destage_drain_seconds", "destage.drain_ms", GAUGE, -1000,
	  "Time to write all dirty data home at the recent rate." },
	{ "read_bytes_total", "io.read_blocks", COUNTER, KVP_BLOCK_SIZE, "Read from the device." },
	{ "written_bytes_total", "io.write_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Written to the device." },
	{ "discarded_bytes_total", "io.discard_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Discarded, or written as zeros." },
	{ "coalesced_bytes_total", "io.coalesced_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Overwritten in the buffer before they were committed." },
	{ "read_retries_total", "read.retries", COUNTER, 1,
	  "Reads that were repeated." },
	{ "read_rebuilt_bytes_total", "read.rebuilt_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Made from the other legs of a parity1, as a leg is out." },
	{ "read_passed_bytes_total", "read.passed_blocks", COUNTER, KVP_BLOCK_SIZE,
	  "Made from the other legs of a parity1, as a leg is slow, or does not answer." },
	{ "scrub_done_blocks", "scrub.done", GAUGE, 1, "Position of the scrub." },
	{ "scrub_healed", "scrub.healed", GAUGE, 1, "Healed by this scrub, or the last one." },
	{ "scrub_unrepaired", "scrub.unrepaired", GAUGE, 1, "Blocks that it could not heal." },
	{ "scrub_finished_timestamp_seconds", "scrub.finished", GAUGE, 1,
	  "When the last scrub ended." },
	{ "resilver_done_bytes", "resilver.done", GAUGE, 1,
	  "Part of the vdevs with a leg that resilvers which the resilver has passed." },
	{ "resilver_total_bytes", "resilver.total", GAUGE, 1,
	  "Size of these vdevs; 0: no leg resilvers." },
	{ "resilver_copied_bytes_total", "resilver.copied", COUNTER, 1,
	  "Written to legs that resilver, to make good what they missed." },
	{ "resilver_unread_bytes", "resilver.unread", GAUGE, 1,
	  "What no leg in sync can give the resilver now; it tries again." },
	{ "recovery_seconds", "recovery.last_ms", GAUGE, -1000, "Duration of the last recovery." },
};

static const char *const pool_states[] = { "online", "degraded", "faulted", "suspended", NULL };
static const char *const leg_states[] = {
	"online", "offline", "faulted", "resilvering", "stale", "missing", NULL
};
static const char *const cache_modes[] = { "writeback", "writethrough", "writearound", NULL };
static const char *const drain_states[] = {
	"none", "running", "done", "cancelled", "failed", NULL
};

/*
 * The format demands that backslash, quote and newline are escaped, and that all is UTF-8: one bad
 * byte would cost all metrics of the host. A text that is too long may be cut inside a character.
 */
static const char *escape(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (; *text && n + 3 < size; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			buf[n++] = '\\';
		buf[n++] = *text == '\n' ? 'n' : *text;
	}
	buf[n] = 0;
	return text_clean(buf, "");
}

static void head(const char *name, const char *type, const char *help)
{
	printf("# HELP kvpool_%s %s\n# TYPE kvpool_%s %s\n", name, help, name, type);
}

static void print_metric(const struct metric *m, const struct pool *pools, unsigned int count)
{
	unsigned int i;

	head(m->name, m->type == GAUGE ? "gauge" : "counter", m->help);
	for (i = 0; i < count; i++) {
		u64 value = stats_number(&pools[i].stats, "%s", m->key);

		printf("kvpool_%s{%s} ", m->name, pools[i].label);
		if (m->unit < 0)
			printf("%.3f\n", (double)value / -m->unit);
		else
			printf("%" PRIu64 "\n", value * (u64)m->unit);
	}
}

/* One line for each possible word: 1 for the current one. */
static void print_words(const char *name, const char *label, const char *key, const char *word,
			const char *const *words)
{
	for (; *words; words++)
		printf("kvpool_%s{%s,%s=\"%s\"} %d\n", name, label, key, *words,
		       word && !strcmp(word, *words));
}

static bool leg_label(const struct pool *p, unsigned int leg, char *buf, size_t size)
{
	const char *uuid = stats_text(&p->stats, "leg.%u.uuid", leg);
	char path[LABEL_BUF];

	if (!uuid || leg >= MAX_LEGS)
		return false;
	snprintf(buf, size, "%s,leg=\"%u\",uuid=\"%s\",path=\"%s\"", p->label, leg, uuid,
		 escape(stats_text(&p->stats, "leg.%u.path", leg) ?: "-", path, sizeof(path)));
	return true;
}

static void print_legs(const struct pool *pools, unsigned int count)
{
	static const char *const kinds[][2] = {
		{ "read", "err_read" }, { "write", "err_write" }, { "checksum", "err_checksum" },
	};
	char label[2 * LABEL_BUF + 128];
	unsigned int i, leg, k;

	head("leg_state", "gauge", "1 for the current state of a leg.");
	for (i = 0; i < count; i++)
		for (leg = 0; leg_label(&pools[i], leg, label, sizeof(label)); leg++)
			print_words("leg_state", label, "state",
				    stats_text(&pools[i].stats, "leg.%u.state", leg), leg_states);
	head("leg_errors_total", "counter", "Errors of a leg, by kind; 'clear' resets them.");
	for (i = 0; i < count; i++)
		for (leg = 0; leg_label(&pools[i], leg, label, sizeof(label)); leg++)
			for (k = 0; k < 3; k++)
				printf("kvpool_leg_errors_total{%s,kind=\"%s\"} %" PRIu64 "\n",
				       label, kinds[k][0],
				       stats_number(&pools[i].stats, "leg.%u.%s", leg,
						    kinds[k][1]));
	head("leg_healed_total", "counter", "Blocks of a leg that were healed.");
	for (i = 0; i < count; i++)
		for (leg = 0; leg_label(&pools[i], leg, label, sizeof(label)); leg++)
			printf("kvpool_leg_healed_total{%s} %" PRIu64 "\n", label,
			       stats_number(&pools[i].stats, "leg.%u.healed", leg));
}

/* Of legs that the module has compared. */
static void print_times(const struct pool *pools, unsigned int count)
{
	static const char *const kinds[] = { "read", "long_read", "write", "flush" };
	char label[2 * LABEL_BUF + 128];
	unsigned int i, leg, k;
	const char *slow;

	head("leg_slow", "gauge", "1 for a leg that is much slower than the others of its vdev.");
	for (i = 0; i < count; i++)
		for (leg = 0; leg_label(&pools[i], leg, label, sizeof(label)); leg++) {
			slow = stats_text(&pools[i].stats, "leg.%u.slow", leg);
			if (slow)
				printf("kvpool_leg_slow{%s} %d\n", label, !strcmp(slow, "yes"));
		}
	head("leg_p99_seconds", "gauge", "99th percentile of the last window of requests.");
	for (i = 0; i < count; i++)
		for (leg = 0; leg_label(&pools[i], leg, label, sizeof(label)); leg++)
			for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
				if (stats_text(&pools[i].stats, "leg.%u.p99_%s", leg, kinds[k]))
					printf("kvpool_leg_p99_seconds{%s,kind=\"%s\"} %.6f\n",
					       label, kinds[k],
					       (double)stats_number(&pools[i].stats,
								    "leg.%u.p99_%s", leg,
								    kinds[k]) / 1e9);
}

/* Of pools that have one. */
static void print_heartbeats(const struct pool *pools, unsigned int count)
{
	static const struct {
		const char *name, *key, *help;
	} times[] = {
		{ "heartbeat_age_seconds", "heartbeat.age_ms", "Age of the last heartbeat." },
		{ "heartbeat_left_seconds", "heartbeat.left_ms",
		  "Time until the pool stops, unless another heartbeat comes first." },
	};
	unsigned int i, t;

	for (t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
		head(times[t].name, "gauge", times[t].help);
		for (i = 0; i < count; i++)
			if (stats_text(&pools[i].stats, "%s", times[t].key))
				printf("kvpool_%s{%s} %.3f\n", times[t].name, pools[i].label,
				       (double)stats_number(&pools[i].stats, "%s",
							    times[t].key) / 1e3);
	}
}

/* It is no leg, and no redundancy. */
static void print_shadows(const struct pool *pools, unsigned int count)
{
	char path[LABEL_BUF], label[2 * LABEL_BUF + 128];
	const char *uuid;
	unsigned int i;

	head("replacement_state", "gauge",
	     "1 for the current state of a device that is to replace a leg of a parity1.");
	for (i = 0; i < count; i++) {
		const struct stats *s = &pools[i].stats;

		uuid = stats_text(s, "shadow.uuid");
		if (!uuid)
			continue;
		snprintf(label, sizeof(label), "%s,leg=\"%s\",uuid=\"%s\",path=\"%s\"",
			 pools[i].label, stats_text(s, "shadow.leg") ?: "-", uuid,
			 escape(stats_text(s, "shadow.path") ?: "-", path, sizeof(path)));
		print_words("replacement_state", label, "state", stats_text(s, "shadow.state"),
			    leg_states);
	}
}

static void print_flushes(const struct pool *pools, unsigned int count)
{
	unsigned int i, b;

	head("flush_seconds", "histogram", "Duration of FLUSH and of writes with FUA.");
	for (i = 0; i < count; i++) {
		const struct latency *l = &pools[i].flush;
		u64 sum = 0;

		for (b = 0; b < l->buckets && l->bucket[b].bound != UINT64_MAX; b++) {
			sum += l->bucket[b].count;
			printf("kvpool_flush_seconds_bucket{%s,le=\"%.9g\"} %" PRIu64 "\n",
			       pools[i].label, (double)l->bucket[b].bound / 1e9, sum);
		}
		printf("kvpool_flush_seconds_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n",
		       pools[i].label, l->count);
		printf("kvpool_flush_seconds_sum{%s} %.9f\n", pools[i].label,
		       (double)l->sum / 1e9);
		printf("kvpool_flush_seconds_count{%s} %" PRIu64 "\n", pools[i].label, l->count);
	}
}

static void print_amplification(const struct pool *pools, unsigned int count)
{
	struct ssd_counts c;
	unsigned int i;

	head("ssd_cache_write_amplification", "gauge", "Bytes written to each SSD since the start, "
	     "for each byte that users wrote there; 0: they wrote none.");
	for (i = 0; i < count; i++) {
		ssd_counts_load(&pools[i].stats, &c);
		printf("kvpool_ssd_cache_write_amplification{%s} %.4f\n", pools[i].label,
		       ssd_amplification(&c));
	}
}

/* For pools with a cache: its mode, its state, the place of the log, and the move of the log. */
static void print_caches(const struct pool *pools, unsigned int count)
{
	const struct stats *s;
	unsigned int i, v;

	head("ssd_cache_mode", "gauge", "1 for the mode that is set.");
	for (i = 0; i < count; i++)
		if (stats_text(&pools[i].stats, "cache.vdev"))
			print_words("ssd_cache_mode", pools[i].label, "mode",
				    stats_text(&pools[i].stats, "cache.mode"), cache_modes);
	head("ssd_cache_state", "gauge", "1 for the current state of the SSD cache.");
	for (i = 0; i < count; i++) {
		s = &pools[i].stats;
		v = (unsigned int)stats_number(s, "cache.vdev");
		if (stats_text(s, "cache.vdev"))
			print_words("ssd_cache_state", pools[i].label, "state",
				    stats_text(s, "vdev.%u.state", v), pool_states);
	}
	head("log_on_cache", "gauge",
	     "1 while the log is on the SSD cache, 0 while it is on the legs.");
	for (i = 0; i < count; i++)
		if (stats_text(&pools[i].stats, "cache.vdev"))
			printf("kvpool_log_on_cache{%s} %d\n", pools[i].label,
			       !strcmp(stats_text(&pools[i].stats, "log.on") ?: "-", "cache"));
	head("drain_state", "gauge",
	     "1 for the current state of emptying the log before it moves onto the SSD cache, or "
	     "off it.");
	for (i = 0; i < count; i++)
		if (stats_text(&pools[i].stats, "cache.vdev"))
			print_words("drain_state", pools[i].label, "state",
				    stats_text(&pools[i].stats, "drain.state"), drain_states);
}

/* Two of them may have one name, or that of a pool that runs. */
static void print_idle(json_object *idle)
{
	char name[LABEL_BUF];
	json_object *o;
	size_t i;

	head("pool_not_running", "gauge",
	     "1 for a pool that should run, and does not: it was not stopped.");
	for (i = 0; i < json_object_array_length(idle); i++) {
		o = json_object_array_get_idx(idle, i);
		escape(json_text_at(o, "name"), name, sizeof(name));
		printf("kvpool_pool_not_running{pool=\"%s\",uuid=\"%s\"} 1\n", name,
		       json_text_at(o, "uuid"));
	}
}

/* Spares of running pools that were not found. */
static void print_missing_spares(const struct dm_entry *list, unsigned int count)
{
	json_object *pools = json_object_new_array(), *pool, *spares, *spare;
	char name[LABEL_BUF];
	unsigned int i;
	size_t k;

	head("spare_missing", "gauge", "1 for a spare that was added, and is not there.");
	for (i = 0; i < count; i++) {
		pool = json_item(pools);
		json_text(pool, "name", list[i].name);
		json_text(pool, "uuid", list[i].uuid);
		json_list(pool, "vdevs");
	}
	spares_note(pools, NULL, 0);
	for (i = 0; i < count; i++) {
		spares = json_at(json_object_array_get_idx(pools, i), "spares");
		escape(list[i].name, name, sizeof(name));
		for (k = 0; spares && k < json_object_array_length(spares); k++) {
			spare = json_object_array_get_idx(spares, k);
			if (!json_at(spare, "path"))
				printf("kvpool_spare_missing{pool=\"%s\",uuid=\"%s\"} 1\n", name,
				       json_text_at(spare, "uuid"));
		}
	}
	json_object_put(pools);
}

/* For the pools behind the first @count, which cannot be asked, only the state is known. */
static void print_all(const struct pool *pools, unsigned int count, unsigned int states)
{
	unsigned int i;

	head("pool_state", "gauge", "1 for the current state of a pool.");
	for (i = 0; i < states; i++)
		print_words("pool_state", pools[i].label, "state",
			    pools[i].suspended ? "suspended" :
			    stats_text(&pools[i].stats, "state"), pool_states);
	print_caches(pools, count);
	for (i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		print_metric(&metrics[i], pools, count);
	print_amplification(pools, count);
	print_flushes(pools, count);
	print_legs(pools, count);
	print_times(pools, count);
	print_heartbeats(pools, count);
	print_shadows(pools, count);
}

static int load(const struct dm_entry *e, struct pool *p, struct err *err)
{
	char name[LABEL_BUF / 2];

	memset(p, 0, sizeof(*p));
	snprintf(p->label, sizeof(p->label), "pool=\"%s\"", escape(e->name, name, sizeof(name)));
	p->suspended = e->suspended;
	if (stats_load(e->name, &p->stats, err))
		return -1;
	if (!latency_load(e->name, &p->flush, err))
		return 0;
	stats_free(&p->stats);
	return -1;
}

/* A pool that cannot be asked must not hide the others; a suspended pool has a state. */
static int print_running(struct ctl *ctl, const struct dm_entry *list, unsigned int count)
{
	struct pool *pools = calloc(count + 1, sizeof(*pools)), one;
	unsigned int i, good = 0, states = 0;
	int ret = EXIT_DONE;
	struct err err;

	if (!pools)
		abort();
	for (i = 0; i < count; i++) {
		if (!load(&list[i], &one, &err)) {
			pools[states++] = pools[good];
			pools[good++] = one;
		} else if (one.suspended) {
			pools[states++] = one;
		} else {
			ret = ctl_fail(ctl, &err);
		}
	}
	print_all(pools, good, states);
	for (i = 0; i < good; i++)
		stats_free(&pools[i].stats);
	free(pools);
	return ret;
}

struct places {
	const char *path[MAX_PLACES];
	unsigned int count;
};

static void parse(struct ctl *ctl, int argc, char **argv, struct places *where)
{
	while (ctl_getopt(ctl, argc, argv) != -1) {
		if (where->count == MAX_PLACES)
			exit(ctl_usage(ctl, "too many -d"));
		where->path[where->count++] = optarg;	/* -d is the only option */
	}
	ctl_args(ctl, argc, 0, 0);
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct places where = { .count = 0 };
	json_object *root, *idle;
	struct dm_entry *list;
	unsigned int count;
	struct err err;
	int ret;

	parse(ctl, argc, argv, &where);
	if (ctl->json)
		return ctl_usage(ctl, "prometheus is the only format; 'status -j' has the same as "
				      "JSON");
	if (dm_list(&list, &count, &err))
		return ctl_fail(ctl, &err);
	ret = print_running(ctl, list, count);
	if (!where.count)
		print_missing_spares(list, count);
	free(list);
	root = json_root();
	idle = json_list(root, "idle");
	if (idle_find(where.path, where.count, idle, &err))
		ret = ctl_fail(ctl, &err);
	else
		print_idle(idle);
	json_object_put(root);
	return ret;
}

static const struct ctl_option options[] = {
	{ 'd', NULL, "DIR|DEV",
	  "search there for pools that do not run, not on all block devices" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_metrics = {
	.name = "metrics",
	.purpose = "all counters in the text format of Prometheus",
	.args = "[-d DIR|DEV]...",
	.about = "Prints all data about running pools in the text format of Prometheus, for the "
		"textfile collector of its node exporter, or other programs that read that format. "
		"A line pool_not_running stands for each pool that does not run although it was "
		"neither exported nor destroyed.",
	.more = "The output has all counters, with states and modes, and the progress of a drain. "
		"To find pools that do not run, the command reads the labels of all block devices, "
		"or where -d says. It remembers them in /run, and reads a device again only after "
		"something was written to it, so disks can sleep. The exit status says nothing "
		"about the health of pools: it is 1 if a pool, or the devices, cannot be asked. "
		"For the collector, write it to a file beside the one that it reads, and rename "
		"that file:\n"
		"kvpoolctl metrics > /var/lib/prometheus/node-exporter/kvpool.prom.new && mv "
		"/var/lib/prometheus/node-exporter/kvpool.prom.new "
		"/var/lib/prometheus/node-exporter/kvpool.prom",
	.example = "kvpoolctl metrics > kvpool.prom.new && mv kvpool.prom.new kvpool.prom",
	.options = options,
	.run = run,
};
