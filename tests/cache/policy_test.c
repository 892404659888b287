// SPDX-License-Identifier: GPL-2.0-only
/* The behaviour of the policy, on small caches. */
#include <stdlib.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>

#include "policy/s3fifo.h"
#include "policy_test.h"
#include "suite.h"
#include "trace.h"

#define sound(c) expect(!kvp_s3_check(c), "%s is wrong", kvp_s3_check(c))

/* Values that follow from their block. */
static void *value_of(u64 key)
{
	return (void *)(unsigned long)(key + 1);
}

static bool make(struct kvp_s3 *c, u32 capacity)
{
	return expect(!kvp_s3_init(c, capacity, seed, GFP_KERNEL), "init");
}

static bool is_in(struct kvp_s3 *c, u64 key)
{
	return kvp_s3_lookup(c, key) != KVP_S3_NONE;
}

/* Acts as a reader: a hit, or a miss that inserts the block. Returns the evicted block, or ~0. */
static u64 ask(struct kvp_s3 *c, u64 key)
{
	struct kvp_s3_block victim = { 0 };
	u32 slot;

	if (kvp_s3_find(c, key, &slot))
		kvp_s3_hit(c, slot);
	else
		kvp_s3_insert(c, key, value_of(key), &victim);
	return victim.value ? victim.key : ~0ull;
}

static void ask_all(struct kvp_s3 *c, u64 first, u32 count)
{
	u64 key;

	for (key = first; key < first + count; key++)
		ask(c, key);
}

/* The next block to leave the cache is @key. */
static bool next_is(struct kvp_s3 *c, u64 key)
{
	struct kvp_s3_block b = { 0 };

	return expect(kvp_s3_evict(c, &b), "empty, and not %llu", key) &&
	       expect(b.key == key && b.value == value_of(key), "%llu was evicted, not %llu", b.key,
		      key);
}

bool test_order(void)
{
	struct kvp_s3_block b;
	struct kvp_s3 c;
	bool good = make(&c, 10);

	ask_all(&c, 0, 10);
	ask_all(&c, 3, 2);
	good &= sound(&c) && expect(c.small.count == 10 && !c.main.count, "all are new");
	/* 3 and 4 were hit: they go to main when they are reached */
	good &= next_is(&c, 0) && next_is(&c, 1) && next_is(&c, 2) && next_is(&c, 5);
	good &= expect(c.small.count == 4 && c.main.count == 2, "%u and %u", c.small.count,
		       c.main.count);
	good &= next_is(&c, 6) && next_is(&c, 7) && next_is(&c, 8) && next_is(&c, 9);
	/* hit again in main: another round */
	ask(&c, 3);
	good &= next_is(&c, 4) && next_is(&c, 3) && sound(&c);
	good &= expect(!kvp_s3_evict(&c, &b) && !b.value, "evicted from an empty cache");
	kvp_s3_exit(&c);
	return good;
}

bool test_full(void)
{
	struct kvp_s3 c;
	bool good = make(&c, 20);
	u64 key;

	for (key = 0; key < 20; key++)
		good &= expect(ask(&c, key) == ~0ull, "there was room for %llu", key);
	for (; key < 60; key++)
		good &= expect(ask(&c, key) == key - 20, "who had to go for %llu", key);
	good &= expect(kvp_s3_count(&c) == 20, "%u blocks", kvp_s3_count(&c)) && sound(&c);
	kvp_s3_exit(&c);
	return good;
}

/* A block that returns soon is kept; one that stayed away for long is new again. */
bool test_ghost(void)
{
	u32 soon = 0, late = 0, wrong = 0;
	struct kvp_s3 c;
	bool good = make(&c, 1000);
	u64 key;

	ask_all(&c, 0, 5000);
	/* 3999 was evicted last. No key leaves the ghost before it is asked for. */
	for (key = 3999; key >= 3600; key--) {
		ask(&c, key);
		soon += c.main.newest == kvp_s3_lookup(&c, key);
	}
	good &= expect(soon >= 380, "%u of 400 were known again", soon);
	for (key = 0; key < 400; key++) {
		ask(&c, key);
		late += c.main.newest == kvp_s3_lookup(&c, key);
	}
	good &= expect(late <= 8, "%u of 400 were known after so long", late) && sound(&c);
	for (key = 1000000; key < 1010000; key++) {
		ask(&c, key);
		wrong += c.main.newest == kvp_s3_lookup(&c, key);
	}
	good &= expect(wrong < 20, "%u of 10000 new ones were taken for others", wrong);
	good &= sound(&c);
	kvp_s3_exit(&c);
	return good;
}

