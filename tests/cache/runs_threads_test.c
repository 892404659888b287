// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs with threads. They are compiled into this file, with real locks and real atomic accesses in
 * place of the stand-ins. ThreadSanitizer reports accesses without the lock of the set.
 *
 * A stream is written by whatever thread has hold of it, from end to end: each request must find
 * the run of the one before, whichever thread that was. Later, requests all over the device let
 * runs make room for one another at once. Then each run must still be in one set, that of its end.
 */
#include <pthread.h>
#include <stdlib.h>

#include "suite.h"
#include "trace.h"
#include "threads.h"

#include "policy/runs.c"

#define THREADS		4u
#define STREAMS		96u	/* fewer than runs: none makes room */
#define STEPS		30000u

static struct kvp_runs runs;

static struct stream {
	u32 held;
	u32 blocks;	/* by the thread that holds it */
} streams[STREAMS];

struct thread {
	pthread_t id;
	struct rng rng;
	unsigned long wrong, done;
};

static u64 first_of(u32 stream)
{
	return (u64)stream << 24;
}

/* Requests of up to a MiB, so that runs often change their sets. */
static void step(struct thread *t, struct stream *s)
{
	u32 blocks = 1 + rng_below(&t->rng, 256);
	u32 run = kvp_run_note(&runs, first_of(s - streams) + s->blocks, blocks, true);

	s->blocks += blocks;
	t->wrong += run != s->blocks;
	t->done++;
}

static void *stream_writer(void *arg)
{
	struct thread *t = arg;
	struct stream *s;
	u32 i;

	for (i = 0; i < STEPS; i++) {
		s = &streams[rng_below(&t->rng, STREAMS)];
		if (__atomic_exchange_n(&s->held, 1, __ATOMIC_ACQUIRE))
			continue;
		step(t, s);
		__atomic_store_n(&s->held, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *random_writer(void *arg)
{
	struct thread *t = arg;
	u32 i, run, blocks;

	for (i = 0; i < STEPS; i++) {
		blocks = 1 + rng_below(&t->rng, 64);
		run = kvp_run_note(&runs, rng_below(&t->rng, 1u << 30), blocks,
				   rng_below(&t->rng, 2));
		t->wrong += !run;
		t->done++;
	}
	return NULL;
}

static bool go(void *(*run)(void *))
{
	static struct thread t[THREADS];
	unsigned long wrong = 0;
	bool good = true;
	u32 i;

	for (i = 0; i < THREADS; i++) {
		t[i] = (struct thread){ .rng.state = seed * 100 + i };
		if (pthread_create(&t[i].id, NULL, run, &t[i]))
			abort();
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		wrong += t[i].wrong;
		good &= expect(t[i].done, "thread %u did nothing", i);
	}
	return good & expect(!wrong, "%lu wrong answers", wrong);
}

static bool sets_are_whole(void)
{
	bool seen[KVP_RUNS] = { false }, good = true;
	struct kvp_run *run;
	u32 i, n, all = 0;

	for (i = 0; i < SETS; i++) {
		n = 0;
		list_for_each_entry(run, &runs.set[i].runs, list) {
			good &= expect(!seen[run - runs.run], "run %td twice", run - runs.run);
			good &= expect(!run->blocks || place_of(run->end) == i, "a run in the wrong set");
			seen[run - runs.run] = true;
			n++;
		}
		good &= expect(n == runs.set[i].nr, "set %u has %u runs, not %u", i, n, runs.set[i].nr);
		all += n;
	}
	return good & expect(all == KVP_RUNS, "%u runs are left", all);
}

static bool test_threads(void)
{
	bool good;

	kvp_runs_init(&runs);
	good = go(stream_writer);
	good &= sets_are_whole();
	good &= go(random_writer);
	return good & sets_are_whole();
}

const struct test tests[] = {
	{ "threads", test_threads },
	{ 0 }
};
