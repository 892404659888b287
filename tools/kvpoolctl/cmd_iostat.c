// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl iostat: the activity of a pool and its legs. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "columns.h"
#include "ctl.h"
#include "iocount.h"
#include "flush_latency.h"
#include "pool_object.h"
#include "ssd_counts.h"
#include "stats.h"

#define MAX_LEGS	64	/* bound for numbers from the module */
#define HEAD_EVERY	20	/* lines for people between two heads */

/* Counters of the caches since the start of the pool, in blocks. */
enum { HITS, MISSES, LONG, STREAM, AHEAD, SSD_HITS, SSD_MISSES, SSD_FILLS, SSD_REINSERTED, LOGGED,
       PAST_LOG,
       COUNTS };

static const char *const keys[COUNTS] = {
	[HITS] = "ram.hits",
	[MISSES] = "ram.misses",
	[LONG] = "ram.bypassed_long",
	[STREAM] = "ram.bypassed_stream",
	[AHEAD] = "ram.bypassed_ahead",
	[SSD_HITS] = "ssd.hits",
	[SSD_MISSES] = "ssd.misses",
	[SSD_FILLS] = "ssd.fills",
	[SSD_REINSERTED] = "ssd.reinserted",
	[LOGGED] = "log.data_blocks",
	[PAST_LOG] = "log.intent_blocks",
};

struct leg_sample {
	char path[PATH_MAX], uuid[UUID_BUF];
	struct iocount io;
};

/* All counters at one moment. */
struct sample {
	double at;			/* seconds; in the first sample: since the pool's start */
	struct iocount io;
	struct latency flush;
	u64 uptime_ms;
	u64 counts[COUNTS];
	struct ssd_counts ssd;
	bool cached;
	u64 dirty, log_used, destage_rate, drain_ms;			/* bytes, not rates */
	unsigned int legs;
	struct leg_sample leg[MAX_LEGS];
};

struct view {
	bool verbose;
	unsigned long lines;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void take_leg(const struct stats *s, unsigned int i, struct leg_sample *leg)
{
	const char *path = stats_text(s, "leg.%u.path", i);
	const char *uuid = stats_text(s, "leg.%u.uuid", i);

	snprintf(leg->uuid, sizeof(leg->uuid), "%s", uuid);
	if (!path || !strcmp(path, "-"))
		snprintf(leg->path, sizeof(leg->path), "%s", uuid);
	else
		leg_path(path, leg->path, sizeof(leg->path));
	iocount_load(path ? leg_device(path) : 0, &leg->io);
}

static int take(const char *name, struct sample *s, struct stats *stats, struct err *err)
{
	struct dm_entry e;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	if (dm_find(name, &e, err) || stats_load(e.name, stats, err))
		return -1;
	s->at = now();
	iocount_load(e.rdev, &s->io);
	s->uptime_ms = stats_number(stats, "uptime_ms");
	for (i = 0; i < COUNTS; i++)
		s->counts[i] = stats_number(stats, "%s", keys[i]);
	ssd_counts_load(stats, &s->ssd);
	s->cached = stats_text(stats, "cache.vdev");
	s->dirty = stats_number(stats, "ram.dirty_blocks") * KVP_BLOCK_SIZE +
		   stats_number(stats, "ssd.parked");
	s->destage_rate = stats_number(stats, "destage.rate");
	s->drain_ms = stats_number(stats, "destage.drain_ms");
	s->log_used = stats_number(stats, "log.used");
	while (s->legs < MAX_LEGS && stats_text(stats, "leg.%u.uuid", s->legs)) {
		take_leg(stats, s->legs, &s->leg[s->legs]);
		s->legs++;
	}
	if (latency_load(e.name, &s->flush, err)) {
		stats_free(stats);
		return -1;
	}
	return 0;
}

/* Turns @c into the difference of two samples. Another device in its place starts from zero. */
static void subtract(struct iocount *c, const struct iocount *before)
{
	if (c->reads < before->reads || c->writes < before->writes ||
	    c->read_bytes < before->read_bytes || c->write_bytes < before->write_bytes ||
	    c->discards < before->discards)
		return;
	c->reads -= before->reads;
	c->writes -= before->writes;
	c->discards -= before->discards;
	c->read_bytes -= before->read_bytes;
	c->write_bytes -= before->write_bytes;
}

static void difference(const struct sample *s, const struct sample *before, struct sample *d)
{
	unsigned int i, j;

	*d = *s;
	d->at = s->at - before->at;
	subtract(&d->io, &before->io);
	latency_since(&s->flush, &before->flush, &d->flush);
	/* if the pool was started meanwhile, its counters began at zero */
	if (s->uptime_ms >= before->uptime_ms) {
		for (i = 0; i < COUNTS; i++)
			d->counts[i] -= s->counts[i] >= before->counts[i] ? before->counts[i] : 0;
		ssd_counts_since(&d->ssd, &before->ssd);
	}
	for (i = 0; i < d->legs; i++)
		for (j = 0; j < before->legs; j++)
			if (!strcmp(d->leg[i].uuid, before->leg[j].uuid))
				subtract(&d->leg[i].io, &before->leg[j].io);
}

/* --- for people ---------------------------------------------------------------- */

static u64 rate(u64 count, double seconds)
{
	return seconds > 0 ? (u64)llround((double)count / seconds) : 0;
}

/*
 * Each sample is a table of its own, printed as it comes. Minimum widths keep the columns aligned.
 */
static struct columns *new_table(void)
{
	static const struct column list[] = {
		{ NULL, false, 24 }, { NULL, true, 7 }, { NULL, true, 7 }, { NULL, true, 10 },
		{ NULL, true, 10 }, { NULL, true, 7 }, { NULL, true, 7 }, { NULL, true, 7 },
		{ NULL, true, 7 }, { NULL, true, 5 }, { NULL, true, 10 }
	};

