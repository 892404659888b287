// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index of the SSD cache with threads. The index is compiled into this file, with real locks
 * and real atomic accesses in place of the stand-ins. ThreadSanitizer reports accesses without the
 * lock. All results must also be consistent.
 *
 * Each block is changed by one thread, as if that thread held the block's lock. The others find,
 * hit, clean and walk over places of any blocks, while one more thread lets the table grow. The crc
 * of an entry names its block and its place, so a mixture of two entries is noticed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "trace.h"
#include "threads.h"

#include "policy/index.c"

#define WRITERS		3
#define READERS		2
#define KEYS		600u	/* keys of one writer */
#define PLACES		1300u	/* places of one writer: more than it has blocks */
#define CHUNKS		24
#define STEPS		60000

static struct kvp_index ix;
static bool stop;

struct thread {
	pthread_t id;
	struct rng rng;
	u32 nr;
	u32 place[KEYS];	/* of a writer's blocks; NONE: not there */
	bool taken[PLACES];
	unsigned long wrong, done;
};

static u64 nth_key(u32 n)
{
	return (u64)n << 31 | n;
}

static u32 crc_for(u64 key, u32 place)
{
	return key * 0x9e3779b1u + (key >> 32) * 77 + place * 0x85ebca6bu;
}

static u32 free_place(struct thread *t)
{
	u32 i;

	do
		i = rng_below(&t->rng, PLACES);
	while (t->taken[i]);
	return i;
}

static void set_place(struct thread *t, u32 k, u32 i)
{
	if (t->place[k] != NONE)
		t->taken[t->place[k]] = false;
	t->place[k] = i;
	if (i != NONE)
		t->taken[i] = true;
}

static void write_block(struct thread *t, u32 k)
{
	u32 i = free_place(t);
	struct kvp_index_entry old, e = {
		.key = nth_key(t->nr * KEYS + k), .place = t->nr * PLACES + i, .dirty = true,
	};
	int ret;

	e.crc = crc_for(e.key, e.place);
	ret = kvp_index_set(&ix, &e, &old);
	t->wrong += ret != (t->place[k] != NONE);
	t->wrong += ret == 1 && (old.place != t->nr * PLACES + t->place[k] || old.key != e.key);
	set_place(t, k, i);
}

/* only this thread changes these blocks, so it knows their state */
static void *writer(void *arg)
{
	struct thread *t = arg;
	struct kvp_index_entry e;
	u32 k, step;
	bool there;
	u64 key;

	for (step = 0; step < STEPS; step++, t->done++) {
		k = rng_below(&t->rng, KEYS);
		key = nth_key(t->nr * KEYS + k);
		there = t->place[k] != NONE;
		switch (rng_below(&t->rng, 4)) {
		case 0:
			t->wrong += kvp_index_remove(&ix, key, &e) != there;
			set_place(t, k, NONE);
			break;
		case 1:
			t->wrong += kvp_index_find(&ix, key, &e) != there;
			t->wrong += there && e.place != t->nr * PLACES + t->place[k];
			break;
		default:
			write_block(t, k);
		}
	}
	return NULL;
}

static void judge(struct thread *t, const struct kvp_index_entry *e)
{
	t->wrong += e->crc != crc_for(e->key, e->place);
	t->done++;
}

static void *reader(void *arg)
{
	struct thread *t = arg;
	struct kvp_index_entry e;
	u32 place, end, n;
	u64 key;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (n = 0; n < 200; n++) {
			key = nth_key(rng_below(&t->rng, WRITERS * KEYS));
			if (!kvp_index_find(&ix, key, &e))
				continue;
			t->wrong += e.key != key;
			judge(t, &e);
			kvp_index_hit(&ix, key, e.place);
			if (n % 8 == 0)
				kvp_index_clean(&ix, key, e.place);
		}
		place = rng_below(&t->rng, WRITERS * PLACES);
		for (end = place + 256; kvp_index_next(&ix, &place, end, &e); place++)
			judge(t, &e);
	}
	return NULL;
}

static void *grower(void *arg)
{
	struct thread *t = arg;

	while (ix.places < CHUNKS * KVP_INDEX_CHUNK) {
		t->wrong += kvp_index_grow(&ix) != 0;
		t->done++;
		sched_yield();
	}
	return NULL;
}

static bool run_all(struct thread *t)
{
	void *(*const run[])(void *) = { writer, writer, writer, reader, reader, grower };
	unsigned int n = sizeof(run) / sizeof(*run), i;
	unsigned long wrong = 0;
	bool good = true;

	for (i = 0; i < n; i++) {
		t[i].nr = i;
		t[i].rng.state = seed * 100 + i;
		memset(t[i].place, 0xff, sizeof(t[i].place));
		if (pthread_create(&t[i].id, NULL, run[i], &t[i]))
			abort();
	}
	for (i = 0; i < n; i++) {
		if (run[i] == reader)
			__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(t[i].id, NULL);
		wrong += t[i].wrong;
		good &= expect(t[i].done, "thread %u did nothing", i);
	}
	return good & expect(!wrong, "%lu wrong answers", wrong);
}

static bool test_threads(void)
{
	struct thread *t = calloc(WRITERS + READERS + 1, sizeof(*t));
	struct kvp_index_entry e;
	const char *wrong;
	bool good;
	u32 w, k;

	stop = false;
	if (!t || kvp_index_init(&ix, CHUNKS * KVP_INDEX_CHUNK, seed))
		abort();
	good = run_all(t);
	wrong = kvp_index_check(&ix);
	good &= expect(!wrong, "%s is wrong", wrong);
	for (w = 0; w < WRITERS; w++)
		for (k = 0; k < KEYS; k++)
			good &= expect(kvp_index_find(&ix, nth_key(w * KEYS + k), &e) ==
				       (t[w].place[k] != NONE), "block %u of writer %u", k, w);
	good &= expect(ix.places == CHUNKS * KVP_INDEX_CHUNK, "it did not grow");
	kvp_index_exit(&ix);
	free(t);
	return good;
}

const struct test tests[] = {
	{ "threads", test_threads },
	{ 0 }
};
