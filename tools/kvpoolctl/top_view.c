// SPDX-License-Identifier: GPL-2.0-only
#include "columns.h"
#include "event.h"
#include "sample.h"
#include "spares.h"
#include "top_view.h"

#define POOLS_MAX	32
#define EVENTS_KEPT	64
#define EVENT_TEXT	256

/* How far something was when it was first seen, for the time that it takes. */
struct pace {
	u64 first;
	double since;
};

enum { SCRUB, RESILVER, TRIM, WALKS };

static const char *const walks[WALKS] = {
	[SCRUB] = "scrub", [RESILVER] = "resilver", [TRIM] = "trim",
};

struct watched {
	char uuid[UUID_BUF];
	struct dm_entry e;
	struct sample last, growth;	/* growth: since the one before */
	struct stats stats;		/* of last */
	bool seen;			/* by the newest call of top_take() */
	bool taken;			/* last and stats are there */
	struct err err;			/* if not: the reason */
	struct pace pace[WALKS];
	u64 next_event;
};

struct happened {
	u64 seconds;
	char pool[sizeof(((struct dm_entry *)0)->name)], text[EVENT_TEXT];
};

struct top {
	const char *name;
	struct watched *pools[POOLS_MAX];	/* by name */
	unsigned int count;
	struct happened events[EVENTS_KEPT];	/* oldest first */
	unsigned int event_count;
	const struct watched *reading;		/* whose events are being read */
};

static void *need(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

struct top *top_new(const char *name)
{
	struct top *t = need(sizeof(*t));

	t->name = name;
	return t;
}

static void forget(struct watched *w)
{
	if (w->taken)
		stats_free(&w->stats);
	free(w);
}

void top_free(struct top *t)
{
	while (t->count)
		forget(t->pools[--t->count]);
	free(t);
}

/* --- taking ------------------------------------------------------------------------------ */

/* Two pools' events come one pool after the other, and are put in order of time. */
static void keep_event(void *arg, u64 seq, u64 seconds, char *text)
{
	struct top *t = arg;
	unsigned int i = t->event_count;

	(void)seq;
	if (t->event_count == EVENTS_KEPT && seconds < t->events[0].seconds)
		return;
	while (i && t->events[i - 1].seconds > seconds)
		i--;
	if (t->event_count == EVENTS_KEPT) {
		i--;
		memmove(&t->events[0], &t->events[1], i * sizeof(*t->events));
	} else {
		memmove(&t->events[i + 1], &t->events[i],
			(t->event_count - i) * sizeof(*t->events));
		t->event_count++;
	}
	t->events[i].seconds = seconds;
	snprintf(t->events[i].pool, sizeof(t->events[i].pool), "%s", t->reading->e.name);
	snprintf(t->events[i].text, EVENT_TEXT, "%s", text);
}

static struct watched *find(struct top *t, const struct dm_entry *e)
{
	unsigned int i;

	for (i = 0; i < t->count; i++)
		if (!strcmp(t->pools[i]->uuid, e->uuid))
			return t->pools[i];
	if (t->count == POOLS_MAX)
		return NULL;
	t->pools[t->count] = need(sizeof(struct watched));
	snprintf(t->pools[t->count]->uuid, UUID_BUF, "%s", e->uuid);
	return t->pools[t->count++];
}

static bool runs(const struct stats *s, const char *what)
{
	const char *state = stats_text(s, "%s.state", what);

	return state && !strcmp(state, "running");
}

static void note_pace(struct watched *w)
{
	unsigned int i;
	u64 done;

	for (i = 0; i < WALKS; i++) {
		done = stats_number(&w->stats, "%s.done", walks[i]);
		if (!runs(&w->stats, walks[i]))
			w->pace[i].since = 0;
		else if (!(w->pace[i].since > 0) || done < w->pace[i].first)
			w->pace[i] = (struct pace){ done, w->last.at };
	}
}

static void take_pool(struct top *t, const struct dm_entry *e)
{
	struct watched *w = find(t, e);
	struct sample *now;
	struct stats stats;
	struct err err;

	if (!w)
		return;
	w->e = *e;
	w->seen = true;
	now = need(sizeof(*now));
	if (sample_take(e->name, now, &stats, &err)) {
		if (w->taken)
			stats_free(&w->stats);
		w->taken = false;
		w->err = err;
		free(now);
		return;
	}
	if (w->taken) {
		sample_difference(now, &w->last, &w->growth);
		stats_free(&w->stats);
	} else {
		w->growth = *now;
		w->growth.at = (double)now->uptime_ms / 1000;
	}
	w->last = *now;
	w->stats = stats;
	w->taken = true;
	free(now);
	note_pace(w);
	t->reading = w;
	event_each(e->name, &w->next_event, keep_event, t, NULL);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct watched *const *)a)->e.name, (*(struct watched *const *)b)->e.name);
}

