// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "replay.h"
#include "trace.h"

const unsigned int replay_percent[REPLAY_SIZES] = { 1, 5, 10, 20 };

const struct policy *replay_policy(unsigned int policy)
{
	return policy == OURS ? &ours : &references[policy];
}

static double misses(const struct trace *t, const struct policy *p, unsigned int percent)
{
	uint32_t capacity = (uint64_t)t->footprint * percent / 100, i, b;
	void *cache = p->make(capacity ? capacity : 1, t->span);
	const struct request *q;
	double n = 0;

	for (i = 0; i < t->requests; i++) {
		q = &t->request[i];
		for (b = 0; b < q->blocks; b++)
			n += !p->ask(cache, q->block + b) && !q->write;
	}
	p->drop(cache);
	return n;
}

void replay_run(struct replay *r, unsigned int scale, uint64_t seed)
{
	unsigned int kind, size, policy;
	struct trace *t;
	uint32_t i;

	memset(r, 0, sizeof(*r));
	for (kind = 0; kind < REPLAY_KINDS; kind++) {
		t = trace_make(kind, scale, seed);
		for (i = 0; i < t->requests; i++)
			r->reads[kind] += t->request[i].write ? 0 : t->request[i].blocks;
		for (size = 0; size < REPLAY_SIZES; size++)
			for (policy = 0; policy < POLICIES; policy++)
				r->misses[kind][size][policy] =
					misses(t, replay_policy(policy), replay_percent[size]);
		trace_free(t);
	}
}

double replay_against(const struct replay *r, unsigned int kind, unsigned int size,
		      unsigned int policy, unsigned int base)
{
	return r->misses[kind][size][policy] / r->misses[kind][size][base] - 1;
}

double replay_mean(const struct replay *r, unsigned int kinds, unsigned int policy)
{
	unsigned int kind, size;
	double sum = 0;

	for (kind = 0; kind < kinds; kind++)
		for (size = 0; size < REPLAY_SIZES; size++)
			sum += replay_against(r, kind, size, policy, LRU);
	return sum / kinds / REPLAY_SIZES;
}

double replay_worst(const struct replay *r, unsigned int policy)
{
	unsigned int kind, size;
	double worst = -1, x;

	for (kind = 0; kind < REPLAY_KINDS; kind++)
		for (size = 0; size < REPLAY_SIZES; size++) {
			x = replay_against(r, kind, size, policy, LRU);
			worst = x > worst ? x : worst;
		}
	return worst;
}