bool test_scan(void)
{
	u32 kept = 0;
	struct kvp_s3 c;
	bool good = make(&c, 1000);
	u64 key;

	ask_all(&c, 0, 800);
	ask_all(&c, 0, 800);
	ask_all(&c, 10000, 20000);
	for (key = 0; key < 800; key++)
		kept += is_in(&c, key);
	/* a few blocks of the scan are taken for blocks that were there before */
	good &= expect(kept >= 780, "%u of 800 hot blocks outlived a scan", kept) && sound(&c);
	kvp_s3_exit(&c);
	return good;
}

/*
 * Once from each queue: blocks that were evicted too early from small make it larger, others
 * smaller.
 */
bool test_adapt(void)
{
	struct kvp_s3 c;
	bool good = make(&c, 1000);
	u32 round, before;
	u64 key;

	good &= expect(c.target == 100, "it begins with %u", c.target);
	for (key = 0; key < 20000; key++) {
		ask(&c, key);
		if (key >= 1400)
			ask(&c, key - 1300);
	}
	good &= expect(c.target == 400, "it grew to %u", c.target) && sound(&c);
	/* more blocks are hot than main can hold, and new ones never return */
	for (round = 0, key = 100000; round < 30; round++) {
		ask_all(&c, 0, 900);
		ask_all(&c, 0, 900);
		before = c.target;
		ask_all(&c, key += 400, 400);
	}
	good &= expect(c.target < 150, "it shrank to %u, %u before", c.target, before);
	good &= sound(&c);
	kvp_s3_exit(&c);
	return good;
}

/* With all blocks hit, an eviction still ends soon. */
bool test_patience(void)
{
	struct kvp_s3_block b;
	struct kvp_s3 c;
	bool good = make(&c, 2000);
	u32 spared = 0;
	u64 key;

	ask_all(&c, 0, 2000);
	ask_all(&c, 0, 2000);
	good &= expect(kvp_s3_evict(&c, &b), "nothing evicted");
	for (key = 0; key < 2000; key++)
		spared += is_in(&c, key) && key < b.key;
	good &= expect(spared == 256, "%u were spared", spared) && sound(&c);
	kvp_s3_exit(&c);
	return good;
}

/* Blocks up to 9, without @gone, leave in order; with @newest the oldest comes last. */
static bool order_without(u64 gone, bool in_main)
{
	u64 key, oldest = in_main;
	struct kvp_s3 c;
	bool good = make(&c, 10);

	ask_all(&c, 0, 10);
	if (in_main) {
		/*
		 * with all blocks hit they go to main, and the first one reached again is evicted
		 */
		ask_all(&c, 0, 10);
		good &= next_is(&c, 0) && expect(c.main.count == 9, "%u in main", c.main.count);
	}
	good &= expect(kvp_s3_remove(&c, kvp_s3_lookup(&c, gone)) == value_of(gone), "value");
	good &= sound(&c) && expect(!is_in(&c, gone), "%llu is still there", gone);
	for (key = oldest; key < 10; key++)
		good &= expect(key == gone || is_in(&c, key), "%llu went, too", key);
	for (key = oldest; key < 10; key++)
		if (key != gone && !(gone == 9 && key == oldest))
			good &= next_is(&c, key);
	good &= gone != 9 || next_is(&c, oldest);
	good &= expect(!kvp_s3_count(&c), "%u are left", kvp_s3_count(&c)) && sound(&c);
	kvp_s3_exit(&c);
	return good;
}

bool test_remove(void)
{
	bool good = true;
	u64 key;

	for (key = 0; key < 10; key++)
		good &= order_without(key, false) && (!key || order_without(key, true));
	return good;
}

bool test_replace(void)
{
	struct kvp_s3_block b;
	struct kvp_s3 c;
	bool good = make(&c, 4);
	u32 slot;

	slot = kvp_s3_insert(&c, 7, value_of(1), &b);
	good &= expect(!b.value, "the first has no victim");
	good &= expect(kvp_s3_insert(&c, 7, value_of(2), &b) == slot, "another slot");
	good &= expect(b.key == 7 && b.value == value_of(1), "what was there before");
	good &= expect(kvp_s3_value(&c, slot) == value_of(2) && kvp_s3_count(&c) == 1, "replaced");
	good &= sound(&c);
	kvp_s3_exit(&c);
	return good;
}