	return columns_new(list, sizeof(list) / sizeof(*list));
}

static void add_io(const struct ctl *ctl, struct columns *table, const char *name,
		   const struct iocount *io, double seconds)
{
	char size[SIZE_BUF];

	columns_row(table);
	columns_text(table, name);
	columns_number(table, rate(io->reads, seconds));
	columns_number(table, rate(io->writes, seconds));
	columns_text(table, ctl_size(ctl, rate(io->read_bytes, seconds), size));
	columns_text(table, ctl_size(ctl, rate(io->write_bytes, seconds), size));
}

static void add_head(struct columns *table)
{
	static const char *const head[][2] = {
		{ "", "POOL" }, { "READS", "/s" }, { "WRITES", "/s" }, { "READ", "/s" },
		{ "WRITTEN", "/s" }, { "FLUSHES", "/s" }, { "P50", "ms" }, { "P99", "ms" },
		{ "P99.9", "ms" }, { "RAM", "hits" }, { "DIRTY", "" }
	};
	unsigned int line, i;

	for (line = 0; line < 2; line++) {
		columns_row(table);
		for (i = 0; i < sizeof(head) / sizeof(*head); i++)
			columns_text(table, head[i][line]);
	}
}

static void add_ms(struct columns *table, const struct latency *l, unsigned int permille)
{
	char text[32] = "-";

	if (l->count)
		snprintf(text, sizeof(text), "%.3f", (double)latency_quantile(l, permille) / 1e6);
	columns_text(table, text);
}

/* The SSD cache's work for the pool; each SSD's own counters come with the legs. */
static void print_cache(const struct ctl *ctl, const struct sample *d)
{
	u64 asked = d->counts[SSD_HITS] + d->counts[SSD_MISSES], written = 0;
	char hits[16] = "-", fills[SIZE_BUF], write[SIZE_BUF], home[SIZE_BUF];
	unsigned int i;

	for (i = 0; i < SSD_CAUSES; i++)
		written += d->ssd.written[i];
	if (asked)
		snprintf(hits, sizeof(hits), "%" PRIu64 "%%", d->counts[SSD_HITS] * 100 / asked);
	printf("  cache: %s hits, %s/s filled, %s/s written to each SSD, %s/s written home\n", hits,
	       ctl_size(ctl, rate(d->counts[SSD_FILLS] * KVP_BLOCK_SIZE, d->at), fills),
	       ctl_size(ctl, rate(written, d->at), write), ctl_size(ctl, d->destage_rate, home));
}

static void print_legs(const struct ctl *ctl, const struct sample *d)
{
	struct columns *table = new_table();
	char name[PATH_MAX + 2];
	unsigned int i;

	for (i = 0; i < d->legs; i++) {
		snprintf(name, sizeof(name), "  %s", d->leg[i].path);
		add_io(ctl, table, name, &d->leg[i].io, d->at);
	}
	columns_print(table, "", stdout);
}

static void print_sample(const struct ctl *ctl, const char *pool, const struct sample *d,
			 struct view *view)
{
	u64 asked = d->counts[HITS] + d->counts[MISSES];
	struct columns *table = new_table();
	char text[SIZE_BUF] = "-";