/* Pools that were stopped leave the view; their events stay. */
static void drop_unseen(struct top *t)
{
	unsigned int i, kept = 0;

	for (i = 0; i < t->count; i++)
		if (t->pools[i]->seen)
			t->pools[kept++] = t->pools[i];
		else
			forget(t->pools[i]);
	t->count = kept;
	qsort(t->pools, t->count, sizeof(*t->pools), by_name);
}

int top_take(struct top *t, struct err *err)
{
	struct dm_entry *list = NULL, one;
	unsigned int i, count = 1;
	int ret = t->name ? dm_find(t->name, &one, err) : dm_list(&list, &count, err);

	/* That says nothing of the pools: the last view stays. */
	if (ret && err->code != ERR_NOT_FOUND)
		return ret;
	for (i = 0; i < t->count; i++)
		t->pools[i]->seen = false;
	for (i = 0; !ret && i < count; i++)
		take_pool(t, list ? &list[i] : &one);
	free(list);
	drop_unseen(t);
	return ret;
}

/* --- drawing --------------------------------------------------------------------------------- */

#define TIME_LEFT	64

static const char *time_left(double seconds, char buf[TIME_LEFT])
{
	if (!(seconds >= 0 && seconds < 86400.0 * 1000))
		snprintf(buf, TIME_LEFT, "years left");
	else if (seconds < 120)
		snprintf(buf, TIME_LEFT, "some %.0f s left", seconds + 1);
	else if (seconds < 7200)
		snprintf(buf, TIME_LEFT, "some %.0f min left", seconds / 60);
	else if (seconds < 172800)
		snprintf(buf, TIME_LEFT, "some %.0f h left", seconds / 3600);
	else
		snprintf(buf, TIME_LEFT, "some %.0f days left", seconds / 86400);
	return buf;
}

static double percent(u64 done, u64 total)
{
	double p = total ? (double)done * 100 / (double)total : 100;

	return p < 100 ? p : 100;
}

/* How far a walk is, and the time it takes at its pace since it was first seen. */
static void draw_walk(const struct watched *w, unsigned int walk, FILE *out)
{
	const struct stats *s = &w->stats;
	u64 done = stats_number(s, "%s.done", walks[walk]);
	u64 total = stats_number(s, "%s.total", walks[walk]), passed;
	const char *state = stats_text(s, "%s.state", walks[walk]);
	double seconds = w->last.at - w->pace[walk].since;
	char left[TIME_LEFT];

	if (state && !strcmp(state, "paused"))
		fprintf(out, "  %-9s paused at %.1f %%\n", walks[walk], percent(done, total));
	if (!runs(s, walks[walk]))
		return;
	passed = done - w->pace[walk].first;
	fprintf(out, "  %-9s %.1f %%", walks[walk], percent(done, total));
	if (seconds > 0 && passed && total > done)
		fprintf(out, ", %s",
			time_left((double)(total - done) / (double)passed * seconds, left));
	fputc('\n', out);
}