struct dropped {
	u64 key[16];
	u32 count;
};

static void note(void *arg, const struct kvp_s3_block *b)
{
	struct dropped *d = arg;

	if (b->value == value_of(b->key) && d->count < ARRAY_SIZE(d->key))
		d->key[d->count++] = b->key;
}

static bool resize(struct kvp_s3 *c, u32 capacity, struct dropped *d)
{
	struct kvp_s3_table *t = kvp_s3_alloc(capacity, GFP_KERNEL);

	d->count = 0;
	if (!expect(t, "no table"))
		return false;
	kvp_s3_free(kvp_s3_resize(c, t, note, d));
	return sound(c) && expect(c->table->capacity == capacity, "capacity");
}

bool test_resize(void)
{
	struct dropped d;
	struct kvp_s3 c;
	bool good = make(&c, 10);

	ask_all(&c, 0, 10);
	ask_all(&c, 0, 3);
	good &= resize(&c, 1000, &d) && expect(!d.count && kvp_s3_count(&c) == 10, "grown");
	good &= expect(c.target == 100, "a target of %u", c.target);
	/* 0 to 2 were hit, and keep that */
	good &= resize(&c, 8, &d) && expect(d.count == 2 && d.key[0] == 3 && d.key[1] == 4,
					    "%u dropped", d.count);
	good &= expect(c.main.count == 3 && c.small.count == 5, "queues");
	good &= resize(&c, 0, &d) && expect(d.count == 8 && !kvp_s3_count(&c), "to nothing");
	good &= expect(ask(&c, 5) == ~0ull && !is_in(&c, 5) && !kvp_s3_count(&c), "no room");
	good &= resize(&c, 3, &d);
	ask_all(&c, 0, 4);
	good &= expect(kvp_s3_count(&c) == 3 && !is_in(&c, 0) && is_in(&c, 3), "and back");
	good &= sound(&c);
	kvp_s3_exit(&c);
	return good;
}

/* Block numbers of any size, near and far apart, share a bucket no more often than by chance. */
static bool spread(u64 first, u64 step)
{
	u32 bucket, slot, length, longest = 0, i;
	struct kvp_s3 c;
	bool good = make(&c, 4096);

	for (i = 0; i < 4096; i++)
		ask(&c, (first + i * step) & ((1ull << KVP_S3_KEY_BITS) - 1));
	for (i = 0; i < 4096; i++)
		good &= is_in(&c, (first + i * step) & ((1ull << KVP_S3_KEY_BITS) - 1));
	for (bucket = 0; bucket < c.table->buckets; bucket++) {
		length = 0;
		for (slot = c.table->bucket[bucket]; slot != KVP_S3_NONE;
		     slot = c.table->slot[slot].chain)
			length++;
		longest = max(longest, length);
	}
	good &= expect(good && longest <= 14, "%llu and each %llu: %u in a bucket", first, step,
		       longest);
	good &= sound(&c);
	kvp_s3_exit(&c);
	return good;
}

bool test_spread(void)
{
	bool good = true;
	u32 bit;

	for (bit = 0; bit < 36; bit++)
		good &= spread(0, 1ull << bit) && spread(~0ull << bit, 3ull << bit);
	return good;
}

bool test_bytes(void)
{
	size_t before = memory_bytes();
	struct kvp_s3_table *t;
	bool good = true;
	u32 capacity;
	u64 bytes;

	for (capacity = 0; capacity < 70000; capacity += 1 + capacity / 7) {
		t = kvp_s3_alloc(capacity, GFP_KERNEL);
		bytes = memory_bytes() - before;
		good &= expect(t && bytes == kvp_s3_bytes(capacity), "%llu bytes, not %llu", bytes,
			       kvp_s3_bytes(capacity));
		/* except for the one structure, and half a bucket */
		good &= expect(bytes <= sizeof(*t) + 2 + (u64)capacity * KVP_S3_BLOCK_BYTES,
			       "%llu bytes for %u blocks", bytes, capacity);
		good &= expect(t->sets * KVP_S3_WAYS <= capacity * 9 / 10, "the ghost is too large");
		kvp_s3_free(t);
	}
	bytes = kvp_s3_bytes(KVP_S3_MAX_CAPACITY);
	good &= expect(bytes <= (u64)KVP_S3_MAX_CAPACITY * KVP_S3_BLOCK_BYTES, "the largest");
	good &= expect(KVP_S3_MAX_CAPACITY * sizeof(*t->slot) <= 1ull << 31, "too large for kvcalloc");
	return good;
}

