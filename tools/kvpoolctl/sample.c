// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <time.h>

#include "pool_object.h"
#include "sample.h"

static const char *const keys[COUNTS] = {
	[COUNT_HITS] = "ram.hits",
	[COUNT_MISSES] = "ram.misses",
	[COUNT_LONG] = "ram.bypassed_long",
	[COUNT_STREAM] = "ram.bypassed_stream",
	[COUNT_AHEAD] = "ram.bypassed_ahead",
	[COUNT_SSD_HITS] = "ssd.hits",
	[COUNT_SSD_MISSES] = "ssd.misses",
	[COUNT_SSD_FILLS] = "ssd.fills",
	[COUNT_SSD_REINSERTED] = "ssd.reinserted",
	[COUNT_LOGGED] = "log.data_blocks",
	[COUNT_PAST_LOG] = "log.intent_blocks",
};

double sample_now(void)
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

int sample_take(const char *name, struct sample *s, struct stats *stats, struct err *err)
{
	struct dm_entry e;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	if (dm_find(name, &e, err) || stats_load(e.name, stats, err))
		return -1;
	s->at = sample_now();
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
	while (s->legs < SAMPLE_LEGS && stats_text(stats, "leg.%u.uuid", s->legs)) {
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
	/* the kernel prints 32 bits of these */
	c->read_ms = (u32)(c->read_ms - before->read_ms);
	c->write_ms = (u32)(c->write_ms - before->write_ms);
	c->busy_ms = (u32)(c->busy_ms - before->busy_ms);
}

void sample_difference(const struct sample *s, const struct sample *before, struct sample *d)
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

u64 sample_rate(u64 count, double seconds)
{
	return seconds > 0 ? (u64)llround((double)count / seconds) : 0;
}

const char *sample_percent(u64 hits, u64 misses, char buf[16])
{
	double all = (double)hits + (double)misses;

	if (all > 0)
		snprintf(buf, 16, "%d%%", (int)((double)hits * 100 / all));
	else
		snprintf(buf, 16, "-");
	return buf;
}
