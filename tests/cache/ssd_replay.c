// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include "policy/index.h"
#include "policy/s3fifo.h"
#include "policy/ssdpolicy.h"
#include "policy/runs.h"
#include "policies.h"
#include "ssd_replay.h"

#define SEGMENT		32u		/* places */
#define CUTOFF_READ	256u
#define CUTOFF_WRITE	1024u
#define MONTH		2592000ull	/* seconds that a trace takes */
#define FIRST_BLOCK	0x1234567890ull	/* high bits must not be lost */

const unsigned int ssd_percent[SSD_SIZES] = { 5, 10, 20 };
const char *const ssd_policies[SSD_POLICIES] = { "fifo", "lru", "arc", "kvpool" };

/*
 * The log, with the index and the policies as in the module. One segment more than the counted
 * capacity is always empty, as space for reinsertion.
 */
struct ssd {
	struct kvp_index index;
	struct kvp_ssd_policy policy;
	struct kvp_runs streams;
	struct kvp_ssd_state state;
	struct ssd_cell *cell;
	u32 places, head, *version;
};

static void must(bool good)
{
	if (!good)
		abort();
}

static void ssd_make(struct ssd *s, u32 capacity, u32 span, struct ssd_cell *cell)
{
	memset(s, 0, sizeof(*s));
	s->cell = cell;
	kvp_runs_init(&s->streams);
	s->places = max(DIV_ROUND_UP(capacity, SEGMENT), 3u) * SEGMENT + SEGMENT;
	must(!kvp_index_init(&s->index, s->places, 0x5eed));
	while (s->index.places < s->places)
		must(!kvp_index_grow(&s->index));
	must(!kvp_ssd_init(&s->policy, s->places, SEGMENT, 100, 0, 0x5eed, GFP_KERNEL));
	s->state.unused = s->places - SEGMENT;
	s->version = calloc(span, sizeof(*s->version));
	must(s->version);
}

static void ssd_drop(struct ssd *s)
{
	kvp_index_exit(&s->index);
	kvp_ssd_exit(&s->policy);
	free(s->version);
}

static void reclaim(struct ssd *s, u32 first);

/* The next place of the log. When a segment begins, the next one is emptied. */
static u32 next_place(struct ssd *s)
{
	u32 place = s->head;

	s->head = (s->head + 1) % s->places;
	if (s->state.unused)
		s->state.unused--;
	if (place % SEGMENT == 0 && !s->state.unused)
		reclaim(s, (place + SEGMENT) % s->places);
	return place;
}

static void reclaim(struct ssd *s, u32 first)
{
	struct kvp_index_entry e[SEGMENT];
	bool keep[SEGMENT];
	u32 n = 0, place, i;

	for (place = first; kvp_index_next(&s->index, &place, first + SEGMENT, &e[n]); place++, n++)
		/* the block is written home, and is clean */
		if (e[n].dirty) {
			s->cell->wrong += !kvp_index_clean(&s->index, e[n].key, place);
			e[n].dirty = false;
		}
	kvp_index_count(&s->index, &s->state.count);
	kvp_ssd_reinsert(&s->policy, e, n, &s->state, keep);
	for (i = 0; i < n; i++) {
		if (!keep[i]) {
			s->cell->wrong += !kvp_index_remove_at(&s->index, e[i].key, e[i].place);
			continue;
		}
		s->cell->wrong += !!kvp_index_move(&s->index, e[i].key, e[i].place, next_place(s));
		s->cell->reinserted++;
	}
}

static void ssd_put(struct ssd *s, u32 block, bool dirty)
{
	struct kvp_index_entry old, e = {
		.key = FIRST_BLOCK + block, .crc = s->version[block], .dirty = dirty,
		.place = next_place(s),
	};

	if (dirty)
		s->cell->wrong += kvp_index_set(&s->index, &e, &old) < 0;
	else
		s->cell->wrong += !!kvp_index_fill(&s->index, &e);
}

static void ssd_read(struct ssd *s, u32 block, bool stream)
{
	struct kvp_index_entry e;

	if (kvp_index_find(&s->index, FIRST_BLOCK + block, &e)) {
		s->cell->wrong += e.crc != s->version[block];
		kvp_index_hit(&s->index, e.key, e.place);
		return;
	}
	s->cell->misses++;
	if (stream || kvp_ssd_admit(&s->policy, FIRST_BLOCK + block, 0, &s->state))
		return;
	s->cell->fills++;
	ssd_put(s, block, false);
}

static void ssd_write(struct ssd *s, u32 block, bool stream)
{
	struct kvp_index_entry old;

	s->version[block]++;
	if (stream)
		kvp_index_remove(&s->index, FIRST_BLOCK + block, &old);
	else
		ssd_put(s, block, true);
}