static void draw_drain(const struct ctl *ctl, const struct stats *s, FILE *out)
{
	u64 left = stats_number(s, "drain.left"), rate = stats_number(s, "drain.rate");
	char size[SIZE_BUF], at[SIZE_BUF], text[TIME_LEFT];

	if (!runs(s, "drain"))
		return;
	fprintf(out, "  %-9s %s to go", "drain", ctl_size(ctl, left, size));
	if (rate)
		fprintf(out, ", %s/s, %s", ctl_size(ctl, rate, at),
			time_left((double)left / (double)rate, text));
	fputc('\n', out);
}

static double mean_ms(u64 ms, u64 count)
{
	return count ? (double)ms / (double)count : 0;
}

static void draw_io(const struct ctl *ctl, const struct sample *d, FILE *out)
{
	char read[SIZE_BUF], write[SIZE_BUF];

	fprintf(out, "  %-9s %" PRIu64 " reads/s, %s/s, %.2f ms; %" PRIu64 " writes/s, %s/s, "
		"%.2f ms; %" PRIu64 " flushes/s", "io", sample_rate(d->io.reads, d->at),
		ctl_size(ctl, sample_rate(d->io.read_bytes, d->at), read),
		mean_ms(d->io.read_ms, d->io.reads), sample_rate(d->io.writes, d->at),
		ctl_size(ctl, sample_rate(d->io.write_bytes, d->at), write),
		mean_ms(d->io.write_ms, d->io.writes), sample_rate(d->flush.count, d->at));
	if (d->flush.count)
		fprintf(out, ", 99 %% within %.2f ms",
			(double)latency_quantile(&d->flush, 990) / 1e6);
	fputc('\n', out);
}

static void draw_caches(const struct ctl *ctl, const struct watched *w, FILE *out)
{
	const struct sample *d = &w->growth;
	char hits[16], size[SIZE_BUF], used[SIZE_BUF], rate[SIZE_BUF];
	const char *on = stats_text(&w->stats, "log.on");

	fprintf(out, "  %-9s RAM %s hits", "caches",
		sample_percent(d->counts[COUNT_HITS], d->counts[COUNT_MISSES], hits));
	if (d->cached)
		fprintf(out, ", SSDs %s hits, %s",
			sample_percent(d->counts[COUNT_SSD_HITS], d->counts[COUNT_SSD_MISSES],
				       hits),
			stats_text(&w->stats, "cache.mode") ?: "-");
	fprintf(out, "; dirty %s, %s/s written home; ", ctl_size(ctl, d->dirty, size),
		ctl_size(ctl, d->destage_rate, rate));
	fprintf(out, "log %s of %s on %s\n", ctl_size(ctl, d->log_used, used),
		ctl_size(ctl, stats_number(&w->stats, "log.size"), size),
		on && !strcmp(on, "cache") ? "the cache" : "the legs");
}

static void draw_head(const struct ctl *ctl, const struct watched *w, FILE *out)
{
	const struct stats *s = &w->stats;
	u64 poisoned = stats_number(s, "poisoned_blocks");
	char size[SIZE_BUF], written[SIZE_BUF];

	fprintf(out, "%s  %s%s  %s, %s written, survives the loss of %d leg(s)", w->e.name,
		w->e.suspended ? "suspended" : stats_text(s, "state") ?: "-",
		w->e.readonly ? ", read-only" : "", ctl_size(ctl, stats_number(s, "size"), size),
		ctl_size(ctl, stats_number(s, "written_blocks") * KVP_BLOCK_SIZE, written),
		stats_losses(s));
	if (poisoned)
		fprintf(out, ", %" PRIu64 " block(s) poisoned", poisoned);
	fputc('\n', out);
}

static void cell_ms(struct columns *table, u64 ms, u64 count)
{
	char text[32] = "-";

	if (count)
		snprintf(text, sizeof(text), "%.2f", mean_ms(ms, count));
	columns_text(table, text);
}

