// SPDX-License-Identifier: GPL-2.0-only
/* kvpoolctl iostat: the activity of a pool and its legs. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "columns.h"
#include "sample.h"

#define HEAD_EVERY	20	/* lines for people between two heads */

struct view {
	bool verbose;
	unsigned long lines;
};

/* --- for people ---------------------------------------------------------------- */

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
	columns_number(table, sample_rate(io->reads, seconds));
	columns_number(table, sample_rate(io->writes, seconds));
	columns_text(table, ctl_size(ctl, sample_rate(io->read_bytes, seconds), size));
	columns_text(table, ctl_size(ctl, sample_rate(io->write_bytes, seconds), size));
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
	char hits[16], fills[SIZE_BUF], write[SIZE_BUF], home[SIZE_BUF];
	u64 written = 0;
	unsigned int i;

	for (i = 0; i < SSD_CAUSES; i++)
		written += d->ssd.written[i];
	sample_percent(d->counts[COUNT_SSD_HITS], d->counts[COUNT_SSD_MISSES], hits);
	printf("  cache: %s hits, %s/s filled, %s/s written to each SSD, %s/s written home\n", hits,
	       ctl_size(ctl, sample_rate(d->counts[COUNT_SSD_FILLS] * KVP_BLOCK_SIZE, d->at),
			fills),
	       ctl_size(ctl, sample_rate(written, d->at), write),
	       ctl_size(ctl, d->destage_rate, home));
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
	struct columns *table = new_table();
	char text[SIZE_BUF];

	if (view->lines++ % HEAD_EVERY == 0)
		add_head(table);
	add_io(ctl, table, pool, &d->io, d->at);
	columns_number(table, sample_rate(d->flush.count, d->at));
	add_ms(table, &d->flush, 500);
	add_ms(table, &d->flush, 990);
	add_ms(table, &d->flush, 999);
	columns_text(table, sample_percent(d->counts[COUNT_HITS], d->counts[COUNT_MISSES], text));
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

	json_number(o, "hits", d->counts[COUNT_HITS]);
	json_number(o, "misses", d->counts[COUNT_MISSES]);
	bypassed = json_child(o, "bypassed");
	json_number(bypassed, "long", d->counts[COUNT_LONG]);
	json_number(bypassed, "stream", d->counts[COUNT_STREAM]);
	json_number(bypassed, "ahead", d->counts[COUNT_AHEAD]);
	json_number(o, "dirty", d->dirty);
	o = json_child(root, "cache");
	json_number(o, "hits", d->counts[COUNT_SSD_HITS]);
	json_number(o, "misses", d->counts[COUNT_SSD_MISSES]);
	json_number(o, "fills", d->counts[COUNT_SSD_FILLS]);
	json_number(o, "reinserted", d->counts[COUNT_SSD_REINSERTED]);
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
	json_number(o, "data", d->counts[COUNT_LOGGED] * KVP_BLOCK_SIZE);
	json_number(o, "bypassed", d->counts[COUNT_PAST_LOG] * KVP_BLOCK_SIZE);
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

	while ((left = when - sample_now()) > 0) {
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

	if (sample_take(pool, old, &stats, &err))
		return ctl_fail(ctl, &err);
	diff = *old;
	diff.at = (double)stats_number(&stats, "uptime_ms") / 1000;
	stats_free(&stats);
	show(ctl, pool, &diff, view);
	for (i = 1; interval > 0 && (!count || i < count) && !fflush(stdout); i++) {
		wait_until(old->at + interval);
		if (sample_take(pool, new, &stats, &err))
			return ctl_fail(ctl, &err);
		stats_free(&stats);
		sample_difference(new, old, &diff);
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
	.about = "Shows the activity of a pool: requests and bytes a second, flush times, RAM "
		 "cache hits, and data that is not yet home. The first line is the average since "
		 "the pool was started. With INTERVAL, in seconds, more lines follow, each about "
		 "the time since the line before: COUNT lines in all, or until interrupted.",
	.more = "A flush is a request for durability, so each fsync is one. The flush times are "
		"upper bounds: half of the flushes took no longer than the first, 99 % than the "
		"second, 99.9 % than the third, in milliseconds. -j has more: data that bypassed "
		"the caches, with the reason, and data written to the SSDs, with the cause. Other "
		"tools called iostat count requests after the kernel has merged them; this one "
		"counts requests as they arrive at the device.",
	.example = "kvpoolctl iostat -v tank 5 12",
	.options = options,
	.run = run,
};