/* --- traces ------------------------------------------------------------------------- */

/* Is the block in RAM? Afterwards it is. */
static bool ram_asks(struct kvp_s3 *ram, u32 block)
{
	struct kvp_s3_block victim;
	u32 slot;

	if (kvp_s3_find(ram, block, &slot)) {
		kvp_s3_hit(ram, slot);
		return true;
	}
	kvp_s3_insert(ram, block, ram, &victim);
	return false;
}

static void through_ours(struct ssd_cell *c, const struct trace *t, struct kvp_s3 *ram,
			 u32 capacity)
{
	const struct request *q;
	bool stream, in_ram;
	struct ssd s;
	u32 i, b, run;

	ssd_make(&s, capacity, t->span, c);
	for (i = 0; i < t->requests; i++) {
		q = &t->request[i];
		s.state.now = MONTH * i / t->requests;
		run = kvp_run_note(&s.streams, FIRST_BLOCK + q->block, q->blocks, q->write);
		stream = kvp_ssd_bypass(0, q->write, q->blocks, run,
					q->write ? CUTOFF_WRITE : CUTOFF_READ);
		for (b = q->block; b < q->block + q->blocks; b++) {
			in_ram = ram_asks(ram, b);
			if (q->write)
				ssd_write(&s, b, stream);
			else if (!in_ram)
				ssd_read(&s, b, stream);
		}
	}
	c->wrong += !!kvp_index_check(&s.index) + !!kvp_ssd_check(&s.policy);
	ssd_drop(&s);
}

static void through_reference(struct ssd_cell *c, const struct trace *t, struct kvp_s3 *ram,
			      u32 capacity, const struct policy *p)
{
	void *cache = p->make(capacity, t->span);
	const struct request *q;
	bool in_ram, hit;
	u32 i, b;

	for (i = 0; i < t->requests; i++) {
		q = &t->request[i];
		for (b = q->block; b < q->block + q->blocks; b++) {
			in_ram = ram_asks(ram, b);
			if (in_ram && !q->write)
				continue;
			hit = p->ask(cache, b);
			c->misses += !hit && !q->write;
			c->fills += !hit && !q->write;
		}
	}
	p->drop(cache);
}

void ssd_trace(struct ssd_cell *c, const struct trace *t, unsigned int percent,
	       unsigned int policy)
{
	static const unsigned int reference[] = {
		[SSD_FIFO] = FIFO, [SSD_LRU] = LRU, [SSD_ARC] = ARC,
	};
	u32 capacity = max((u64)t->footprint * percent / 100, 1ull), i;
	struct kvp_s3 ram;

	memset(c, 0, sizeof(*c));
	must(!kvp_s3_init(&ram, max(capacity / 10, 1u), 0x5eed, GFP_KERNEL));
	for (i = 0; i < t->requests; i++)
		*(t->request[i].write ? &c->writes : &c->reads) += t->request[i].blocks;
	if (policy == SSD_OURS)
		through_ours(c, t, &ram, capacity);
	else
		through_reference(c, t, &ram, capacity, &references[reference[policy]]);
	kvp_s3_exit(&ram);
}

void ssd_replay_run(struct ssd_replay *r, unsigned int scale, uint64_t seed)
{
	unsigned int kind, size, policy;
	struct trace *t;

	for (kind = 0; kind < SSD_KINDS; kind++) {
		t = trace_make(kind, scale, seed);
		for (size = 0; size < SSD_SIZES; size++)
			for (policy = 0; policy < SSD_POLICIES; policy++)
				ssd_trace(&r->cell[kind][size][policy], t, ssd_percent[size],
					  policy);
		trace_free(t);
	}
}

double ssd_written(const struct ssd_cell *c)
{
	return (c->writes + c->fills + c->reinserted) / (c->reads + c->writes);
}

static double mean(const struct ssd_replay *r, unsigned int policy, unsigned int base,
		   double (*of)(const struct ssd_cell *c))
{
	unsigned int kind, size;
	double sum = 0;

	for (kind = 0; kind < SSD_KINDS; kind++)
		for (size = 0; size < SSD_SIZES; size++)
			sum += of(&r->cell[kind][size][policy]) /
			       of(&r->cell[kind][size][base]) - 1;
	return sum / SSD_KINDS / SSD_SIZES;
}

static double missed(const struct ssd_cell *c)
{
	return c->misses;
}

double ssd_misses(const struct ssd_replay *r, unsigned int policy, unsigned int base)
{
	return mean(r, policy, base, missed);
}

double ssd_wear(const struct ssd_replay *r, unsigned int policy, unsigned int base)
{
	return mean(r, policy, base, ssd_written);
}