static void draw_leg(const struct ctl *ctl, struct columns *table, const struct watched *w,
		     unsigned int leg)
{
	const struct leg_sample *l = &w->growth.leg[leg];
	const struct stats *s = &w->stats;
	double seconds = w->growth.at;
	char text[PATH_MAX + 8];
	int busy;

	columns_row(table);
	snprintf(text, sizeof(text), "  %s", l->path);
	columns_text(table, text);
	columns_text(table, stats_text(s, "leg.%u.state", leg) ?: "-");
	columns_number(table, sample_rate(l->io.reads, seconds));
	columns_text(table, ctl_size(ctl, sample_rate(l->io.read_bytes, seconds), text));
	cell_ms(table, l->io.read_ms, l->io.reads);
	columns_number(table, sample_rate(l->io.writes, seconds));
	columns_text(table, ctl_size(ctl, sample_rate(l->io.write_bytes, seconds), text));
	cell_ms(table, l->io.write_ms, l->io.writes);
	busy = seconds > 0 ? (int)((double)l->io.busy_ms / seconds / 10) : 0;
	snprintf(text, sizeof(text), "%d%%", busy < 100 ? busy : 100);
	columns_text(table, text);
	columns_number(table, stats_number(s, "leg.%u.err_read", leg) +
		       stats_number(s, "leg.%u.err_write", leg) +
		       stats_number(s, "leg.%u.err_checksum", leg));
}

static void draw_legs(const struct ctl *ctl, const struct watched *w, FILE *out)
{
	static const struct column list[] = {
		{ .title = "LEG" }, { .title = "STATE" }, { "READS/s", true, 0 },
		{ "READ/s", true, 0 }, { "ms", true, 0 }, { "WRITES/s", true, 0 },
		{ "WRITTEN/s", true, 0 }, { "ms", true, 0 }, { "BUSY", true, 0 },
		{ "ERRORS", true, 0 }
	};
	struct columns *table = columns_new(list, sizeof(list) / sizeof(*list));
	struct vdev_range range;
	const char *kind;
	char name[64];
	unsigned int v;

	for (v = 0; v < KVP_MAX_VDEVS && (kind = stats_text(&w->stats, "vdev.%u.kind", v)); v++) {
		columns_row(table);
		if (strncmp(kind, "cache", 5))
			snprintf(name, sizeof(name), "%.32s-%u", kind, v);
		else
			snprintf(name, sizeof(name), "%.32s", kind);
		columns_text(table, name);
		columns_text(table, stats_text(&w->stats, "vdev.%u.state", v) ?: "-");
		range = vdev_range(&w->stats, v);
		for (; range.first < range.end && range.first < w->growth.legs; range.first++)
			draw_leg(ctl, table, w, range.first);
	}
	columns_print(table, "  ", out);
}

static void draw_pool(const struct ctl *ctl, const struct watched *w, FILE *out)
{
	unsigned int i;

	if (!w->taken) {
		fprintf(out, "%s  %s -- %s\n", w->e.name, w->err.why, w->err.mend);
		return;
	}
	draw_head(ctl, w, out);
	draw_io(ctl, &w->growth, out);
	draw_caches(ctl, w, out);
	for (i = 0; i < WALKS; i++)
		draw_walk(w, i, out);
	draw_drain(ctl, &w->stats, out);
	draw_legs(ctl, w, out);
}

void top_draw(const struct ctl *ctl, const struct top *t, unsigned int events, FILE *out)
{
	unsigned int i;
	char when[TIME_BUF];

	for (i = 0; i < t->count; i++) {
		draw_pool(ctl, t->pools[i], out);
		fputc('\n', out);
	}
	if (!t->count)
		fprintf(out, "%s is active\n\n", t->name ? "the pool is stopped: no such pool" :
			"no pool");
	if (!t->event_count || !events)
		return;
	fputs("EVENTS\n", out);
	for (i = t->event_count > events ? t->event_count - events : 0; i < t->event_count; i++)
		fprintf(out, "  %s %s %s\n", time_print(t->events[i].seconds, when),
			t->events[i].pool, t->events[i].text);
}