	if (view->lines++ % HEAD_EVERY == 0)
		add_head(table);
	add_io(ctl, table, pool, &d->io, d->at);
	columns_number(table, rate(d->flush.count, d->at));
	add_ms(table, &d->flush, 500);
	add_ms(table, &d->flush, 990);
	add_ms(table, &d->flush, 999);
	if (asked)
		snprintf(text, sizeof(text), "%" PRIu64 "%%", d->counts[HITS] * 100 / asked);
	columns_text(table, text);
	columns_text(table, ctl_size(ctl, d->dirty, text));
	columns_print(table, "", stdout);
	if (view->verbose && d->cached)
		print_cache(ctl, d);
	if (view->verbose)
		print_legs(ctl, d);
}

/* --- JSON ------------------------------------------------------------------------ */

static void json_io(json_object *o, const struct iocount *io)
{
	json_number(o, "reads", io->reads);
	json_number(o, "writes", io->writes);
	json_number(o, "discards", io->discards);
	json_number(o, "read_bytes", io->read_bytes);
	json_number(o, "write_bytes", io->write_bytes);
}

static void json_caches(json_object *root, const struct sample *d)
{
	json_object *o = json_child(root, "ram"), *bypassed;

	json_number(o, "hits", d->counts[HITS]);
	json_number(o, "misses", d->counts[MISSES]);
	bypassed = json_child(o, "bypassed");
	json_number(bypassed, "long", d->counts[LONG]);
	json_number(bypassed, "stream", d->counts[STREAM]);
	json_number(bypassed, "ahead", d->counts[AHEAD]);
	json_number(o, "dirty", d->dirty);
	o = json_child(root, "cache");
	json_number(o, "hits", d->counts[SSD_HITS]);
	json_number(o, "misses", d->counts[SSD_MISSES]);
	json_number(o, "fills", d->counts[SSD_FILLS]);
	json_number(o, "reinserted", d->counts[SSD_REINSERTED]);
	ssd_counts_json(o, &d->ssd);
	json_number(o, "destage_rate", d->destage_rate);
	json_number(o, "drain_ms", d->drain_ms);
}

static void json_sample(const char *pool, const struct sample *d, bool verbose)
{
	json_object *root = json_root(), *o, *legs;
	unsigned int i;

	json_text(root, "pool", pool);
	json_time(root, "time", (u64)time(NULL));
	json_number(root, "milliseconds", (u64)llround(d->at * 1000));
	json_io(json_child(root, "io"), &d->io);
	latency_json(json_child(root, "flush"), &d->flush);
	json_caches(root, d);
	o = json_child(root, "log");
	json_number(o, "used", d->log_used);
	json_number(o, "data", d->counts[LOGGED] * KVP_BLOCK_SIZE);
	json_number(o, "bypassed", d->counts[PAST_LOG] * KVP_BLOCK_SIZE);
	legs = verbose ? json_list(root, "legs") : NULL;
	for (i = 0; legs && i < d->legs; i++) {
		o = json_item(legs);
		json_text(o, "path", d->leg[i].path);
		json_text(o, "uuid", d->leg[i].uuid);
		json_io(json_child(o, "io"), &d->leg[i].io);
	}
	ctl_json(root);
}

/* --- the command ------------------------------------------------------------------- */

static void show(const struct ctl *ctl, const char *pool, const struct sample *d,
		 struct view *view)
{
	if (ctl->json)
		json_sample(pool, d, view->verbose);
	else
		print_sample(ctl, pool, d, view);
}

static void wait_until(double when)
{
	double left;

	while ((left = when - now()) > 0) {
		struct timespec t = { (time_t)left, (long)(fmod(left, 1) * 1e9) };

		nanosleep(&t, NULL);
	}
}

/* @count 0: until a signal ends it. */
static int follow(struct ctl *ctl, const char *pool, double interval, unsigned long count,
		  struct view *view)
{
	static struct sample one, two, diff;
	struct sample *old = &one, *new = &two, *swap;
	struct stats stats;
	struct err err;
	unsigned long i;

