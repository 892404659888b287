// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define OBJECT_BLOCKS	8u	/* space of an object, which uses 1 to all of these blocks */

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (rng_next(r) >> 32) * n >> 32;
}

static double rng_unit(struct rng *r)
{
	return (rng_next(r) >> 11) * 0x1p-53;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void ask(struct trace *t, uint32_t block, uint32_t blocks, bool write)
{
	if (t->requests == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->request = must(realloc(t->request, t->room * sizeof(*t->request)));
	}
	t->request[t->requests++] = (struct request){ block, blocks, write };
	if (t->span < block + blocks)
		t->span = block + blocks;
}

/* --- objects ------------------------------------------------------------------------ */

/* Popularity: rank i has a share of 1 / i^alpha; alpha 0 is uniform. */
struct zipf {
	uint32_t n;
	double *below;		/* share of all ranks up to this one */
	uint32_t *object;	/* that has the rank */
};

static void zipf_shuffle(struct zipf *z, struct rng *r)
{
	uint32_t i, j, swap;

	for (i = z->n - 1; i > 0; i--) {
		j = rng_below(r, i + 1);
		swap = z->object[i];
		z->object[i] = z->object[j];
		z->object[j] = swap;
	}
}

static void zipf_make(struct zipf *z, uint32_t n, double alpha, struct rng *r)
{
	double sum = 0;
	uint32_t i;

	z->n = n;
	z->below = must(malloc(n * sizeof(*z->below)));
	z->object = must(malloc(n * sizeof(*z->object)));
	for (i = 0; i < n; i++) {
		sum += pow(i + 1, -alpha);
		z->below[i] = sum;
		z->object[i] = i;
	}
	for (i = 0; i < n; i++)
		z->below[i] /= sum;
	zipf_shuffle(z, r);
}

static void zipf_drop(struct zipf *z)
{
	free(z->below);
	free(z->object);
}

static uint32_t zipf_draw(const struct zipf *z, struct rng *r)
{
	double u = rng_unit(r);
	uint32_t low = 0, high = z->n - 1, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (z->below[mid] < u)
			low = mid + 1;
		else
			high = mid;
	}
	return z->object[low];
}

/* All of an object, or, one time in four, one block of it. Returns the number of blocks. */
static uint32_t ask_object(struct trace *t, uint32_t object, unsigned int writes, struct rng *r)
{
	static const uint8_t sizes[] = { 1, 1, 1, 1, 2, 2, 4, OBJECT_BLOCKS };
	struct rng own = { object };
	uint32_t size = sizes[rng_next(&own) % sizeof(sizes)];
	uint32_t block = object * OBJECT_BLOCKS;

	if (rng_below(r, 4) == 0) {
		block += rng_below(r, size);
		size = 1;
	}
	ask(t, block, size, rng_below(r, 100) < writes);
	return size;
}

/* --- kinds -------------------------------------------------------------------------- */

/* Requests of 32 blocks and a rest, like a file system's read-ahead. */
static void ask_run(struct trace *t, uint32_t first, uint32_t at, uint32_t span, uint32_t blocks)
{
	uint32_t n;

	for (; blocks; blocks -= n, at += n) {
		n = blocks < 32 ? blocks : 32;
		if (at % span + n > span)
			n = span - at % span;
		ask(t, first + at % span, n, false);
	}
}

struct kind {
	const char *name;
	double alpha;
	unsigned int writes;		/* percent of requests */
	unsigned int run_each;		/* requests between two runs; 0: no runs */
	/* blocks, times scale, after which runs begin anew; 0: never */
	unsigned int run_span;
	/* requests, times scale, until other objects are asked for */
	unsigned int shift_each;
	/* a part of that many objects gets 90 % of requests; 0: none */
	unsigned int hot;
	unsigned int objects, requests;	/* times scale */
};

static const struct kind kinds[] = {
	{ .name = "zipf-1.0", .alpha = 1.0, .objects = 4000, .requests = 40000 },
	{ .name = "zipf-0.8-writes", .alpha = 0.8, .writes = 30, .objects = 4000, .requests = 40000 },
	{ .name = "zipf-0.9-scans", .alpha = 0.9, .writes = 30, .run_each = 80,
	  .objects = 4000, .requests = 30000 },
	{ .name = "zipf-0.9-loop", .alpha = 0.9, .run_each = 40, .run_span = 6000,
	  .objects = 4000, .requests = 24000 },
	{ .name = "shifting", .alpha = 0.9, .shift_each = 8000, .objects = 1600, .requests = 40000 },
	{ .name = "rotating", .shift_each = 5000, .hot = 16, .objects = 4000, .requests = 40000 },
	{ .name = "sequential", .run_each = 1, .requests = 1200 },
	{ .name = "uniform", .objects = 4000, .requests = 40000 },
};

const char *const trace_kinds[] = {
	"zipf-1.0", "zipf-0.8-writes", "zipf-0.9-scans", "zipf-0.9-loop", "shifting", "rotating",
	"sequential", "uniform", NULL,
};

static void generate(struct trace *t, const struct kind *k, uint32_t scale, struct rng *r)
{
	uint32_t n = k->objects * scale, i, phase = 0, at = 0, run, object;
	struct zipf z = { 0 };

	if (n)
		zipf_make(&z, n, k->alpha, r);
	for (i = 0; i < k->requests * scale; i++) {
		if (k->shift_each && i && i % (k->shift_each * scale) == 0) {
			phase++;
			if (!k->hot)
				zipf_shuffle(&z, r);
		}
		if (k->run_each && rng_below(r, k->run_each) == 0) {
			run = 32 + rng_below(r, 224);
			ask_run(t, n * OBJECT_BLOCKS, at, k->run_span ? k->run_span * scale : ~0u,
				run);
			at += run;
		}
		if (!n)
			continue;
		object = zipf_draw(&z, r);
		if (k->hot && rng_below(r, 10))
			object = (phase % k->hot) * (n / k->hot) + rng_below(r, n / k->hot);
		else if (k->shift_each && !k->hot)
			object += phase * n * 2 / 5;
		ask_object(t, object, k->writes, r);
	}
	zipf_drop(&z);
}

struct trace *trace_make(unsigned int kind, uint32_t scale, uint64_t seed)
{
	struct trace *t = must(calloc(1, sizeof(*t)));
	struct rng r = { seed * 1000 + kind };
	uint8_t *seen;
	uint32_t i, b;

	t->name = kinds[kind].name;
	generate(t, &kinds[kind], scale, &r);
	seen = must(calloc(t->span, 1));
	for (i = 0; i < t->requests; i++)
		for (b = 0; b < t->request[i].blocks; b++) {
			t->footprint += !seen[t->request[i].block + b];
			seen[t->request[i].block + b] = 1;
		}
	free(seen);
	return t;
}

void trace_free(struct trace *t)
{
	free(t->request);
	free(t);
}