bool test_no_memory(void)
{
	struct kvp_s3 c;
	bool good = true;
	u32 at;

	for (at = 1; at <= 4; at++) {
		memory_fail_at = at;
		good &= expect(kvp_s3_init(&c, 100, 1, GFP_KERNEL) == -ENOMEM, "allocation %u", at);
		good &= expect(!memory_bytes(), "%zu bytes are left", memory_bytes());
		kvp_s3_exit(&c);
	}
	memory_fail_at = 0;
	good &= expect(kvp_s3_init(&c, KVP_S3_MAX_CAPACITY + 1, 1, GFP_KERNEL) == -EINVAL, "limit");
	good &= expect(!kvp_s3_alloc(KVP_S3_MAX_CAPACITY + 1, GFP_KERNEL), "limit");
	return good;
}

/* --- at random, beside a model ------------------------------------------------------- */

#define KEYS	160

struct model {
	struct kvp_s3 c;
	struct rng rng;
	u64 value[KEYS];	/* 0: not in the cache */
	u64 last;
	u32 count;
	bool good;
};

static void gone(void *arg, const struct kvp_s3_block *b)
{
	struct model *m = arg;

	if (!b->value)
		return;
	m->good &= expect(b->key < KEYS && m->value[b->key] == (unsigned long)b->value,
			  "block %llu left with a wrong value", b->key);
	m->value[b->key % KEYS] = 0;
	m->count--;
}

static void insert(struct model *m, u64 key)
{
	struct kvp_s3_block b;
	u64 value = ++m->last;
	u32 slot = kvp_s3_insert(&m->c, key, (void *)(unsigned long)value, &b);

	gone(m, &b);
	if (slot == KVP_S3_NONE) {
		m->good &= expect(!m->c.table->capacity && !b.value, "no slot");
		return;
	}
	m->good &= expect(kvp_s3_lookup(&m->c, key) == slot, "not where it was put");
	m->value[key] = value;
	m->count++;
}

static void change_size(struct model *m)
{
	struct kvp_s3_table *t;

	if (rng_below(&m->rng, 3) == 0)
		memory_fail_at = 1 + rng_below(&m->rng, 5);
	t = kvp_s3_alloc(rng_below(&m->rng, 4) ? rng_below(&m->rng, 120) : 0, GFP_KERNEL);
	memory_fail_at = 0;
	if (t)
		kvp_s3_free(kvp_s3_resize(&m->c, t, gone, m));
}

static void do_something(struct model *m)
{
	u64 key = rng_below(&m->rng, rng_below(&m->rng, 2) ? KEYS : 30);
	u32 slot = kvp_s3_lookup(&m->c, key), what = rng_below(&m->rng, 100);
	struct kvp_s3_block b;

	m->good &= expect((slot != KVP_S3_NONE) == !!m->value[key], "block %llu", key);
	m->good &= expect(slot == KVP_S3_NONE ||
			  (unsigned long)kvp_s3_value(&m->c, slot) == m->value[key], "value");
	if (what < 60 && slot != KVP_S3_NONE) {
		kvp_s3_hit(&m->c, slot);
	} else if (what < 80) {
		insert(m, key);
	} else if (what < 92 && slot != KVP_S3_NONE) {
		b.key = key;
		b.value = kvp_s3_remove(&m->c, slot);
		gone(m, &b);
	} else if (what < 99) {
		m->good &= expect(kvp_s3_evict(&m->c, &b) == !!m->count, "evict");
		gone(m, &b);
	} else {
		change_size(m);
	}
	m->good &= expect(m->count == kvp_s3_count(&m->c), "%u blocks, not %u",
			  kvp_s3_count(&m->c), m->count);
}

bool test_random(void)
{
	u32 round, i;
	struct model m;

	for (round = 0; round < 30; round++) {
		memset(&m, 0, sizeof(m));
		m.rng.state = seed * 100 + round;
		m.good = make(&m.c, rng_below(&m.rng, 100));
		for (i = 0; m.good && i < 3000; i++) {
			do_something(&m);
			m.good &= sound(&m.c);
		}
		kvp_s3_exit(&m.c);
		if (!expect(m.good, "round %u, step %u", round, i))
			return false;
	}
	return true;
}