	if (take(pool, old, &stats, &err))
		return ctl_fail(ctl, &err);
	diff = *old;
	diff.at = (double)stats_number(&stats, "uptime_ms") / 1000;
	stats_free(&stats);
	show(ctl, pool, &diff, view);
	for (i = 1; interval > 0 && (!count || i < count) && !fflush(stdout); i++) {
		wait_until(old->at + interval);
		if (take(pool, new, &stats, &err))
			return ctl_fail(ctl, &err);
		stats_free(&stats);
		difference(new, old, &diff);
		show(ctl, pool, &diff, view);
		swap = old;
		old = new;
		new = swap;
	}
	return EXIT_DONE;
}

static bool parse_count(const char *text, unsigned long *count)
{
	char *end;

	errno = 0;
	*count = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *count;
}

static bool parse_interval(const char *text, double *interval)
{
	char *end;

	*interval = strtod(text, &end);
	return *text >= '0' && *text <= '9' && !*end && *interval >= 0.1 && *interval <= 86400;
}

static int run(struct ctl *ctl, int argc, char **argv)
{
	struct view view = { 0 };
	unsigned long count = 0;
	double interval = 0;
	int n;

	while (ctl_getopt(ctl, argc, argv) != -1)
		view.verbose = true;
	n = ctl_args(ctl, argc, 1, 3);
	if (n > 1 && !parse_interval(argv[optind + 1], &interval))
		return ctl_usage(ctl, "'%.64s' is not an interval: seconds, 0.1 to 86400",
				 argv[optind + 1]);
	if (n > 2 && !parse_count(argv[optind + 2], &count))
		return ctl_usage(ctl, "'%.64s' is not a count: a number from 1 on",
				 argv[optind + 2]);
	return follow(ctl, argv[optind], interval, count, &view);
}

static const struct ctl_option options[] = {
	{ 'v', NULL, NULL, "also the cache, and each leg" },
	{ 0, NULL, NULL, NULL }
};

const struct command cmd_iostat = {
	.name = "iostat",
	.purpose = "activity of a pool: requests, bytes, flush times, cache hits",
	.args = "[-v] POOL [INTERVAL [COUNT]]",
	.about = "Shows the activity of a pool: requests and bytes a second, flush times, RAM cache "
		"hits, and data that is not yet home. The first line is the average since the pool "
		"was started. With INTERVAL, in seconds, more lines follow, each about the time "
		"since the line before: COUNT lines in all, or until interrupted.",
	.more = "A flush is a request for durability, so each fsync is one. The flush times are "
		"upper bounds of half, 99 % and 99.9 % of them, in milliseconds. -j has more: data "
		"that bypassed the caches, with the reason, and data written to the SSDs, with the "
		"cause. Other tools called iostat count requests that the kernel merged; this one "
		"counts requests as they arrive at the device.",
	.options = options,
	.run = run,
};
