// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers without the lock, beside a writer. The policy is compiled into this file with hooks in
 * its accesses. At each read of a reader a writer may come between, and at each store of a writer a
 * reader.
 *
 * A reader must get the block's value of some moment during its call. If the block was in the cache
 * all the time, the reader must not miss it. This tests the order of stores in the program, not the
 * order in which a processor makes them visible.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/gfp.h>

#include "suite.h"
#include "trace.h"

static void before_read(void);
static void after_store(void);
static unsigned int or_count;

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_store_release
#undef atomic64_read
#undef atomic64_read_acquire
#undef atomic64_set
#undef atomic64_set_release
#undef atomic64_or
#define load(x)		(*(const volatile __typeof__(x) *)&(x))
#define store(x, v) do {					\
	*(volatile __typeof__(x) *)&(x) = (v);			\
	after_store();						\
} while (0)
#define READ_ONCE(x)			(before_read(), load(x))
#define WRITE_ONCE(x, v)		store(x, v)
#define smp_store_release(p, v)		store(*(p), v)
#define atomic64_read(a)		(before_read(), load((a)->counter))
#define atomic64_read_acquire(a)	atomic64_read(a)
#define atomic64_set(a, v)		store((a)->counter, v)
#define atomic64_set_release(a, v)	store((a)->counter, v)
#define atomic64_or(v, a)		(or_count++, (a)->counter |= (v))

#include "policy/s3fifo.c"

#define KEYS		24
#define MAX_EVENTS	64

static struct kvp_s3 c;
static struct rng rng;
static u64 value[KEYS], last_value;	/* 0: not in the cache */
static struct kvp_s3_table *replaced;	/* a reader may still use it */
static bool good;

/* The values of a block since the reader began. */
static struct {
	u64 key, value;
} events[MAX_EVENTS];
static u32 nr_events;

static void set_value(u64 key, u64 v)
{
	value[key] = v;
	if (nr_events < MAX_EVENTS) {
		events[nr_events].key = key;
		events[nr_events++].value = v;
	}
}

static void gone(void *arg, const struct kvp_s3_block *b)
{
	if (b->value)
		set_value(b->key, 0);
}

static void change_size(void)
{
	struct kvp_s3_table *t = kvp_s3_alloc(1 + rng_below(&rng, 12), GFP_KERNEL);

	if (replaced)
		kvp_s3_free(t);
	else
		replaced = kvp_s3_resize(&c, t, gone, NULL);
}

/* A change to one of few blocks in few buckets, so that slots move from chain to chain. */
static void change(void)
{
	u64 key = rng_below(&rng, KEYS);
	u32 slot = kvp_s3_lookup(&c, key), what = rng_below(&rng, 20);
	struct kvp_s3_block b = { 0 };

	if (what < 6 && slot != KVP_S3_NONE) {
		kvp_s3_remove(&c, slot);
		set_value(key, 0);
	} else if (what < 17) {
		if (slot != KVP_S3_NONE && what < 10) {
			kvp_s3_hit(&c, slot);
			return;
		}
		kvp_s3_insert(&c, key, (void *)(unsigned long)++last_value, &b);
		gone(NULL, &b);
		set_value(key, last_value);
	} else if (what < 19) {
		kvp_s3_evict(&c, &b);
		gone(NULL, &b);
	} else {
		change_size();
	}
}

static bool was_value(u64 key, u64 at_first, u64 v)
{
	u32 i;

	if (v == at_first)
		return true;
	for (i = 0; i < nr_events; i++)
		if (events[i].key == key && events[i].value == v)
			return true;
	return false;
}

static void free_replaced(void)
{
	kvp_s3_free(replaced);
	replaced = NULL;
}

static bool begin(u32 round)
{
	rng.state = seed * 1000 + round;
	memset(value, 0, sizeof(value));
	good = true;
	return expect(!kvp_s3_init(&c, 1 + rng_below(&rng, 12), rng_next(&rng), GFP_KERNEL), "init");
}

static bool end(void)
{
	free_replaced();
	kvp_s3_exit(&c);
	return good;
}

/* --- a writer comes between the steps of a reader ------------------------------------- */

static u32 reads_left;		/* until the writer comes; 0: never */
static u32 visits_left;		/* of the writer, to this reader */

static void before_read(void)
{
	u32 n;

	if (!reads_left || --reads_left)
		return;
	for (n = 1 + rng_below(&rng, 6); n; n--)
		change();
	if (--visits_left)
		reads_left = 1 + rng_below(&rng, 6);
}

static void read_with_visits(void)
{
	u64 key = rng_below(&rng, KEYS), at_first = value[key], v;
	u32 slot;

	nr_events = 0;
	visits_left = 1 + rng_below(&rng, 3);
	reads_left = 1 + rng_below(&rng, 12);
	v = (unsigned long)kvp_s3_find(&c, key, &slot);
	reads_left = 0;
	good &= expect(was_value(key, at_first, v), "%llu of block %llu, which was %llu", v, key,
		       at_first);
	if (v)
		kvp_s3_hit(&c, slot);
	free_replaced();
}

static bool test_visited_reader(void)
{
	u32 round, i;
	bool all = true;

	for (round = 0; all && round < 60; round++) {
		if (!begin(round))
			return false;
		for (i = 0; good && i < 4000; i++) {
			read_with_visits();
			change();
			free_replaced();
		}
		good &= expect(!kvp_s3_check(&c), "%s", kvp_s3_check(&c));
		all = end();
	}
	return all;
}

/* --- a reader comes between the stores of a writer ------------------------------------ */

static u32 stores_left;		/* until the reader comes; 0: never */
static u64 seen[KEYS];

static void after_store(void)
{
	u32 slot;
	u64 key;

	if (!stores_left || --stores_left)
		return;
	for (key = 0; key < KEYS; key++)
		seen[key] = (unsigned long)kvp_s3_find(&c, key, &slot);
}

static void change_with_visit(void)
{
	u64 before[KEYS], key;

	memcpy(before, value, sizeof(value));
	memset(seen, 0xff, sizeof(seen));
	nr_events = 0;
	stores_left = 1 + rng_below(&rng, 16);
	change();
	/* no reader came: there were fewer stores */
	if (!stores_left)
		for (key = 0; key < KEYS; key++)
			good &= expect(was_value(key, before[key], seen[key]),
				       "%llu of block %llu, which was %llu and is %llu", seen[key],
				       key, before[key], value[key]);
	stores_left = 0;
	free_replaced();
}

static bool test_visited_writer(void)
{
	u32 round, i;
	bool all = true;

	for (round = 0; all && round < 40; round++) {
		if (!begin(round))
			return false;
		for (i = 0; good && i < 4000; i++)
			change_with_visit();
		all = end();
	}
	return all;
}

/* --- a hit ------------------------------------------------------------------------------ */

static bool test_hit_writes_once(void)
{
	struct kvp_s3_block b;
	u32 slot;

	if (!begin(0))
		return false;
	slot = kvp_s3_insert(&c, 5, &b, &b);
	or_count = 0;
	kvp_s3_hit(&c, slot);
	kvp_s3_hit(&c, slot);
	kvp_s3_hit(&c, slot);
	good &= expect(or_count == 1, "%u writes", or_count);
	/* a slot of a table that was replaced by a smaller one */
	kvp_s3_hit(&c, 1000000);
	good &= expect(or_count == 1, "beyond the table");
	return end();
}

const struct test tests[] = {
	{ "visited-reader", test_visited_reader },
	{ "visited-writer", test_visited_writer },
	{ "hit-writes-once", test_hit_writes_once },
	{ 0 }
};
